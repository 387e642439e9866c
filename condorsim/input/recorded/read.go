package recorded

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
	"github.com/condor-backfill/condor-backfill/negotiator/record"
	"github.com/condor-backfill/condor-backfill/negotiator/record/recordv1"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
)

// reader makes a Record of entries.
type reader struct {
	record    *Record
	begun     bool
	now       backfill.Time
	observing bool
	policy    string // in charge
	again     bool   // a beginning says it again
	resources []string
	ads       map[uint64]*classad.ClassAd
	labels    map[uint64]map[string]string

	slots  map[string]int // in the description, by name
	latest []string       // by slot, its latest entry as text; "": it is gone
	limits map[string]int // in the description, by name

	jobs   []*job
	live   map[int64]*job  // by their numbers in the record
	absent map[string]*job // by name, those that were removed while they waited

	// unsaid are jobs by name, and lost slots, of which the latest beginning says nothing. A negotiator that was started
	// again is told of them in its first cycle, if they are there.
	unsaid map[string]*job
	lost   map[string]bool
}

// Read reads a record, whose name is for errors.
func Read(text *packed.Reader, name string) (*Record, error) {
	from, err := record.NewReader(text, name)
	if err != nil {
		return nil, err
	}
	r := &reader{
		record: &Record{Name: name, Description: &pools.Description{Schema: negotiator.DefaultSchema()}},
		ads:    map[uint64]*classad.ClassAd{}, labels: map[uint64]map[string]string{},
		slots: map[string]int{}, limits: map[string]int{}, live: map[int64]*job{}, absent: map[string]*job{},
	}
	for {
		entry, readErr := from.Next()
		if errors.Is(readErr, io.EOF) {
			break
		}
		if readErr == nil {
			readErr = r.entry(entry)
		}
		if readErr != nil {
			return nil, fmt.Errorf("read the record: %s: %w", name, readErr)
		}
	}
	if !r.begun {
		return nil, fmt.Errorf("read the record: %s: has no whole beginning yet: there is nothing to run", name)
	}
	r.record.Torn = from.Torn()
	r.finish()
	return r.record, nil
}

// errNoBegin says that something comes before a beginning.
var errNoBegin = errors.New("does not begin with a state: it is a part of a record; join it with what comes before it")

func (r *reader) entry(e *recordv1.Entry) (err error) {
	switch {
	case e.GetAd() != nil:
		var ad *classad.ClassAd
		if ad, err = classad.Parse(e.GetAd().GetText()); err != nil {
			return fmt.Errorf("ad %d: %w", e.GetAd().GetNumber(), err)
		}
		r.ads[e.GetAd().GetNumber()] = ad
		return nil
	case e.GetLabels() != nil:
		r.labels[e.GetLabels().GetNumber()] = record.MapOf(e.GetLabels().GetLabels())
		return nil
	case e.GetBegin() != nil:
		return r.begin(e.GetBegin())
	case !r.begun:
		return errNoBegin
	case e.GetTold() != nil:
		return r.told(e.GetTold())
	case e.GetRound() != nil:
		return r.round(e.GetRound())
	case e.GetChange() != nil:
		r.again = false
		r.decides(e.GetChange().GetPolicy())
	case e.GetEnd() != nil:
		r.now = max(r.now, backfill.Time(e.GetEnd().GetNow()))
	}
	return nil
}

// forgetUnsaid has jobs be gone of which a beginning says nothing, nor the cycle after it.
func (r *reader) forgetUnsaid() {
	for _, name := range slices.Sorted(maps.Keys(r.unsaid)) {
		r.gone(r.unsaid[name])
	}
	r.unsaid = nil
}

// decides counts who is in charge.
func (r *reader) decides(p *recordv1.Policy) {
	if p.GetName() == r.policy && r.again {
		return
	}
	r.policy = p.GetName()
	r.record.Policies++
	if r.record.Policies == 2 {
		r.record.Until = r.now
	}
	if r.record.Policies == 1 {
		r.record.Policy = Policy{
			Name: p.GetName(), Fallback: p.GetFallback(), Guarantees: p.GetGuarantees(),
			Options: record.MapOf(p.GetOptions()), Settings: record.MapOf(p.GetSettings()),
		}
	}
}

// told takes in what the pool told.
func (r *reader) told(t *recordv1.Told) error {
	if at := backfill.Time(t.GetNow()); at < r.now || at > backfill.MaxTime {
		return fmt.Errorf("time goes from %d to %d: join the files of a record in their order, and records of several pools "+
			"not at all", r.now, at)
	}
	r.now = backfill.Time(t.GetNow())
	if err := r.slotsTold(t); err != nil {
		return err
	}
	defer r.forgetUnsaid()
	ran := map[int64]backfill.Time{}
	for _, l := range t.GetRan() {
		ran[l.GetJob()] = backfill.Time(l.GetLength())
	}
	for _, id := range t.GetCompleted() {
		r.completed(id, ran[id])
	}
	for _, id := range t.GetRemoved() {
		r.removed(id)
	}
	r.record.Displaced += len(t.GetDisplaced())
	for _, id := range t.GetStartFailed() {
		if j := r.live[id]; j != nil {
			j.running = false
		}
	}
	for _, j := range t.GetSubmitted() {
		if err := r.submitted(j); err != nil {
			return err
		}
	}
	for _, j := range t.GetChanged() {
		if err := r.changed(j); err != nil {
			return err
		}
	}
	for _, run := range t.GetFound() {
		if err := r.found(run); err != nil {
			return err
		}
	}
	for _, b := range t.GetBegan() {
		if j := r.live[b.GetJob()]; j != nil && !j.running {
			j.start(backfill.Time(b.GetAt()))
		}
	}
	return nil
}

// round takes in which jobs were started.
func (r *reader) round(round *recordv1.Round) error {
	if r.observing {
		return nil // nobody carried it out
	}
	settled := new(policyv1.Settled)
	if err := settled.UnmarshalVT(round.GetSettled()); err != nil {
		return fmt.Errorf("the round at %d: %w; the file is damaged", r.now, err)
	}
	for _, a := range settled.GetJournal() {
		if j := r.live[a.GetJob()]; j != nil && a.GetKind() == policyv1.ActionKind_ACTION_KIND_START {
			j.running = false // it waited, even if it ran before: its slots may be gone
			j.start(backfill.Time(settled.GetRound().GetNow()))
		}
	}
	return nil
}

// finish ends the record: jobs that are still there run for as long as they are expected to.
func (r *reader) finish() {
	for _, j := range r.jobs {
		if j.over {
			continue
		}
		r.record.Cleaning.RunAssumed++
		j.job.Run = r.expected(&j.job)
		if j.running {
			j.job.Run = max(j.job.Run, r.now-j.since)
		}
	}
	slices.SortStableFunc(r.jobs, func(a, b *job) int {
		x, y := &a.job, &b.job
		return cmp.Or(cmp.Compare(x.Submit, y.Submit), cmp.Compare(len(y.Places), len(x.Places)),
			cmp.Compare(a.submit, b.submit), strings.Compare(x.Position.Queue, y.Position.Queue),
			cmp.Compare(x.Position.Cluster, y.Position.Cluster), cmp.Compare(x.Position.Proc, y.Position.Proc))
	})
	r.record.Jobs = make([]Job, len(r.jobs))
	for i, j := range r.jobs {
		r.record.Jobs[i] = j.job
	}
	r.settleSlots()
}
