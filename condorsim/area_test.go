package condorsim_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// onUnevenNodes puts jobs on two slots of 4 cpus, the second of which has most of the memory.
func onUnevenNodes(tb testing.TB, outages []pools.Outage, jobs ...workload.Job) *condorsim.Workload {
	tb.Helper()
	slots := slotsOf(tb, `Name = "a"; Cpus = 4; Memory = 1000; Requirements = true;;`+
		`Name = "b"; Cpus = 4; Memory = 9000; Requirements = true`)
	w, err := condorsim.OnPool(trace(jobs...),
		&pools.Description{Schema: negotiator.DefaultSchema(), Slots: slots, Outages: outages})
	require.NoError(tb, err)
	return w
}

// byArea is a configuration with the order area.
func byArea(tb testing.TB, policy string) negotiator.Config {
	tb.Helper()
	c := link(tb, policy, nil)
	var err error
	c.Order, err = negotiator.OrderNamed("area")
	require.NoError(tb, err)
	return c
}

// TestAreaOnWhatIsLeft: two jobs wait when slot b fails, and with it most of the memory. Of all that
// there was, the job that asks for memory takes less; of what is left, the one that asks for four
// cpus. If the slot is back before one of them can start, nothing has changed.
func TestAreaOnWhatIsLeft(t *testing.T) {
	jobs := func() []workload.Job {
		return []workload.Job{
			{Run: 20, Procs: 4},                       // on a
			{Run: 100, Procs: 4},                      // on b, the largest in any case
			{Submit: 5, Run: 20, Memory: 600},         // first 20 × 1/8, then 20 × 600/1000
			{Submit: 5, Run: 10, Procs: 4, Memory: 4}, // first 10 × 4/8, then 10 × 4/4
		}
	}
	for _, c := range []struct {
		outages []pools.Outage
		want    []string
	}{
		{nil, []string{"0-20 a×4", "0-100 b×4", "20-40 a×1", "40-50 a×4"}},
		{[]pools.Outage{fails(10, all, 1)}, []string{"0-20 a×4", "50-150 a×4", "30-50 a×1", "20-30 a×4"}},
		{[]pools.Outage{fails(10, 5, 1)}, []string{"0-20 a×4", "30-130 b×3 a×1", "15-35 b×1", "20-30 b×3 a×1"}},
	} {
		w := onUnevenNodes(t, c.outages, jobs()...)
		result, err := condorsim.Run(t.Context(), w, byArea(t, "fcfs"), nil)
		require.NoError(t, err)
		require.Equal(t, c.want, spans(result))
	}
}

// TestAreaWhateverFails checks under all policies that use the order, in every cycle of random
// simulations with outages, that the queue is in the order of area for the slots that are up; with
// estimators of its own, by their run times.
func TestAreaWhateverFails(t *testing.T) {
	area, err := backfill.OrderNamed("area")
	require.NoError(t, err)
	for _, policy := range policies.All() {
		if policy.IgnoresOrder {
			continue
		}
		t.Run(policy.Name, func(outer *testing.T) {
			rapid.Check(outer, func(t *rapid.T) {
				in := drawTrace(t)
				w := onUnevenNodes(outer, []pools.Outage{
					{Slots: []int{0}, MTBF: 30, MTTR: 10, Shape: 1},
					{Slots: []int{1}, MTBF: 40, MTTR: 5, Shape: 1},
					fails(backfill.Time(rapid.IntRange(0, 50).Draw(t, "at")), 10, 0, 1),
				}, in.Jobs...)
				w.GiveUpAfter = 2
				c := byArea(outer, policy.Name)
				accurate := rapid.Bool().Draw(t, "accurate")
				if accurate {
					c.Estimates, err = w.Estimators(estimate.Settings{Order: "accurate"}, policy.Guarantees, nil)
					require.NoError(t, err)
				}
				_, err = condorsim.Run(outer.Context(), w, c, nil, sink(func(r *negotiator.Report) error {
					s := r.State
					at := backfill.Moment{Now: s.Now(), Capacity: make(backfill.Vector, len(s.Resources()))}
					for _, slot := range s.Slots() {
						if s.SlotUp(slot.ID) {
							at.Capacity.AddScaled(slot.Capacity, 1)
						}
					}
					key := func(j *backfill.Job) float64 {
						if accurate {
							seen := *j
							seen.Estimate = max(w.Jobs[j.ID].Run, 1)
							j = &seen
						}
						key, _ := area(j, at)
						return key
					}
					queue := s.FirstWaiting(1 << 20)
					sorted := slices.SortedFunc(slices.Values(queue), func(a, b *backfill.Job) int {
						return cmp.Or(cmp.Compare(key(a), key(b)), backfill.Compare(a, b))
					})
					require.Equal(t, sorted, queue)
					return nil
				}))
				require.NoError(t, err)
			})
		})
	}
}
