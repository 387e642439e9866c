package dispatch

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// reason is why a job waits, as its schedd was told last, and when.
type reason struct {
	text string
	at   time.Time
}

// tellEvery is how soon a job may be told another reason.
const tellEvery = 5 * time.Minute

// maxReasons bounds the reasons that one schedd is told at once: each is a write to its queue.
const maxReasons = 200

// rejection is a reason to be told.
type rejection struct {
	job       observe.JobKey
	submitter string
	why       string
}

// Explain tells schedds why jobs wait. Users see it in condor_q -better-analyze as the reason for
// the last match failure. It tells only what is new, for a bounded number of jobs: first the
// waiting ones among ids, with the reason that the callback why gives, then those that are left out
// of the plan. All schedds are told at once. What a slow schedd could not be told within Hold is
// left out, and it is told nothing for a while. The error is that of ctx.
func (d *Dispatcher) Explain(ctx context.Context, ids []backfill.JobID, why func(backfill.JobID) string) error {
	if d.s.Observe {
		return nil
	}
	e := explanation{d: d, now: d.now(), bySchedd: map[string]map[string][]rejection{}, count: map[string]int{}}
	for _, id := range ids {
		e.add(id, track.Waiting, why)
	}
	for id, text := range d.belief.View().Reasons {
		e.add(id, track.Unknown, func(backfill.JobID) string { return text })
	}
	maps.DeleteFunc(d.reasons, func(id backfill.JobID, _ reason) bool { return d.belief.Job(id) == nil })
	e.tell(ctx)
	return ctx.Err()
}

// explanation is what the schedds are to be told.
type explanation struct {
	d        *Dispatcher
	now      time.Time
	bySchedd map[string]map[string][]rejection // by schedd and submitter
	count    map[string]int                    // by schedd
}

// add adds a job's reason, if the job is in the given phase, its schedd can be told, and the reason
// is new.
func (e *explanation) add(id backfill.JobID, is track.Phase, why func(backfill.JobID) string) {
	d, j := e.d, e.d.belief.Job(id)
	if j == nil || j.Phase != is || e.count[j.Key.Schedd] >= maxReasons {
		return
	}
	s := d.belief.Schedd(j.Key.Schedd)
	if s == nil {
		return
	}
	submitter := j.Submitter()
	known, advertised := s.Submitters[submitter]
	if l := d.line(s.Name); !advertised || known.Excluded || s.Failed != nil || s.Late || l.telling != nil || e.now.Before(l.mute) {
		return
	}
	before := d.reasons[id]
	if e.now.Sub(before.at) < tellEvery {
		return
	}
	text := why(id)
	if text == before.text {
		return
	}
	d.reasons[id] = reason{text, e.now}
	if e.bySchedd[s.Name] == nil {
		e.bySchedd[s.Name] = map[string][]rejection{}
	}
	e.bySchedd[s.Name][submitter] = append(e.bySchedd[s.Name][submitter], rejection{j.Key, submitter, text})
	e.count[s.Name]++
}

// tell tells all schedds the reasons that were added, within Hold.
func (e *explanation) tell(ctx context.Context) {
	d := e.d
	wait, cancel := context.WithTimeout(ctx, d.s.Hold)
	defer cancel()
	var all sync.WaitGroup
	names := slices.Sorted(maps.Keys(e.bySchedd))
	type outcome struct {
		of   conversation
		told []rejection
		err  error
	}
	outcomes := make([]outcome, len(names))
	for i, name := range names {
		o := &outcomes[i]
		o.of = d.conversation(name)
		all.Go(func() { o.told, o.err = o.of.reject(wait, e.bySchedd[name]) })
	}
	all.Wait()
	for i, o := range outcomes {
		d.counts.Rejected += len(o.told)
		for _, r := range o.told {
			d.s.Notes.rejected(r, o.of.with.Address)
		}
		if o.err != nil {
			d.line(names[i]).mute = e.now.Add(tellEvery)
			d.log.Warn("a schedd could not be told why its jobs wait", "schedd", names[i], "error", o.err)
		}
	}
}
