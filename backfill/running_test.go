package backfill_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
)

// The tests in this file are about jobs that are expected to run for another time than the estimate
// by which they are placed.

// predicted sets for how long a job is expected to run once it runs, and returns the job.
func predicted(j *backfill.Job, running backfill.Time) *backfill.Job {
	j.Running = running
	return j
}

// TestOverrunOfAPrediction checks that the expected run time of a job that outlives it is doubled,
// up to the limit, and that a found job is expected to end as one that was started.
func TestOverrunOfAPrediction(t *testing.T) {
	for _, tt := range []struct{ estimate, running, limit, now, want backfill.Time }{
		{10, 3, 0, 0, 3},
		{10, 3, 0, 3, 6},
		{10, 3, 0, 6, 10}, // not 12: the estimate is the limit
		{10, 3, 0, 10, 20},
		{10, 3, 100, 6, 12},
		{10, 3, 100, 50, 96},
		{10, 3, 100, 96, 100},
		{10, 3, 100, 100, 200},
		{10, 25, 100, 0, 25},
		{10, 25, 100, 25, 50},
		{10, 25, 0, 0, 25}, // expected to outlive the limit, which is the estimate
		{10, 25, 0, 25, 40},
		{10, 10, 0, 10, 20},
	} {
		t.Run(fmt.Sprintf("%d running %d limit %d now %d", tt.estimate, tt.running, tt.limit, tt.now),
			func(t *testing.T) {
				const start = 1000
				j := predicted(job(1, start, tt.estimate, 1), tt.running)
				j.Limit = tt.limit
				s := newState(t, cpus(4))
				h := newHost(t, s, "easy", "fcfs")
				decide(t, h, start, submitted(j)...)
				require.Equal(t, start+tt.running, jobState(t, s, 1).End)
				decide(t, h, start+tt.now)
				require.Equal(t, start+tt.want, jobState(t, s, 1).End)
				require.Equal(t, cpus(3), s.Free(0, start+tt.want-1))
				require.Equal(t, cpus(4), s.Free(0, start+tt.want))

				s = newState(t, cpus(4))
				decide(t, newHost(t, s, "easy", "fcfs"), start+tt.now, found(j, on(0, 1), start, 0))
				if tt.running <= max(tt.limit, tt.estimate) { // else it is expected to end at its limit
					require.Equal(t, start+tt.want, jobState(t, s, 1).End)
				}
			})
	}
}

func TestWhatIsExpectedOfARunIsBounded(t *testing.T) {
	for _, running := range []backfill.Time{-1, 1<<40 + 1} {
		_, err := newState(t, cpus(1)).Open(backfill.Round{Events: submitted(predicted(job(1, 0, 10, 1), running))})
		require.ErrorContains(t, err, fmt.Sprintf("job 1: estimate of %d s for when it runs: must be from 0 to",
			running))
	}
}

// TestGiveWay checks what becomes of the pivot's reservation if a backfilled job is expected to run
// longer than its estimate, past the start of the reservation. The reservation stands until the end
// of the pass, so later jobs of the pass must not delay it. Then it is given up, and the next round
// makes a new one.
func TestGiveWay(t *testing.T) {
	for _, policy := range []string{"easy", "bb", "ibb", "best-fit", "maui"} {
		t.Run(policy, func(t *testing.T) {
			s := newState(t, cpus(10))
			h := newHost(t, s, policy, "fcfs")
			d := decide(t, h, 0, submitted(
				job(1, 0, 100, 6),                   // runs
				job(2, 0, 10, 10),                   // the pivot
				predicted(job(3, 0, 50, 2), 300),    // is backfilled
				job(4, 0, 101, 1),                   // would end too late
				predicted(job(5, 0, 100, 1), 1_000), // is backfilled as well
			)...)
			start, _, planned := s.Planned(2)
			if policy == "best-fit" { // it makes no reservations
				require.Equal(t, []backfill.JobID{1, 3, 4, 5}, startedIDs(d))
				require.Equal(t, backfill.Time(100), s.NextWake())
				return
			}
			require.Equal(t, []backfill.JobID{1, 3, 5}, startedIDs(d))
			require.False(t, planned, "it was reserved for %d", start)
			require.Equal(t, backfill.Time(300), jobState(t, s, 3).End)
			require.Equal(t, backfill.Time(1_000), jobState(t, s, 5).End)
			require.Equal(t, backfill.Time(100), s.NextWake(), "the end of job 1 is the next event")

			d = decide(t, h, 1, submitted(job(6, 1, 10, 10))...)
			start, _, planned = s.Planned(2)
			require.True(t, planned)
			require.Equal(t, backfill.Time(1_000), start)
			require.Equal(t, []backfill.JobID{4}, startedIDs(d))
			require.Equal(t, backfill.Time(100), s.NextWake())
		})
	}
}

// TestExtraGoesByTheEstimate backfills jobs on the two cpus that the pivot will leave unused. It
// checks that the estimates of the started jobs say how much of them is left in the same pass, and
// their expected run times how much is left in the next pass.
func TestExtraGoesByTheEstimate(t *testing.T) {
	for _, tt := range []struct {
		name          string
		first, second *backfill.Job
		now, next     []backfill.JobID
	}{
		{"shorter", predicted(job(3, 0, 200, 1), 50), job(4, 0, 200, 2), []backfill.JobID{1, 3}, []backfill.JobID{4}},
		{"longer", predicted(job(3, 0, 50, 2), 300), job(4, 0, 200, 2), []backfill.JobID{1, 3, 4}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newState(t, cpus(10))
			h := newHost(t, s, "easy", "fcfs")
			d := decide(t, h, 0, submitted(job(1, 0, 100, 6), job(2, 0, 10, 8), tt.first, tt.second)...)
			require.Equal(t, tt.now, startedIDs(d))
			require.Equal(t, tt.first.Running, jobState(t, s, 3).End)
			d = decide(t, h, 1, submitted(job(5, 1, 10, 10))...)
			require.Equal(t, tt.next, startedIDs(d))
		})
	}
}

// TestGiveWayIsUndone checks that a reservation stands if the decision that would make it void is
// refused.
func TestGiveWayIsUndone(t *testing.T) {
	s := newState(t, cpus(10))
	h := newHost(t, s, "easy", "fcfs")
	decide(t, h, 0, submitted(job(1, 0, 100, 6), job(2, 0, 10, 10))...)
	before := factsOf(s, 0)
	three := predicted(job(3, 0, 50, 2), 300)
	start := func(c *backfill.Cycle) { c.Start(three, on(0, 1)) }
	_, err := attempt(t, s, backfill.Round{Now: 1, Events: submitted(three)}, func(c *backfill.Cycle) {
		start(c)
		c.Start(three, on(0, 1))
	})
	require.Error(t, err)
	require.Equal(t, before, factsOf(s, 0))
	accept(t, s, backfill.Round{Now: 1, Events: submitted(three)}, start)
	_, _, planned := s.Planned(2)
	require.False(t, planned)
	require.Equal(t, backfill.Time(100), s.NextWake())
}

// TestNoGuaranteeRestsOnAPrediction checks that a policy that gives guarantees decides the same
// with and without expected run times.
func TestNoGuaranteeRestsOnAPrediction(t *testing.T) {
	for _, spec := range policies.All() {
		if !spec.Guarantees {
			continue
		}
		t.Run(spec.Name, rapid.MakeCheck(func(rt *rapid.T) {
			seed, calm := rapid.Uint64().Draw(rt, "seed"), rapid.Bool().Draw(rt, "calm")
			run := func(strip bool) (told []string) {
				d := conformance.NewDriver(seed)
				d.Calm, d.Predicted = calm, true
				h := newOrderedHost(t, d, link(t, spec.Name, nil), order(t, "fcfs"))
				for range 30 {
					r := d.Round(h.State)
					for i := range r.Events {
						if j := r.Events[i].Job; j != nil && strip {
							r.Events[i].Job = predicted(new(*j), 0)
						}
					}
					decision, err := h.Decide(t.Context(), r)
					require.NoError(rt, err)
					for _, j := range h.State.Snapshot().Jobs {
						told = append(told, fmt.Sprint(j.Job.ID, j.Running, j.Placement, j.Start, j.End, j.Guarantee))
					}
					told = append(told, fmt.Sprint(decision.Actions))
				}
				return told
			}
			require.Equal(rt, run(true), run(false))
		}))
	}
}

// TestPromisesBeginWithoutPredictions changes to a policy that gives guarantees while a job runs
// whose end was predicted. From then on the job is expected to end at its requested time, or when
// the same round says, and not at the prediction. No guarantee breaks as long as it ends by then.
func TestPromisesBeginWithoutPredictions(t *testing.T) {
	for _, tt := range []struct {
		name    string
		change  []backfill.Event // in the round of the change of policy
		promise backfill.Time
	}{
		{"expected to end at its limit", nil, 100},
		{"expected to end earlier", []backfill.Event{{Kind: backfill.EstimateChanged, JobID: 1, End: 70}}, 70},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newState(t, cpus(4))
			h := newHost(t, s, "easy", "fcfs")
			one := predicted(job(1, 0, 20, 4), 10)
			one.Limit = 100
			decide(t, h, 0, submitted(one, job(2, 0, 10, 4))...)
			require.Equal(t, backfill.Time(10), jobState(t, s, 2).Start)
			require.NoError(t, h.Change(order(t, "fcfs"), link(t, "conservative", nil), link(t, "conservative", nil)))
			decide(t, h, 5, tt.change...)
			require.Equal(t, tt.promise, jobState(t, s, 1).End)
			require.Equal(t, tt.promise, jobState(t, s, 2).Guarantee)
			d := decide(t, h, tt.promise, jobEvent(backfill.Completed, 1))
			require.Empty(t, d.Broken)
			require.Equal(t, []backfill.JobID{2}, startedIDs(d))
		})
	}
}

// TestForgettingChangesNothing checks that decisions are the same if the policy's memo is lost
// before some of the rounds, in pools in which jobs are expected to run for longer or shorter than
// their estimates.
func TestForgettingChangesNothing(t *testing.T) {
	for _, spec := range policies.All() {
		t.Run(spec.Name, rapid.MakeCheck(func(rt *rapid.T) {
			seed, calm := rapid.Uint64().Draw(rt, "seed"), rapid.Bool().Draw(rt, "calm")
			forget := rapid.SliceOfN(rapid.Bool(), 30, 30).Draw(rt, "forget")
			run := func(forgetful bool) (decisions []backfill.Decision) {
				d := conformance.NewDriver(seed)
				d.Calm, d.Predicted = calm, true
				h := newOrderedHost(t, d, link(t, spec.Name, nil), order(t, "fcfs"))
				for _, now := range forget {
					if forgetful && now {
						h.State = h.State.Clone() // a clone has no memo
					}
					decision, err := h.Decide(t.Context(), d.Round(h.State))
					require.NoError(rt, err)
					decision.Actions = slices.Clone(decision.Actions)
					decision.Started = slices.Clone(decision.Started)
					decisions = append(decisions, decision)
				}
				return decisions
			}
			require.Equal(rt, run(false), run(true))
		}))
	}
}

// TestReplayWithAShorterRun checks that a journal can be replayed in which a reservation is
// released and made again, with a start in between. Both entries are needed: the start is checked
// for the whole estimate of 20 s, for which the reservation at 10 would be in its way, although the
// job is expected to run for 5 s.
func TestReplayWithAShorterRun(t *testing.T) {
	s := newState(t, cpus(4))
	pivot, short := job(2, 0, 10, 4), predicted(job(3, 1, 20, 2), 5)
	accept(t, s, backfill.Round{Events: submitted(job(1, 0, 10, 2), pivot)}, func(c *backfill.Cycle) {
		c.Start(job(1, 0, 10, 2), on(0, 1))
		c.Reserve(pivot, 10, on(0, 1))
	})
	copied, r := s.Clone(), backfill.Round{Now: 1, Events: submitted(short)}
	d := accept(t, s, r, func(c *backfill.Cycle) {
		c.Release(pivot)
		c.Start(short, on(0, 1))
		c.Reserve(pivot, 10, on(0, 1))
	})
	c, err := copied.Open(r)
	require.NoError(t, err)
	require.NoError(t, c.Replay(t.Context(), d.Actions))
	_, err = c.Close()
	require.NoError(t, err)
	require.Equal(t, factsOf(s, 1), factsOf(copied, 1))
}
