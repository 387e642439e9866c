package policies_test

import (
	"cmp"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/balance"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

// eachInTurn is a policy that asks for every waiting job, one after the other, whether it fits.
type eachInTurn struct {
	depth int // how many blocked jobs get a reservation
	room  int // how many jobs before them that may not start yet get one, too; 0: all jobs block
	fill  func(c *backfill.Cycle, pivot *backfill.Job)
}

func (p eachInTurn) Decide(c *backfill.Cycle) {
	scan.Begin(c)
	reserved, room := 0, p.room
	plan := func(j *backfill.Job) (starts bool) {
		start, at, starts := c.Earliest(j, c.Now())
		if starts {
			c.Reserve(j, start, at)
		}
		return starts || c.State().Request(j).Candidates.Windows == nil && c.State().Profile().Ends().Count() == 0
	}
	for j := range c.Waiting() {
		if at, fits := c.FitsNow(j); fits {
			c.Start(j, at)
			continue
		}
		if j.Early(c.Now()) {
			if room > 0 && reserved < p.depth {
				if plan(j) {
					room--
				}
			}
			continue
		}
		if reserved < p.depth {
			if !plan(j) && p.room > 0 {
				continue // it blocks nobody
			}
			reserved++
		}
		if p.fill != nil {
			p.fill(c, j)
			return
		}
	}
}

// keepingInTurn is easy with the option keep, without any memory or shortcut.
type keepingInTurn struct{ depth int }

func (p keepingInTurn) Decide(c *backfill.Cycle) {
	claims := c.Fast().Planned()
	for e, more := c.Next(); more; e, more = c.Next() {
		switch e.Kind {
		case backfill.PolicyChanged:
			for _, j := range claims {
				c.Release(j)
			}
			claims = nil
		case backfill.Changed:
			claims = slices.DeleteFunc(claims, func(j *backfill.Job) bool { return j.ID == e.Job.ID })
		default:
		}
	}
	claims = slices.DeleteFunc(claims, func(j *backfill.Job) bool { return !c.State().IsWaiting(j.ID) })
	slices.SortFunc(claims, c.State().Compare)
	reserved, room, seen := 0, p.depth, map[*backfill.Job]bool{}
	for j := range c.Waiting() {
		if reserved == p.depth {
			break
		}
		if j.Early(c.Now()) {
			if room > 0 && p.reserve(c, j) {
				room, seen[j] = room-1, true
			}
			continue
		}
		if seen[j] = true; !p.start(c, j) && p.reserve(c, j) {
			reserved++
		}
	}
	for _, j := range claims {
		if !seen[j] && !p.start(c, j) {
			p.reserve(c, j)
		}
	}
	for j := range c.Queue() {
		if _, _, has := c.Reservation(j); !has {
			p.start(c, j)
		}
	}
}

func (keepingInTurn) start(c *backfill.Cycle, j *backfill.Job) bool {
	at, fits := c.FitsNow(j)
	if fits {
		c.Start(j, at)
	}
	return fits
}

// reserve reports whether the job blocks others: all do whose candidates do not close before.
func (keepingInTurn) reserve(c *backfill.Cycle, j *backfill.Job) (blocks bool) {
	start, at, starts := c.Earliest(j, c.Now())
	if starts {
		c.Reserve(j, start, at)
	}
	return starts || c.State().Request(j).Candidates.Windows == nil && c.State().Profile().Ends().Count() == 0
}

// TestKeepingAsInTheTextbook checks that easy with the option keep decides like keepingInTurn, on
// random pools and in orders that put others at the head.
func TestKeepingAsInTheTextbook(t *testing.T) {
	for turn, order := range []string{"fcfs", "sjf", "widest", "wfp", "xfactor"} {
		for depth := range 2 {
			t.Run(fmt.Sprintf("%s %d", order, depth+1), func(t *testing.T) {
				t.Parallel()
				for n := range thorough.Share(turn+depth, 4, 24) {
					seed := 3000 + 100*uint64(turn) + n
					spec, err := policies.Named("easy")
					require.NoError(t, err)
					reference, keeping := spec, spec
					reference.New = func(backfill.Values) (backfill.Policy, error) { return keepingInTurn{depth + 1}, nil }
					keeping.New = func(backfill.Values) (backfill.Policy, error) {
						return backfill.PolicyFunc(func(cycle *backfill.Cycle) { scan.Keeping(cycle, depth+1) }), nil
					}
					want := run(t, seed, reference, order, backfill.Planning{}, false)
					require.Equal(t, want, run(t, seed, keeping, order, backfill.Planning{}, n%2 == 0), "seed %d", seed)
				}
			})
		}
	}
}

// TestKeptReservation checks who starts when the head of the queue changes. Job 1 runs until 10 on two
// of four cpus; job 2 needs all four and has a reservation for 10. Job 3, which is shorter, comes to
// the head at 1 and needs three; job 4, which comes at 2, would fit beside it until 22.
func TestKeptReservation(t *testing.T) {
	for _, tt := range []struct {
		keep    string
		planned map[backfill.JobID]backfill.Time
		started []backfill.JobID
	}{
		{"false", map[backfill.JobID]backfill.Time{3: 10}, started(4)},
		{"true", map[backfill.JobID]backfill.Time{2: 10, 3: 40}, nil},
	} {
		s := backfill.NewState([]string{"cpus"}, profile.ByRank)
		h := hostOf(t, s, "easy", "sjf", map[string]string{"keep": tt.keep})
		require.Equal(t, started(1), ids(arrive(t, h, 4, a{10, v(2)}, a{30, v(4)})))
		_, err := h.Decide(t.Context(), arrives(1, 3, a{9, v(3)}))
		require.NoError(t, err)
		d, err := h.Decide(t.Context(), arrives(2, 4, a{20, v(1)}))
		require.NoError(t, err)
		require.Equal(t, tt.started, ids(d), tt.keep)
		planned := map[backfill.JobID]backfill.Time{}
		for _, j := range s.Snapshot().Jobs {
			if start, _, ok := s.Planned(j.Job.ID); ok {
				planned[j.Job.ID] = start
			}
		}
		require.Equal(t, tt.planned, planned, tt.keep)
	}
}

// naiveFills are how ibb, bb and best-fit choose among the jobs behind the first blocked one; fcfs
// starts none.
var naiveFills = map[string]func(c *backfill.Cycle, pivot *backfill.Job){
	"fcfs": func(*backfill.Cycle, *backfill.Job) {},
	"ibb": func(c *backfill.Cycle, pivot *backfill.Job) {
		scale := balance.NewScale(c, []string{"cpus", "memory"})
		before := scale.Of(c.State().Use())
		for j := range c.Fast().Behind(pivot) {
			if at, fits := c.FitsNow(j); fits && !scale.Worsens(c.State().Use(), c.State().Holds(j, at), 1, before) {
				c.Start(j, at)
			}
		}
	},
	"bb": func(c *backfill.Cycle, pivot *backfill.Job) {
		scale := balance.NewScale(c, []string{"cpus", "memory"})
		for {
			var best *backfill.Job
			var where backfill.Placement
			var score balance.Utilisation
			for j := range c.Fast().Behind(pivot) {
				at, fits := c.FitsNow(j)
				if !fits {
					continue
				}
				x := scale.With(c.State().Use(), c.State().Holds(j, at), 1)
				if best == nil || x.CompareScore(score) < 0 {
					best, where, score = j, at, x
				}
			}
			if best == nil {
				return
			}
			c.Start(best, where)
		}
	},
	"best-fit": func(c *backfill.Cycle, pivot *backfill.Job) {
		var fitting []*backfill.Job
		for j := range c.Fast().Behind(pivot) {
			if _, fits := c.FitsNow(j); fits {
				fitting = append(fitting, j)
			}
		}
		slices.SortStableFunc(fitting, func(a, b *backfill.Job) int { return cmp.Compare(b.Width(), a.Width()) })
		for _, j := range fitting {
			if at, fits := c.FitsNow(j); fits {
				c.Start(j, at)
			}
		}
	},
}

// TestFittingChangesNothing checks that a pass which looks only at the jobs that may fit decides
// like one that asks for each in turn, on random pools and in several orders.
func TestFittingChangesNothing(t *testing.T) {
	for turn, c := range []struct {
		name  string
		depth int
		room  int
	}{
		{"fcfs", 1, 0},
		{"first-fit", 0, 0},
		{"easy", 1, 1},
		{"easy", 3, 3},
		{"ibb", 1, 1},
		{"bb", 1, 1},
		{"best-fit", 0, 0},
	} {
		for i, order := range []string{"fcfs", "sjf", "widest", "wfp", "area"} {
			t.Run(c.name+" "+order, func(t *testing.T) {
				t.Parallel()
				for n := range thorough.Share(turn+i, 4, 24) {
					seed := 1000 + 100*uint64(i) + n
					spec, err := policies.Named(c.name)
					require.NoError(t, err)
					if c.name == "easy" {
						spec.New = func(backfill.Values) (backfill.Policy, error) {
							return backfill.PolicyFunc(func(cycle *backfill.Cycle) { scan.Depth(cycle, c.depth) }), nil
						}
					}
					reference := spec
					reference.New = func(backfill.Values) (backfill.Policy, error) {
						return eachInTurn{depth: c.depth, room: c.room, fill: naiveFills[c.name]}, nil
					}
					want := run(t, seed, reference, order, backfill.Planning{}, false)
					require.Equal(t, want, run(t, seed, spec, order, backfill.Planning{}, n%2 == 0), "seed %d", seed)
				}
			})
		}
	}
}

// wanderer is a policy that goes over the jobs that fit from anywhere in the queue, starts some,
// leaves others and stops somewhere, and checks each against a look at every job in turn.
type wanderer struct {
	t      *testing.T
	random *rand.Rand
}

func (w wanderer) Decide(c *backfill.Cycle) {
	for _, more := c.Next(); more; {
		_, more = c.Next()
	}
	for _, j := range c.Fast().Planned() {
		if start, at, _ := c.Reservation(j); start == c.Now() {
			c.Start(j, at)
		} else if w.random.IntN(3) == 0 {
			c.Release(j)
		}
	}
	for range w.random.IntN(3) {
		w.pass(c)
	}
	for j := range c.Queue() {
		if start, at, ok := c.Earliest(j, c.Now()); ok && start > c.Now() && w.random.IntN(4) == 0 {
			c.Reserve(j, start, at)
		}
	}
}

func (w wanderer) pass(c *backfill.Cycle) {
	var from *backfill.Job
	jobs, inTurn := c.Queue(), backfill.Placement(nil)
	for j := range c.Queue() {
		if w.random.IntN(20) == 0 {
			from, jobs = j, c.Fast().Behind(j)
		}
	}
	next, stop := iter.Pull(func(yield func(*backfill.Job) bool) {
		for j := range jobs {
			at, fits := c.FitsNow(j)
			if _, _, planned := c.Reservation(j); fits && !planned {
				if inTurn = at; !yield(j) {
					return
				}
			}
		}
	})
	defer stop()
	for j, at := range c.Fast().Fitting(from) {
		want, ok := next()
		require.True(w.t, ok, "job %d does not fit", j.ID)
		require.Equal(w.t, want.ID, j.ID)
		require.Equal(w.t, inTurn, at)
		switch w.random.IntN(8) {
		case 0:
			return
		case 1:
		default:
			c.Start(j, at)
		}
	}
	want, ok := next()
	require.False(w.t, ok, "job %v fits", want)
}

// TestFittingFromAnywhere checks what [backfill.Fast.Fitting] says, whatever was done with it
// before.
func TestFittingFromAnywhere(t *testing.T) {
	for seed := range thorough.Seeds(48, 200) {
		spec, err := policies.Named("easy")
		require.NoError(t, err)
		spec.New = func(backfill.Values) (backfill.Policy, error) {
			return wanderer{t, rand.New(rand.NewPCG(seed, 1))}, nil //nolint:gosec // not for secrets
		}
		run(t, seed, spec, []string{"fcfs", "sjf", "wfp", "area"}[seed%4], backfill.Planning{}, false)
	}
}

// TestFittingOnAFullPool is [TestFittingFromAnywhere] on full pools.
func TestFittingOnAFullPool(t *testing.T) {
	fullPools(t, "easy", func(random *rand.Rand) backfill.Policy { return wanderer{t, random} })
}

// fullPools runs a policy, which is to check itself, in the place of a linked-in one on pools of
// many slots, few of which have a free cpu, with a queue of jobs that ask for different things, no
// cpu among them.
func fullPools(t *testing.T, as string, with func(*rand.Rand) backfill.Policy) {
	t.Helper()
	for seed := range thorough.Seeds(3, 6) {
		random := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // not for secrets
		spec, err := policies.Named(as)
		require.NoError(t, err)
		spec.New = func(backfill.Values) (backfill.Policy, error) { return with(random), nil }
		policy, err := backfill.Link(spec, nil)
		require.NoError(t, err)
		order, err := backfill.OrderNamed([]string{"fcfs", "sjf"}[seed%2])
		require.NoError(t, err)
		s := backfill.NewState([]string{"cpus", "memory"}, profile.Rule(seed%3)) //nolint:gosec // below 3
		h, err := backfill.NewHost(s, order, policy, policy, func(r backfill.Refusal) { require.NoError(t, r.Err) })
		require.NoError(t, err)
		r := backfill.Round{Candidates: []backfill.CandidateSet{{ID: 0}, {ID: 1}}}
		for id := range backfill.SlotID(40 + 60*(seed%2)) {
			r.Events = append(r.Events, backfill.Event{Kind: backfill.SlotAdded, Slot: backfill.Slot{
				ID: id, Name: fmt.Sprint("slot", id), Capacity: v(8, 32),
			}})
			for i := range 1 + id%2 {
				set := &r.Candidates[i].Candidates
				set.Slots, set.Rank = append(set.Slots, id), append(set.Rank, random.Int32N(3))
			}
		}
		var ends [40][]backfill.JobID
		for now := range backfill.Time(len(ends)) {
			r.Now = now
			for _, id := range ends[now] {
				r.Events = append(r.Events, backfill.Event{Kind: backfill.Completed, JobID: id})
			}
			for i := range int64(len(r.Events)/2 + 30) {
				id := 100_000*int64(now) + i
				r.Events = append(r.Events, backfill.Event{Kind: backfill.Submitted, Job: &backfill.Job{
					ID: backfill.JobID(id), Submit: now, Position: backfill.QueuePosition{Cluster: id},
					Nodes:      max(1, random.IntN(8)-3),
					Request:    v(random.Int64N(9), 1+random.Int64N(4)),
					Estimate:   backfill.Time(1 + random.Int64N(200)),
					Candidates: random.IntN(2),
				}})
			}
			d, err := h.Decide(t.Context(), r)
			require.NoError(t, err)
			for _, j := range d.Started {
				if end := now + 1 + backfill.Time(random.Int64N(int64(j.Job.Estimate))); int(end) < len(ends) {
					ends[end] = append(ends[end], j.Job.ID)
				}
			}
			r = backfill.Round{}
		}
	}
}
