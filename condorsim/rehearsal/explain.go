package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/liveview"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// Explain explains a job at an instant.
func (p *Rehearsal) Explain(
	ctx context.Context, at backfill.Time, f outlook.FuturesOptions, name string,
) (e Expectation, err error) {
	job := findJob(p.Workload, name)
	if job == nil {
		text := fmt.Sprintf("there is no job %s in %s", name, p.Workload.Name)
		if left := p.Workload.Cleaning.LeftOut(); left != "" {
			text += "; " + left
		}
		return e, cli.Bad(errors.New(text))
	}
	state, err := p.stateAt(ctx, at, f)
	if err != nil {
		return e, err
	}
	if e = p.expect(state, job); state.state == nil || !state.state.IsWaiting(job.ID) {
		return e, nil
	}
	if basis, known := negotiator.BasisOf(state.last.Negotiator(), job.ID); known {
		e.owner, _ = job.Ad.Text("Owner")
		e.Basis = &basis
	}
	if fit, known := state.last.Negotiator().Fit(job.ID); known && fit.WhyGuarded() != "" {
		e.Reason += "; " + fit.WhyGuarded()
	}
	return e, nil
}

// StartTimes tells of the waiting jobs at an instant, and behind them of those that are held: those of an owner, or
// if that is "" of all. Of scavengers it tells nothing: they wait for whatever becomes idle.
func (p *Rehearsal) StartTimes(
	ctx context.Context, at backfill.Time, f outlook.FuturesOptions, owner string,
) ([]Expectation, error) {
	last, err := p.stateAt(ctx, at, f)
	if err != nil {
		return nil, err
	}
	all := []Expectation{}
	if state := last.state; state != nil {
		var ids []backfill.JobID
		for _, j := range state.FirstWaiting(state.Waiting()) {
			ids = append(ids, j.ID)
		}
		for _, id := range slices.Concat(ids, last.heldNow()) {
			job := p.Workload.Jobs[id].Job
			if whose, _ := job.Ad.Text("Owner"); owner == "" || whose == owner {
				all = append(all, p.expect(last, job))
			}
		}
	}
	return all, nil
}

// heldNow returns the jobs that are held at the instant, by ID.
func (s *snapshot) heldNow() (ids []backfill.JobID) {
	for _, id := range slices.Sorted(maps.Keys(s.held)) {
		if reason, known := s.state.Reason(id); known && reason.Why == backfill.HeldBack {
			ids = append(ids, id)
		}
	}
	return ids
}

func findJob(w *condorsim.Workload, name string) *negotiator.Job {
	for _, j := range w.Jobs {
		if j.Name == name {
			return j.Job
		}
	}
	return nil
}

// snapshot is the schedule at an instant.
type snapshot struct {
	at    backfill.Time
	state *backfill.State           // nil if nothing has happened yet
	held  map[backfill.JobID]string // why jobs are held
	come  map[backfill.JobID]bool   // the jobs that were submitted
	last  *negotiator.Report        // of the last cycle
	// Set at the end: the predicted run times, and when waiting jobs start by them.
	predictions outlook.Predictions
	told        map[backfill.JobID]ahead.Beginning
	ranges      map[backfill.JobID]ahead.Range

	unordered bool // the order's expression gave no job a number
}

// Cycle keeps the state after a cycle, and the reasons why jobs are held.
func (s *snapshot) Cycle(r *negotiator.Report) error {
	s.state, s.unordered, s.last = r.State, r.Unordered, r
	for _, j := range r.Delta.Submitted {
		s.come[j.ID] = true
	}
	for _, h := range r.Held {
		s.held[h.Job.ID] = h.Reason
	}
	return nil
}

// stateAt simulates the pool up to an instant and returns the schedule at that time.
func (p *Rehearsal) stateAt(ctx context.Context, at backfill.Time, f outlook.FuturesOptions) (*snapshot, error) {
	last := &snapshot{at: at, held: map[backfill.JobID]string{}, come: map[backfill.JobID]bool{}}
	err := condorsim.RunTo(ctx, p.Workload, p.config, at, last, p)
	if err != nil {
		return nil, err
	}
	p.warnUnordered(last.unordered)
	switch s := last.state; {
	case s == nil:
		p.Logger.Warn("nothing has happened by that time", "at", p.text(at), "first_job", p.text(backfill.Time(p.Clock().First)))
		return last, nil
	case p.over(s):
		p.Logger.Warn(allEnded, "at", p.text(at))
	}
	var twins outlook.Twins
	defer twins.Close()
	future := outlook.New(last.last.Negotiator())
	last.predictions = future.Predictions
	if last.told, err = lookAhead(ctx, &twins, future, ahead.Bounds{}); err != nil || !future.Learned() || f.Count < 2 {
		return last, err
	}
	last.ranges, err = twins.Ranges(ctx, future, f, ahead.Bounds{}, nil)
	return last, err
}

const allEnded = "no job waits or runs at that time, and none is to come"

// over reports whether all jobs of the workload have ended.
func (p *Rehearsal) over(s *backfill.State) bool {
	return s.Waiting() == 0 && s.RunningJobs() == 0 && int64(s.Now()) >= p.Clock().Last
}

// expect says when a job starts, and why not earlier.
func (p *Rehearsal) expect(s *snapshot, job *negotiator.Job) Expectation {
	e := Expectation{Job: job.Name, Command: liveview.Command(job)}
	switch after := p.Workload.Jobs[job.ID].After; {
	case s.come[job.ID] || after == nil && job.Submit <= s.at && s.state != nil:
	case after != nil:
		e.Situation, e.Reason = "to come", "will be submitted after its preceding job has ended"
		return e
	default:
		e.Situation, e.Reason = "to come", "will be submitted at "+p.text(job.Submit)
		return e
	}
	if why := s.last.Negotiator().WhyScavenger(job.ID, p.text); why != "" {
		e.Situation, e.Reason = "scavenges", why
		return e
	}
	reason, known := s.state.Reason(job.ID)
	if !known {
		e.Situation, e.Reason = "ended", "has ended"
		return e
	}
	if why, held := s.held[job.ID]; held && reason.Why == backfill.HeldBack {
		reason.Text = why
	}
	e.Situation, e.Reason = reason.Why.String(), p.describe(s, job.ID, reason)
	if why := s.last.Negotiator().WhyPreemption(job.ID, p.text); why != "" {
		e.Reason += "; " + why
	}
	if why := s.last.Negotiator().WhyStretched(job.ID); why != "" && reason.Why != backfill.Runs {
		e.Reason += "; " + why
	}
	e.why, e.where = p.why(reason), s.state.DescribePlacement(reason.Placement)
	if begins, known := s.told[job.ID]; known {
		e.where = s.state.DescribePlacement(begins.Placement)
	}
	if times, known := s.predictions.Of(job.ID); known {
		e.Requested, e.Predicted = secondsOf(times.Requested), secondsOf(times.Predicted)
	}
	if r, known := s.ranges[job.ID]; known && r.Mid < backfill.Forever {
		e.Start, e.P10, e.P50 = secondsOf(r.Mid), secondsOf(r.Low), secondsOf(r.Mid)
		if r.High < backfill.Forever {
			e.P90 = secondsOf(r.High)
		}
	} else if begins, known := s.told[job.ID]; known {
		e.Start = secondsOf(begins.At)
	} else if reason.Placement != nil {
		e.Start = secondsOf(reason.At)
	}
	if reason.Promised {
		guarantee := int64(reason.Latest)
		e.Guarantee = &guarantee
	}
	return e
}

// name is what users call a job.
func (p *Rehearsal) name(j *backfill.Job) string { return p.Workload.Jobs[j.ID].Name }

func secondsOf(t backfill.Time) *int64 {
	n := int64(t)
	return &n
}
