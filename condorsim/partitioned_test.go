package condorsim_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

func machine(tb testing.TB, name string) *pools.Description {
	tb.Helper()
	p, err := pools.Open("../configs/pools/" + name + ".yaml")
	require.NoError(tb, err)
	return p
}

// tinyMachine is read once, as thousands of runs use it.
var tinyMachine = sync.OnceValue(func() *pools.Description {
	p, err := pools.Open("../configs/pools/tiny-bgp.yaml")
	if err != nil {
		panic(err)
	}
	return p
})

// tiny puts jobs on two rings of four midplanes of 4 processors. Its slots are the midplanes 0.0.0
// to 0.1.3 and the wires of the rings.
func tiny(tb testing.TB, outages []pools.Outage, jobs ...workload.Job) *condorsim.Workload {
	tb.Helper()
	w, err := condorsim.OnPool(trace(jobs...), tinyMachine())
	require.NoError(tb, err)
	w.Outages = outages
	return w
}

// TestTinyMachine compares with schedules worked out by hand.
func TestTinyMachine(t *testing.T) {
	const ring0, ring1 = 8, 9 // IDs of the wires
	job := func(procs, run int64) workload.Job { return workload.Job{Run: run, Procs: procs} }
	for _, c := range []struct {
		name    string
		outages []pools.Outage
		jobs    []workload.Job
		want    []string
	}{
		{
			"a pair closes its ring through the other: there is no room for a third", nil,
			[]workload.Job{job(8, 10), job(5, 10), job(8, 10), job(4, 10)},
			[]string{"0-10 8-0.0.0-0.0.1×1", "0-10 8-0.1.0-0.1.1×1", "10-20 8-0.0.0-0.0.1×1", "0-10 4-0.0.2×1"},
		},
		{
			"a midplane is chosen that blocks fewest others", nil,
			[]workload.Job{job(1, 10), job(2, 10), job(4, 10), job(3, 10), job(9, 10)},
			[]string{"0-10 4-0.0.0×1", "0-10 4-0.0.1×1", "0-10 4-0.0.2×1", "0-10 4-0.0.3×1", "0-10 16-0.1.0-0.1.3×1"},
		},
		{
			// The third job drains the machine from 0 to 100. The fifth ends just within the
			// window, the sixth a second too late.
			"others run within the window", nil,
			[]workload.Job{job(16, 100), job(4, 50), job(32, 10), job(16, 40), job(8, 100), job(4, 101)},
			[]string{
				"0-100 16-0.0.0-0.0.3×1", "0-50 4-0.1.0×1", "100-110 32-0.0.0-0.1.3×1",
				"110-150 16-0.0.0-0.0.3×1", "0-100 8-0.1.2-0.1.3×1", "110-211 4-0.1.0×1",
			},
		},
		{
			// The second job drains ring 1, which frees at 20, not at 30. The third job's partition
			// is not in conflict with it.
			"the partition that frees first is drained", nil,
			[]workload.Job{job(16, 30), job(8, 20), job(16, 5), job(4, 100), job(4, 10)},
			[]string{
				"0-30 16-0.0.0-0.0.3×1", "0-20 8-0.1.0-0.1.1×1", "20-25 16-0.1.0-0.1.3×1", "25-125 4-0.1.0×1",
				"0-10 4-0.1.2×1",
			},
		},
		{
			"wider than the machine", nil,
			[]workload.Job{job(33, 10), job(32, 10)},
			[]string{
				"held: matches no bundle: true on none of 15: TARGET.Cpus >= RequestCpus",
				"0-10 32-0.0.0-0.1.3×1",
			},
		},
		{
			"a midplane fails, and is back before the other ring is free",
			[]pools.Outage{fails(5, 10, 0)},
			[]workload.Job{job(16, 20), job(4, 20)},
			[]string{"15-35 16-0.0.0-0.0.3×1", "0-20 4-0.1.0×1"},
		},
		{
			"a wire fails: midplanes need none",
			[]pools.Outage{fails(5, 10, ring0)},
			[]workload.Job{job(8, 20), job(4, 20), job(32, 1)},
			[]string{"5-25 8-0.1.0-0.1.1×1", "0-20 4-0.0.2×1", "25-26 32-0.0.0-0.1.3×1"},
		},
		{
			"all wires are gone from the beginning",
			[]pools.Outage{fails(0, 7, ring0, ring1)},
			[]workload.Job{job(8, 20), job(4, 20)},
			[]string{"7-27 8-0.0.2-0.0.3×1", "0-20 4-0.0.0×1"},
		},
		{
			"a midplane is drained: what runs there goes on",
			[]pools.Outage{drains(5, 45, 0)},
			[]workload.Job{job(16, 20), {Submit: 5, Run: 1, Procs: 32}, {Submit: 25, Run: 1, Procs: 8}},
			[]string{"0-20 16-0.0.0-0.0.3×1", "50-51 32-0.0.0-0.1.3×1", "25-26 8-0.0.2-0.0.3×1"},
		},
	} {
		for _, policy := range []string{"easy", "drain"} {
			t.Run(c.name+"/"+policy, func(t *testing.T) {
				w := tiny(t, c.outages, c.jobs...)
				r, err := condorsim.Run(t.Context(), w, link(t, policy, nil), nil, newModel(t, w))
				require.NoError(t, err)
				require.Equal(t, c.want, spans(r))
			})
		}
	}
}

// Whatever fails, and under any policy, no two jobs ever share a slot, each has a partition of the
// smallest size that holds it, and no job is lost.
func TestNoPartitionsConflict(t *testing.T) {
	for _, policy := range policies.All() {
		t.Run(policy.Name, func(outer *testing.T) {
			rapid.Check(outer, func(t *rapid.T) {
				in := drawTrace(t)
				for i := range in.Jobs {
					in.Jobs[i].Procs = rapid.Int64Range(1, 33).Draw(t, "procs")
				}
				var outages []pools.Outage
				for range rapid.IntRange(0, 5).Draw(t, "outages") {
					o := fails(backfill.Time(rapid.Int64Range(0, 60).Draw(t, "at")),
						backfill.Time(rapid.Int64Range(1, 40).Draw(t, "for")), rapid.IntRange(0, 9).Draw(t, "slot"))
					o.Drain = rapid.Bool().Draw(t, "drain")
					if rapid.IntRange(0, 9).Draw(t, "by chance") == 0 {
						o = pools.Outage{Slots: o.Slots, MTBF: o.At + 20, MTTR: o.For, Shape: 1}
					}
					outages = append(outages, o)
				}
				w := tiny(outer, outages, in.Jobs...)
				w.Seed = rapid.Uint64().Draw(t, "seed")
				m := newModel(t, w)
				r, err := condorsim.Run(context.Background(), w, link(outer, policy.Name, nil), nil, m)
				require.NoError(t, err)
				require.Zero(t, r.Refusals)
				requireAccounted(t, m, r)
				requireApart(t, r)
			})
		})
	}
}

// requireApart checks the runs that count.
func requireApart(t require.TestingT, r *condorsim.Result) {
	for i, a := range r.Outcomes {
		if !a.Ended {
			continue
		}
		require.Len(t, a.Placement, 1)
		cpus, _ := a.Placement[0].Bundle.Ad.Int("Cpus")
		need := r.Workload.Jobs[i].Cpus
		require.True(t, need <= cpus && (cpus == 4 || need > cpus/2), "job of %d processors on %s", need, a.Placement)
		for n, b := range r.Outcomes[:i] {
			if b.Ended && a.Start < b.End && b.Start < a.End {
				require.False(t, slices.ContainsFunc(a.Placement[0].Slots(), func(s string) bool {
					return slices.Contains(b.Placement[0].Slots(), s)
				}), "jobs %d on %s and %d on %s", i, a.Placement, n, b.Placement)
			}
		}
	}
}

// TestTheAuditKnowsPartitions gives the audit starts that no pool may report.
func TestTheAuditKnowsPartitions(t *testing.T) {
	on := func(s *backfill.Started, slots ...backfill.SlotID) {
		s.Placement = nil
		for _, id := range slots {
			s.Placement = append(s.Placement, backfill.Chunks{Slot: id, Count: 1})
		}
	}
	for _, c := range []struct {
		name  string
		fault func(started []backfill.Started)
		says  string
	}{
		{"none", func([]backfill.Started) {}, ""},
		{
			"less than a partition", func(s []backfill.Started) { on(&s[0], 0, 1) },
			"job 1: started on the slots [m-0.0.0 m-0.0.1], which are no partition",
		},
		{
			"too small", func(s []backfill.Started) { on(&s[0], 3) },
			"job 1: started on a partition of 4 cpus ([m-0.0.3]), and needs 8",
		},
		{
			"twice", func(s []backfill.Started) { s[0].Placement[0].Count = 2 },
			"job 1: started with 2 chunks on slot m-0.0.0",
		},
		{
			"a shared midplane", func(s []backfill.Started) { on(&s[1], 0) },
			"job 2: started on slot m-0.0.0, of which [8 0] is now in use and [4 0] there",
		},
		{
			"a shared wire", func(s []backfill.Started) { on(&s[1], 2, 3, 8) },
			"job 2: started on slot z-0.0, of which [0 2] is now in use and [0 1] there",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := tiny(t, nil, workload.Job{Run: 5, Procs: 8}, workload.Job{Run: 5, Procs: 3})
			books, _ := condorsim.Audited(w)
			_, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil, sink(func(r *negotiator.Report) error {
				r.Decision.Started = slices.Clone(r.Decision.Started)
				for i := range r.Decision.Started {
					r.Decision.Started[i].Placement = slices.Clone(r.Decision.Started[i].Placement)
				}
				if len(r.Decision.Started) == 2 {
					c.fault(r.Decision.Started)
				}
				return books.Cycle(r)
			}))
			if c.says == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.says)
			}
		})
	}
}

// A job of more than one chunk is refused on a partitioned machine.
func TestGangsOnPartitions(t *testing.T) {
	w := tiny(t, nil, workload.Job{Run: 5})
	w.Jobs[0].Nodes = 2
	_, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil)
	require.ErrorContains(t, err, "job 1: 2 chunks: on a partitioned machine a job has one")
}

func TestPartitionsAreNotCounted(t *testing.T) {
	w := tiny(t, nil, workload.Job{Run: 5})
	c := link(t, "conservative", nil)
	_, err := condorsim.CountEvents(w, &c)
	require.ErrorContains(t, err, "the pool has 15 partitions")
}

// Utilisation counts what jobs requested; what they held is another measure.
func TestUtilisationOfPartitions(t *testing.T) {
	w := tiny(t, nil, workload.Job{Run: 10, Procs: 5}, workload.Job{Run: 10, Procs: 16})
	r, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil)
	require.NoError(t, err)
	m := r.Measures()
	require.InDelta(t, 21./32, m["utilisation"], 1e-12)
	require.InDelta(t, 24./32, m["utilisation_partitions"], 1e-12)
	require.InDelta(t, 2./2, m["utilisation_wires"], 1e-12)
}

// TestFairStartsOnPartitions finds fair start times on partitions. No job comes after the last one,
// so its fair start is its own.
func TestFairStartsOnPartitions(t *testing.T) {
	w := tiny(t, nil, workload.Job{Run: 10, Procs: 16}, workload.Job{Submit: 1, Run: 10, Procs: 32},
		workload.Job{Submit: 2, Run: 8, Procs: 8}, workload.Job{Submit: 3, Run: 30, Procs: 4})
	r, err := condorsim.RunFair(t.Context(), w, link(t, "drain", nil), condorsim.Fair{Strict: true, Relaxed: true})
	require.NoError(t, err)
	require.Equal(t, []string{
		"0-10 16-0.0.0-0.0.3×1", "10-20 32-0.0.0-0.1.3×1", "2-10 8-0.1.0-0.1.1×1",
		"20-50 4-0.0.0×1",
	}, spans(r))
	require.Equal(t, []backfill.Time{0, 10, 2, 20}, r.StrictFST)
	require.Equal(t, []backfill.Time{0, 10, 20, 20}, r.RelaxedFST)
}

// TestPartitionsForSomeUsers runs a job with an owner on partitions whose ads ask for owners.
func TestPartitionsForSomeUsers(t *testing.T) {
	pool := describe(t, strings.ReplaceAll(`kind: partitioned
classes: [{name: n, count: 2, cpus: 4}]
partitions:
  - {name: for-7, slots: [n1], start: TARGET.Owner == "7"}
  - {name: other, slots: [n2]}
`, "\t", ""))
	w, err := condorsim.OnPool(trace(workload.Job{Run: 5, User: "6"}, workload.Job{Run: 5, User: "6"},
		workload.Job{Run: 5, User: "7"}), pool)
	require.NoError(t, err)
	r, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil, newModel(t, w))
	require.NoError(t, err)
	require.Equal(t, []string{"0-5 other×1", "5-10 other×1", "0-5 for-7×1"}, spans(r))
}

// BenchmarkIntrepid runs jobs of the widths that Intrepid has seen, most of them a rack or less,
// under the policy that ran there and under others.
func BenchmarkIntrepid(b *testing.B) {
	pool := machine(b, "intrepid")
	in := madeUp(2000)
	for i := range in.Jobs {
		in.Jobs[i].Submit *= 2 // otherwise the machine is overloaded
		in.Jobs[i].Procs *= cmp.Or(int64(i%3)*2048, 512)
	}
	for _, policy := range []string{"drain", "easy", "conservative"} {
		b.Run(policy, func(b *testing.B) {
			for b.Loop() {
				w, err := condorsim.OnPool(in, pool)
				require.NoError(b, err)
				_, err = condorsim.Run(b.Context(), w, link(b, policy, nil), nil)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(in.Jobs)), "ns/job")
		})
	}
}
