package negotiator

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
)

// estimators makes a set of estimators for a policy.
func estimators(tb testing.TB, policy string, s estimate.Settings) *estimate.Set {
	tb.Helper()
	spec, err := policies.Named(policy)
	require.NoError(tb, err)
	set, err := estimate.New(s, nil, spec.Guarantees, true, nil)
	require.NoError(tb, err)
	return set
}

// predicting is a negotiator with estimators. Jobs run for as long as actual says.
func predicting(tb testing.TB, policy, order string, s estimate.Settings,
	actual map[backfill.JobID]backfill.Time,
) *Negotiator {
	tb.Helper()
	c := configured(tb, policy, order)
	c.StartSlack = 0
	c.Estimates = estimators(tb, policy, s)
	c.Actual = func(id backfill.JobID) backfill.Time { return actual[id] }
	n, err := New(c)
	require.NoError(tb, err)
	return n
}

// change is a change to a policy with estimators.
func change(tb testing.TB, policy, order string, s estimate.Settings) Change {
	tb.Helper()
	c := configured(tb, policy, order)
	return Change{Order: c.Order, Policy: c.Policy, Fallback: c.Fallback, Estimates: estimators(tb, policy, s)}
}

// standing is a job's state.
func standing(tb testing.TB, n *Negotiator, id backfill.JobID) backfill.JobState {
	tb.Helper()
	jobs := n.State().Snapshot().Jobs
	i := slices.IndexFunc(jobs, func(j backfill.JobState) bool { return j.Job.ID == id })
	require.NotEqual(tb, -1, i)
	return jobs[i]
}

// times are the estimate, the running estimate and the limit of a job in the policy's terms.
func times(tb testing.TB, n *Negotiator, id backfill.JobID) [3]backfill.Time {
	tb.Helper()
	j := standing(tb, n, id).Job
	return [3]backfill.Time{j.Estimate, j.Running, j.Limit}
}

func TestThreeUses(t *testing.T) {
	for _, c := range []struct {
		policy string
		slack  backfill.Time
		s      estimate.Settings
		limit  backfill.Time
		want   [3]backfill.Time
		end    backfill.Time
	}{
		{"easy", 0, estimate.Settings{}, 0, [3]backfill.Time{10, 0, 0}, 10},
		{"easy", 3, estimate.Settings{}, 40, [3]backfill.Time{13, 0, 43}, 13},
		{"easy", 0, estimate.Settings{All: "accurate"}, 0, [3]backfill.Time{4, 0, 10}, 4},
		{"easy", 3, estimate.Settings{All: "accurate"}, 40, [3]backfill.Time{7, 0, 43}, 7},
		{"easy", 3, estimate.Settings{Backfill: "accurate"}, 0, [3]backfill.Time{7, 13, 13}, 13},
		{"easy", 3, estimate.Settings{Running: "accurate"}, 0, [3]backfill.Time{13, 7, 13}, 7},
		{"easy", 3, estimate.Settings{Order: "accurate"}, 0, [3]backfill.Time{13, 0, 0}, 13},
		{"conservative", 3, estimate.Settings{All: "accurate"}, 0, [3]backfill.Time{13, 0, 0}, 13},
	} {
		config := configured(t, c.policy, "fcfs")
		config.StartSlack, config.Estimates = c.slack, estimators(t, c.policy, c.s)
		config.Actual = func(backfill.JobID) backfill.Time { return 4 }
		n, err := New(config)
		require.NoError(t, err)
		job := newJob(t, 1, 1, "")
		job.Limit = c.limit
		cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 1, "")}, Submitted: []*Job{job}})
		require.Equal(t, c.want, times(t, n, 1), "%s %+v", c.policy, c.s)
		require.Equal(t, c.end, standing(t, n, 1).End, "%s %+v", c.policy, c.s)
	}
}

// TestTheOrderGoesByItsOwnEstimate: a named order and an expression both use the estimate for
// orders.
func TestTheOrderGoesByItsOwnEstimate(t *testing.T) {
	actual := map[backfill.JobID]backfill.Time{1: 9, 2: 5, 3: 7}
	for _, order := range []string{"sjf", "expr:-EstimatedRunTime"} {
		for _, s := range []estimate.Settings{
			{Order: "accurate"},
			{All: "accurate"},
			{All: "accurate", Order: "requested"},
		} {
			n := predicting(t, "easy", order, s, actual)
			cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 1, "")}, Submitted: []*Job{
				newJob(t, 0, 1, ""), newJob(t, 1, 1, ""), newJob(t, 2, 1, "EstimatedRunTime = 12"),
				newJob(t, 3, 1, "EstimatedRunTime = 11"),
			}})
			want := "[2 3 1]"
			if s.Order == "requested" {
				want = "[1 3 2]"
			}
			require.Equal(t, want, waitingJobs(n), "%s %+v", order, s)
			edited := newJob(t, 2, 1, "EstimatedRunTime = 6")
			actual[2] = 8
			cycle(t, n, Delta{Now: 1, Changed: []*Job{edited}})
			actual[2] = 5
			want = map[bool]string{true: "[2 1 3]", false: "[2 3 1]"}[s.Order == "requested"]
			require.Equal(t, want, waitingJobs(n), "at most what it requests: %s %+v", order, s)
		}
	}
}

// TestWhatEndsIsLearnedBeforeWhatArrives is predicted.
func TestWhatEndsIsLearnedBeforeWhatArrives(t *testing.T) {
	n := predicting(t, "easy", "fcfs", estimate.Settings{All: "tsafrir"}, nil)
	mine := func(id int) *Job { return newJob(t, id, 1, `Owner = "ann"`) }
	cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 3, "")}, Submitted: []*Job{mine(1), mine(2), mine(3)}})
	r := cycle(t, n, Delta{Now: 3, Completed: []backfill.JobID{1}})
	require.Len(t, r.Learned, 1)
	require.EqualValues(t, 3, r.Learned[0].Ran)
	r = cycle(t, n, Delta{
		Now: 9, Completed: []backfill.JobID{2, 3}, Ran: map[backfill.JobID]backfill.Time{2: 5, 3: -1},
		Submitted: []*Job{mine(4)},
	})
	require.Len(t, r.Learned, 1, "one of them did not come to its end")
	require.Equal(t, [3]backfill.Time{4, 0, 10}, times(t, n, 4))
	r = cycle(t, n, Delta{Now: 10, Removed: []backfill.JobID{4}})
	require.Empty(t, r.Learned)
}

// Jobs that end at the same instant are learned in order of jobs, whatever the pool's order and whichever
// started first.
func TestLearningInOrder(t *testing.T) {
	for _, completed := range [][]backfill.JobID{{1, 2, 3}, {3, 2, 1}, {2, 3, 1}} {
		n := predicting(t, "easy", "fcfs", estimate.Settings{All: "tsafrir"}, nil)
		mine := func(id int) *Job { return newJob(t, id, 1, `Owner = "ann"`) }
		cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 3, "")}, Submitted: []*Job{mine(3)}})
		cycle(t, n, Delta{Now: 2, Submitted: []*Job{mine(1), mine(2)}})
		r := cycle(t, n, Delta{Now: 8, Completed: completed, Submitted: []*Job{mine(4)}})
		require.Equal(t, []backfill.Time{6, 6, 8},
			[]backfill.Time{r.Learned[0].Ran, r.Learned[1].Ran, r.Learned[2].Ran}, "%v", completed)
		require.Equal(t, [3]backfill.Time{7, 0, 10}, times(t, n, 4), "%v", completed)
	}
}

// TestAJobThatComesBackKeepsItsPrediction: a prediction is made once.
func TestAJobThatComesBackKeepsItsPrediction(t *testing.T) {
	actual := map[backfill.JobID]backfill.Time{1: 4}
	n := predicting(t, "easy", "fcfs", estimate.Settings{All: "accurate"}, actual)
	a := newSlot(t, "a", 1, "")
	cycle(t, n, Delta{SlotsUp: []*Slot{a}, Submitted: []*Job{newJob(t, 1, 1, "")}})
	actual[1] = 7
	cycle(t, n, Delta{Now: 2, StartFailed: []backfill.JobID{1}, SlotsDown: []string{"a"}})
	require.Equal(t, [3]backfill.Time{4, 0, 10}, times(t, n, 1))
	cycle(t, n, Delta{Now: 3, SlotsUp: []*Slot{a}})
	require.EqualValues(t, 7, standing(t, n, 1).End)
	cycle(t, n, Delta{Now: 4, Found: []Running{{
		Job:       newJob(t, 1, 1, ""),
		Placement: Placement{{Slot: a, Count: 1}}, Start: 1,
	}}})
	require.EqualValues(t, 5, standing(t, n, 1).End)
	cycle(t, n, Delta{Now: 5})
	require.EqualValues(t, 11, standing(t, n, 1).End, "it is over, and the request counts")
	cycle(t, n, Delta{Now: 6, Ends: []End{{Job: 1, At: 20}}})
	require.EqualValues(t, 14, standing(t, n, 1).End, "the reported end is by its request")
}

func TestSwitchingEstimators(t *testing.T) {
	actual := map[backfill.JobID]backfill.Time{1: 2, 2: 3, 3: 4, 4: 5}
	n := predicting(t, "easy", "fcfs", estimate.Settings{}, actual)
	accurate := estimate.Settings{All: "accurate", Options: map[string]string{"correct": "double"}}
	cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 2, ""), newSlot(t, "b", 1, "")}, Submitted: []*Job{
		newJob(t, 1, 2, ""), newJob(t, 2, 1, ""), newJob(t, 3, 2, ""), newJob(t, 4, 1, ""),
	}})
	require.EqualValues(t, 10, standing(t, n, 1).End)

	require.NoError(t, n.Change(change(t, "easy", "fcfs", accurate)))
	cycle(t, n, Delta{Now: 3})
	require.EqualValues(t, 4, standing(t, n, 1).End, "it has passed, and is doubled")
	require.EqualValues(t, 6, standing(t, n, 2).End, "it is now, and is doubled")
	require.Equal(t, [3]backfill.Time{4, 0, 10}, times(t, n, 3))
	require.EqualValues(t, 4, standing(t, n, 3).Start)

	require.NoError(t, n.Change(change(t, "conservative", "fcfs", accurate)))
	r := cycle(t, n, Delta{Now: 3, StartFailed: []backfill.JobID{2}})
	require.Empty(t, r.Decision.Broken)
	require.Equal(t, []string{"1.2@b×1"}, started(r))
	for _, id := range []backfill.JobID{1, 2, 3, 4} {
		require.Equal(t, [3]backfill.Time{10, 0, 0}, times(t, n, id), "job %d", id)
	}
	require.EqualValues(t, 10, standing(t, n, 1).End)
	require.EqualValues(t, 13, standing(t, n, 2).End)
	require.EqualValues(t, 10, standing(t, n, 3).Guarantee)

	require.NoError(t, n.Change(change(t, "conservative", "fcfs", estimate.Settings{})))
	r = cycle(t, n, Delta{Now: 3})
	require.Empty(t, r.Decision.Actions, "nothing but keys could have changed")
}

// TestPromisesRestOnRequestedTimes: a policy with guarantees that follows one without promises
// starts in order of jobs, with the times that jobs request, although they were planned with
// predictions so far and get other times in the same cycle. Jobs 2 and 4 are narrow and predicted
// to be short.
func TestPromisesRestOnRequestedTimes(t *testing.T) {
	actual := map[backfill.JobID]backfill.Time{1: 2, 2: 3, 3: 10, 4: 3}
	for _, policy := range []string{"conservative", "pc", "dc"} {
		n := predicting(t, "easy", "fcfs", estimate.Settings{All: "accurate"}, actual)
		cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 2, "")}, Submitted: []*Job{
			newJob(t, 1, 2, ""), newJob(t, 2, 2, ""), newJob(t, 3, 2, ""), newJob(t, 4, 1, ""),
		}})
		require.NoError(t, n.Change(change(t, policy, "fcfs", estimate.Settings{All: "accurate"})))
		r := cycle(t, n, Delta{Now: 1})
		require.Empty(t, r.Decision.Broken)
		for id, latest := range map[backfill.JobID]backfill.Time{2: 10, 3: 20, 4: 30} {
			require.True(t, standing(t, n, id).Promised)
			require.Equal(t, latest, standing(t, n, id).Guarantee, "job %d under %s", id, policy)
		}
	}
}

// someSettings are valid under policies that give guarantees, too.
var someSettings = []estimate.Settings{
	{},
	{All: "accurate"},
	{All: "mix:0.5"},
	{All: "tsafrir"},
	{All: "selective", Options: map[string]string{"threshold": "2"}},
	{All: "combined", Order: "accurate", Options: map[string]string{"threshold": "1"}},
	{All: "learned"},
	{All: "learned", Options: map[string]string{"censored": "false"}},
}

// TestNoPredictionBreaksAGuarantee runs pools through changes of policy, order and estimators, and
// the same pools without estimators. Under policies that give guarantees both give and break the
// same guarantees, whatever is predicted.
func TestNoPredictionBreaksAGuarantee(t *testing.T) {
	t.Run("conservative", rapid.MakeCheck(func(r *rapid.T) {
		with, without := twins(t, r, "conservative")
		w := &weather{slots: map[string]*Slot{}}
		for range rapid.IntRange(1, 25).Draw(r, "cycles") {
			if rapid.IntRange(0, 4).Draw(r, "switch") == 0 {
				require.NoError(r, with.Change(change(t, "conservative",
					"sjf", rapid.SampledFrom(someSettings).Draw(r, "to"))))
				require.NoError(r, without.Change(change(t, "conservative", "fcfs", estimate.Settings{})))
			}
			d := w.delta(t, r, without)
			got, err := with.RunCycle(t.Context(), d)
			require.NoError(r, err)
			want, err := without.RunCycle(t.Context(), d)
			require.NoError(r, err)
			require.Equal(r, outcome(without, want), outcome(with, got))
			require.Equal(r, textOf(without.Checkpoint()), textOf(with.Checkpoint()))
			checkOutlook(r, with)
		}
	}))
	t.Run("switching", rapid.MakeCheck(func(r *rapid.T) {
		names := []string{"easy", "first-fit", "ibb", "conservative", "pc", "dc", "maui"}
		policy := rapid.SampledFrom(names).Draw(r, "policy")
		n := predicting(t, policy, "wfp", rapid.SampledFrom(someSettings).Draw(r, "settings"), nil)
		n.predictions.actual = made
		w, reported := &weather{slots: map[string]*Slot{}}, map[backfill.JobID]bool{} // whose ends the pool reported
		for range rapid.IntRange(1, 30).Draw(r, "cycles") {
			changed := rapid.IntRange(0, 3).Draw(r, "switch") == 0
			if changed {
				policy = rapid.SampledFrom(names).Draw(r, "to")
				order := rapid.SampledFrom([]string{"fcfs", "sjf", "wfp", "area", "expr:-EstimatedRunTime"}).Draw(r, "order")
				require.NoError(r, n.Change(change(t, policy, order,
					rapid.SampledFrom(someSettings).Draw(r, "estimators"))))
			}
			d := w.delta(t, r, n)
			before := n.Checkpoint()
			report, err := n.RunCycle(t.Context(), d)
			require.NoError(r, err)
			checkKept(r, before, d, report, reported)
			for _, end := range d.Ends {
				reported[end.Job] = true
			}
			for _, run := range d.Found {
				reported[run.Job.ID] = true
			}
			checkTimes(r, n, reported)
			checkHeard(r, n)
			checkOutlook(r, n)
			checkNoneLost(r, n, before, d)
			if rapid.IntRange(0, 9).Draw(r, "restart") == 0 {
				c := configured(t, policy, "fcfs")
				c.StartSlack, c.Estimates, c.Actual = 0,
					estimators(t, policy, rapid.SampledFrom(someSettings).Draw(r, "anew")), made
				n, err = Restore(c, n.Checkpoint())
				require.NoError(r, err)
			}
		}
	}))
}

// TestSwitchingBreaksNothing: if jobs end in time and slots stay, no change breaks a guarantee. One
// between two policies that give guarantees lifts none either.
func TestSwitchingBreaksNothing(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		draw := func(most int, what string) int { return rapid.IntRange(0, most).Draw(r, what) }
		names := []string{"easy", "bb", "conservative", "pc", "dc", "slack"}
		policy := rapid.SampledFrom(names).Draw(r, "policy")
		n := predicting(t, policy, "sjf", rapid.SampledFrom(someSettings).Draw(r, "settings"), nil)
		n.predictions.actual = made
		d := Delta{SlotsUp: []*Slot{newSlot(t, "a", 4, ""), newSlot(t, "b", 2, "")}}
		arrives, jobs, promised := backfill.Time(0), 0, map[backfill.JobID]backfill.Time{}
		for range 40 {
			if draw(5, "switch") == 0 {
				policy = rapid.SampledFrom(names).Draw(r, "to")
				require.NoError(r, n.Change(change(t, policy, "sjf",
					rapid.SampledFrom(someSettings).Draw(r, "estimators"))))
			}
			if d.Now == arrives {
				for range 1 + draw(3, "arrivals") {
					jobs++
					job := newJob(t, jobs, 1+draw(4, "cpus"), "")
					job.Submit, job.Estimate = d.Now, 1+backfill.Time(draw(15, "estimate"))
					d.Submitted = append(d.Submitted, job)
				}
				arrives += 1 + backfill.Time(draw(4, "pause"))
			}
			report, err := n.RunCycle(t.Context(), d)
			require.NoError(r, err)
			require.Empty(r, report.Decision.Broken)
			checkTimes(r, n, nil)
			checkOutlook(r, n)
			if _, guarantees := n.State().Policy(); guarantees {
				require.Empty(r, report.Lifted())
			} else {
				clear(promised)
			}
			next := Delta{Now: min(arrives, max(d.Now, n.NextWake()))}
			running := n.Checkpoint().Jobs
			for _, s := range running {
				switch latest, known := promised[s.Job.ID]; {
				case s.Promised && !s.Running && !known:
					promised[s.Job.ID] = s.Guarantee
				case s.Promised && !s.Running:
					require.Equal(r, latest, s.Guarantee)
				case s.Running && known:
					require.LessOrEqual(r, s.Start, latest)
				}
				if s.Running {
					next.Now = min(next.Now, s.Start+min(made(s.Job.ID), s.Job.Estimate))
				}
			}
			for _, s := range running {
				if s.Running && s.Start+min(made(s.Job.ID), s.Job.Estimate) <= next.Now {
					next.Completed = append(next.Completed, s.Job.ID)
				}
			}
			d = next
		}
	})
}

// made draws a run time for a job.
func made(id backfill.JobID) backfill.Time { return 1 + backfill.Time(id*7%13) }

// twins are two negotiators, one with estimators and one without.
func twins(t *testing.T, r *rapid.T, policy string) (with, without *Negotiator) {
	t.Helper()
	with = predicting(t, policy, "fcfs", rapid.SampledFrom(someSettings).Draw(r, "settings"), nil)
	with.predictions.actual = made
	return with, predicting(t, policy, "fcfs", estimate.Settings{}, nil)
}

// checkKept finds guarantees that are broken without a cause: no slot was lost or changed, no job
// was found, failed to start, came back or was edited, and none runs for longer than it requests.
func checkKept(r *rapid.T, before Checkpoint, d Delta, report *Report, reported map[backfill.JobID]bool) {
	excused := len(d.SlotsUp)+len(d.SlotsDown)+len(d.StartFailed)+len(d.Found)+len(d.Changed)+len(d.Ends) > 0
	for _, s := range before.Jobs {
		over := s.Start+s.Job.Estimate <= d.Now || reported[s.Job.ID] && s.End <= d.Now
		excused = excused || s.Running && over && !slices.Contains(d.Completed, s.Job.ID) || // it exceeds its request
			!s.Running && s.Placement != nil && s.Start < d.Now // it was not woken in time
	}
	if !excused {
		require.Empty(r, report.Decision.Broken)
	}
	for _, b := range report.Decision.Broken {
		require.NotEqual(r, backfill.CauseNone, b.Cause)
	}
}

// checkTimes: under guarantees all jobs are planned with requested times, unless the pool reported
// a job's end.
func checkTimes(r *rapid.T, n *Negotiator, reported map[backfill.JobID]bool) {
	_, guarantees := n.State().Policy()
	for _, s := range n.State().Snapshot().Jobs {
		job := n.Job(s.Job.ID)
		if guarantees {
			require.Equal(r, [3]backfill.Time{job.Estimate, 0, job.Limit},
				[3]backfill.Time{s.Job.Estimate, s.Job.Running, s.Job.Limit}, "job %d", s.Job.ID)
		}
		if guarantees && s.Running && !reported[s.Job.ID] {
			require.GreaterOrEqual(r, s.End, s.Start+job.Estimate, "job %d", s.Job.ID)
		}
		if !s.Running && s.Placement != nil {
			require.Equal(r, s.Start+s.Job.Estimate, s.End)
		}
		require.LessOrEqual(r, s.Job.Estimate, job.Estimate)
	}
}

// checkNoneLost: every job that has not ended or been removed is known.
func checkNoneLost(r *rapid.T, n *Negotiator, before Checkpoint, d Delta) {
	for _, s := range before.Jobs {
		gone := slices.Contains(d.Completed, s.Job.ID) || slices.Contains(d.Removed, s.Job.ID)
		_, known := n.State().Reason(s.Job.ID)
		require.Equal(r, !gone, known, fmt.Sprint("job ", s.Job.ID))
	}
}

// TestPredictedInPlace: a job that is predicted again is ordered by the last run time, and counts once
// among those that are ordered apart, or not any more.
func TestPredictedInPlace(t *testing.T) {
	ran := map[backfill.JobID]backfill.Time{1: 4}
	n := predicting(t, "conservative", "sjf", estimate.Settings{Order: "accurate"}, ran)
	cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 2, "")}, Submitted: []*Job{newJob(t, 1, 4, "")}})
	p, planned := n.predictions, n.State().Job(1)
	require.EqualValues(t, 4, p.ordered(planned).Estimate)
	for _, next := range []backfill.Time{4, 7, planned.Estimate, 5} {
		ran[1] = next
		_, now := p.predict(p.jobs.get(1))
		require.Equal(t, next, now.Order)
		require.Equal(t, now, usesOf(p.known.Find(1), planned.Estimate))
		require.Equal(t, next, p.ordered(planned).Estimate)
		apart := 0
		if next != planned.Estimate {
			apart = 1
		}
		require.Equal(t, apart, p.apart)
	}
}
