package backfill_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// shifting is a pool whose slots come, go and change, under the order area. It keeps account of
// which slots are up.
type shifting struct {
	t       *rapid.T
	policy  func(*backfill.State) *backfill.Host // makes a host with the policy
	host    *backfill.Host
	has     []backfill.Vector // of each slot; nil: it is away
	now     backfill.Time
	nextJob backfill.JobID
}

// newShifting creates a pool of four slots of two resources, which the next round adds.
func newShifting(t *rapid.T, policy func(*backfill.State) *backfill.Host) *shifting {
	p := &shifting{t: t, policy: policy, has: make([]backfill.Vector, 4)}
	p.host = policy(backfill.NewState([]string{"cpus", "memory"}, profile.ByRank))
	first := backfill.Round{Candidates: []backfill.CandidateSet{{
		Candidates: backfill.Candidates{Slots: []backfill.SlotID{0, 1, 2, 3}},
	}}}
	for i := range p.has {
		p.tell(&first, backfill.SlotAdded, i)
	}
	_, err := p.host.Decide(t.Context(), first)
	require.NoError(t, err)
	return p
}

func (p *shifting) draw(most int, what string) int { return rapid.IntRange(0, most).Draw(p.t, what) }

// tell adds an event of a slot to the round, and keeps account of it.
func (p *shifting) tell(r *backfill.Round, kind backfill.EventKind, i int) {
	e := backfill.Event{Kind: kind, Slot: slot(i, backfill.Vector{1, 100})}
	if p.has[i] = nil; kind != backfill.SlotLost {
		p.has[i] = backfill.Vector{int64(p.draw(8, "cpus")), int64(100 * p.draw(8, "memory"))}
		e.Slot.Capacity = p.has[i]
	}
	r.Events = append(r.Events, e)
}

// shift adds to the round what happens to a slot, which may be more than one thing.
func (p *shifting) shift(r *backfill.Round, i int) {
	const added, lost, changed = backfill.SlotAdded, backfill.SlotLost, backfill.SlotChanged
	happens := [][]backfill.EventKind{{lost}, {changed}, {lost, changed}, {changed, lost}, {lost, changed, lost}}
	if p.has[i] == nil {
		happens = [][]backfill.EventKind{{added}, {changed}, {added, lost}, {added, changed}}
	}
	for _, kind := range rapid.SampledFrom(happens).Draw(p.t, "happens") {
		p.tell(r, kind, i)
	}
	if n := len(r.Events) - 2; n >= 0 && r.Events[n].Kind == added && p.draw(1, "reported first") == 0 {
		r.Events[n], r.Events[n+1] = r.Events[n+1], r.Events[n] // additions are applied first all the same
	}
}

// job makes a job up that asks for something.
func (p *shifting) job(id backfill.JobID) *backfill.Job {
	return gang(id, 0, backfill.Time(1+p.draw(19, "estimate")), 1+p.draw(1, "nodes"),
		int64(p.draw(6, "cpus")), int64(1+p.draw(700, "memory")))
}

// round makes up what happens next.
func (p *shifting) round() backfill.Round {
	p.now = min(p.host.State.NextWake(), p.now+backfill.Time(p.draw(5, "step")))
	r := backfill.Round{Now: p.now}
	for _, j := range p.host.State.Snapshot().Jobs {
		switch what := p.draw(20, "job"); {
		case j.Running && (what < 3 || p.now >= j.End && what < 15):
			r.Events = append(r.Events, jobEvent(backfill.Completed, j.Job.ID))
		case j.Running && what == 3:
			r.Events = append(r.Events, jobEvent(backfill.StartFailed, j.Job.ID))
		case what == 4:
			r.Events = append(r.Events, jobEvent(backfill.Removed, j.Job.ID))
		case what == 5 && !j.Running:
			r.Events = append(r.Events, backfill.Event{Kind: backfill.Changed, Job: p.job(j.Job.ID)})
		}
	}
	if p.draw(2, "shifts") == 0 {
		for i := range p.has {
			if p.draw(1, "shift") == 0 {
				p.shift(&r, i)
			}
		}
	}
	for range p.draw(2, "jobs") {
		r.Events = append(r.Events, submitted(p.job(p.nextJob))...)
		p.nextJob++
	}
	return r
}

// check requires that the keys of all jobs and the queue are those of the slots that are up.
func (p *shifting) check() {
	capacity := make(backfill.Vector, 2)
	for _, has := range p.has {
		capacity.AddScaled(has, 1)
	}
	s := p.host.State
	require.Equal(p.t, capacity, s.Capacity())
	var queue []*backfill.Job
	for _, j := range s.Snapshot().Jobs {
		key, _ := exactArea(j.Job, capacity).Float64()
		require.InDelta(p.t, key, j.Key, 0, "job %d of %v", j.Job.ID, capacity)
		if s.IsWaiting(j.Job.ID) {
			queue = append(queue, j.Job)
		}
	}
	slices.SortFunc(queue, func(a, b *backfill.Job) int {
		return cmp.Or(exactArea(a, capacity).Cmp(exactArea(b, capacity)), backfill.Compare(a, b))
	})
	require.Equal(p.t, ids(queue), ids(s.FirstWaiting(1<<20)))
}

// TestQueueFollowsTheCapacity checks for all policies that under area the queue is always sorted by
// the slots that are up: while several of them come, go and change in a round, or the same one more
// than once; after rounds that are refused; when another order, or another host with a copy or a
// snapshot of the state, takes over.
func TestQueueFollowsTheCapacity(t *testing.T) {
	for _, spec := range policies.All() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			policy := func(s *backfill.State) *backfill.Host {
				h := newHost(t, s, spec.Name, "area")
				h.SetPlanning(backfill.Planning{Depth: 3, Reorder: true}) // else conservative would not ask for keys
				return h
			}
			rapid.Check(t, func(rt *rapid.T) {
				p := newShifting(rt, policy)
				for range 25 {
					round := p.round()
					if p.draw(5, "refused first") == 0 {
						wrong := round
						wrong.Events = append(slices.Clone(round.Events), jobEvent(backfill.Completed, 1<<40))
						_, err := p.host.Decide(rt.Context(), wrong)
						require.ErrorContains(rt, err, "does not run")
					}
					_, err := p.host.Decide(rt.Context(), round)
					require.NoError(rt, err)
					p.check()
					p.takeOver(link(t, spec.Name, nil))
				}
			})
		})
	}
}

// takeOver lets another order or another host take over now and then.
func (p *shifting) takeOver(main backfill.Decider) {
	switch p.draw(12, "take over") {
	case 0:
		p.host = p.policy(p.host.State.Clone())
	case 1:
		snap := p.host.State.Snapshot()
		for i := range snap.Jobs {
			snap.Jobs[i].Key = -1
		}
		p.host = p.policy(nil)
		require.NoError(p.t, p.host.Resume(snap))
		p.check()
	case 2:
		for _, name := range []string{"wfp", "area"} { // each for one round
			order, err := backfill.OrderNamed(name)
			require.NoError(p.t, err)
			require.NoError(p.t, p.host.Change(order, main, main))
			_, err = p.host.Decide(p.t.Context(), backfill.Round{Now: p.now})
			require.NoError(p.t, err)
		}
		p.check()
	}
}
