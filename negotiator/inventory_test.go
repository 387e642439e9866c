package negotiator

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

// newBundle is a bundle of slots of 2 cpus. It accepts jobs that no smaller one could hold.
func newBundle(tb testing.TB, name, more string, slots ...string) *Bundle {
	tb.Helper()
	cpus := 2 * len(slots)
	text := fmt.Sprintf("Name = %q; Cpus = %d; Requirements = TARGET.RequestCpus <= MY.Cpus && TARGET.RequestCpus "+
		"> MY.Cpus / 2; %s", name, cpus, more)
	return &Bundle{Name: name, Slots: slots, Ad: ad(tb, text)}
}

// partitioned is a machine of four slots in a row. Its bundles are pairs of neighbours, and all.
func partitioned(tb testing.TB) Delta {
	tb.Helper()
	var d Delta
	for _, name := range []string{"a", "b", "c", "d"} {
		d.SlotsUp = append(d.SlotsUp, newSlot(tb, name, 2, ""))
	}
	d.Bundles = []*Bundle{
		newBundle(tb, "bc", "", "c", "b"), newBundle(tb, "ab", "", "a", "b"),
		newBundle(tb, "cd", "Side = \"right\"", "c", "d"),
		newBundle(tb, "all", "", "a", "b", "c", "d"),
	}
	return d
}

func TestJobsTakeBundles(t *testing.T) {
	n := newNegotiator(t)
	d := partitioned(t)
	cycle(t, n, d)
	r := cycle(t, n, Delta{Submitted: []*Job{
		newJob(t, 1, 3, ""), newJob(t, 2, 4, ""), newJob(t, 3, 5, ""), newJob(t, 4, 9, ""),
		newJob(t, 5, 4, `Requirements = TARGET.Side == "left"`),
	}})
	require.Equal(t, []string{"1.1@ab×1", "1.2@cd×1"}, started(r), "each blocks one other; bc would block both")
	require.Same(t, d.Bundles[1], r.Matches[0].Placement[0].Bundle)
	require.Equal(t, []string{"a", "b"}, r.Matches[0].Placement[0].Slots())
	require.Equal(t, backfill.Vector{8, 4000}, r.State.Use(), "all that the slots have")
	require.Equal(t, []string{
		"1.4: matches no bundle: the Requirements of all 4 refuse it: TARGET.RequestCpus <= MY.Cpus",
		`1.5: matches no bundle: true on none of 4: TARGET.Side == "left"`,
	}, []string{r.Held[0].Job.Name + ": " + r.Held[0].Reason, r.Held[1].Job.Name + ": " + r.Held[1].Reason})
	_, at, _ := n.State().Planned(3)
	require.Equal(t, "all", n.State().DescribePlacement(at))
	fit, _ := n.Fit(5)
	require.Equal(t, matchmaker.Fit{
		Slots: 4, Refusing: 1,
		Refusals: []matchmaker.Refusal{{Attribute: "Requirements", Text: "TARGET.RequestCpus > MY.Cpus / 2", Slots: 1}},
		Clauses:  []matchmaker.Clause{{Text: `TARGET.Side == "left"`, Met: 0}},
	}, fit)

	r = cycle(t, n, Delta{Now: 3, Completed: ids{1, 2}})
	require.Equal(t, []string{"1.3@all×1"}, started(r))
}

// A bundle that refers to a new job attribute makes the jobs be clustered anew.
func TestABundleThatTellsJobsApart(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, partitioned(t))
	r := cycle(t, n, Delta{Submitted: []*Job{
		newJob(t, 1, 8, ""), newJob(t, 2, 1, "Owner = \"eve\""),
		newJob(t, 3, 1, "Owner = \"bob\""),
	}})
	require.Equal(t, []string{"1.1@all×1"}, started(r))
	require.Len(t, r.Held, 2)
	eves := &Bundle{Name: "d", Slots: []string{"d"}, Ad: ad(t, `Requirements = TARGET.Owner == "eve"`)}
	r = cycle(t, n, Delta{Now: 2, Bundles: []*Bundle{eves}})
	require.Empty(t, r.Matches)
	require.Equal(t, "reserved", why(t, n, 2))
	require.Equal(t, "held", why(t, n, 3))
	r = cycle(t, n, Delta{Now: 4, Completed: ids{1}})
	require.Equal(t, []string{"1.2@d×1"}, started(r))
}

// A slot that goes ends the job that ran on its bundle.
func TestASlotOfABundleGoes(t *testing.T) {
	n := newNegotiator(t)
	d := partitioned(t)
	cycle(t, n, d)
	r := cycle(t, n, Delta{Submitted: []*Job{newJob(t, 1, 4, ""), newJob(t, 2, 4, "")}})
	require.Equal(t, []string{"1.1@ab×1", "1.2@cd×1"}, started(r))
	r = cycle(t, n, Delta{Now: 2, SlotsDown: []string{"c"}})
	require.Empty(t, r.Matches)
	require.Equal(t, "runs", why(t, n, 1))
	require.Equal(t, "reserved", why(t, n, 2))
	r = cycle(t, n, Delta{Now: 3, SlotsUp: d.SlotsUp[2:3]})
	require.Equal(t, []string{"1.2@cd×1"}, started(r))
}

func TestJobsFoundOnBundles(t *testing.T) {
	n := newNegotiator(t)
	d := partitioned(t)
	cycle(t, n, d)
	r := cycle(t, n, Delta{
		Now: 3,
		Found: []Running{{
			Job: newJob(t, 1, 4, ""), Placement: Placement{{Bundle: d.Bundles[0], Count: 1}}, Start: 1,
		}},
		Submitted: []*Job{newJob(t, 2, 3, "QDate = 3")},
	})
	require.Empty(t, r.Matches, "bc is in the way of ab and cd")
	require.Equal(t, "runs", why(t, n, 1))
	require.EqualValues(t, 11, n.NextWake())
}

func TestBundlesThatCannotBe(t *testing.T) {
	n := newNegotiator(t)
	d := partitioned(t)
	cycle(t, n, d)
	r := cycle(t, n, Delta{SlotsDown: []string{"d"}, Submitted: []*Job{newJob(t, 1, 4, "")}})
	require.Equal(t, []string{"1.1@ab×1"}, started(r))
	before := textOf(n.Checkpoint())
	found := func(cpus int, more string, at ...Chunks) Delta {
		return Delta{Now: 4, Found: []Running{{Job: newJob(t, 4, cpus, more), Placement: at}}}
	}
	bc, cd := Chunks{Bundle: d.Bundles[0], Count: 1}, Chunks{Bundle: d.Bundles[2], Count: 1}
	for want, d := range map[string]Delta{
		"bundle ab came twice: bundles never change": {
			Now:     4,
			Bundles: []*Bundle{newBundle(t, "ab", "", "a", "c")},
		},
		"bundle x came twice": {
			Now:     4,
			Bundles: []*Bundle{newBundle(t, "x", "", "a"), newBundle(t, "x", "", "b")},
		},
		"bundles ab and ba have the same slots": {
			Now:     4,
			Bundles: []*Bundle{newBundle(t, "ba", "", "b", "a")},
		},
		"bundle x: there is no slot z": {
			Now:     4,
			Bundles: []*Bundle{newBundle(t, "x", "", "a", "z")},
		},
		"bundle x: slot a is in it twice": {
			Now:     4,
			Bundles: []*Bundle{newBundle(t, "x", "", "a", "a")},
		},
		"bundle x has no slots": {Now: 4, Bundles: []*Bundle{newBundle(t, "x", "")}},
		"bundle x has no ad": {
			Now:     4,
			Bundles: []*Bundle{{Name: "x", Slots: []string{"a"}}},
		},
		"slot a of a bundle came up with [3 1000], and had [2 1": {Now: 4, SlotsUp: []*Slot{newSlot(t, "a", 3, "")}},
		"job 1.4: 2 chunks: in a pool with bundles": {
			Now:       4,
			Submitted: []*Job{newJob(t, 4, 1, "MinHosts = 2")},
		},
		"job 1.4 runs, but not on one bundle": found(4,
			"", Chunks{Slot: partitioned(t).SlotsUp[0], Count: 1}),
		"job 1.4 runs, but slot d of bundle cd is not there": found(4, "", cd),
		"job 1.4 runs, but bundle x is not there": found(4,
			"", Chunks{Bundle: &Bundle{Name: "x"}, Count: 1}),
		"job 1.4 runs, but not on one bundle: ": found(4, "", bc, bc),
	} {
		_, err := n.RunCycle(t.Context(), d)
		require.ErrorContains(t, err, want)
		require.Equal(t, before, textOf(n.Checkpoint()), want)
	}

	late, _ := busy(t)
	_, err := late.RunCycle(t.Context(), Delta{Now: 4, Bundles: []*Bundle{newBundle(t, "x", "", "a")}})
	require.ErrorContains(t, err, "the first bundles came, and there are jobs")
	require.ErrorContains(t, err, "cannot be true")
	_, err = late.RunCycle(t.Context(),
		Delta{Now: 4, Found: []Running{{Job: newJob(t, 9, 1, ""), Placement: Placement{bc}}}})
	require.ErrorContains(t, err, "on a slot that is none")
}

// TestRestoreWithBundles: a restored negotiator continues as the former one would have, at any time
// and whatever slots come and go.
func TestRestoreWithBundles(t *testing.T) {
	for _, policy := range []string{"easy", "conservative", "drain"} {
		t.Run(policy, rapid.MakeCheck(func(r *rapid.T) {
			one := restored(t, configured(t, policy, "fcfs"), Checkpoint{})
			d := partitioned(t)
			cycle(t, one, d)
			down := map[string]bool{}
			id := 0
			for now := backfill.Time(1); now < 12; now++ {
				next := Delta{Now: now}
				for i, name := range []string{"a", "b", "c", "d"} {
					switch turn := rapid.IntRange(0, 5).Draw(r, "turn") == 0; {
					case turn && down[name]:
						next.SlotsUp = append(next.SlotsUp, d.SlotsUp[i])
						down[name] = false
					case turn:
						next.SlotsDown = append(next.SlotsDown, name)
						down[name] = true
					}
				}
				for range rapid.IntRange(0, 2).Draw(r, "jobs") {
					id++
					next.Submitted = append(next.Submitted,
						newJob(t, id, rapid.IntRange(1, 8).Draw(r, "cpus"),
							fmt.Sprintf("QDate = %d; EstimatedRunTime = %d",
								now, rapid.IntRange(1, 5).Draw(r, "estimate"))))
				}
				other := restored(t, configured(t, policy, "fcfs"), one.Checkpoint())
				require.Equal(r, textOf(one.Checkpoint()), textOf(other.Checkpoint()))
				want, err := one.RunCycle(t.Context(), next)
				require.NoError(r, err)
				got, err := other.RunCycle(t.Context(), next)
				require.NoError(r, err)
				require.Equal(r, outcome(one, want), outcome(other, got))
			}
		}))
	}
}

func TestRestoreRefusesBundles(t *testing.T) {
	d := partitioned(t)
	job := newJob(t, 1, 4, "")
	m := Checkpoint{Now: 5, Policy: "easy", Slots: d.SlotsUp[:3], Bundles: d.Bundles, Jobs: []JobCheckpoint{
		{Job: job, Placement: Placement{{Bundle: d.Bundles[2], Count: 1}}, Standing: backfill.Standing{Running: true, Start: 1, End: 11}},
	}}
	_, err := Restore(configured(t, "easy", "fcfs"), m)
	require.ErrorContains(t, err, "restore: bundle cd: there is no slot d")
	m.Away = d.SlotsUp[3:]
	_, err = Restore(configured(t, "easy", "fcfs"), m)
	require.ErrorContains(t, err, "restore: job 1.1: slot d of bundle cd is not there")
	m.Jobs[0].Placement[0].Bundle = d.Bundles[0]
	n := restored(t, configured(t, "easy", "fcfs"), m)
	require.Equal(t, "runs", why(t, n, 1))
	require.False(t, n.State().SlotUp(3))
}
