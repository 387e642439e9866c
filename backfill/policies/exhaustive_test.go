package policies_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// small is a small random pool, which loses slots and gets them back, under slack or slack-small, with few
// jobs that wait.
type small struct {
	*rapid.T
	random   *rand.Rand
	host     *backfill.Host
	follows  *follower
	capacity []backfill.Vector
	up       []bool
	sets     int
	unit     bool // chunks are of one cpu, and jobs may use all slots
	next     backfill.JobID
	upset    bool // the last round may move promises: a slot is lost, or a job overruns
}

func newSmall(t *rapid.T) *small {
	seed := rapid.Uint64Range(0, 1<<20).Draw(t, "seed")
	s := &small{T: t, next: 1, random: rand.New(rand.NewPCG(seed, 4))} //nolint:gosec // not for secrets
	s.unit = s.among(0, 3) == 0
	resources := []string{"cpus", "memory"}
	if s.unit || rapid.Bool().Draw(t, "cpus only") {
		resources = resources[:1]
	}
	spec, err := policies.Named(rapid.SampledFrom([]string{"slack", "slack-small"}).Draw(t, "policy"))
	require.NoError(t, err)
	policy, err := spec.Make(map[string]string{
		"factor": rapid.SampledFrom([]string{"0", "0.5", "2", "8"}).Draw(t, "factor"),
		"aging":  rapid.SampledFrom([]string{"0", "0.7", "2"}).Draw(t, "aging"),
	})
	require.NoError(t, err)
	spec.New = func(backfill.Values) (backfill.Policy, error) { return policy, nil }
	main, err := backfill.Link(spec, nil)
	require.NoError(t, err)
	fallback, err := backfill.Link(policies.FallbackFor(spec), nil)
	require.NoError(t, err)
	order, err := backfill.OrderNamed(rapid.SampledFrom([]string{"fcfs", "sjf", "wfp", "widest"}).Draw(t, "order"))
	require.NoError(t, err)
	rule := profile.Rule(s.among(0, 2))
	s.follows = &follower{Decider: main, s: s}
	s.host, err = backfill.NewHost(backfill.NewState(resources, rule), order, s.follows, fallback,
		func(r backfill.Refusal) { require.NoError(t, r.Err) })
	require.NoError(t, err)
	s.host.SetPlanning(rapid.SampledFrom(plannings).Draw(t, "planning"))
	s.open(len(resources))
	return s
}

// among returns a random number.
func (s *small) among(low, high int) int { return low + s.random.IntN(high-low+1) }

// open brings up all slots. Candidate set 0 is all of them, the others are some.
func (s *small) open(resources int) {
	slots := s.among(2, 4)
	r := backfill.Round{Candidates: []backfill.CandidateSet{{}}}
	all := &r.Candidates[0].Candidates
	for id := range slots {
		capacity := make(backfill.Vector, resources)
		for k := range capacity {
			capacity[k] = int64(s.among(1, 4))
		}
		s.capacity, s.up = append(s.capacity, capacity), append(s.up, true)
		all.Slots = append(all.Slots, backfill.SlotID(id))
		r.Events = append(r.Events, s.added(id))
	}
	if s.sets = 1; !s.unit {
		for s.sets < 3 {
			some := s.random.Perm(slots)[:s.among(1, slots)]
			slices.Sort(some)
			set := backfill.CandidateSet{ID: s.sets}
			for _, id := range some {
				set.Candidates.Slots = append(set.Candidates.Slots, backfill.SlotID(id))
			}
			r.Candidates = append(r.Candidates, set)
			s.sets++
		}
	}
	s.decide(r)
}

// decide decides a round, and returns the states before and after it, too.
func (s *small) decide(r backfill.Round) (before, after backfill.Snapshot, d backfill.Decision) {
	s.follows.copied = s.host.State.Clone()
	before = s.follows.copied.Snapshot()
	d, err := s.host.Decide(s.Context(), r)
	require.NoError(s, err)
	return before, s.host.State.Snapshot(), d
}

func (s *small) added(id int) backfill.Event {
	return backfill.Event{Kind: backfill.SlotAdded, Slot: backfill.Slot{
		ID: backfill.SlotID(id), Name: string(rune('a' + id)), Capacity: s.capacity[id],
	}}
}

// round makes up what happens next.
func (s *small) round() backfill.Round {
	state := s.host.State
	soon := state.Now() + backfill.Time(s.among(1, 4))
	r := backfill.Round{Now: max(state.Now()+1, min(state.NextWake(), soon))}
	s.upset = false
	add := func(e backfill.Event) { r.Events = append(r.Events, e) }
	waiting := state.Waiting()
	for _, j := range state.Snapshot().Jobs {
		chance := s.among(0, 39)
		switch {
		case j.Running && j.End <= r.Now && chance < 10: // it overruns
			s.upset = true
		case j.Running && (j.End <= r.Now || chance < 14):
			add(backfill.Event{Kind: backfill.Completed, JobID: j.Job.ID})
		case chance == 39:
			add(backfill.Event{Kind: backfill.Removed, JobID: j.Job.ID})
		}
	}
	if slot := s.among(0, 40); slot < len(s.up) {
		if s.up[slot] = !s.up[slot]; s.up[slot] {
			add(s.added(slot))
		} else {
			add(backfill.Event{Kind: backfill.SlotLost, Slot: backfill.Slot{ID: backfill.SlotID(slot)}})
			s.upset = true
		}
	}
	for n := s.among(0, 4); n > 0 && waiting < mostWaiting; n-- {
		add(s.submission(r.Now))
		waiting++
	}
	return r
}

// mostWaiting is with how many jobs that wait no more arrive, so that all places can be tried.
const mostWaiting = 7

func (s *small) submission(now backfill.Time) backfill.Event {
	request := make(backfill.Vector, len(s.capacity[0]))
	if request[0] = 1; !s.unit {
		for k := range request {
			request[k] = int64(s.among(1-min(k, 1), 3))
		}
	}
	e := submission(s.next, now, a{backfill.Time(s.among(1, 20)), request})
	e.Job.Nodes = s.among(1, 4)
	e.Job.Candidates = max(0, s.among(-2, s.sets-1))
	if s.among(0, 9) == 0 {
		e.Job.Release = now + backfill.Time(s.among(1, 20))
	}
	s.next++
	return e
}

// follower is a decider of which each action is followed.
type follower struct {
	backfill.Decider
	s      *small
	copied *backfill.State // as it was before the round
	moved  int             // starts for which others were moved
}

// Decided repeats a decision on a copy of the state and checks that no action moves a reservation to a later
// start.
func (f *follower) Decided(r backfill.Round, d backfill.Decision, _ bool) {
	tx, err := f.copied.Open(r)
	require.NoError(f.s, err)
	gaveUp := map[backfill.JobID]backfill.Time{}
	for _, action := range d.Actions {
		idle := backfill.Action{After: action.After, Kind: backfill.ActWake, At: r.Now + 1} // takes the events
		require.NoError(f.s, tx.Replay(f.s.Context(), []backfill.Action{idle}))
		start, _, planned := tx.State().Planned(action.Job)
		switch action.Kind {
		case backfill.ActStart:
			if len(gaveUp) > 0 {
				f.moved++
			}
		case backfill.ActRelease:
			gaveUp[action.Job] = start
		case backfill.ActReserve:
			if former, gave := gaveUp[action.Job]; gave {
				start, planned = former, true
				delete(gaveUp, action.Job)
			}
			require.False(f.s, planned && action.At > start, "job %d from %d to %d", action.Job, start, action.At)
		default:
		}
		require.NoError(f.s, tx.Replay(f.s.Context(), []backfill.Action{action}))
	}
	require.Empty(f.s, gaveUp)
	tx.Rollback()
}

// missed counts, over rounds, the jobs that wait and could have been started.
type missed struct {
	rounds, waiting, starts, moves, helped int
	late                                   int             // they fit, as a job that started gave its reservation up
	all, quiet                             int             // they fit once others have other places; in rounds that start nobody
	jobs                                   map[string]bool // of all
}

// TestAllPlacesTried checks on small random pools, by trying all places, that after each round all
// reservations fit at their starts beside what runs, where they are and in any way; that no action moves a
// reservation to a later start, and none is later but for a mishap; that [backfill.Decision] lists exactly
// those that have other slots; and that with chunks of one cpu no job waits that could start once others
// move. With -v it tells how many could with larger chunks.
func TestAllPlacesTried(t *testing.T) {
	m := missed{jobs: map[string]bool{}}
	history := 0
	rapid.Check(t, func(t *rapid.T) {
		s := newSmall(t)
		history++
		for range rapid.IntRange(1, 60).Draw(t, "rounds") {
			before, after, d := s.decide(s.round())
			planned := reservations(&after, nil)
			require.True(t, jointly(&after).fit(planned), "where they are")
			search := jointly(&after)
			require.True(t, search.fit(anywhere(planned)))
			require.Equal(t, movesOf(before, s.host.State), d.Replaced)
			s.keeps(&before, &after, &d)
			m.look(s, &after, &d, history)
		}
		m.helped += s.follows.moved
	})
	require.False(t, history >= 100 && m.helped == 0)
	t.Logf("%d histories, %d rounds, %d starts, %d of them once others were moved; %d reservations moved", history,
		m.rounds, m.starts, m.helped, m.moves)
	t.Logf("%d times a job waited after a round: %d fitted, as one behind it had given its reservation up; %d times others "+
		"could have been moved for it, %d of them in a round without starts; these were %d jobs", m.waiting, m.late, m.all,
		m.quiet, len(m.jobs))
}

// keeps checks that no start is later than it was, unless something happened that may move promises, and that
// each promised job is planned to start in time.
func (s *small) keeps(before, after *backfill.Snapshot, d *backfill.Decision) {
	former := map[backfill.JobID]backfill.Time{}
	for _, p := range reservations(before, nil) {
		former[p.job.ID] = p.start
	}
	for _, j := range after.Jobs {
		start, had := former[j.Job.ID]
		switch {
		case j.Running || j.Placement == nil:
			continue
		case had && !s.upset:
			require.LessOrEqual(s, j.Start, start, "job %d", j.Job.ID)
		case j.Promised:
			require.LessOrEqual(s, j.Start, j.Guarantee, "job %d", j.Job.ID)
		}
	}
	if !s.upset {
		require.Empty(s, d.Broken)
	}
}

// look counts the jobs that could start now. In a round that starts none, no job fits beside the others
// where they are.
func (m *missed) look(s *small, after *backfill.Snapshot, d *backfill.Decision, history int) {
	m.rounds++
	m.starts += len(d.Started)
	m.moves += len(d.Replaced)
	for _, j := range after.Jobs {
		if j.Running || j.Held != "" || j.Job.Early(after.Now) {
			continue
		}
		m.waiting++
		others := reservations(after, j.Job)
		now := piece{j.Job, after.Now, after.Now + j.Job.Estimate, nil}
		if jointly(after).fit(append(others, now)) {
			require.NotEmpty(s, d.Started)
			m.late++
			continue
		}
		search := jointly(after)
		if search.fit(anywhere(append(others, now))) {
			m.all++
			if len(d.Started) == 0 {
				m.quiet++
				require.False(s, s.unit, "job %d: chunks of one cpu always find room that the sums have", j.Job.ID)
			}
			m.jobs[fmt.Sprint(history, " ", j.Job.ID)] = true
		}
		require.Positive(s, search.steps)
	}
}
