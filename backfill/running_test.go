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

// What is expected of a job that runs need not be what it was placed by.

// predicted is a job that is expected to run for so long once it does.
func predicted(j *backfill.Job, running backfill.Time) *backfill.Job {
	j.Running = running
	return j
}

// TestOverrunOfAPrediction doubles what a running job was expected to run for, up to
// its limit; a job that was found is expected to end as if it had been started.
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
		{10, 25, 0, 0, 25}, // longer than the limit
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

// TestGiveWay starts a job that is expected to run for longer than it was backfilled
// for: what the pivot was reserved is void, and reserved anew when something happens.
// Until then the reservation stands, for those who come later in the same pass.
func TestGiveWay(t *testing.T) {
	for _, policy := range []string{"easy", "bb", "ibb", "best-fit", "maui"} {
		t.Run(policy, func(t *testing.T) {
			s := newState(t, cpus(10))
			h := newHost(t, s, policy, "fcfs")
			d := decide(t, h, 0, submitted(
				job(1, 0, 100, 6),                   // runs
				job(2, 0, 10, 10),                   // the pivot
				predicted(job(3, 0, 50, 2), 300),    // is backfilled
				job(4, 0, 101, 1),                   // would come too late
				predicted(job(5, 0, 100, 1), 1_000), // is backfilled as well
			)...)
			start, _, planned := s.Planned(2)
			if policy == "best-fit" { // it reserves for nobody
				require.Equal(t, []backfill.JobID{1, 3, 4, 5}, startedIDs(d))
				require.Equal(t, backfill.Time(100), s.NextWake())
				return
			}
			require.Equal(t, []backfill.JobID{1, 3, 5}, startedIDs(d))
			require.False(t, planned, "it was reserved for %d", start)
			require.Equal(t, backfill.Time(300), jobState(t, s, 3).End)
			require.Equal(t, backfill.Time(1_000), jobState(t, s, 5).End)
			require.Equal(t, backfill.Time(100), s.NextWake(), "nothing happens before")

			d = decide(t, h, 1, submitted(job(6, 1, 10, 10))...)
			start, _, planned = s.Planned(2)
			require.True(t, planned)
			require.Equal(t, backfill.Time(1_000), start)
			require.Equal(t, []backfill.JobID{4}, startedIDs(d))
			require.Equal(t, backfill.Time(100), s.NextWake())
		})
	}
}

// TestExtraGoesByTheEstimate backfills beside a pivot that leaves two cpus unused: what
// is left of them for the rest of the pass follows from the estimates by which jobs are
// placed, and from what is expected of their runs when the next pass comes.
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

// A decision that is refused after all leaves the reservation.
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

// TestNoGuaranteeRestsOnAPrediction: under a policy that gives guarantees it makes no
// difference what is expected of jobs that run.
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

// TestPromisesBeginWithoutPredictions puts a policy that gives guarantees in charge of
// jobs whose ends were predicted: they are planned with what they request, so that no
// promise breaks as long as they keep to that.
func TestPromisesBeginWithoutPredictions(t *testing.T) {
	for _, tt := range []struct {
		name    string
		change  []backfill.Event // told along with the change of the policy
		promise backfill.Time
	}{
		{"not told", nil, 100},
		{"told", []backfill.Event{{Kind: backfill.EstimateChanged, JobID: 1, End: 70}}, 70},
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

// TestForgettingChangesNothing drops what a policy remembers at any moment, in pools
// in which jobs are expected to run for longer or shorter than their estimates.
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
						h.State = h.State.Clone() // it has no memo
					}
					decision, err := h.Decide(t.Context(), d.Round(h.State))
					require.NoError(rt, err)
					decision.Actions = slices.Clone(decision.Actions)
					decisions = append(decisions, decision)
				}
				return decisions
			}
			require.Equal(rt, run(false), run(true))
		}))
	}
}

// A reservation that was given up and made again stays in the journal if a job was
// started in between where it would have been in the way: of the start, which is
// checked through the estimate, not of the run.
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
	require.NoError(t, c.Replay(d.Actions))
	_, err = c.Close()
	require.NoError(t, err)
	require.Equal(t, factsOf(s, 1), factsOf(copied, 1))
}
