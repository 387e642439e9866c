package backfill_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
)

// newOrderedHost creates a host for a driver's pool with the given policy and order.
func newOrderedHost(t *testing.T, d *conformance.Driver, main backfill.Decider, order backfill.Order) *backfill.Host {
	t.Helper()
	fallback, err := backfill.Link(policies.FallbackFor(main.Spec()), nil)
	require.NoError(t, err)
	h, err := backfill.NewHost(backfill.NewState(d.Resources(), d.Rule()), order, main, fallback,
		func(r backfill.Refusal) {
			require.NoError(t, r.Err, "%s was refused at %d", r.Policy, r.Now)
		})
	require.NoError(t, err)
	return h
}

// TestQueueFollowsTheOrder checks, in random pools under every order, that the queue is sorted by the
// keys at the time of each round and for the slots that are up, and that the policy fcfs starts the
// first jobs of the queue that may start.
func TestQueueFollowsTheOrder(t *testing.T) {
	for _, o := range backfill.Orders() {
		for _, policy := range []string{"fcfs", "easy", "ibb"} {
			t.Run(o.Name+" "+policy, func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(rt *rapid.T) {
					d := conformance.NewDriver(rapid.Uint64().Draw(rt, "seed"))
					d.Calm = rapid.Bool().Draw(rt, "calm")
					h := newOrderedHost(t, d, link(t, policy, nil), o.Order)
					for range 25 {
						r := d.Round(h.State)
						r.Keys = nil // the host gets the keys from the order
						decision, err := h.Decide(t.Context(), r)
						require.NoError(rt, err)
						at := backfill.Moment{Now: r.Now, Capacity: h.State.Capacity()}
						want := sortedBy(h.State.FirstWaiting(1<<20), o.Order, at)
						require.Equal(rt, ids(want), ids(h.State.FirstWaiting(1<<20)))
						if policy == "fcfs" {
							want = slices.DeleteFunc(want, func(j *backfill.Job) bool { return j.Release > r.Now })
							requireFirst(rt, decision, want, o.Order, at)
						}
					}
				})
			})
		}
	}
}

// sortedBy returns the jobs sorted by their keys at a moment, then in the order of jobs.
func sortedBy(jobs []*backfill.Job, order backfill.Order, at backfill.Moment) []*backfill.Job {
	jobs = slices.Clone(jobs)
	slices.SortFunc(jobs, func(a, b *backfill.Job) int {
		keyA, _ := order(a, at)
		keyB, _ := order(b, at)
		return cmp.Or(cmp.Compare(keyA, keyB), backfill.Compare(a, b))
	})
	return jobs
}

// requireFirst requires that every started job was before every given waiting job in the queue's
// order.
func requireFirst(t require.TestingT, d backfill.Decision, waiting []*backfill.Job, order backfill.Order,
	at backfill.Moment,
) {
	var all []*backfill.Job
	for _, s := range d.Started {
		all = append(all, s.Job)
	}
	all = append(all, waiting...)
	require.Equal(t, ids(sortedBy(all, order, at)), ids(all))
}

// TestOvertaking checks that a short job overtakes a long one that came earlier when both have
// waited for some time, under wfp and xfactor.
func TestOvertaking(t *testing.T) {
	for _, name := range []string{"wfp", "xfactor"} {
		s := newState(t, cpus(4))
		h := newHost(t, s, "fcfs", name)
		decide(t, h, 0, submitted(job(0, 0, 100, 4), job(1, 0, 50, 4))...)
		decide(t, h, 10, submitted(job(2, 10, 5, 4))...)
		require.Equal(t, []backfill.JobID{1, 2}, ids(s.FirstWaiting(9)), "job 2 has not waited yet")
		decide(t, h, 20)
		require.Equal(t, []backfill.JobID{2, 1}, ids(s.FirstWaiting(9)))
		d := decide(t, h, 30, jobEvent(backfill.Completed, 0))
		require.Equal(t, []backfill.JobID{2}, startedIDs(d))
	}
}

// TestEarlyJobsAreNotOvertaken checks that a job that may not start yet makes no backfill of the start of
// another one, and that it does not hide one that could start, under a policy that gives guarantees.
func TestEarlyJobsAreNotOvertaken(t *testing.T) {
	for other, how := range map[backfill.Time]backfill.How{30: backfill.ByQueue, 8: backfill.ByBackfill} {
		s := newState(t, cpus(4))
		h := newHost(t, s, "dc", "sjf")
		early, wide, small := job(1, 0, 50, 1), job(2, other, 100, 4), job(3, 10, 20, 3)
		early.Release = 1000
		decide(t, h, 0, submitted(job(0, 0, 100, 1), early)...)
		if other < 10 {
			decide(t, h, other, submitted(wide)...)
		}
		d := decide(t, h, 10, submitted(small)...)
		require.Equal(t, []backfill.JobID{3}, startedIDs(d))
		require.Equal(t, how, d.Started[0].How)
	}
}

// TestReturningJobsHaveNewKeys checks that running and held jobs return to the queue with new keys.
func TestReturningJobsHaveNewKeys(t *testing.T) {
	s := newState(t, cpus(4))
	h := newHost(t, s, "fcfs", "wfp")
	decide(t, h, 0, submitted(job(1, 0, 10, 4), job(2, 0, 10, 9))...)
	require.InDelta(t, 0, jobState(t, s, 1).Key, 0)
	decide(t, h, 5)
	require.InDelta(t, 0, jobState(t, s, 1).Key, 0, "a running job keeps its key")
	decide(t, h, 5, backfill.Event{Kind: backfill.SlotLost, Slot: slot(0, nil)})
	require.InDelta(t, -0.5, jobState(t, s, 1).Key, 0)
	decide(t, h, 10, backfill.Event{Kind: backfill.SlotAdded, Slot: slot(0, cpus(9))})
	require.InDelta(t, -9, jobState(t, s, 2).Key, 0)
}

// TestAskedOnce checks that an order is asked for the key of each job once, at its arrival; again
// in each round only if it says that keys change with time, and after a change of the pool's
// capacity only if it says that keys change with that.
func TestAskedOnce(t *testing.T) {
	for moves, want := range map[backfill.Moves][]int{
		{}: {3, 4, 4, 4, 4}, {WithTime: true}: {3, 6, 9, 12, 15}, {WithCapacity: true}: {3, 4, 4, 7, 7},
	} {
		asked := 0
		order := func(j *backfill.Job, at backfill.Moment) (float64, backfill.Moves) {
			asked++
			return -float64(j.Waited(at.Now)), moves
		}
		s := newState(t, cpus(4))
		easy := link(t, "easy", nil)
		h, err := backfill.NewHost(s, order, easy, easy, nil)
		require.NoError(t, err)
		decide(t, h, 0, submitted(job(0, 0, 100, 4), job(1, 0, 50, 4), job(2, 0, 50, 4))...)
		require.Equal(t, want[0], asked, "each job at its arrival")
		decide(t, h, 5, submitted(job(3, 5, 100, 4))...)
		require.Equal(t, want[1], asked, "the new job, and the waiting ones if keys change with time")
		decide(t, h, 6, jobEvent(backfill.Completed, 0))
		require.Equal(t, want[2], asked)
		decide(t, h, 7, backfill.Event{Kind: backfill.SlotAdded, Slot: slot(1, cpus(3))})
		require.Equal(t, want[3], asked, "also the running one, as it may come back")
		decide(t, h, 8, backfill.Event{Kind: backfill.SlotChanged, Slot: slot(1, cpus(3))})
		require.Equal(t, want[4], asked, "the capacity is the same")
	}
}

// TestNoKeyForWhatIsNoJob checks that an invalid job is refused before an order computes its key.
func TestNoKeyForWhatIsNoJob(t *testing.T) {
	for _, o := range backfill.Orders() {
		h := newHost(t, newState(t, cpus(4)), "easy", o.Name)
		_, err := h.Decide(t.Context(), backfill.Round{Events: submitted(job(1, 0, 10))})
		require.ErrorContains(t, err, "asks for 0 resources", o.Name)
		_, err = h.Decide(t.Context(), backfill.Round{Events: submitted(job(1, 0, 0, 1))})
		require.ErrorContains(t, err, "estimate of 0 s", o.Name)
	}
}

// BenchmarkKeys measures a round without events, with many jobs in the queue, under an order whose
// keys stay (sjf), one whose keys change with the pool's capacity, which stays (area), and one whose
// keys change with time (wfp).
func BenchmarkKeys(b *testing.B) {
	for _, name := range []string{"sjf", "area", "wfp"} {
		for _, n := range []int{100, 10_000} {
			b.Run(fmt.Sprintf("%s/%d waiting", name, n), func(b *testing.B) {
				order, err := backfill.OrderNamed(name)
				require.NoError(b, err)
				spec := backfill.PolicySpec{Name: "idle", New: func(backfill.Values) (backfill.Policy, error) {
					return backfill.PolicyFunc(func(c *backfill.Cycle) { drain(c) }), nil
				}}
				idle, err := backfill.Link(spec, nil)
				require.NoError(b, err)
				h, err := backfill.NewHost(backfill.NewState([]string{"cpus"}, 0), order, idle, idle, nil)
				require.NoError(b, err)
				r := backfill.Round{
					Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}}}},
					Events:     []backfill.Event{{Kind: backfill.SlotAdded, Slot: slot(0, cpus(64))}},
				}
				for i := range n {
					j := job(backfill.JobID(i), backfill.Time(i*7919%n-n), backfill.Time(1+i*31%1000), int64(1+i%64))
					r.Events = append(r.Events, submitted(j)...)
				}
				for b.Loop() {
					_, err = h.Decide(b.Context(), r)
					require.NoError(b, err)
					r = backfill.Round{Now: r.Now + 1}
				}
			})
		}
	}
}

// TestShortQueuesMoveUnlessWalked: the keys of a short queue move along lines while the policy looks
// at its first jobs alone, and not any more if it walks the whole queue in most rounds.
func TestShortQueuesMoveUnlessWalked(t *testing.T) {
	for _, walked := range []int{1, 100} {
		spec := backfill.PolicySpec{Name: "reader", New: func(backfill.Values) (backfill.Policy, error) {
			return backfill.PolicyFunc(func(c *backfill.Cycle) {
				drain(c)
				left := walked
				for range c.Queue() {
					if left--; left == 0 {
						return
					}
				}
			}), nil
		}}
		reader, err := backfill.Link(spec, nil)
		require.NoError(t, err)
		h, err := backfill.NewHost(backfill.NewState([]string{"cpus"}, 0), order(t, "wfp"), reader, reader, nil)
		require.NoError(t, err)
		r := backfill.Round{
			Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}}}},
			Events:     []backfill.Event{{Kind: backfill.SlotAdded, Slot: slot(0, cpus(64))}},
		}
		for i := range 100 {
			r.Events = append(r.Events, submitted(job(backfill.JobID(i), 0, backfill.Time(1+i), 1))...)
		}
		moved := false
		for range 100 {
			_, err = h.Decide(t.Context(), r)
			require.NoError(t, err)
			moved = moved || h.State.MovesAlong()
			r = backfill.Round{Now: r.Now + 1, Events: []backfill.Event{{Kind: backfill.Wake}}}
		}
		require.True(t, moved, "it is tried")
		require.Equal(t, walked == 1, h.State.MovesAlong(), "%d jobs are looked at", walked)
	}
}

// TestKeysAlongLines decides the rounds of random pools twice under each policy, once by a host that asks
// for all keys in each round and once by one that has keys move along lines as soon as anything waits.
func TestKeysAlongLines(t *testing.T) {
	for _, name := range []string{"wfp", "wfp-wide", "xfactor"} {
		for _, policy := range policies.All() {
			t.Run(name+" "+policy.Name, func(t *testing.T) {
				t.Parallel()
				var moved bool
				rapid.Check(t, func(rt *rapid.T) {
					d := conformance.NewDriver(rapid.Uint64().Draw(rt, "seed"))
					d.Calm = rapid.Bool().Draw(rt, "calm")
					plain := newOrderedHost(t, d, link(t, policy.Name, nil), order(t, name))
					along := newOrderedHost(t, d, link(t, policy.Name, nil), order(t, name))
					along.State = plain.State.Clone()
					plain.FollowFrom(1 << 30)
					along.FollowFrom(1)
					for range 25 {
						r := d.Round(plain.State)
						r.Keys = nil // the hosts get the keys from the order
						want, err := plain.Decide(t.Context(), r)
						require.NoError(rt, err)
						if rapid.IntRange(0, 4).Draw(rt, "copied") == 0 {
							along.State = along.State.Clone()
						}
						got, err := along.Decide(t.Context(), r)
						require.NoError(rt, err)
						require.Equal(rt, want.Actions, got.Actions)
						require.Equal(rt, ids(plain.State.FirstWaiting(1<<20)), ids(along.State.FirstWaiting(1<<20)))
						require.Equal(rt, plain.State.Snapshot(), along.State.Snapshot())
						moved = moved || along.State.MovesAlong()
					}
				})
				require.Equal(t, !policy.IgnoresOrder, moved)
			})
		}
	}
}
