package condorsim

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Promises count the jobs that were promised a latest start, by what became of the first promise:
// [Promises.Given] is the sum.
type Promises struct {
	// Kept are those that started in time, Broken those that started later.
	Kept, Broken int
	// Open are those that never started, as they were given up, or are held or wait at the end of the
	// run; Overdue are those of them whose guarantee is past then.
	Open, Overdue int
}

// Given counts the jobs that were promised a latest start.
func (p Promises) Given() int { return p.Kept + p.Broken + p.Open }

// Promises counts the jobs by what became of their first promise. What counts is the last run of a
// job that lost its slot.
func (r *Result) Promises() (p Promises) {
	for _, o := range r.Outcomes {
		switch {
		case !o.Promised:
		case o.Started && o.Start-o.Delay <= o.Guarantee: // scavengers that have to leave break no promise
			p.Kept++
		case o.Started:
			p.Broken++
		default:
			p.Open++
			if o.Guarantee < r.last {
				p.Overdue++
			}
		}
	}
	return p
}

// guarantees measures how the first guarantees of the jobs were kept; nil if there were none. The
// slack, of the jobs that ran, is the guarantee less the start, negative if the guarantee was
// broken. guarantees_broken_times counts every broken guarantee, also of those that replace broken
// ones, so that a job may count several times. reservations_moved counts the reservations that got other
// slots at the same start, once for each cycle in which they did.
func (r *Result) guarantees() metrics.Measures {
	p := r.Promises()
	if p.Given() == 0 {
		return nil
	}
	count := func(name, label string, n int) metrics.Measure {
		return metrics.Measure{Name: name, Label: label, Unit: metrics.Count, Value: float64(n)}
	}
	list := metrics.Measures{
		count("guarantees_given", "guarantees given", p.Given()),
		count("guarantees_kept", "guarantees kept", p.Kept),
		count("guarantees_broken", "guarantees broken", p.Broken),
		count("guarantees_open", "guarantees open: never started", p.Open),
	}
	if p.Open > 0 {
		list = append(list, count("guarantees_overdue", "of the open ones, past their time", p.Overdue))
	}
	list = append(list, count("guarantees_broken_times", "how often guarantees were broken", r.Broken))
	list = append(list, count("reservations_moved", "", r.Moved))
	var slack []float64
	var sum float64
	for _, o := range r.Outcomes {
		if o.Started && o.Promised {
			s := float64(o.Guarantee - o.Start + o.Delay)
			sum += s
			slack = append(slack, s)
		}
	}
	if len(slack) == 0 {
		return list
	}
	slices.Sort(slack)
	return append(
		list,
		metrics.Measure{
			Name: "mean_slack", Label: "mean time before the guarantee", Unit: metrics.Seconds,
			Value: sum / float64(len(slack)),
		},
		metrics.Measure{Name: "median_slack", Unit: metrics.Seconds, Value: metrics.Percentile(slack, 50)},
		metrics.Measure{Name: "p90_slack", Unit: metrics.Seconds, Value: metrics.Percentile(slack, 90)},
		metrics.Measure{Name: "p99_slack", Unit: metrics.Seconds, Value: metrics.Percentile(slack, 99)},
	)
}

// lapses drops, before the audit looks at a cycle, the promises of jobs that lost their slots in it under a policy
// without guarantees: the core keeps none for their next runs. Policies change before slots fail.
type lapses struct{ result *Result }

// Cycle implements [negotiator.Sink].
func (l lapses) Cycle(report *negotiator.Report) error {
	if _, promises := report.State.Policy(); promises || l.result.pool == nil {
		return nil
	}
	for _, id := range l.result.pool.lost {
		l.result.Outcomes[id].Promised, l.result.Outcomes[id].Guarantee = false, 0
	}
	return nil
}

// countBroken counts the guarantees that a cycle broke. Nobody edits jobs in a simulation, so the
// core's "job changed" means that a slot of the job's candidate set is drained. A promised job that is
// held after it has waited or run counts too, although the core does not report its guarantee as
// broken.
func (r *Result) countBroken(report *negotiator.Report) {
	count := func(cause string) {
		r.Broken++
		r.BrokenBy[cause]++
	}
	for _, b := range report.Decision.Broken {
		if b.Cause == backfill.CauseJobChanged {
			count(BrokenByDrain)
		} else {
			count(b.Cause.String())
		}
	}
	if !r.promises || len(report.Held) == 0 {
		return
	}
	cause := BrokenByDrain
	if len(report.Delta.SlotsDown) > 0 {
		cause = backfill.CauseSlotLost.String()
	}
	for _, h := range report.Held {
		arrived := slices.Contains(report.Delta.Submitted, h.Job)
		if o := &r.Outcomes[h.Job.ID]; !arrived && o.Promised && o.Held == "" {
			count(cause)
		}
	}
}
