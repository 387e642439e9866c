package policies_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/backfilltest"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// The tests below play the cases that the figures of Lindsay et al., Backfilling with guarantees
// granted upon job submission, show: compression order, a job moved twice, the unnecessary gap, the
// deliberate hole, and J1 to J5. The numbers are not the paper's: each case is about the smallest
// that makes the paper's point.
//
// The slot has 4 cpus. The jobs 1, 2, 3… arrive at 0. In the drawings a column is 5 s, unless
// stated otherwise, and a dot is an idle cpu.

// figure is a set of jobs, the plan that is made for them, and the rounds that follow.
type figure struct {
	jobs   []a
	before plan
	rounds []backfill.Round
}

// plan holds the planned starts of jobs 1, 2, 3…; 0 for a job that has started.
type plan []backfill.Time

// become is the expected result of a figure under one policy and order: the plan after each round.
type become struct {
	policy, order string
	after         []plan
}

// require plays the figure in each case and requires the expected plans. It also requires that no
// job is ever planned for later than before.
func (f figure) require(t *testing.T, cases ...become) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.policy+" "+c.order, func(t *testing.T) {
			s := backfill.NewState([]string{"cpus"}, profile.ByRank)
			h := hostOrdered(t, s, c.policy, c.order)
			arrive(t, h, 4, f.jobs...)
			known := len(f.jobs)
			require.Equal(t, f.before, planOf(s, known))
			require.Len(t, c.after, len(f.rounds))
			before := f.before
			for i, r := range f.rounds {
				d, err := h.Decide(t.Context(), r)
				require.NoError(t, err)
				require.Empty(t, d.Broken)
				for _, e := range r.Events {
					if e.Kind == backfill.Submitted {
						known++
					}
				}
				now := planOf(s, known)
				require.Equal(t, c.after[i], now, "at %d", r.Now)
				for j, start := range before {
					require.LessOrEqual(t, now[j], start)
				}
				before = now
			}
		})
	}
}

func planOf(s *backfill.State, jobs int) plan {
	p := make(plan, jobs)
	for i := range p {
		p[i], _, _ = s.Planned(backfill.JobID(i + 1))
	}
	return p
}

// ends returns a round in which a job ends.
func ends(at backfill.Time, job backfill.JobID) backfill.Round {
	return backfill.Round{Now: at, Events: []backfill.Event{{Kind: backfill.Completed, JobID: job}}}
}

// arrives returns a round in which a job arrives.
func arrives(at backfill.Time, id backfill.JobID, j a) backfill.Round {
	return backfill.Round{Now: at, Events: []backfill.Event{submission(id, at, j)}}
}

// TestFigureCompressionOrder checks that the job that is tried first takes the room that another
// one leaves. In the order of the plan that is job 4: it starts, and job 3 moves up behind it. If
// job 5 is tried first, it starts, and jobs 4 and 3 cannot move.
//
//	before                    at 5, job 2 has ended     pc, longest first
//	4 │ 2 2 2 2 3 3 . . .     4 │ 4 4 3 3 . . .         4 │ . 4 4 3 3
//	3 │ 2 2 2 2 3 3 . . .     3 │ 4 4 3 3 . . .         3 │ 5 4 4 3 3
//	2 │ 1 1 4 4 3 3 . . .     2 │ 1 . 3 3 . . .         2 │ 1 5 5 3 3
//	1 │ 1 1 4 4 3 3 5 5 5     1 │ 1 . 3 3 5 5 5         1 │ 1 . . 3 3
//	    0   10  20  30            5   15  25                5 10  20
func TestFigureCompressionOrder(t *testing.T) {
	figure{
		jobs:   []a{{10, v(2)}, {20, v(2)}, {10, v(4)}, {10, v(2)}, {15, v(1)}},
		before: plan{0, 0, 20, 10, 30},
		rounds: []backfill.Round{ends(5, 2)},
	}.require(
		t,
		become{"conservative", "fcfs", []plan{{0, 0, 15, 0, 25}}},
		become{"conservative", "ljf", []plan{{0, 0, 15, 0, 25}}}, // tries in the plan's order, not the queue's
		become{"pc", "fcfs", []plan{{0, 0, 15, 0, 25}}},
		become{"pc", "ljf", []plan{{0, 0, 20, 10, 0}}},
		become{"dc", "fcfs", []plan{{0, 0, 20, 0, 30}}},
		become{"dc", "ljf", []plan{{0, 0, 20, 10, 0}}},
	)
}

// TestFigureMovedTwice checks that pc moves a job again after another job has made room for it. The
// widest job is tried first: job 4 moves up to 30, behind job 3. Then job 3 moves, so job 4 can
// move again, to 20. A policy that tries each job once leaves job 4 at 30 and the machine idle
// before it: this is the unnecessary gap.
//
//	before                    at 5, job 1 has ended: once    and again
//	4 │ 1 1 1 1 1 1 1 1 4 4   4 │ 3 3 . . . 4 4              4 │ 3 3 . 4 4
//	3 │ 1 1 1 1 1 1 1 1 4 4   3 │ 3 3 . . . 4 4              3 │ 3 3 . 4 4
//	2 │ 2 2 2 2 3 3 . . 4 4   2 │ 2 2 2 . . 4 4              2 │ 2 2 2 4 4
//	1 │ 2 2 2 2 3 3 . . 4 4   1 │ 2 2 2 . . 4 4              1 │ 2 2 2 4 4
//	    0       20      40        5     20  30                   5     20
func TestFigureMovedTwice(t *testing.T) {
	f := figure{
		jobs:   []a{{40, v(2)}, {20, v(2)}, {10, v(2)}, {10, v(4)}},
		before: plan{0, 0, 20, 40},
		rounds: []backfill.Round{ends(5, 1)},
	}
	f.require(
		t,
		become{"conservative", "widest", []plan{{0, 0, 0, 20}}}, // tries job 3 before job 4
		become{"pc", "fcfs", []plan{{0, 0, 0, 20}}},
		become{"pc", "widest", []plan{{0, 0, 0, 20}}},
		become{"dc", "widest", []plan{{0, 0, 0, 40}}}, // see TestFigureDeliberateHole
	)
	for _, c := range []struct {
		policy, order string
		moves         []backfill.Time // of job 4
	}{
		{"conservative", "widest", []backfill.Time{20}},
		{"pc", "fcfs", []backfill.Time{20}},
		{"pc", "widest", []backfill.Time{30, 20}},
		{"dc", "widest", nil},
	} {
		s := backfill.NewState([]string{"cpus"}, profile.ByRank)
		h := hostOrdered(t, s, c.policy, c.order)
		arrive(t, h, 4, f.jobs...)
		d, err := h.Decide(t.Context(), f.rounds[0])
		require.NoError(t, err)
		var moves []backfill.Time
		for _, action := range d.Actions {
			if action.Kind == backfill.ActReserve && action.Job == 4 {
				moves = append(moves, action.At)
			}
		}
		require.Equal(t, c.moves, moves, "%s %s", c.policy, c.order)
	}
}

// TestFigureUnnecessaryGap checks that a policy that tries each job once, in the queue's order,
// leaves a gap in the case of TestFigureMovedTwice. Conservative leaves none because it tries the
// jobs in the order of the plan, and pc because it begins again after each move.
func TestFigureUnnecessaryGap(t *testing.T) {
	once := backfill.PolicyFunc(func(c *backfill.Cycle) {
		for e, more := c.Next(); more; e, more = c.Next() {
			switch {
			case e.Kind == backfill.Submitted && (backfilltest.Textbook{}).Place(c, e.Job):
				start, _, _ := c.Reservation(e.Job)
				c.Guarantee(e.Job, start)
			case e.Freed:
				for j := range c.Queue() {
					(backfilltest.Textbook{}).Place(c, j)
				}
			}
		}
		for _, j := range c.Due() {
			_, at, _ := c.Reservation(j)
			c.Start(j, at)
		}
	})
	spec := backfill.PolicySpec{
		Name: "once", Guarantees: true,
		New: func(backfill.Values) (backfill.Policy, error) { return once, nil },
	}
	main, err := backfill.Link(spec, nil)
	require.NoError(t, err)
	fallback, err := backfill.Link(policies.FallbackFor(spec), nil)
	require.NoError(t, err)
	widest, err := backfill.OrderNamed("widest")
	require.NoError(t, err)
	s := backfill.NewState([]string{"cpus"}, profile.ByRank)
	h, err := backfill.NewHost(s, widest, main, fallback, func(r backfill.Refusal) { require.NoError(t, r.Err) })
	require.NoError(t, err)
	arrive(t, h, 4, a{40, v(2)}, a{20, v(2)}, a{10, v(2)}, a{10, v(4)})
	_, err = h.Decide(t.Context(), ends(5, 1))
	require.NoError(t, err)
	require.Equal(t, plan{0, 0, 0, 30}, planOf(s, 4))
	require.Equal(t, v(4), s.Free(0, 20), "the whole slot is idle before job 4")
}

// TestFigureDeliberateHole checks that dc leaves a hole in the plan: when a job ends, it moves only
// jobs that can start now, so job 4 stays at 40. If a shorter job arrives, it gets the hole under
// sjf. If a longer one arrives, job 4 moves into the hole first. If no job arrives, the hole is not
// left idle: job 4 starts when job 2 ends, on time.
//
//	at 5: dc, sjf           at 6: 5 (15 s) arrives    at 6: 5 (25 s) arrives
//	4 │ 3 3 . . . . . 4 4   4 │ 3 3 . 5 5 5 . 4 4     4 │ 3 3 . 4 4 5 5 5 5 5
//	3 │ 3 3 . . . . . 4 4   3 │ 3 3 . 5 5 5 . 4 4     3 │ 3 3 . 4 4 5 5 5 5 5
//	2 │ 2 2 2 . . . . 4 4   2 │ 2 2 2 5 5 5 . 4 4     2 │ 2 2 2 4 4 5 5 5 5 5
//	1 │ 2 2 2 . . . . 4 4   1 │ 2 2 2 5 5 5 . 4 4     1 │ 2 2 2 4 4 5 5 5 5 5
//	    5     20      40        5     20      40          5     20  30
func TestFigureDeliberateHole(t *testing.T) {
	hole := func(rounds ...backfill.Round) figure {
		return figure{
			jobs:   []a{{40, v(2)}, {20, v(2)}, {10, v(2)}, {20, v(4)}},
			before: plan{0, 0, 20, 40},
			rounds: append([]backfill.Round{ends(5, 1)}, rounds...),
		}
	}
	t.Run("a shorter job arrives", func(t *testing.T) {
		hole(arrives(6, 5, a{15, v(4)})).require(
			t,
			become{"conservative", "sjf", []plan{{0, 0, 0, 20}, {0, 0, 0, 20, 40}}},
			become{"pc", "sjf", []plan{{0, 0, 0, 20}, {0, 0, 0, 20, 40}}},
			become{"dc", "sjf", []plan{{0, 0, 0, 40}, {0, 0, 0, 40, 20}}},
			become{"dc", "fcfs", []plan{{0, 0, 0, 40}, {0, 0, 0, 20, 40}}},
		)
	})
	t.Run("a longer job arrives", func(t *testing.T) {
		hole(arrives(6, 5, a{25, v(4)})).require(
			t,
			become{"conservative", "sjf", []plan{{0, 0, 0, 20}, {0, 0, 0, 20, 40}}},
			become{"pc", "sjf", []plan{{0, 0, 0, 20}, {0, 0, 0, 20, 40}}},
			become{"dc", "sjf", []plan{{0, 0, 0, 40}, {0, 0, 0, 20, 40}}},
			// job 5 is before job 4 in the queue, and too long for the hole
			become{"dc", "ljf", []plan{{0, 0, 0, 40}, {0, 0, 0, 40, 60}}},
		)
	})
	t.Run("nobody arrives", func(t *testing.T) {
		hole(ends(15, 3), ends(20, 2)).require(
			t,
			become{"conservative", "sjf", []plan{{0, 0, 0, 20}, {0, 0, 0, 20}, {0, 0, 0, 0}}},
			become{"pc", "sjf", []plan{{0, 0, 0, 20}, {0, 0, 0, 20}, {0, 0, 0, 0}}},
			become{"dc", "sjf", []plan{{0, 0, 0, 40}, {0, 0, 0, 40}, {0, 0, 0, 0}}},
		)
	})
}

// TestFigureJ1ToJ5 checks which jobs move when J1 ends early, and when J5 arrives later. Of J2, J3
// and J4 no two can run at the same time. Conservative tries them in the order of the plan, pc and
// dc in the queue's order. pc moves every job that can move. dc at first moves only the job that
// can start; it moves the others when J5 arrives and might take their room. A column is 10 s.
//
//	before, from 100 on   conservative, pc fcfs   pc sjf        pc narrowest
//	4 │ . . . 3 . .       4 │ . . . 3 . .         4 │ 3 . . . . .   4 │ . . . . . 3
//	3 │ 2 2 2 3 . .       3 │ 2 2 2 3 . .         3 │ 3 . . 2 2 2   3 │ . . 2 2 2 3
//	2 │ 2 2 2 3 4 4       2 │ 2 2 2 3 4 4         2 │ 3 4 4 2 2 2   2 │ 4 4 2 2 2 3
//	1 │ 2 2 2 3 4 4       1 │ 2 2 2 3 4 4         1 │ 3 4 4 2 2 2   1 │ 4 4 2 2 2 3
//	   100   130           10      40  50          10 20  40          10  30    60
//
// Under dc with sjf only J3 moves, to 10, until J5 arrives.
func TestFigureJ1ToJ5(t *testing.T) {
	figure{
		jobs:   []a{{100, v(4)}, {30, v(3)}, {10, v(4)}, {20, v(2)}},
		before: plan{0, 100, 130, 140},
		rounds: []backfill.Round{ends(10, 1), arrives(11, 5, a{50, v(4)})},
	}.require(
		t,
		become{"conservative", "fcfs", []plan{{0, 0, 40, 50}, {0, 0, 40, 50, 70}}},
		become{"pc", "fcfs", []plan{{0, 0, 40, 50}, {0, 0, 40, 50, 70}}},
		become{"pc", "sjf", []plan{{0, 40, 0, 20}, {0, 40, 0, 20, 70}}},
		become{"pc", "narrowest", []plan{{0, 30, 60, 0}, {0, 30, 60, 0, 70}}},
		become{"dc", "fcfs", []plan{{0, 0, 130, 140}, {0, 0, 40, 50, 70}}},
		become{"dc", "sjf", []plan{{0, 100, 0, 140}, {0, 40, 0, 20, 70}}},
		become{"dc", "ljf", []plan{{0, 0, 130, 140}, {0, 0, 130, 140, 40}}}, // J5 is the longest, so it is before J3 and J4
		become{"dc", "narrowest", []plan{{0, 100, 130, 0}, {0, 30, 60, 0, 70}}},
	)
}

// arrive brings up one slot at time 0 and submits jobs 1, 2, 3… at once.
func arrive(t *testing.T, h *backfill.Host, cpus int64, jobs ...a) backfill.Decision {
	t.Helper()
	return arriveAt(t, h, v(cpus), jobs...)
}

func arriveAt(t *testing.T, h *backfill.Host, capacity backfill.Vector, jobs ...a) backfill.Decision {
	t.Helper()
	r := backfill.Round{
		Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}}}},
		Events:     []backfill.Event{{Kind: backfill.SlotAdded, Slot: backfill.Slot{Name: "a", Capacity: capacity}}},
	}
	for i, j := range jobs {
		r.Events = append(r.Events, submission(backfill.JobID(i+1), 0, j))
	}
	d, err := h.Decide(t.Context(), r)
	require.NoError(t, err)
	return d
}

func submission(id backfill.JobID, now backfill.Time, j a) backfill.Event {
	return backfill.Event{Kind: backfill.Submitted, Job: &backfill.Job{
		ID: id, Submit: now, Position: backfill.QueuePosition{Cluster: int64(id)}, Nodes: 1, Request: j.request,
		Estimate: j.estimate,
	}}
}

func ids(d backfill.Decision) (all []backfill.JobID) {
	for _, s := range d.Started {
		all = append(all, s.Job.ID)
	}
	return all
}
