package dispatch

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
)

// Most starts that fail do so in their first second: the startd refuses the claim, or the job runs
// and comes back at once. Nobody tells the negotiator. It learns the second from the job's count of
// shadows, and the first from the startd's private ad: a claim that was handed over, that the ad
// neither offers nor lists among those of its dynamic slots, is over for good.

// failure is how a start has failed before its flight, the job under way, was overdue.
type failure uint8

const (
	none     failure = iota
	refused          // the claim is over, and the job was idle afterwards
	cameBack         // the job has run, and is idle again
)

// looksAfter is when looks at the pool follow the last match that was handed over, at the latest.
// The first two come in any case, so that a job that ends at once is seen soon; the others come
// while jobs are on their way.
var looksAfter = []time.Duration{time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second}

// unasked is how long after a match was handed over its startd is not asked yet: startds advertise
// what became of a claim within a second.
const unasked = time.Second

// forgiven is how long after a failed start of a job another one may be found to have failed before
// it is overdue: a job that fails again and again is tried as often as the patience allows.
const forgiven = 5 * time.Minute

// judgeEarly finds the flights, the jobs under way, that have failed before they are overdue.
func (d *Dispatcher) judgeEarly() {
	for _, f := range d.flights {
		f.failed = none
		s := d.belief.Schedd(f.job.Key.Schedd)
		if s == nil || !d.mayFailEarly(f) || f.job.Group.Runs() {
			continue
		}
		switch {
		case f.job.Group.Shadows > f.shadows:
			f.failed = cameBack
		case !f.gone.IsZero() && !s.Since.Before(f.gone):
			f.failed = refused
		}
	}
}

// mayFailEarly tells whether a flight, a job under way, may be given up before it is overdue. It may
// not if the job has failed a short time ago, or starts fail on its slot: such failures must take
// time. Of a gang, a job of several chunks, the schedd collects slots for as long as it takes.
func (d *Dispatcher) mayFailEarly(f *flight) bool {
	if !f.sent() || f.telling || len(f.claims) == 0 || f.job.Group.Spec.Parallel {
		return false
	}
	_, before := d.failures[f.job.Key]
	for _, at := range f.job.Places {
		s := d.suspects[at.Slot][f.job.Key.Schedd]
		before = before || s != nil && s.failures > 1
	}
	return !before
}

// doubtful returns the flights, the jobs under way, whose startds are to be asked whether their
// claims are over: the last look saw the jobs idle, some time after they were handed over.
func (d *Dispatcher) doubtful() []*flight {
	if d.s.Observe {
		return nil
	}
	var all []*flight
	for _, f := range d.flights {
		s := d.belief.Schedd(f.job.Key.Schedd)
		if s != nil && f.gone.IsZero() && s.Since.Sub(f.moved) >= unasked && !f.job.Group.Runs() &&
			!d.overdue(f) && d.mayFailEarly(f) {
			all = append(all, f)
		}
	}
	return all
}

// InDoubt tells whether there are flights, jobs under way, that [Dispatcher.AskStartds] may find to
// have failed.
func (d *Dispatcher) InDoubt() bool { return len(d.doubtful()) > 0 }

// AskStartds finds out which claims of flights, jobs under way, are over, as their startds have
// told the collector. It reports whether some are: then the next look at the pool tells whether the
// starts have failed.
func (d *Dispatcher) AskStartds(ctx context.Context) (found bool) {
	flights := d.doubtful()
	names := map[string]bool{}
	for _, f := range flights {
		for _, at := range f.job.Places {
			names[at.Slot] = true
		}
	}
	if len(names) == 0 {
		return false
	}
	began, requirements := d.now(), d.onlySlots(names)
	ctx, cancel := context.WithTimeout(ctx, d.s.Hold)
	defer cancel()
	startds := map[string]*startdClaims{}
	err := d.s.Collector.Query(ctx, []client.AdType{
		{
			Name: "Machine", Requirements: requirements,
			Projection: []string{"Name", "MyAddress", "State", "PartitionableSlot"},
		},
		{
			Name: "MachinePrivate", Requirements: requirements,
			Projection: []string{"Name", "MyAddress", "ClaimId", "ClaimIdList", "ChildClaimIds"},
		},
	}, func(lines cedar.Lines) error {
		// An error is not logged, since it may show a claim id: nothing is known of the slot then.
		if ad, err := classad.ParseOld(string(lines)); err == nil {
			readClaims(startds, ad)
		}
		return nil
	})
	if err != nil {
		return false // the next look at the pool says what is wrong with the collector
	}
	for _, f := range flights {
		over := func(claim string) bool { return startds[f.job.Places[0].Slot].isOver(claim) }
		if !slices.ContainsFunc(f.claims, func(claim string) bool { return !over(claim) }) {
			f.gone, found = began, true
		}
	}
	return found
}

// startdClaims are the claims of a slot and its dynamic slots as its startd advertises them; secrets.
type startdClaims struct {
	address       string
	partitionable bool
	known         bool // all of them are known
	ids           map[string]bool
}

// isOver tells whether a claim is none of those any more. If not all are known, it may be.
func (c *startdClaims) isOver(claim string) bool { return c != nil && c.known && !c.ids[claim] }

// readClaims adds to the claims of slots what a slot's ad says, or its private ad, which must come
// later. While a slot is claimed or its job vacates it, its private ad has the claim that may take
// its place, and not the claim itself.
func readClaims(of map[string]*startdClaims, ad *classad.ClassAd) {
	name, _ := ad.Text("Name")
	address, _ := ad.Text("MyAddress")
	if state, isSlot := ad.Text("State"); isSlot {
		if state == "Claimed" || state == "Preempting" {
			return
		}
		partitionable, _ := ad.Bool("PartitionableSlot")
		of[name] = &startdClaims{address: address, partitionable: partitionable, ids: map[string]bool{}}
		return
	}
	c := of[name]
	id, has := ad.Text("ClaimId")
	if c == nil || c.address != address || !has {
		return
	}
	c.ids[id] = true
	list, _ := ad.Text("ClaimIdList")
	for id := range strings.FieldsSeq(list) {
		c.ids[id] = true
	}
	children, has := ad.Eval("ChildClaimIds", nil).Items()
	for _, child := range children {
		id, _ := child.Text()
		c.ids[id] = true
	}
	c.known = has || !c.partitionable
}

// onlySlots returns a constraint for the slots of these names; "" if it is cheaper to ask for all.
func (d *Dispatcher) onlySlots(names map[string]bool) string {
	if 2*len(names) >= d.belief.Slots() && len(names) > fewSlots {
		return ""
	}
	sorted := make([]string, 0, len(names))
	for name := range names {
		if !strings.HasSuffix(name, `\`) { // on the wire such a text has no end
			sorted = append(sorted, ast.Fold(name))
		}
	}
	slices.Sort(sorted)
	return among(sorted)
}

// forgetFailures forgets the failed starts of long ago, and those of jobs that are gone.
func (d *Dispatcher) forgetFailures() {
	began := d.belief.Snapshot().Began
	for key, at := range d.failures {
		if began.Sub(at) > forgiven || !d.belief.Has(key) {
			delete(d.failures, key)
		}
	}
}
