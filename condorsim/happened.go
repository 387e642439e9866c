package condorsim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// HistoryPolicy is the name under which [Happened] stands beside policies.
const HistoryPolicy = "history"

// NoRecordedStart is the reason in [Outcome.Held] for jobs whose files record no start; see
// [Happened].
const NoRecordedStart = "no start is recorded"

// WrongStart is the reason in [Outcome.Held] for jobs whose recorded start is before their submission.
const WrongStart = "the recorded start is before the submission"

// Happened returns what really happened to the jobs, as if a policy had decided it: each job starts
// when its file says and runs as long as that says, also where a simulation ends it earlier. A trace has the wait for that (field 3 of
// SWF), ads have JobCurrentStartDate or JobStartDate. Jobs without a recorded start are held, and so
// left out of all measures; it is an error if none has one. Jobs that were cancelled before they
// started never have one. A job that a run would submit after the end of another waits from its submission
// or, if that is later, from the instant that the run's rule gives with the recorded end; see [After.submits].
//
// The result has only those measures that starts alone determine. Utilisation is that by the jobs that
// have a start; it is missing unless these hold the same wherever they run, and the pool as given had room
// for them; see [Result.Impossible]. Loss of capacity is missing unless all jobs have a start, too.
func Happened(w *Workload) (*Result, error) {
	if w.given != nil {
		w = w.given
	}
	r := &Result{Workload: w.asRecorded(), Outcomes: make([]Outcome, len(w.Jobs)), happened: true}
	known := 0
	var alike []bool
	r.totals, alike = w.leastOccupied()
	for i, j := range w.Jobs {
		o := &r.Outcomes[i]
		if !j.HasWaited {
			*o = j.notRecorded()
			continue
		}
		if !j.Scavenger {
			known++
		}
		start := j.Submit + j.Waited
		*o = Outcome{
			Started: true, Ended: true, Start: start, End: start + j.Ran,
			Estimate: cmp.Or(j.Estimate, backfill.Time(1)),
		}
		r.vague = r.vague || !alike[i]
	}
	if known == 0 {
		return nil, errors.New("nothing is known of what really happened: no job has a recorded start (field 3 of SWF, " +
			"JobCurrentStartDate or JobStartDate of ads)")
	}
	r.sumWork()
	return r, nil
}

// WrongStarts counts the jobs whose recorded start is before their submission, without scavengers.
func WrongStarts(w *Workload) (n int) {
	for _, j := range w.Jobs {
		if j.WrongStart && !j.Scavenger {
			n++
		}
	}
	return n
}

// notRecorded returns what becomes of a job without a recorded start.
func (j Job) notRecorded() Outcome {
	if j.WrongStart {
		return Outcome{Held: WrongStart}
	}
	return Outcome{Held: NoRecordedStart}
}

// asRecorded returns the workload with the submit times from which recorded waits count: the recorded ones,
// or, if they are later, those of a run by recorded ends. A job that started before that did not wait.
func (w *Workload) asRecorded() *Workload {
	own := w.forRun()
	if own == w {
		return w
	}
	ends := map[int64]backfill.Time{} // by Position.Cluster
	for _, j := range w.Jobs {
		if j.HasWaited {
			ends[j.Position.Cluster] = j.Submit + j.Waited + j.Ran
		}
	}
	for i, j := range own.Jobs {
		if j.HasWaited && j.comesBack() {
			j.Job = new(*j.Job)
			j.Submit = min(j.lastArrival(), w.Jobs[i].Submit+j.Waited)
			own.Jobs[i].Job = j.Job
		}
		if j.After == nil || !j.HasWaited {
			continue
		}
		if end, known := ends[j.After.Job]; known {
			j.Submit = min(max(j.Submit, j.After.submits(j.Submit, end)), w.Jobs[i].Submit+j.Waited)
		}
	}
	return own
}

// Impossible says why recorded starts cannot have happened on the pool as it is given: more of a
// resource was in use than it has, or more jobs ran than it has slots for. It returns "" if they can.
func (r *Result) Impossible() string {
	type step struct {
		at   backfill.Time
		sign int64
		job  int
	}
	var steps []step
	for i, o := range r.Outcomes {
		if o.Ended && o.End > o.Start {
			steps = append(steps, step{o.Start, 1, i}, step{o.End, -1, i})
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.sign, b.sign)) })
	has := r.Workload.Capacity()
	used, most, when := make(backfill.Vector, len(has)), make(backfill.Vector, len(has)), make([]backfill.Time, len(has))
	for _, s := range steps {
		used.AddScaled(r.totals[s.job], s.sign)
		for k := range used {
			if used[k] > most[k] {
				most[k], when[k] = used[k], s.at
			}
		}
	}
	why := ""
	for k, name := range r.Workload.Schema.Resources {
		switch {
		case most[k] <= has[k] || negotiator.IsKind(name) || name == negotiator.Parts || name == "memory" && has[k] == 0:
		case name == negotiator.Claims:
			return fmt.Sprintf("what really happened cannot have happened on this pool: %s jobs ran at %s, and its slots take "+
				"%s at a time", inwords.Whole(most[k]), r.Workload.text(when[k]), inwords.Whole(has[k]))
		case why == "":
			if name == "memory" {
				name = "MiB of memory"
			}
			why = fmt.Sprintf("what really happened cannot have happened on this pool: %s %s were in use at %s, and it "+
				"has %s", inwords.Whole(most[k]), name, r.Workload.text(when[k]), inwords.Whole(has[k]))
		}
	}
	return why
}

// recorded returns the measures of what really happened.
func (r *Result) recorded() metrics.Measures {
	list := metrics.Measures(r.Metrics().List())
	list = append(list, r.otherResources(list)...)
	switch {
	case r.vague || r.Impossible() != "":
		list = slices.DeleteFunc(list, ofPool)
	case r.Held() > 0:
		list = slices.DeleteFunc(list, ofAll)
	}
	return list
}

// OnlyRecorded has the jobs without a recorded start count as held, so that the measures are those of
// the same jobs as of [Happened]: utilisation is that by these, and loss of capacity is left out. It
// changes nothing where no job has a recorded start: there is nothing to compare with.
func (r *Result) OnlyRecorded() {
	if !slices.ContainsFunc(r.Workload.Jobs, func(j Job) bool { return j.HasWaited }) {
		return
	}
	for i, j := range r.Workload.Jobs {
		if !j.HasWaited {
			r.Outcomes[i], r.partial = j.notRecorded(), true
		}
	}
	if r.partial {
		r.totals = r.allOccupied()
		r.sumWork()
	}
}

// ofPool reports whether a measure says how the pool was used.
func ofPool(m metrics.Measure) bool { return strings.HasPrefix(m.Name, "utilisation") || ofAll(m) }

// ofAll reports whether a measure cannot be said where jobs are missing.
func ofAll(m metrics.Measure) bool { return m.Name == "loss_of_capacity" }

// Comparison compares a run with what really happened to the same jobs.
type Comparison struct {
	Jobs int `json:"jobs"` // that are compared
	// NoStart counts the jobs that are left out as no start of theirs is recorded, Wrong those whose start
	// is before their submission, NotRun those that have one and did not run to their ends in the simulation.
	NoStart int `json:"without_start"`
	Wrong   int `json:"wrong_start,omitempty"`
	NotRun  int `json:"not_run"`
	// Impossible says why it cannot have happened on this pool; "" if it can.
	Impossible string `json:"impossible,omitempty"`
	// Happened and Simulated are the same measures in the same order.
	Happened  metrics.Measures `json:"happened"`
	Simulated metrics.Measures `json:"simulated"`
}

// CompareWithHistory compares a run with what really happened, over the jobs that have a recorded
// start and that ran. What a job held really is not known: it counts as what it held in the run. It is
// an error if there are none.
func (r *Result) CompareWithHistory() (*Comparison, error) {
	happened, err := Happened(r.Workload)
	if err != nil {
		return nil, err
	}
	c := &Comparison{Impossible: happened.Impossible()}
	own := &Result{Workload: r.Workload, Outcomes: slices.Clone(r.Outcomes), Bound: r.Bound, totals: r.allOccupied()}
	happened.Bound, happened.totals = r.Bound, own.totals
	for i := range own.Outcomes {
		mine, other := &own.Outcomes[i], &happened.Outcomes[i]
		switch {
		case r.Workload.Jobs[i].Scavenger: // it is measured apart
		case mine.Ended && other.Ended:
			c.Jobs++
			continue
		case other.Ended:
			c.NotRun++
		case other.Held == WrongStart:
			c.Wrong++
		default:
			c.NoStart++
		}
		*mine, *other = Outcome{}, Outcome{}
	}
	if c.Jobs == 0 {
		return nil, errors.New("no job with a recorded start ran to its end, so there is nothing to compare")
	}
	c.Happened, c.Simulated = happened.usual(), own.usual()
	leave := func(what func(metrics.Measure) bool) {
		c.Happened, c.Simulated = slices.DeleteFunc(c.Happened, what), slices.DeleteFunc(c.Simulated, what)
	}
	switch {
	case c.Impossible != "" || happened.Impossible() != "":
		leave(ofPool)
	case c.Jobs < len(own.Outcomes):
		leave(ofAll)
	}
	return c, nil
}

// usual returns the measures that starts and what was held determine.
func (r *Result) usual() metrics.Measures {
	r.sumWork()
	list := metrics.Measures(r.Metrics().List())
	return append(list, r.otherResources(list)...)
}
