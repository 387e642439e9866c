package track

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// leave is what a negotiator saves of a pool with the slots a and b: job 1 runs on a, job 2 waits
// for a, job 3 was started on b and does not run yet, and job 4 has a promise. It went through a
// file.
func leave(t *testing.T) (*pool, *SavedState) {
	t.Helper()
	p := begun(t)
	for cluster := range int64(4) {
		p.job(cluster + 1)
	}
	p.runs(1, "a")
	require.Equal(t, "submitted 2.0=#2, submitted 3.0=#3, submitted 4.0=#4, found 1.0=#1 on a×1 since 0", p.look())
	p.start(3, sent, "b")
	at := func(name string) negotiator.Placement {
		return negotiator.Placement{{Slot: p.belief.slots[full(name)].reported, Count: 1}}
	}
	standing := func(id backfill.JobID, slot string, running bool, start backfill.Time) negotiator.JobCheckpoint {
		j := p.belief.Job(id)
		return negotiator.JobCheckpoint{
			Job: p.belief.report(j, j.Phase, 0), Placement: at(slot),
			Standing: backfill.Standing{
				Running: running, Start: start, End: start + 660, Promised: id == 4, Guarantee: start,
			},
		}
	}
	saved := p.belief.Save(negotiator.Checkpoint{
		Now: p.unix(), Policy: "easy", Guarantees: true, Foretold: true,
		Slots: []*negotiator.Slot{at("a")[0].Slot, at("b")[0].Slot},
		Jobs: []negotiator.JobCheckpoint{
			standing(1, "a", true, begin), standing(2, "a", false, begin+660), standing(3, "b", true, begin),
			standing(4, "b", false, begin+660),
			{Job: &negotiator.Job{ID: 99}, Placement: at("a")}, // the belief has no such job
		},
	})
	require.Len(t, saved.Jobs, 4)
	written, err := json.Marshal(saved)
	require.NoError(t, err)
	var read SavedState
	require.NoError(t, json.Unmarshal(written, &read))
	require.Equal(t, *saved, read)
	return p, &read
}

// restore has another negotiator go on in a pool with what was saved.
func (p *pool) restore(saved *SavedState) (m negotiator.Checkpoint, flying []backfill.JobID) {
	p.t.Helper()
	p.belief, p.dispatched = New(p.belief.s), Dispatched{Flights: map[backfill.JobID]Flight{}}
	m, on := p.belief.Restore(saved, p.snapshot())
	for _, j := range on {
		flying = append(flying, j.ID)
		p.dispatched.Flights[j.ID] = Flight{}
	}
	return m, flying
}

// TestSaveAndRestore says that a negotiator goes on where the one before it ended.
func TestSaveAndRestore(t *testing.T) {
	p, saved := leave(t)
	p.now = p.now.Add(5 * time.Second)
	m, flying := p.restore(saved)
	require.Equal(t, backfill.Time(begin), m.Now)
	require.Equal(t, []any{"easy", true, true}, []any{m.Policy, m.Guarantees, m.Foretold})
	require.Equal(t, []*negotiator.Slot{p.slots["slot1@a"].Ad, p.slots["slot1@b"].Ad}, m.Slots)
	require.Len(t, m.Jobs, 4)
	for i, c := range m.Jobs {
		former := saved.Jobs[i]
		require.Equal(t, former.key().String(), c.Job.Name)
		wanted := former.checkpoint()
		wanted.Job, wanted.Placement = c.Job, c.Placement
		require.Equal(t, wanted, c)
		require.Equal(t, former.Places, placesOf(c.Placement))
	}
	require.Equal(t, []backfill.JobID{3}, flying, "it should run and does not yet")
	p.follow([]step{
		{},
		{after: 5, do: func(p *pool) { p.runs(3, "b") }, want: "over #3"},
		{after: 5, do: func(p *pool) { p.leaves(1) }, want: "completed #1 ran 15, proven a×1 for s"},
	})
}

// TestRestore says what a checkpoint has of a pool that changed meanwhile, and what is reported
// then.
func TestRestore(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *pool, saved *SavedState)
		jobs   []string
		want   string
		later  []step
	}{
		"a job completed meanwhile": {
			change: func(p *pool, _ *SavedState) { p.leaves(1) },
			jobs:   []string{"1.0 as it was", "2.0", "3.0", "4.0"}, want: "completed #4 ran ?",
		},
		"a job was removed meanwhile": {
			change: func(p *pool, _ *SavedState) { p.leaves(2) },
			jobs:   []string{"1.0", "2.0 as it was", "3.0", "4.0"}, want: "removed #4",
		},
		"a job was edited meanwhile": {
			change: func(p *pool, _ *SavedState) {
				p.job(2, is("longer", func(s *observe.Spec) { s.Estimate = 1200 }))
			},
			jobs: []string{"1.0", "2.0 as it was", "3.0", "4.0"}, want: "submitted 2.0=#2, removed #5",
		},
		"a job began to run meanwhile": {
			change: func(p *pool, _ *SavedState) { p.runs(2, "b") },
			jobs:   []string{"1.0", "2.0", "3.0", "4.0"}, want: "found 2.0=#2 on b×1 since 5",
		},
		"a slot is gone": {
			change: func(p *pool, _ *SavedState) { delete(p.slots, "slot1@b") },
			jobs:   []string{"1.0", "2.0", "3.0", "4.0"}, // the promise is kept
			later: []step{
				{after: 19},
				{after: 1, want: "up b closed"},
				{after: 1, do: func(p *pool) { p.dispatched.Flights = nil }, want: "back #3, whose slot ended"},
				{after: 1, want: "down b, dropped b"},
			},
		},
		"a slot is late": {
			change: func(p *pool, _ *SavedState) { delete(p.slots, "slot1@b") },
			jobs:   []string{"1.0", "2.0", "3.0", "4.0"},
			later:  []step{{after: 10, do: func(p *pool) { p.slot("b") }, want: "up b"}, {after: 14}},
		},
		"a slot has another capacity": {
			change: func(_ *pool, saved *SavedState) { saved.Slots[1].Capacity = backfill.Vector{8, 4096, 1} },
			jobs:   []string{"1.0", "2.0", "3.0", "4.0"}, want: "up b",
		},
		"a slot was not saved": {
			change: func(_ *pool, saved *SavedState) { saved.Slots = saved.Slots[:1] },
			jobs:   []string{"1.0", "2.0", "4.0"}, want: "up b, submitted 3.0=#3",
		},
		"it has no resources": {
			change: func(_ *pool, saved *SavedState) { saved.Slots[1].Capacity = nil },
			jobs:   []string{"1.0", "2.0", "4.0"}, want: "up b, submitted 3.0=#3",
		},
		"its times cannot be": {
			change: func(_ *pool, saved *SavedState) { saved.Jobs[1].End = saved.Jobs[1].Start },
			jobs:   []string{"1.0", "3.0", "4.0"}, want: "submitted 2.0=#2",
		},
		"its run cannot be": {
			change: func(_ *pool, saved *SavedState) { saved.Jobs[0].Run.Limit = -1 },
			jobs:   []string{"2.0", "3.0", "4.0"}, want: "found 1.0=#1 on a×1 since 0",
		},
		"it names a job twice": {
			change: func(_ *pool, saved *SavedState) { saved.Jobs[1] = saved.Jobs[0] },
			jobs:   []string{"1.0", "1.0 as it was", "3.0", "4.0"}, want: "submitted 2.0=#2, completed #5 ran ?",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, saved := leave(t)
			p.now = p.now.Add(5 * time.Second)
			c.change(p, saved)
			m, _ := p.restore(saved)
			var jobs []string
			for _, j := range m.Jobs {
				jobs = append(jobs, j.Job.Name)
			}
			require.Equal(t, c.jobs, jobs)
			p.follow(append([]step{{want: c.want}}, c.later...))
		})
	}
}

// TestRestoreKeepsPromises says that a waiting job whose slot is gone keeps its promise without a
// place.
func TestRestoreKeepsPromises(t *testing.T) {
	p, saved := leave(t)
	delete(p.slots, "slot1@b")
	m, _ := p.restore(saved)
	last := m.Jobs[len(m.Jobs)-1]
	require.Equal(t, "4.0", last.Job.Name)
	require.True(t, last.Promised)
	require.Equal(t, backfill.Time(begin+660), last.Guarantee)
	require.Nil(t, last.Placement)
	require.Zero(t, last.Start)
	require.Zero(t, last.End)
}

// TestRestoreNothing says that without a saved state a negotiator begins with nothing, whatever was
// believed before.
func TestRestoreNothing(t *testing.T) {
	p, saved := leave(t)
	_, _ = p.restore(saved)
	s := p.snapshot()
	m, flying := p.belief.Restore(nil, s)
	require.Equal(t, negotiator.Checkpoint{}, m)
	require.Empty(t, flying)
	p.belief.See(s)
	out := p.belief.Diff(Dispatched{})
	require.Equal(t, "up a, up b, submitted 2.0=#2, submitted 3.0=#3, submitted 4.0=#4, found 1.0=#1 on a×1 since 0",
		text(out, p.belief))
}

// TestSavedJobsKeepTheirNames reads jobs as they have always been written, and writes them with the
// same names: a negotiator of another release goes on from there.
func TestSavedJobsKeepTheirNames(t *testing.T) {
	text := `[
		{"schedd":"s","cluster":1,"proc":0,"submit":5,"nodes":1,"request":[1,2],"estimate":60,"ahead":3,"running":true,
		 "places":[{"slot":"a","chunks":1}],"start":10,"end":70},
		{"schedd":"s","cluster":2,"proc":1,"submit":6,"nodes":2,"request":[1,2],"estimate":60,
		 "places":[{"slot":"a","chunks":2}],"start":80,"end":140,"promised":true,"guarantee":90}
	]`
	var jobs []SavedJob
	require.NoError(t, json.Unmarshal([]byte(text), &jobs))
	require.Equal(t, []SavedJob{
		{
			Schedd: "s", Cluster: 1, Submit: 5, Nodes: 1, Request: backfill.Vector{1, 2}, Estimate: 60, Ahead: 3,
			Places: []Place{{Slot: "a", Chunks: 1}}, Standing: backfill.Standing{Running: true, Start: 10, End: 70},
		},
		{
			Schedd: "s", Cluster: 2, Proc: 1, Submit: 6, Nodes: 2, Request: backfill.Vector{1, 2}, Estimate: 60,
			Places:   []Place{{Slot: "a", Chunks: 2}},
			Standing: backfill.Standing{Start: 80, End: 140, Promised: true, Guarantee: 90},
		},
	}, jobs)
	written, err := json.Marshal(jobs)
	require.NoError(t, err)
	require.JSONEq(t, text, string(written))
}

// TestRestoreRuns says that jobs which ran go on as they were planned, for as long as they run,
// whatever their users have edited while there was no negotiator.
func TestRestoreRuns(t *testing.T) {
	for name, edit := range map[string]func(p *pool){
		"nothing":      func(*pool) {},
		"its estimate": func(p *pool) { p.job(1, is("longer", func(s *observe.Spec) { s.Estimate = 1 })) },
		"its request": func(p *pool) {
			p.job(1, is("less", func(s *observe.Spec) { s.Request = backfill.Vector{0, 1, 1} }))
		},
		"its nodes":  func(p *pool) { p.job(1, gang(3)) },
		"all of it":  func(p *pool) { p.job(1, wrong("its RequestCpus is error")) },
		"its dates":  func(p *pool) { p.job(1, func(g *observe.Group) { g.Submit, g.Started = begin-1000, p.unix() }) },
		"its status": func(p *pool) { p.job(1, func(g *observe.Group) { g.Status = observe.Idle }) },
		"its queue":  func(p *pool) { p.leaves(1) },
	} {
		t.Run(name, func(t *testing.T) {
			p, saved := leave(t)
			p.now = p.now.Add(100 * time.Second)
			p.slotRuns("a")
			edit(p)
			p.restore(saved)
			for range 3 {
				p.look()
				require.Equal(t, accountant.Use{Slots: 2, Weight: 8}, p.belief.Use()[""], "jobs 1 and 3, on static slots of 4 cpus")
			}
			if j := p.belief.JobOf(key(1)); j != nil && j.Group.Runs() {
				require.EqualValues(t, begin, j.lasted.since)
				require.EqualValues(t, 600, j.lasted.stated.Estimate)
				require.Equal(t, "slot1@a×1", list(j.Places))
			}
		})
	}
}

// TestRestoreAfterTheClockWasPutBack says that all jobs stand as they did, by the new clock.
func TestRestoreAfterTheClockWasPutBack(t *testing.T) {
	p, saved := leave(t)
	p.now = p.now.Add(-time.Hour)
	m, flying := p.restore(saved)
	require.Len(t, m.Jobs, 4)
	require.Equal(t, []backfill.JobID{3}, flying, "it was handed over, and is not to be again")
	for i, c := range m.Jobs {
		former := saved.Jobs[i]
		require.Equal(t, former.key().String(), c.Job.Name)
		require.Equal(t, former.Start-3600, c.Start)
		require.Equal(t, former.End-3600, c.End)
		require.Equal(t, former.Guarantee-3600, c.Guarantee)
	}
	p.follow([]step{{}})
}

// TestSubmittedByAClockThatWasPutBack says that jobs which said that they were submitted too early
// keep their places and promises, too, and that no job counts as submitted in the future.
func TestSubmittedByAClockThatWasPutBack(t *testing.T) {
	p, saved := leave(t)
	for i := range saved.Jobs {
		require.EqualValues(t, begin, saved.Jobs[i].Submit)
		p.job(saved.Jobs[i].Cluster, submitted(1))
	}
	require.NotEmpty(t, saved.Schedds[0].Seen)
	p.now = p.now.Add(-time.Hour)
	m, _ := p.restore(saved)
	require.Len(t, m.Jobs, 4)
	p.job(5, submitted(1))
	for range 3 {
		require.NotContains(t, p.look(), "removed")
		for cluster := range int64(5) {
			if j := p.belief.JobOf(key(cluster + 1)); j != nil {
				require.LessOrEqual(t, j.submitted(), p.unix())
			}
		}
		p.now = p.now.Add(time.Minute)
	}
	for _, seen := range p.belief.seen["s"] {
		require.LessOrEqual(t, seen.At, p.unix())
	}
	require.Equal(t, p.unix()-60-submitSlack, p.belief.notBefore(key(6)))
}
