package backfill_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies/conservative"
)

// beyondIDs lists the jobs beyond the depth, in the order in which they enter the plan.
func beyondIDs(c *backfill.Cycle) []backfill.JobID { return ids(slices.Collect(c.Fast().Beyond())) }

// promise reserves for a job at its earliest start and guarantees that.
func promise(c *backfill.Cycle, j *backfill.Job) {
	start, at, _ := c.Earliest(j, c.Now())
	c.Reserve(j, start, at)
	c.Guarantee(j, start)
}

// TestWhoMayBeLeftOut checks which decisions on three jobs, for a plan of a given depth, are
// refused. Each of the jobs takes the whole pool for 10 s.
func TestWhoMayBeLeftOut(t *testing.T) {
	jobs := []*backfill.Job{job(1, 0, 10, 4), job(2, 0, 10, 4), job(3, 0, 10, 4)}
	promised := func(n int) func(*backfill.Cycle) {
		return func(c *backfill.Cycle) {
			for _, j := range jobs[:n] {
				promise(c, j)
			}
			for _, j := range c.Due() {
				_, at, _ := c.Reservation(j)
				c.Start(j, at)
			}
		}
	}
	for _, tt := range []struct {
		name   string
		depth  int
		act    func(*backfill.Cycle)
		beyond int
		err    string
	}{
		{"all, no limit", 0, promised(3), 0, ""},
		{"two, no limit", 0, promised(2), 0, "job 3 is left without a reservation, and the policy gives guarantees"},
		{"two of two", 2, promised(2), 1, ""},
		{"one of two", 2, promised(1), 0, "job 2 is left without a reservation, and the plan has 1 jobs of at most 2"},
		{"one of one", 1, promised(1), 2, ""}, // the start leaves room for the next round
		{"none of one", 1, promised(0), 0, "job 1 is left without a reservation, and the plan has 0 jobs of at most 1"},
		{"deeper than allowed", 1, promised(3), 0, ""}, // no promise is broken by it
		{"a start without a promise", 1, func(c *backfill.Cycle) {
			c.Start(jobs[1], on(0, 1))
			promise(c, jobs[2])
		}, 1, ""},
		{"a reservation without a promise", 1, func(c *backfill.Cycle) {
			c.Reserve(jobs[0], 5, on(0, 1))
		}, 0, "job 1 was given no guarantee"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newState(t, cpus(4))
			accept(t, s, backfill.Round{Events: []backfill.Event{policyChanged(true)}}, nil)
			before := factsOf(s, 0)
			round := backfill.Round{Planning: &backfill.Planning{Depth: tt.depth}, Events: submitted(jobs...)}
			_, err := attempt(t, s, round, tt.act)
			if tt.err != "" {
				require.EqualError(t, err, tt.err)
				require.Equal(t, before, factsOf(s, 0))
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.beyond, s.BeyondDepth())
			require.Equal(t, backfill.Planning{Depth: tt.depth}, s.Planning())
		})
	}
}

// TestAPromiseBeyondTheDepthStays checks that a job which was promised its start cannot be left
// without a reservation, however deep the plan is by now, unless it is planned anew.
func TestAPromiseBeyondTheDepthStays(t *testing.T) {
	s := newState(t, cpus(4))
	running, waiting := job(1, 0, 10, 4), job(2, 0, 10, 4)
	accept(t, s, backfill.Round{Events: []backfill.Event{policyChanged(true)}}, nil)
	accept(t, s, backfill.Round{Events: submitted(running, waiting)}, func(c *backfill.Cycle) {
		promise(c, running)
		promise(c, waiting)
		c.Start(running, on(0, 1))
	})
	shallow := backfill.Round{Now: 1, Planning: &backfill.Planning{Depth: 1}}
	_, err := attempt(t, s, shallow, func(c *backfill.Cycle) { c.Release(waiting) })
	require.EqualError(t, err, "job 2 is left without a reservation, and was promised to start at 10 at the latest")
	evicted := shallow
	evicted.Events = []backfill.Event{jobEvent(backfill.StartFailed, 1)}
	_, err = attempt(t, s, evicted, nil)
	require.EqualError(t, err, "job 1 is left without a reservation, and was promised to start at 0 at the latest")
	d := accept(t, s, evicted, func(c *backfill.Cycle) { c.Reserve(running, 20, on(0, 1)) })
	require.Equal(t, []backfill.Broken{{Job: running, Promised: 0, Now: 20, Cause: backfill.CauseStartFailed}}, d.Broken)
	require.Zero(t, s.BeyondDepth())
}

// TestWhoEntersNext checks the order in which jobs beyond the depth are listed as keys, planning and
// policy change, and that taking such a round back restores it.
func TestWhoEntersNext(t *testing.T) {
	s := newState(t, cpus(4))
	list := func(r backfill.Round, want ...backfill.JobID) backfill.Round {
		t.Helper()
		for range 2 {
			c, err := s.Open(r)
			require.NoError(t, err)
			drain(c.Cycle)
			require.Equal(t, want, beyondIDs(c.Cycle))
			c.Rollback()
		}
		return r
	}
	arrivals := submitted(job(1, 0, 30, 4), job(2, 0, 20, 4), job(3, 0, 10, 4), job(4, 0, 5, 4))
	for i := range arrivals {
		arrivals[i].Key = float64(arrivals[i].Job.Estimate)
	}
	list(backfill.Round{Events: arrivals}) // of a policy without guarantees
	accept(t, s, backfill.Round{Events: arrivals}, nil)
	takesOver := backfill.Round{Events: []backfill.Event{policyChanged(true)}}
	list(takesOver, 1, 2, 3, 4)
	takesOver.Planning = &backfill.Planning{Depth: 1, Reorder: true}
	accept(t, s, list(takesOver, 4, 3, 2, 1), func(c *backfill.Cycle) {
		promise(c, arrivals[3].Job)
		c.Start(arrivals[3].Job, on(0, 1))
		require.Equal(t, started(3, 2, 1), beyondIDs(c))
	})
	list(backfill.Round{}, 3, 2, 1)
	list(backfill.Round{Keys: []backfill.JobKey{{Job: 1, Key: 7}}}, 1, 3, 2)
	list(backfill.Round{Planning: &backfill.Planning{Depth: 1}, Keys: []backfill.JobKey{{Job: 2, Key: 7}}}, 1, 2, 3)
	list(backfill.Round{Events: []backfill.Event{policyChanged(false)}})
	changed := *arrivals[2].Job
	list(backfill.Round{Events: []backfill.Event{
		jobEvent(backfill.Removed, 2), {Kind: backfill.Changed, Job: &changed, Key: 99},
	}}, 1, 3)

	c, err := s.Open(backfill.Round{})
	require.NoError(t, err)
	for j := range c.Fast().Beyond() {
		if j.ID != 2 {
			c.Hold(j, "not now")
		}
	}
	require.Equal(t, started(2), beyondIDs(c.Cycle))
	c.Rollback()
	list(backfill.Round{}, 3, 2, 1)
}

func started(ids ...backfill.JobID) []backfill.JobID { return ids }

// TestManyBeyondTheDepth checks that a loop over more jobs than it reads ahead meets each once,
// whatever it does with them.
func TestManyBeyondTheDepth(t *testing.T) {
	s := newState(t, cpus(4))
	accept(t, s, backfill.Round{Events: []backfill.Event{policyChanged(true)}}, nil)
	var jobs []*backfill.Job
	var all []backfill.JobID
	for id := range backfill.JobID(100) {
		jobs, all = append(jobs, job(id, 0, 1, 4)), append(all, id)
	}
	c, err := s.Open(backfill.Round{Events: submitted(jobs...)})
	require.NoError(t, err)
	drain(c.Cycle)
	require.Equal(t, all, beyondIDs(c.Cycle))
	var met []backfill.JobID
	for j := range c.Fast().Beyond() {
		if met = append(met, j.ID); j.ID%3 > 0 {
			promise(c.Cycle, j)
		}
	}
	require.Equal(t, all, met)
	require.Len(t, beyondIDs(c.Cycle), 34)
}

// TestPlanningOfTheHost checks which planning a policy is given: that of the host, or else of the
// state, but none if the policy does not follow it; and whether its queue is in order of jobs.
func TestPlanningOfTheHost(t *testing.T) {
	unaware := conservative.Spec()
	unaware.PlanDepth = false
	old, err := backfill.Link(unaware, nil)
	require.NoError(t, err)
	s := newState(t, cpus(4))
	longest := order(t, "ljf")
	h, err := backfill.NewHost(s, longest, old, old, nil)
	require.NoError(t, err)
	one := backfill.Planning{Depth: 1, Reorder: true}
	h.SetPlanning(one)
	decide(t, h, 0, submitted(job(1, 0, 10, 4), job(2, 0, 20, 4), job(3, 0, 30, 4))...)
	require.Equal(t, backfill.Planning{}, s.Planning())
	require.Zero(t, s.BeyondDepth())
	require.Equal(t, started(2, 3), ids(s.FirstWaiting(9)), "in order of jobs")

	aware := link(t, "conservative", nil)
	require.NoError(t, h.Change(longest, aware, aware))
	decide(t, h, 1, submitted(job(4, 1, 10, 4), job(5, 1, 50, 4))...)
	require.Equal(t, one, s.Planning())
	require.Equal(t, 2, s.BeyondDepth())
	require.Equal(t, started(5, 3, 2, 4), ids(s.FirstWaiting(9)), "by ljf")

	renewed, err := backfill.NewHost(s, longest, aware, aware, nil)
	require.NoError(t, err)
	decide(t, renewed, 2, backfill.Event{Kind: backfill.Wake})
	require.Equal(t, one, s.Planning(), "as the state has it")
	require.NoError(t, renewed.Resume(s.Snapshot()))
	s = renewed.State
	require.Equal(t, started(5, 3, 2, 4), ids(s.FirstWaiting(9)))

	renewed.SetPlanning(backfill.Planning{})
	decide(t, renewed, 3, backfill.Event{Kind: backfill.Wake})
	require.Zero(t, s.BeyondDepth())
	require.Equal(t, started(2, 3, 4, 5), ids(s.FirstWaiting(9)))
	start, _, _ := s.Planned(5)
	require.EqualValues(t, 70, start)

	easy := link(t, "easy", nil)
	renewed.SetPlanning(one)
	require.NoError(t, renewed.Change(longest, easy, easy))
	decide(t, renewed, 4, backfill.Event{Kind: backfill.Wake})
	require.Equal(t, backfill.Planning{}, s.Planning())
}

// TestPlanningIsChecked checks that a negative depth is refused in a round and in a snapshot.
func TestPlanningIsChecked(t *testing.T) {
	s := newState(t, cpus(4))
	_, err := s.Open(backfill.Round{Planning: &backfill.Planning{Depth: -1}})
	require.EqualError(t, err, "plan depth -1: must be at least 0, which means no limit")
	snap := s.Snapshot()
	snap.Planning.Depth = -1
	_, err = backfill.Restore(snap)
	require.EqualError(t, err, "snapshot: plan depth -1: must be at least 0, which means no limit")
}

// TestReasonBeyondTheDepth checks what the owners of jobs beyond the depth are told.
func TestReasonBeyondTheDepth(t *testing.T) {
	s := newState(t, cpus(4))
	h := newHost(t, s, "conservative", "ljf")
	var jobs []*backfill.Job
	for id := range backfill.JobID(1300) {
		jobs = append(jobs, job(id, 0, 10+backfill.Time(id), 4))
	}
	h.SetPlanning(backfill.Planning{Depth: 1200})
	decide(t, h, 0, submitted(jobs...)...)
	told := func(id backfill.JobID) string {
		r, ok := s.Reason(id)
		require.True(t, ok)
		if r.Why == backfill.Unpromised {
			require.Equal(t, "waits", r.Why.String())
			require.Nil(t, r.Placement)
			require.False(t, r.Promised)
		}
		return s.Describe(r, nil)
	}
	require.Contains(t, told(1199), "guaranteed by")
	require.Equal(t, "no promise yet: next in the plan's order, which reaches 1,200", told(1200))
	require.Equal(t, "no promise yet: 1 job before it in the plan's order, which reaches 1,200", told(1201))
	require.Equal(t, "no promise yet: 99 jobs before it in the plan's order, which reaches 1,200", told(1299))

	s = newState(t, cpus(4))
	h = newHost(t, s, "conservative", "ljf")
	h.SetPlanning(backfill.Planning{Depth: 2, Reorder: true})
	decide(t, h, 0, submitted(jobs...)...)
	require.Equal(t, "no promise yet: 1,297 jobs before it in the plan's order, which reaches 2", told(0))
	require.Contains(t, told(1298), "reserved", "the longest comes first")
}
