package condorsim

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// TestUseOfLimits compares the use of a limit with what each second says.
func TestUseOfLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const height, until = 4, 60
		r := &Result{Workload: &Workload{Limits: []negotiator.Limit{{Name: "sw", Height: height * negotiator.LimitUnit}}}}
		wants := rapid.SliceOfN(rapid.IntRange(0, 3), 1, 8).Draw(t, "wants")
		var used [until]int
		first, last := until, 0
		for i, want := range wants {
			submit := rapid.IntRange(0, 20).Draw(t, "submit")
			start := submit + rapid.IntRange(0, 15).Draw(t, "wait")
			end := start + rapid.IntRange(1, 20).Draw(t, "run")
			first, last = min(first, submit), max(last, end)
			j := &negotiator.Job{ID: backfill.JobID(i), Submit: backfill.Time(submit)}
			if want > 0 {
				j.Takes = []negotiator.Take{{Limit: "sw", Amount: int64(want) * negotiator.LimitUnit}}
			}
			for at := start; at < end; at++ {
				used[at] += want
			}
			r.Workload.Jobs = append(r.Workload.Jobs, Job{Job: j})
			o := Outcome{Start: backfill.Time(start), End: backfill.Time(end), Started: true, Ended: true}
			r.Outcomes = append(r.Outcomes, o)
		}
		want := LimitUse{Name: "sw", Height: height}
		sum := 0
		for _, n := range used {
			sum, want.Most = sum+n, max(want.Most, float64(n))
			if n >= height {
				want.Full++
			}
		}
		want.Mean, want.FullShare = float64(sum)/float64(last-first), float64(want.Full)/float64(last-first)
		for i, o := range r.Outcomes {
			if wants[i] == 0 {
				continue
			}
			want.Jobs++
			for at := r.Workload.Jobs[i].Submit; at < o.Start; at++ {
				if used[at]+wants[i] > height {
					want.Waited++
					break
				}
			}
		}
		got := r.Limits()[0]
		require.InDelta(t, want.Mean, got.Mean, 1e-9)
		got.Mean = want.Mean
		require.Equal(t, want, got)
	})
}

// TestLimitsThatDependOnTheSlot: simulations charge a job before it has a slot, so its limits must not
// depend on that or on when it starts; else nothing would bound it.
func TestLimitsThatDependOnTheSlot(t *testing.T) {
	pool, err := pools.Read(strings.NewReader(`
classes: [{name: node, count: 1, cpus: 8, memory: 8GiB}]
limits: {a: 2}
`), "pool.yaml")
	require.NoError(t, err)
	const depends, text = "depend on the slot, the clock or chance", "must be a text such as"
	for limits, want := range map[string]string{
		`"a"`: "", `strcat("a", ":2")`: "", `RequestCpus > 3 ? "a" : "b"`: "", `Nowhere =?= undefined ? "a" : "b"`: "",
		`undefined`: "", `MY.Owner == "ann" ? "a" : TARGET.Machine`: "",
		`TARGET.Cpus > 3 ? "a" : "b"`: depends, `Cpus > 3 ? "a" : "b"`: depends, `strcat("a", TARGET.Machine)`: depends,
		`time() > 0 ? "a" : "b"`: depends, `CurrentTime > 0 ? "a" : "b"`: depends, `random() < 2 ? "a" : "b"`: depends,
		`ifThenElse(TARGET.Cpus > 3, "a", "b")`: depends,
		`5`:                                     text, `error`: text, `{"a"}`: text,
	} {
		t.Run(limits, func(t *testing.T) {
			var ads strings.Builder
			for i, line := range []string{"", "ConcurrencyLimits = " + limits + "\n"} {
				fmt.Fprintf(&ads, "\nClusterId = %d\nProcId = 0\nQDate = 5\nOwner = \"ann\"\nJobStatus = 4\nRequestCpus = 1\n"+
					"RequestMemory = 1\nRemoteWallClockTime = 9\n%s", i+1, line)
			}
			h, err := history.Read(strings.NewReader(ads.String()), "jobs.ads",
				history.Options{Schema: pool.Schema, Asked: pool.Asked(), WithAds: true})
			require.NoError(t, err)
			trace, err := h.Trace(workload.Options{CPUs: 8})
			require.NoError(t, err)
			w, err := FromHistory(h, trace, pool)
			require.NoError(t, err)
			refused, _ := w.Jobs[1].Ad.Literal(negotiator.Refused).Text()
			require.Equal(t, want != "", refused != "")
			require.Contains(t, refused, want)
			_, others := w.Jobs[0].Ad.Lookup(negotiator.Refused)
			require.False(t, others)
		})
	}
}

// takersOf returns a result in which each job took another amount of a limit.
func takersOf(jobs int) *Result {
	r := &Result{Workload: &Workload{Limits: []negotiator.Limit{{Name: "sw", Height: 2 * negotiator.LimitUnit}}}}
	for i := range backfill.Time(jobs) {
		j := &negotiator.Job{ID: backfill.JobID(i), Submit: i, Takes: []negotiator.Take{{Limit: "sw", Amount: int64(i) + 1}}}
		r.Workload.Jobs = append(r.Workload.Jobs, Job{Job: j})
		r.Outcomes = append(r.Outcomes, Outcome{Start: i + i%100, End: i + 200 + i%7, Started: true, Ended: true})
	}
	return r
}

// TestMemoryOfUseOfLimits: what the table of limits takes is no square of the jobs.
func TestMemoryOfUseOfLimits(t *testing.T) {
	const jobs = 20_000
	r := takersOf(jobs)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	use := r.Limits()[0]
	runtime.ReadMemStats(&after)
	require.Equal(t, jobs, use.Jobs)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100<<20))
}

func BenchmarkUseOfLimits(b *testing.B) {
	r := takersOf(20_000)
	b.ReportAllocs()
	for b.Loop() {
		_ = r.Limits()
	}
}
