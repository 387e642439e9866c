package preempt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// newWaited has alice's job 1 run on 3 of 4 cpus until it makes way for bob's job 2, which asks for 2; job 3
// has the other cpu. The machine prefers who says Worth, of which job 2 has 1.
func newWaited(tb testing.TB) (*pool, *preempt.Claim) {
	tb.Helper()
	p := newPool(tb, 4)
	c := p.run(tb, 1, "alice", 0, 3, "Rank = TARGET.Worth ?: 0")
	p.run(tb, 3, "alice", 0, 1, "")
	delete(p.claims, 3)
	p.running[0].Yields, p.running[0].End = true, 5700
	p.running = append(p.running, backfill.RunningJob{
		Job: &backfill.Job{ID: 2, Nodes: 1, Request: backfill.Vector{2}}, Start: 5700, End: 5800, Pinned: true,
		Placement: backfill.Placement{{Slot: 0, Count: 1}},
	})
	heir := backfill.JobID(2)
	c.Waited, c.Heir, c.User, c.Rank, c.Retirement = true, &heir, "bob", 1, 600
	p.stands["alice"], p.stands["bob"], p.stands["carol"] = preempt.Standing{Prio: 9}, preempt.Standing{Prio: 5}, preempt.Standing{Prio: 1}
	return p, c
}

// TestWhoMayWaitInstead: a job gets the place for which another one waits by the rules that count between these
// two, for the instant at which the running job leaves anyway.
func TestWhoMayWaitInstead(t *testing.T) {
	early := preempt.Rules{Early: true}
	prio := preempt.Rules{Early: true, Pause: 600, Requirements: expr(t, "RemoteUserPrio > TARGET.SubmitterUserPrio")}
	late := prio
	late.Early = false
	for name, test := range map[string]struct {
		rules  preempt.Rules
		user   string
		cpus   int64
		more   string
		change func(p *pool, c *preempt.Claim)
		want   preempt.Reason // 0: it may not
	}{
		"preferred to who waits":                  {early, "carol", 2, "Worth = 2", nil, preempt.StartdRank},
		"preferred to who runs alone":             {early, "carol", 2, "Worth = 1", nil, 0},
		"preferred, of the same user":             {early, "bob", 2, "Worth = 2", nil, preempt.StartdRank},
		"as large as the slot that it is":         {early, "carol", 3, "Worth = 2", nil, preempt.StartdRank},
		"larger":                                  {early, "carol", 4, "Worth = 2", nil, 0},
		"better than who waits, by priority":      {prio, "carol", 2, "Worth = 1", nil, preempt.UserPriority},
		"better, but less preferred":              {prio, "carol", 2, "", nil, 0},
		"better than who runs, but not who waits": {prio, "bob", 2, "Worth = 1", nil, 0},
		"worse by priority":                       {prio, "alice", 2, "Worth = 1", nil, 0},
		"no early preemption":                     {late, "carol", 2, "Worth = 2", nil, 0},
		"it leaves already":                       {early, "carol", 2, "Worth = 2", func(_ *pool, c *preempt.Claim) { c.Retirement = 0 }, 0},
		"who waits is not known":                  {early, "carol", 2, "Worth = 2", func(_ *pool, c *preempt.Claim) { c.Heir = nil }, 0},
		"a foreign claim waits": {
			early, "carol", 2, "Worth = 2", func(p *pool, c *preempt.Claim) { p.running[0].Yields, c.Heir = false, nil }, 0,
		},
		"who waits is in no plan": {early, "carol", 2, "Worth = 2", func(p *pool, _ *preempt.Claim) { p.running = p.running[:2] }, 0},
		"they changed places": {
			prio, "carol", 2, "Worth = 1", func(p *pool, _ *preempt.Claim) {
				p.memory.Note(&preempt.Preemption{Job: 2, Victims: []preempt.Victim{{Job: 10}}}, 4900)
			}, 0,
		},
		"they changed places, by rank": {
			prio, "carol", 2, "Worth = 2", func(p *pool, _ *preempt.Claim) {
				p.memory.Note(&preempt.Preemption{Job: 2, Victims: []preempt.Victim{{Job: 10}}}, 4900)
			}, preempt.StartdRank,
		},
		"who runs was displaced for priority": {
			prio, "carol", 2, "Worth = 1", func(p *pool, _ *preempt.Claim) {
				p.memory.Note(&preempt.Preemption{Job: 2, Reason: preempt.UserPriority, Victims: []preempt.Victim{{Job: 1}}}, 4900)
			}, preempt.UserPriority,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, c := newWaited(t)
			if test.change != nil {
				test.change(p, c)
			}
			p.claims[1] = *c
			s := p.open(test.rules)
			w := p.waits(t, 10, test.user, test.cpus, test.more)
			var got []preempt.Preemption
			for found := range s.Candidates(w) {
				got = append(got, found)
			}
			if test.want == 0 {
				require.Empty(t, got)
				return
			}
			require.Equal(t, []preempt.Preemption{{
				Job: 10, Start: 5700, Soonest: 5700, Reason: test.want, Ousted: []backfill.JobID{2},
				Victims: []preempt.Victim{{Job: 1, Slot: "slot1_1@n0", User: "bob", End: 5700}},
			}}, got)
			require.Equal(t, []backfill.JobID{1, 2}, got[0].Yielding())
		})
	}
}

// TestAPlaceIsWaitedForOnce: who ousts another one cannot be ousted in the same cycle, its pair pauses, and
// what the other was to have is free for it.
func TestAPlaceIsWaitedForOnce(t *testing.T) {
	p, c := newWaited(t)
	c.Sooner, c.Vacate = true, 60
	p.claims[1] = *c
	s := p.open(preempt.Rules{Early: true, Several: true})
	first, second := p.waits(t, 10, "carol", 3, "Worth = 2"), p.waits(t, 11, "carol", 2, "Worth = 3")
	for found := range s.Candidates(first) {
		require.EqualValues(t, 5700, found.Start)
		require.EqualValues(t, 5600, found.Soonest)
		s.Take(&found, first.Job)
		p.memory.Note(&found, 5000)
		break
	}
	require.Empty(t, victims(s, second))
	require.True(t, p.memory.Pauses(2, 10, 5100, 600))
	require.True(t, p.memory.Pauses(10, 2, 5100, 600))
	require.False(t, p.memory.Pauses(11, 2, 5100, 600), "it was not for user priority")
}

// TestWhoStillHoldsThePlace: what one job is to leave to another is not there before it has left, however soon
// the jobs can leave that make way for a third one.
func TestWhoStillHoldsThePlace(t *testing.T) {
	p, c := newWaited(t)
	p.claims[1] = *c
	p.running = append(p.running[:1], p.running[2:]...)
	next := p.run(t, 3, "alice", 0, 1, "Rank = TARGET.Worth ?: 0")
	next.Sooner = true
	p.claims[3] = *next
	s := p.open(preempt.Rules{Several: true})
	w := p.waits(t, 10, "carol", 2, "Worth = 2")
	count := 0
	for found := range s.Candidates(w) {
		require.Equal(t, []backfill.JobID{3}, found.Yielding())
		require.EqualValues(t, 5700, found.Start)
		require.EqualValues(t, 5700, found.Soonest)
		count++
	}
	require.Equal(t, 1, count)
}
