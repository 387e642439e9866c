package condorsim_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// wrongPool is a simulated pool with a fault.
type wrongPool struct {
	*condorsim.SimulatedPool
	fault func(*negotiator.Delta)
}

func (p *wrongPool) Fetch(ctx context.Context, wake backfill.Time) (negotiator.Delta, error) {
	d, err := p.SimulatedPool.Fetch(ctx, wake)
	if err == nil {
		p.fault(&d)
	}
	return d, err
}

// busy is a workload with a lull: jobs 3 and 4 never meet the others.
func busy(t *testing.T) *condorsim.Workload {
	t.Helper()
	return newWorkload(
		t,
		workload.Job{Submit: 0, Run: 10, Estimate: 20, Procs: 8},
		workload.Job{Submit: 1, Run: 10, Estimate: 20, Procs: 5},
		workload.Job{Submit: 100, Run: 10, Estimate: 20, Procs: 6, Memory: 10},
		workload.Job{Submit: 103, Run: 10, Estimate: 25, Procs: 5},
		workload.Job{Submit: 300, Run: 10, Estimate: 20, Procs: 8},
	)
}

// late delays the reported end of job 3 (ID 2).
func late(delay backfill.Time) func(*negotiator.Delta) {
	return func(d *negotiator.Delta) {
		if i := slices.Index(d.Completed, 2); i >= 0 {
			d.Now += delay
		}
	}
}

// TestAWrongPool runs on pools that do what no simulation may do. The error names instant and job.
// The saved case is a few jobs that show the error again on the same pool, and none on a correct
// one.
func TestAWrongPool(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault func(*negotiator.Delta)
		says  string
		jobs  int // in the case
		again string
	}{
		{
			"a job ends late", late(1),
			"internal error at 0 00:01:51, job 3: ended after 11 s, but was to run for 10 s", 2,
			"internal error at 0 00:01:51, job 3: ended after 11 s, but was to run for 10 s",
		},
		{
			"a job is lost", func(d *negotiator.Delta) {
				d.Submitted = slices.DeleteFunc(d.Submitted, func(j *negotiator.Job) bool { return j.Name == "4" })
			},
			"internal error at 0 00:05:00, job 5: arrived out of order: 3 jobs came before", 2, "",
		},
		{
			"a job is submitted late", func(d *negotiator.Delta) {
				if len(d.Submitted) > 0 && d.Submitted[0].Name == "4" {
					d.Now += 2
				}
			},
			"internal error at 0 00:01:45, job 4: arrived, but it was to be submitted at 0 00:01:43", 2,
			"internal error at 0 00:01:45, job 4: arrived, but it was to be submitted at 0 00:01:43",
		},
		{
			"the last job never ends", func(d *negotiator.Delta) {
				d.Completed = slices.DeleteFunc(d.Completed, func(id backfill.JobID) bool { return id == 4 })
			},
			"job 5: neither ran to its end nor was held", 1, "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := busy(t)
			pool := &stopping{wrongPool{condorsim.NewPool(w, nil), c.fault}}
			_, err := condorsim.RunOn(t.Context(), w, link(t, "easy", nil), pool)
			require.ErrorContains(t, err, c.says)
			var violation *condorsim.Violation
			require.ErrorAs(t, err, &violation)

			path, err := violation.Save(t.TempDir())
			require.NoError(t, err)
			instance, err := workload.OpenInstance(path)
			require.NoError(t, err)
			require.Len(t, instance.Trace.Jobs, c.jobs)
			require.Equal(t, workload.Machine{Processors: 8, Memory: 1000}, instance.Trace.Machine)
			replayed, err := condorsim.FromTrace(instance.Trace, nil)
			require.NoError(t, err)
			_, err = condorsim.Run(t.Context(), replayed, link(t, "easy", nil), nil)
			require.NoError(t, err, "on a right pool")
			if c.again != "" {
				byName := &stopping{wrongPool{condorsim.NewPool(replayed, nil), renumbered(c.fault)}}
				_, err = condorsim.RunOn(t.Context(), replayed, link(t, "easy", nil), byName)
				require.EqualError(t, err, c.again)
			}
		})
	}
}

// TestAuditOfLimits runs on a pool that tells of a limit that is higher than it is.
func TestAuditOfLimits(t *testing.T) {
	first := workload.Job{Run: 10, Estimate: 20, Procs: 2}
	second := first
	second.Submit = 1
	w := newWorkload(t, first, second)
	w.Limits = []negotiator.Limit{{Name: "sw", Height: negotiator.LimitUnit}}
	for _, j := range w.Jobs {
		j.Takes = []negotiator.Take{{Limit: "sw", Amount: negotiator.LimitUnit}}
	}
	r, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil)
	require.NoError(t, err)
	require.EqualValues(t, 10, r.Outcomes[1].Start)
	higher := func(d *negotiator.Delta) {
		if d.Limits = slices.Clone(d.Limits); len(d.Limits) > 0 {
			d.Limits[0].Height *= 2
		}
	}
	_, err = condorsim.RunOn(t.Context(), w, link(t, "easy", nil), &wrongPool{condorsim.NewPool(w, nil), higher})
	require.ErrorContains(t, err, "internal error at 0 00:00:01, job 2: started, and of limit sw 2 is now in use, which is 1")
}

// TestAPolicyThatStartsNobody is to blame, not the simulator, which ends also if the policy asks for one
// round after another.
func TestAPolicyThatStartsNobody(t *testing.T) {
	for name, decide := range map[string]func(*backfill.Cycle){
		"idle": scan.Begin,
		"plans for tomorrow": func(c *backfill.Cycle) {
			scan.Begin(c)
			for j := range c.Queue() {
				if start, at, ok := c.Earliest(j, c.Now()+86400); ok {
					c.Reserve(j, start, at)
				}
			}
		},
		"wakes": func(c *backfill.Cycle) {
			scan.Begin(c)
			c.Wake(c.Now() + 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			idle, err := backfill.Link(backfill.PolicySpec{
				Name: "idle", Doc: "starts nobody", New: func(backfill.Values) (backfill.Policy, error) {
					return backfill.PolicyFunc(decide), nil
				},
			}, nil)
			require.NoError(t, err)
			_, err = condorsim.Run(t.Context(), busy(t), negotiator.Config{Policy: idle, Fallback: idle}, nil)
			require.EqualError(t, err, "policy idle left 5 jobs waiting for good: nothing runs any more, and it started "+
				"neither job 1, the first of them, nor another")
		})
	}
}

// renumbered maps a fault's IDs of the whole workload to those of the case, which starts with
// job 3.
func renumbered(fault func(*negotiator.Delta)) func(*negotiator.Delta) {
	return func(d *negotiator.Delta) {
		shifted := *d
		shifted.Completed = nil
		for _, id := range d.Completed {
			shifted.Completed = append(shifted.Completed, id+2)
		}
		fault(&shifted)
		d.Now = shifted.Now
	}
}

// stopping ends when only overruns could follow.
type stopping struct{ wrongPool }

func (p *stopping) Fetch(ctx context.Context, wake backfill.Time) (negotiator.Delta, error) {
	if wake > 1000 {
		wake = backfill.Forever
	}
	return p.wrongPool.Fetch(ctx, wake)
}

// scripted is a pool that reports the given deltas and nothing else.
type scripted struct{ deltas []negotiator.Delta }

func (p *scripted) Fetch(_ context.Context, wake backfill.Time) (negotiator.Delta, error) {
	if len(p.deltas) == 0 {
		return negotiator.Delta{}, io.EOF
	}
	d := p.deltas[0]
	if wake < d.Now {
		return negotiator.Delta{Now: wake}, nil
	}
	p.deltas = p.deltas[1:]
	return d, nil
}

func (*scripted) Act(context.Context, []negotiator.Match) error { return nil }

// TestALostSlot takes the machine away and brings it back. Both jobs leave the queue meanwhile, the
// first runs again from the beginning, and the books still agree. Its first run counts as work of
// the pool, but not as useful work.
func TestALostSlot(t *testing.T) {
	for _, policy := range []string{"easy", "conservative"} {
		w := newWorkload(t, workload.Job{Run: 10, Estimate: 20, Procs: 8}, workload.Job{Submit: 1, Run: 5, Procs: 2})
		pool := &scripted{[]negotiator.Delta{
			{Now: 0, SlotsUp: w.Slots, Submitted: []*negotiator.Job{w.Jobs[0].Job}},
			{Now: 1, Submitted: []*negotiator.Job{w.Jobs[1].Job}},
			{Now: 4, SlotsDown: []string{"machine"}},
			{Now: 7, SlotsUp: w.Slots},
			{Now: 17, Completed: []backfill.JobID{0}},
			{Now: 22, Completed: []backfill.JobID{1}},
		}}
		result, err := condorsim.RunOn(t.Context(), w, link(t, policy, nil), pool)
		require.NoError(t, err, policy)
		require.EqualValues(t, 7, result.Outcomes[0].Start, policy)
		require.EqualValues(t, 17, result.Outcomes[1].Start, policy)
		require.Equal(t, []float64{8*10 + 2*5, 0}, result.Work, policy)
	}
}

func TestACaseThatCannotBeSaved(t *testing.T) {
	w := busy(t)
	_, err := condorsim.RunOn(t.Context(), w, link(t, "easy", nil), &wrongPool{condorsim.NewPool(w, nil), late(1)})
	var violation *condorsim.Violation
	require.ErrorAs(t, err, &violation)
	_, err = violation.Save(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestAudit feeds the audit the reports of a correct run with one thing changed.
func TestAudit(t *testing.T) {
	id := func(n backfill.JobID) func(backfill.Started) bool {
		return func(s backfill.Started) bool { return s.Job.ID == n }
	}
	planned := func(n backfill.JobID, otherwise func(*backfill.Job)) func(r *negotiator.Report) {
		return func(r *negotiator.Report) {
			r.Decision.Started = slices.Clone(r.Decision.Started)
			if i := slices.IndexFunc(r.Decision.Started, id(n)); i >= 0 {
				other := *r.Decision.Started[i].Job
				otherwise(&other)
				r.Decision.Started[i].Job = &other
			}
		}
	}
	for _, c := range []struct {
		name  string
		wrong func(*negotiator.Report)
		says  string
	}{
		{"nothing is wrong", func(*negotiator.Report) {}, ""},
		{"a start too early", func(r *negotiator.Report) {
			r.Delta.Submitted = slices.DeleteFunc(slices.Clone(r.Delta.Submitted),
				func(j *negotiator.Job) bool { return j.ID == 2 })
		}, "internal error at 0 00:01:40, job 3: started before it was submitted, at 0 00:01:40"},
		{"a start that is not told", func(r *negotiator.Report) {
			r.Decision.Started = slices.DeleteFunc(slices.Clone(r.Decision.Started), id(1))
		}, "internal error at 0 00:00:10: 0 jobs wait or are held, but 1 have arrived and not started"},
		{"a start that is told twice", func(r *negotiator.Report) {
			if i := slices.IndexFunc(r.Decision.Started, id(1)); i >= 0 {
				r.Decision.Started = append(slices.Clone(r.Decision.Started), r.Decision.Started[i])
			}
		}, "internal error at 0 00:00:10, job 2: started a second time"},
		{"more than there is", func(r *negotiator.Report) {
			r.Decision.Started = slices.Clone(r.Decision.Started)
			for i, s := range r.Decision.Started {
				if s.Job.ID == 4 {
					big := *s.Job
					big.Request = backfill.Vector{9, 0}
					r.Decision.Started[i].Job = &big
				}
			}
		}, "internal error at 0 00:05:00, job 5: started on slot machine, of which [9 0] is now in use and [8 1000] there"},
		{"more than was asked for", func(r *negotiator.Report) {
			r.Decision.Started = slices.Clone(r.Decision.Started)
			for i, s := range r.Decision.Started {
				if s.Job.ID == 2 {
					big := *s.Job
					big.Request = backfill.Vector{6, 11}
					r.Decision.Started[i].Job = &big
				}
			}
		}, "internal error at 0 00:01:40: [6 10] is in use, but the running jobs hold [6 11]"},
		{"an end that is not told", func(r *negotiator.Report) {
			r.Delta.Completed = slices.DeleteFunc(slices.Clone(r.Delta.Completed),
				func(id backfill.JobID) bool { return id == 4 })
		}, "internal error at 0 00:05:10: 0 jobs run, but 1 have started and not ended"},
		{"a promise that was not kept", func(r *negotiator.Report) {
			r.Decision.Actions = slices.Clone(r.Decision.Actions)
			for i, a := range r.Decision.Actions {
				if a.Kind == backfill.ActGuarantee && a.Job == 3 {
					r.Decision.Actions[i].At = 105
				}
			}
		}, "internal error at 0 00:01:50, job 4: started, but was promised to start by 0 00:01:45, and that is not " +
			"recorded as broken"},
		{"a promise that was changed", func(r *negotiator.Report) {
			r.Decision.Started = slices.Clone(r.Decision.Started)
			if i := slices.IndexFunc(r.Decision.Started, id(3)); i >= 0 {
				r.Decision.Started[i].Guarantee++
			}
		}, "internal error at 0 00:01:50, job 4: was promised to start by 0 00:02:00, which became 0 00:02:01"},
		{
			"a job taken to run for longer than it requests", planned(2, func(j *backfill.Job) { j.Running = 21 }),
			"internal error at 0 00:01:40, job 3: was taken to run for 20 s, then for 21 s, but requests 20",
		},
		{
			"a job that would be ended early", planned(2, func(j *backfill.Job) { j.Estimate = 19 }),
			"internal error at 0 00:01:40, job 3: was to be ended after 19 s, but requests 20",
		},
		{
			"a guarantee that rests on a prediction",
			planned(2, func(j *backfill.Job) { j.Estimate, j.Limit = 19, 20 }),
			"internal error at 0 00:01:40, job 3: was taken to run for 19 s, then for 19 s, but a guarantee must rest " +
				"on the 20 that it requests",
		},
		{"time that runs back", func(r *negotiator.Report) {
			if r.Delta.Now == 300 {
				r.Delta.Now = 99
			}
		}, "time ran back from 0 00:02:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := busy(t)
			books, closeBooks := condorsim.Audited(w)
			_, err := condorsim.Run(t.Context(), w, link(t, "conservative", nil),
				nil, sink(func(r *negotiator.Report) error {
					c.wrong(r)
					return books.Cycle(r)
				}))
			if err == nil {
				err = closeBooks()
			}
			if c.says == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.says)
			}
		})
	}
}

// TestNegativeTimes expects the schedule that the same jobs have after 0.
func TestNegativeTimes(t *testing.T) {
	for _, policy := range []string{"easy", "conservative", "pc", "dc"} {
		var first []backfill.Time
		for _, origin := range []int64{1000, 0, -7, -20, -1000} {
			w := newWorkload(
				t,
				workload.Job{Submit: origin, Run: 5, Estimate: 9, Procs: 8},
				workload.Job{Submit: origin + 1, Run: 5, Estimate: 9, Procs: 7},
				workload.Job{Submit: origin + 1, Run: 12, Estimate: 20, Procs: 3},
				workload.Job{Submit: origin + 3, Run: 0, Procs: 1},
				workload.Job{Submit: origin + 4, Run: 3, Estimate: 4, Procs: 5},
				workload.Job{Submit: origin + 6, Run: 1, Procs: 1},
			)
			result, err := condorsim.Run(t.Context(), w, link(t, policy, nil), nil)
			require.NoError(t, err)
			var starts []backfill.Time
			for _, o := range result.Outcomes {
				starts = append(starts, o.Start-backfill.Time(origin))
			}
			if first == nil {
				first = starts
			}
			require.Equal(t, first, starts, "%s from %d", policy, origin)
		}
	}
}

// BenchmarkAudit audits each run twice: the difference from BenchmarkRun is what the audit costs.
func BenchmarkAudit(b *testing.B) {
	const jobs = 5_000
	trace := madeUp(jobs)
	for _, extra := range []int{0, 1} {
		b.Run(fmt.Sprintf("%d more audits", extra), func(b *testing.B) {
			for b.Loop() {
				w, err := condorsim.FromTrace(trace, nil)
				require.NoError(b, err)
				var sinks []negotiator.Sink
				for range extra {
					books, _ := condorsim.Audited(w)
					sinks = append(sinks, books)
				}
				_, err = condorsim.Run(b.Context(), w, link(b, "easy", nil), nil, sinks...)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*jobs), "ns/job")
		})
	}
}
