package condorsim_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// scavenging is a small pool with jobs, of which those of queue spare scavenge if the pool has scavengers.
type scavenging struct {
	pool       string
	jobs       []workload.Job
	vacate     int
	checkpoint int
	fill       string // "": none
	policy     string
	order      string
	grouped    string        // quotas of groups and ceilings; "": none
	limited    bool          // every third job takes of a limit that has room for two
	slack      backfill.Time // of starts; 0: what the workload wants
}

// drawScavenging draws a pool of several slots with memory, jobs, and how they are scheduled.
func drawScavenging(t *rapid.T, vacate []int) scavenging {
	s := scavenging{
		vacate:     rapid.SampledFrom(vacate).Draw(t, "vacate"),
		checkpoint: rapid.SampledFrom([]int{0, 1, 7, 30}).Draw(t, "checkpoint"),
		policy:     rapid.SampledFrom([]string{"easy", "fcfs", "firstfit", "conservative", "slack", "pc", "dc", "ibb", "maui"}).Draw(t, "policy"),
		order:      rapid.SampledFrom([]string{"fcfs", "wfp", "sjf", negotiator.FairShare}).Draw(t, "order"),
	}
	var classes []string
	for i := range rapid.IntRange(1, 2).Draw(t, "classes") {
		classes = append(classes, fmt.Sprintf("{name: c%d, count: %d, cpus: %d, memory: %d}", i, rapid.IntRange(1, 2).Draw(t, "count"),
			rapid.IntRange(2, 6).Draw(t, "cpus"), 100*rapid.IntRange(2, 8).Draw(t, "memory")))
	}
	s.pool = "classes: [" + strings.Join(classes, ", ") + "]\n"
	if k := rapid.SampledFrom([]int{0, 2, 6}).Draw(t, "chunk"); k > 0 {
		s.pool += fmt.Sprintf("pack: {chunk_cpus: %d}\n", k)
	}
	if rapid.IntRange(0, 3).Draw(t, "outage") == 0 {
		s.pool += fmt.Sprintf("%s: [{slots: [\"c0*\"], at: %d, for: 40}]\n",
			rapid.SampledFrom([]string{"failures", "drains"}).Draw(t, "kind"), rapid.IntRange(1, 200).Draw(t, "at"))
	}
	if rapid.Bool().Draw(t, "fills") {
		s.fill = fmt.Sprintf(", fill: {jobs: %d, cpus: %d, run_time: %d}", rapid.IntRange(1, 6).Draw(t, "jobs"),
			rapid.IntRange(1, 2).Draw(t, "wide"), rapid.IntRange(1, 150).Draw(t, "long"))
	}
	if rapid.Bool().Draw(t, "grouped") {
		quota := func(name string) int { return rapid.IntRange(1, 8).Draw(t, name) }
		s.grouped = fmt.Sprintf("groups: [{name: g, quota: %d, surplus: %v, users: [a]}, {name: h, quota: %d%%, users: [b]}]\nceilings: {c: %d}\n",
			quota("g"), rapid.Bool().Draw(t, "surplus"), 10*quota("h"), quota("ceiling"))
	}
	s.limited = rapid.IntRange(0, 2).Draw(t, "limited") == 0
	at := int64(0)
	for i := range rapid.IntRange(2, 16).Draw(t, "jobs") {
		at += int64(rapid.IntRange(0, 30).Draw(t, "after"))
		run := int64(rapid.IntRange(0, 120).Draw(t, "run"))
		s.jobs = append(s.jobs, workload.Job{
			ID: int64(i + 1), Submit: at, Run: run, Estimate: max(1, run+int64(rapid.IntRange(0, 60).Draw(t, "more"))),
			Procs: int64(rapid.IntRange(1, 7).Draw(t, "procs")), Memory: 10 * int64(rapid.IntRange(0, 60).Draw(t, "memory")),
			User: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "user"), Queue: rapid.SampledFrom([]string{"main", "spare"}).Draw(t, "queue"),
		})
	}
	s.jobs[0].Queue = "main" // outages count from its submission
	return s
}

// text is the description of the pool, with scavengers if any shall be.
func (s *scavenging) text(scavenge bool) string {
	if !scavenge {
		return s.pool + s.grouped
	}
	text := s.pool + s.grouped + fmt.Sprintf("scavengers: {queues: [spare], vacate: %d", s.vacate)
	if s.checkpoint > 0 {
		text += fmt.Sprintf(", checkpoint: %d", s.checkpoint)
	}
	return text + s.fill + "}\n"
}

// workload makes the workload with scavengers, or without the jobs that would be.
func (s *scavenging) workload(tb testing.TB, scavenge bool) *condorsim.Workload {
	tb.Helper()
	pool, err := pools.Read(strings.NewReader(s.text(scavenge)), "pool.yaml")
	require.NoError(tb, err, s.text(scavenge))
	var jobs []workload.Job
	for _, j := range s.jobs {
		if scavenge || j.Queue != "spare" {
			jobs = append(jobs, j)
		}
	}
	w, err := condorsim.OnPool(&workload.Trace{Machine: pool.Bounds(), Jobs: jobs}, pool)
	require.NoError(tb, err)
	if s.order == negotiator.FairShare || s.grouped != "" {
		w, err = w.WithPriorities(condorsim.Priorities{HalfLife: 100})
		require.NoError(tb, err)
	}
	if !s.limited {
		return w
	}
	w.Limits = []negotiator.Limit{{Name: "sw", Height: 2 * negotiator.LimitUnit}}
	for i := range w.Jobs {
		if id, numbered := strconv.Atoi(w.Jobs[i].Name); numbered == nil && id%3 == 0 {
			w.Jobs[i].Takes = append(slices.Clip(w.Jobs[i].Takes), negotiator.Take{Limit: "sw", Amount: negotiator.LimitUnit})
		}
	}
	return w
}

// run simulates a workload; a pool of its own may be given.
func (s *scavenging) run(tb testing.TB, t *rapid.T, w *condorsim.Workload, pool negotiator.Pool, look func(*negotiator.Report)) *condorsim.Result {
	tb.Helper()
	c := link(tb, s.policy, nil)
	var err error
	c.Order, err = w.OrderNamed(s.order)
	require.NoError(tb, err)
	c.StartSlack = s.slack
	if pool == nil {
		pool = condorsim.NewPool(w, nil)
	}
	result, err := condorsim.RunOn(tb.Context(), w, c, pool, sink(func(r *negotiator.Report) error {
		if look != nil {
			look(r)
		}
		return nil
	}))
	require.NoError(t, err, s.text(true))
	return result
}

// decided is what became of a job by the plan: without the delay of its start.
type decided struct {
	submit, start, end, guarantee backfill.Time
	at, held                      string
	how                           backfill.How
	promised, backfilled          bool
	requeues                      int
}

// plan is what was decided for each job that is no scavenger, by its name.
func plan(r *condorsim.Result) map[string]decided {
	all := map[string]decided{}
	for i, o := range r.Outcomes {
		if j := r.Workload.Jobs[i]; !j.Scavenger {
			all[j.Name] = decided{
				j.Submit, o.Start - o.Delay, o.End, o.Guarantee, o.Placement.String(), o.Held, o.How, o.Promised, o.Backfilled, o.Requeues,
			}
		}
	}
	return all
}

// TestScavengersThatLeaveAtOnceChangeNothing: whatever scavenges, if it leaves in no time all others have the same
// starts, places and promises, and the policy is asked as often.
func TestScavengersThatLeaveAtOnceChangeNothing(t *testing.T) {
	displaced := 0
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScavenging(rt, []int{0})
		with := s.run(t, rt, s.workload(t, true), nil, func(r *negotiator.Report) {
			if r.Scavengers != nil {
				displaced += len(r.Scavengers.Displaced)
			}
		})
		if with.Workload.Scavengers == nil {
			rt.Skip("nobody scavenges")
		}
		without := s.run(t, rt, s.workload(t, false), nil, nil)
		require.Equal(rt, plan(without), plan(with))
		if !strings.Contains(s.pool, "for:") { // else slots may come and go while only scavengers are left
			require.Equal(rt, without.Decided, with.Decided)
		}
		require.Equal(rt, without.BrokenBy, with.BrokenBy)
		require.Equal(rt, without.Ran(), with.Ran())
		require.Equal(rt, without.Promises(), with.Promises())
		require.InDelta(rt, without.ReservedIdle, with.ReservedIdle, 1e-6)
		require.Equal(rt, without.Requeues, with.Requeues)
	})
	require.Positive(t, displaced)
}

// lasting is a pool that tells nobody that jobs run on beyond their estimates: in the plan they do not, with the
// start slack.
type lasting struct{ *condorsim.SimulatedPool }

func (p lasting) Fetch(ctx context.Context, wake backfill.Time) (negotiator.Delta, error) {
	for {
		d, err := p.SimulatedPool.Fetch(ctx, wake)
		isAll := len(d.SlotsUp)+len(d.SlotsDown)+len(d.Submitted)+len(d.Completed)+len(d.Removed) == 0
		if err != nil || len(d.Outliving) == 0 || !isAll || d.Now >= wake {
			d.Outliving = nil
			return d, err
		}
	}
}

// TestScavengersDelayByNoMoreThanTheyNeedToLeave: each of the others begins within the vacate time of its start in
// the plan, and the plan is that of a pool without scavengers in which each job runs as much longer as it began later.
func TestScavengersDelayByNoMoreThanTheyNeedToLeave(t *testing.T) {
	late := 0
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScavenging(rt, []int{1, 5, 20})
		for i := range s.jobs { // one that runs for no time at all ends a cycle after its start
			s.jobs[i].Run, s.jobs[i].Estimate = max(1, s.jobs[i].Run), max(1, s.jobs[i].Estimate)
		}
		with := s.run(t, rt, s.workload(t, true), nil, nil)
		if with.Workload.Scavengers == nil {
			rt.Skip("nobody scavenges")
		}
		delays := map[string]backfill.Time{}
		for i, o := range with.Outcomes {
			require.GreaterOrEqual(rt, o.Delay, backfill.Time(0))
			require.LessOrEqual(rt, o.Delay, backfill.Time(s.vacate))
			delays[with.Workload.Jobs[i].Name] = o.Delay
			if o.Delay > 0 {
				late++
			}
			if o.Ended && o.Requeues == 0 {
				require.Equal(rt, with.Workload.Jobs[i].Run, o.End-o.Start)
			}
		}
		if strings.Contains(s.pool, "failures") { // a job may have had other delays in runs that were lost
			return
		}
		longer := s.workload(t, false)
		for i := range longer.Jobs {
			longer.Jobs[i].Run += delays[longer.Jobs[i].Name]
		}
		s.slack = backfill.Time(s.vacate)
		without := s.run(t, rt, longer, lasting{condorsim.NewPool(longer, nil)}, nil)
		require.Equal(rt, plan(without), plan(with))
		if !strings.Contains(s.pool, "for:") {
			require.Equal(rt, without.Decided, with.Decided)
		}
		require.Equal(rt, without.BrokenBy, with.BrokenBy)
		require.Equal(rt, without.Promises(), with.Promises())
		require.InDelta(rt, without.ReservedIdle, with.ReservedIdle, 1e-6)
	})
	require.Positive(t, late)
}

// TestScavengersDoTheirWork: each scavenger that has room anywhere runs to its end once, what it saved is kept, and
// what it lost is what its runs took beyond that.
func TestScavengersDoTheirWork(t *testing.T) {
	displaced := 0
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScavenging(rt, []int{0, 1, 10})
		w := s.workload(t, true)
		if w.Scavengers == nil {
			rt.Skip("nobody scavenges")
		}
		starts, ran := map[backfill.JobID]backfill.Time{}, map[backfill.JobID]backfill.Time{}
		ended := map[backfill.JobID]int{}
		told := map[backfill.JobID]int{}
		r := s.run(t, rt, w, nil, func(r *negotiator.Report) {
			if r.Scavengers == nil {
				return
			}
			for _, id := range r.Scavengers.Back {
				ran[id] += r.Delta.Now - starts[id]
			}
			for _, id := range r.Scavengers.Completed {
				ended[id]++
			}
			for _, m := range r.Scavengers.Matches {
				starts[m.Job.ID] = r.Delta.Now
			}
			for _, way := range r.Scavengers.MadeWay {
				for _, id := range way.Scavengers {
					told[id]++
				}
			}
			for _, id := range r.Scavengers.Displaced {
				displaced++
				require.Positive(rt, told[id])
			}
		})
		for i, o := range r.Outcomes {
			id := backfill.JobID(i)
			if !w.Jobs[i].Scavenger {
				require.Zero(rt, ended[id])
				continue
			}
			if o.Held != "" {
				require.Zero(rt, ended[id])
				require.Contains(rt, o.Held, "a scavenger")
				continue
			}
			require.True(rt, o.Ended)
			require.Equal(rt, 1, ended[id])
			require.Equal(rt, w.Jobs[i].Run, o.Saved+o.End-o.Start, "scavenger %d does its work", i)
			require.InDelta(rt, float64(w.Jobs[i].Cpus)*float64(ran[id]-o.Saved), o.Lost, 1e-6)
			require.LessOrEqual(rt, o.Displacements, o.Requeues)
			if s.checkpoint == 0 {
				require.Zero(rt, o.Saved)
			}
		}
		for _, m := range r.Measured() {
			if strings.HasSuffix(m.Name, "_share") && strings.HasPrefix(m.Name, "scaveng") {
				require.GreaterOrEqual(rt, m.Value, 0.0, m.Name)
				require.LessOrEqual(rt, m.Value, 1.0, m.Name)
			}
		}
	})
	require.Positive(t, displaced)
}

// TestNobodyScavenges: where no job is a scavenger, a pool that has rules for them gives the same as one without.
func TestNobodyScavenges(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScavenging(rt, []int{0, 10})
		for i := range s.jobs {
			s.jobs[i].Queue = "main"
		}
		s.fill = ""
		without := s.run(t, rt, s.workload(t, false), nil, nil)
		w := s.workload(t, true)
		require.Nil(rt, w.Scavengers)
		with := s.run(t, rt, w, nil, func(r *negotiator.Report) { require.Nil(rt, r.Scavengers) })
		require.Equal(rt, without.Cycles, with.Cycles)
		require.Equal(rt, without.Measured(), with.Measured())
		require.Equal(rt, plan(without), plan(with))
		require.True(rt, slices.ContainsFunc(w.Unheeded, func(text string) bool { return strings.HasPrefix(text, "scavengers of the pool: no job") }))
	})
}
