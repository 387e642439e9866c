package condorsim_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// owned is a pool of slots with 4 cpus each, of which the i-th has this RANK ("": none), and jobs on it.
func owned(tb testing.TB, ranks []string, jobs ...workload.Job) *condorsim.Workload {
	tb.Helper()
	w := newWorkload(tb, jobs...)
	w.Slots = nil
	for i, rank := range ranks {
		ad := classad.New()
		ad.SetString("Name", fmt.Sprintf("slot1@n%d", i))
		ad.SetBool("Requirements", true)
		for _, resource := range w.Schema.Resources {
			ad.SetInt(negotiator.Attribute(resource), 4)
		}
		if rank != "" {
			require.NoError(tb, ad.SetExpr("Rank", rank))
		}
		slot, err := w.Schema.SlotFromAd(ad)
		require.NoError(tb, err)
		w.Slots = append(w.Slots, slot)
	}
	for i := range w.Jobs {
		j := w.Jobs[i].Job
		j.Ad = j.Ad.Clone()
		j.Ad.SetString("Owner", w.Jobs[i].Submitter())
		j.Ad.SetBool("Requirements", true)
	}
	w.Preemption = &condorsim.Preemption{}
	return w
}

func parsed(tb testing.TB, text string) *classad.Expr {
	tb.Helper()
	e, err := classad.ParseExpr(text)
	require.NoError(tb, err)
	return e
}

// watch calls a function with each report, and gives the result.
func simulate(tb testing.TB, w *condorsim.Workload, c negotiator.Config, look func(*negotiator.Report)) *condorsim.Result {
	tb.Helper()
	result, err := condorsim.Run(tb.Context(), w, c, nil, sink(func(r *negotiator.Report) error {
		look(r)
		return nil
	}))
	require.NoError(tb, err)
	return result
}

// TestAnOwnersJobDisplaces: the machine prefers bob's job, so alice's makes way once it has retired and
// vacated; bob's begins at the instant that the plan knew, and alice's runs again from the beginning.
func TestAnOwnersJobDisplaces(t *testing.T) {
	for _, policy := range []string{"easy", "conservative", "slack"} {
		t.Run(policy, func(t *testing.T) {
			w := owned(t, []string{`Owner == "bob"`}, workload.Job{Submit: 0, Run: 1000, Procs: 4, User: "alice"},
				workload.Job{Submit: 100, Run: 50, Procs: 4, User: "bob"})
			w.Preemption.Retirement, w.Preemption.Vacate = 300, 10
			c := link(t, policy, nil)
			told := ""
			result := simulate(t, w, c, func(r *negotiator.Report) {
				n := r.Negotiator()
				if r.Delta.Now == 100 {
					told = n.WhyPreemption(1, func(at backfill.Time) string { return strconv.Itoa(int(at)) })
				}
				for _, p := range r.Preempted {
					require.Equal(t, preempt.StartdRank, p.Reason)
					require.EqualValues(t, 300, r.Delta.Now)
					require.EqualValues(t, 310, p.Start)
					require.Equal(t, "displaced by 2 of bob: the machine prefers it", n.WhyPreemption(0, nil))
				}
			})
			require.Equal(t, "could displace a job on slot1@n0, but it retires until 300", told)
			require.EqualValues(t, 310, result.Outcomes[1].Start)
			require.EqualValues(t, 360, result.Outcomes[0].Start, "again")
			require.EqualValues(t, 1360, result.Outcomes[0].End)
			require.Equal(t, 1, result.Outcomes[0].Requeues)
			require.Zero(t, result.Broken)

			c.Preemption.Early = true
			early := simulate(t, w, c, func(r *negotiator.Report) {
				for _, p := range r.Preempted {
					require.EqualValues(t, 100, r.Delta.Now)
					require.EqualValues(t, 310, p.Start)
				}
			})
			require.Equal(t, result.Outcomes[1].Start, early.Outcomes[1].Start)
		})
	}
}

// rulesToTry draws rules of preemption.
func rulesToTry(t *rapid.T) preempt.Rules {
	r := preempt.Rules{
		Early: rapid.Bool().Draw(t, "early"), Several: rapid.Bool().Draw(t, "several"),
		Promised: rapid.Bool().Draw(t, "promised"), Pause: backfill.Time(rapid.SampledFrom([]int{0, 5, 40, 600}).Draw(t, "pause")),
	}
	text := rapid.SampledFrom([]string{
		"", "false", "true", "RemoteUserPrio > TARGET.SubmitterUserPrio * 1.2",
		"RemoteUserPrio > TARGET.SubmitterUserPrio && time() - EnteredCurrentState > 20",
	}).Draw(t, "PREEMPTION_REQUIREMENTS")
	if text != "" {
		e, _ := classad.ParseExpr(text)
		r.Requirements = e
	}
	if text == "true" { // else jobs displace each other for ever, and none ends
		r.Pause = 600
	}
	return r
}

// preempting draws a small pool with owners, users with priorities, and jobs.
func preempting(tb testing.TB, t *rapid.T) *condorsim.Workload {
	tb.Helper()
	ranks := rapid.SliceOfN(rapid.SampledFrom([]string{
		"", "0", `Owner == "u0"`, `2 * (Owner == "u1") + (Owner == "u2")`,
		"TARGET.RequestCpus",
	}), 1, 3).Draw(t, "ranks")
	var jobs []workload.Job
	at := int64(0)
	for range rapid.IntRange(2, 14).Draw(t, "jobs") {
		at += int64(rapid.IntRange(0, 30).Draw(t, "after"))
		run := int64(rapid.IntRange(1, 120).Draw(t, "run"))
		jobs = append(jobs, workload.Job{
			Submit: at, Run: run, Estimate: run + int64(rapid.IntRange(0, 60).Draw(t, "more")),
			Procs: int64(rapid.IntRange(1, 4).Draw(t, "procs")), User: fmt.Sprintf("u%d", rapid.IntRange(0, 3).Draw(t, "user")),
		})
	}
	w := owned(tb, ranks, jobs...)
	w.Preemption.Retirement = backfill.Time(rapid.SampledFrom([]int{0, 15, 60}).Draw(t, "retirement"))
	w.Preemption.Vacate = backfill.Time(rapid.SampledFrom([]int{0, 1, 10}).Draw(t, "vacate"))
	prios := rapid.SliceOfN(rapid.Float64Range(0.5, 10), 4, 4).Draw(t, "priorities")
	w.Preemption.Standing = func(submitter string) preempt.Standing {
		i, _ := strconv.Atoi(submitter[1:])
		return preempt.Standing{Prio: prios[i]}
	}
	return w
}

// TestPreemptionKeepsItsRules: on small pools, under several policies, every run passes the audit and ends;
// within the pause no pair changes places twice for user priority, and no job is displaced for it twice; each
// victim is needed, and nobody is displaced for a job that has room as it is.
func TestPreemptionKeepsItsRules(t *testing.T) {
	made := 0
	rapid.Check(t, func(rt *rapid.T) {
		w := preempting(t, rt)
		if rapid.Bool().Draw(rt, "outage") {
			w.Outages = []pools.Outage{{
				Slots: []int{0}, At: backfill.Time(rapid.IntRange(1, 200).Draw(rt, "at")), For: 30, Drain: rapid.Bool().Draw(rt, "drain"),
			}}
		}
		made += guarded(t, rt, w, rulesToTry(rt)).made
	})
	require.Positive(t, made, "some job was displaced in all these pools")
}

// guarded runs a workload under some policy, checks each preemption, and that all jobs run to their ends and no
// promise is broken for user priority.
func guarded(tb testing.TB, rt *rapid.T, w *condorsim.Workload, rules preempt.Rules) *guarding {
	tb.Helper()
	c := link(tb, rapid.SampledFrom([]string{"easy", "fcfs", "conservative", "slack", "pc"}).Draw(rt, "policy"), nil)
	c.Preemption = rules
	guard := &guarding{
		tb: rt, w: w, pause: rules.Pause, pairs: map[[2]backfill.JobID]backfill.Time{},
		victims: map[backfill.JobID]backfill.Time{},
	}
	result, err := condorsim.Run(tb.Context(), w, c, nil, sink(func(r *negotiator.Report) error {
		guard.look(r)
		return nil
	}))
	require.NoError(rt, err)
	for i := range result.Outcomes {
		require.True(rt, result.Outcomes[i].Ended, "job %d", i)
	}
	if !rules.Promised && guard.lifts == 0 {
		require.Zero(rt, result.BrokenBy[backfill.CausePreempted.String()], "promises are protected")
	}
	return guard
}

// guarding checks preemptions, one cycle after the other.
type guarding struct {
	tb      require.TestingT
	w       *condorsim.Workload
	pause   backfill.Time
	pairs   map[[2]backfill.JobID]backfill.Time
	victims map[backfill.JobID]backfill.Time
	lifts   int // preemptions that may lift promises: for startd rank
	made    int
	ousted  int
}

func pairOf(a, b backfill.JobID) [2]backfill.JobID { return [2]backfill.JobID{min(a, b), max(a, b)} }

func (g *guarding) look(r *negotiator.Report) {
	now := r.Delta.Now
	within := func(at backfill.Time, known bool) bool { return known && now < at+g.pause }
	for i := range r.Preempted {
		p := &r.Preempted[i]
		require.NotEmpty(g.tb, p.Victims)
		require.Greater(g.tb, p.Start, now)
		g.needed(r, p)
		g.noRoom(r, p)
		losers := p.Ousted // if there are any, the victims leave as they were to
		for _, v := range p.Victims {
			if len(p.Ousted) == 0 {
				losers = append(losers, v.Job)
			} else {
				g.pairs[pairOf(p.Job, v.Job)] = now
			}
		}
		g.ousted += len(p.Ousted)
		g.made++
		for _, id := range losers {
			pair := pairOf(p.Job, id)
			if p.Reason == preempt.UserPriority {
				at, known := g.pairs[pair]
				require.False(g.tb, within(at, known), "jobs %v changed places at %d, and again at %d", pair, at, now)
				at, known = g.victims[id]
				require.False(g.tb, within(at, known), "job %d was displaced at %d, and again at %d", id, at, now)
				g.victims[id] = now
			} else {
				g.lifts++
			}
			g.pairs[pair] = now
		}
	}
}

// free is what nobody has on a slot when the job is to start there: all but running jobs, without those
// that have left by then and these victims. Now counts jobs that end by then as if they did not, as nobody
// knows that for certain.
func (g *guarding) free(s *backfill.State, p *preempt.Preemption, victims []preempt.Victim, now bool) backfill.Vector {
	free := slices.Clone(s.Slots()[p.Host].Capacity)
	named := func(id backfill.JobID) func(preempt.Victim) bool {
		return func(v preempt.Victim) bool { return v.Job == id }
	}
	for run := range s.Running() {
		leaves := (run.Yields || !now) && run.End <= p.Start && !slices.ContainsFunc(p.Victims, named(run.Job.ID))
		leaves = leaves || slices.ContainsFunc(victims, named(run.Job.ID)) || !now && run.Start > p.Start // it takes over from others
		if run.Placement[0].Slot == p.Host && !leaves && run.Job.ID != p.Job {
			free.AddScaled(run.Job.Request, -1)
		}
	}
	return free
}

// needed checks that the job has room once all victims have left, and not if one of them stays.
func (g *guarding) needed(r *negotiator.Report, p *preempt.Preemption) {
	request := r.State.Job(p.Job).Request
	require.True(g.tb, request.Within(g.free(r.State, p, p.Victims, false)), "job %d has no room on slot %d at %d", p.Job, p.Host, p.Start)
	if len(p.Victims) == 1 {
		return
	}
	for i := range p.Victims {
		others := slices.Delete(slices.Clone(p.Victims), i, i+1)
		require.False(g.tb, request.Within(g.free(r.State, p, others, true)), "job %d need not make way for %d", p.Victims[i].Job, p.Job)
	}
}

// noRoom checks, where nobody else waits, starts or takes over, that the job had no room on any slot.
func (g *guarding) noRoom(r *negotiator.Report, p *preempt.Preemption) {
	if r.State.Waiting()+len(r.Decision.Started) > 0 { // what is idle may have been for others
		return
	}
	// Policies that plan for all jobs move these forward when room is freed. The end of a drain frees none that
	// was planned for: they may leave a job in its place although a slot has come back.
	drained := slices.ContainsFunc(g.w.Outages, func(o pools.Outage) bool { return o.Drain })
	if _, guarantees := r.State.Policy(); guarantees && drained {
		return
	}
	for _, slot := range r.State.Slots() {
		if !r.State.SlotUp(slot.ID) || !r.State.Request(r.State.Job(p.Job)).Candidates.Has(slot.ID) {
			continue // it has failed or is drained
		}
		free := slices.Clone(slot.Capacity)
		for run := range r.State.Running() {
			if run.Pinned && run.Job.ID != p.Job {
				return
			}
			if !run.Pinned && run.Placement[0].Slot == slot.ID {
				free.AddScaled(run.Job.Request, -1)
			}
		}
		require.False(g.tb, r.State.Job(p.Job).Request.Within(free), "job %d had room on %s", p.Job, slot.Name)
	}
}

// TestNothingToPreempt: with preemption that can do nothing, all is as it is without.
func TestNothingToPreempt(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := preempting(t, rt)
		how := rapid.IntRange(0, 2).Draw(rt, "how")
		policies := []string{"easy", "conservative", "slack"}
		if how == 1 { // it is looked once more after starts, and slack may plan anew in each round
			policies = policies[:2]
		}
		c := link(t, rapid.SampledFrom(policies).Draw(rt, "policy"), nil)
		c.Preemption = rulesToTry(rt)
		switch how {
		case 0:
			c.Preemption.Off = true
		case 1: // no job is preferred to another one
			for _, slot := range w.Slots {
				require.NoError(rt, slot.Ad.SetExpr("Rank", "7"))
			}
			c.Preemption.Requirements = nil
		default:
			for _, slot := range w.Slots {
				slot.Ad.Delete("Rank")
			}
			c.Preemption.Requirements = parsed(t, "false")
		}
		w.Preemption.Standing = func(string) preempt.Standing { panic("nobody is asked") }
		with, err := condorsim.Run(t.Context(), w, c, nil)
		require.NoError(rt, err)
		w.Preemption = nil
		without, err := condorsim.Run(t.Context(), w, c, nil)
		require.NoError(rt, err)
		require.Equal(rt, without.Outcomes, with.Outcomes)
		if how != 1 { // else it is looked once more after starts
			require.Equal(rt, without.Cycles, with.Cycles)
		}
	})
}

// TestAuditOfWhoMakesWay runs on pools in which victims leave before they have to, or without a reason; and on
// right ones in which a job that has just taken over makes way itself.
func TestAuditOfWhoMakesWay(t *testing.T) {
	jobs := []workload.Job{{Submit: 0, Run: 1000, Procs: 4, User: "alice"}, {Submit: 100, Run: 50, Procs: 4, User: "bob"}}
	w := owned(t, []string{`Owner == "bob"`}, jobs...)
	w.Preemption.Vacate = 10
	hasty := owned(t, []string{`Owner == "bob"`}, jobs...)
	hasty.Preemption.Vacate = 5
	_, err := condorsim.RunOn(t.Context(), w, link(t, "easy", nil), condorsim.NewPool(hasty, nil))
	require.ErrorContains(t, err, "job 1: made way, but had until 0 00:01:50")

	moody := &wrongPool{condorsim.NewPool(w, nil), func(d *negotiator.Delta) {
		if d.Now == 100 {
			d.StartFailed, d.Displaced = []backfill.JobID{0}, []backfill.JobID{0}
		}
	}}
	_, err = condorsim.RunOn(t.Context(), w, link(t, "easy", nil), moody)
	require.Error(t, err)

	chain := owned(
		t, []string{`(Owner == "bob") + 2 * (Owner == "carol")`}, jobs[0], jobs[1],
		workload.Job{Submit: 105, Run: 50, Procs: 4, User: "carol"},
	)
	chain.Preemption.Retirement, chain.Preemption.Vacate = 100, 10
	c := link(t, "easy", nil)
	c.Preemption.Early = true
	r, err := condorsim.Run(t.Context(), chain, c, nil)
	require.NoError(t, err)
	require.EqualValues(t, 110, r.Outcomes[1].Start)
	require.EqualValues(t, 160, r.Outcomes[2].Start, "bob's ends while it retires")
}
