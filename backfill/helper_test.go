package backfill_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// cpus returns a vector for a pool whose only resource is cpus.
func cpus(n int64) backfill.Vector { return backfill.Vector{n} }

// on returns a placement from pairs of a slot and the number of chunks on it.
func on(pairs ...int) backfill.Placement {
	var p backfill.Placement
	for i := 0; i < len(pairs); i += 2 {
		p = append(p, profile.Chunks{Slot: backfill.SlotID(pairs[i]), Count: pairs[i+1]})
	}
	return p
}

// slot returns a slot; those with the IDs 0, 1, 2… are named a, b, c…
func slot(id int, capacity backfill.Vector) backfill.Slot {
	return backfill.Slot{ID: backfill.SlotID(id), Name: string(rune('a' + id)), Capacity: capacity}
}

// newState creates a pool at time 0 with a slot for each capacity. Candidate set 0 is all slots.
func newState(t *testing.T, capacities ...backfill.Vector) *backfill.State {
	t.Helper()
	s := backfill.NewState([]string{"cpus", "memory", "gpus"}[:len(capacities[0])], profile.ByRank)
	var r backfill.Round
	var all backfill.Candidates
	for i, c := range capacities {
		r.Events = append(r.Events, backfill.Event{Kind: backfill.SlotAdded, Slot: slot(i, c)})
		all.Slots = append(all.Slots, backfill.SlotID(i))
	}
	r.Candidates = []backfill.CandidateSet{{ID: 0, Candidates: all}}
	accept(t, s, r, nil)
	return s
}

// job returns a job of one chunk with candidate set 0. Its ID is also its cluster, so that jobs
// with one submit time are ordered by ID.
func job(id backfill.JobID, submit, estimate backfill.Time, request ...int64) *backfill.Job {
	return &backfill.Job{
		ID: id, Submit: submit, Position: backfill.QueuePosition{Cluster: int64(id)}, Nodes: 1,
		Request: request, Estimate: estimate,
	}
}

// gang returns a job of several chunks.
func gang(id backfill.JobID, submit, estimate backfill.Time, nodes int, request ...int64) *backfill.Job {
	j := job(id, submit, estimate, request...)
	j.Nodes = nodes
	return j
}

func submitted(jobs ...*backfill.Job) []backfill.Event {
	var events []backfill.Event
	for _, j := range jobs {
		events = append(events, backfill.Event{Kind: backfill.Submitted, Job: j})
	}
	return events
}

func jobEvent(kind backfill.EventKind, id backfill.JobID) backfill.Event {
	return backfill.Event{Kind: kind, JobID: id}
}

// policyChanged announces conservative, which gives guarantees, or easy, which gives none.
func policyChanged(guarantees bool) backfill.Event {
	name := map[bool]string{true: "conservative", false: "easy"}[guarantees]
	return backfill.Event{Kind: backfill.PolicyChanged, Policy: name, Guarantees: guarantees}
}

// attempt opens a round, takes all its events, calls act and closes the cycle.
func attempt(t *testing.T, s *backfill.State, r backfill.Round, act func(*backfill.Cycle)) (backfill.Decision, error) {
	t.Helper()
	c, err := s.Open(r)
	require.NoError(t, err)
	drain(c.Cycle)
	if act != nil {
		act(c.Cycle)
	}
	return c.Close()
}

// accept is attempt for a round that must be accepted.
func accept(t *testing.T, s *backfill.State, r backfill.Round, act func(*backfill.Cycle)) backfill.Decision {
	t.Helper()
	d, err := attempt(t, s, r, act)
	require.NoError(t, err)
	return d
}

// drain takes all events that are left.
func drain(c *backfill.Cycle) (events []backfill.Event) {
	for {
		e, more := c.Next()
		if !more {
			return events
		}
		events = append(events, e)
	}
}

// facts are what a state says of itself, from a time on. Tests compare states by them.
type facts struct {
	Snapshot      backfill.Snapshot
	Free          [][]free // by slot
	Use, Capacity backfill.Vector
	Queue         []backfill.JobID
	Beyond        int // the depth of the plan
	NextWake      backfill.Time
}

// free is what is free on a slot from a time on, until it changes.
type free struct {
	from   backfill.Time
	vector backfill.Vector
}

func factsOf(s *backfill.State, from backfill.Time) facts {
	f := facts{
		Snapshot: s.Snapshot(), NextWake: s.NextWake(), Beyond: s.BeyondDepth(),
		Use: append(backfill.Vector{}, s.Use()...), Capacity: append(backfill.Vector{}, s.Capacity()...),
	}
	for _, j := range s.FirstWaiting(1 << 20) {
		f.Queue = append(f.Queue, j.ID)
	}
	for _, slot := range s.Slots() {
		var all []free
		for t := from; t < from+60; t++ {
			if v := s.Free(slot.ID, t); len(all) == 0 || !slices.Equal(v, all[len(all)-1].vector) {
				all = append(all, free{t, v})
			}
		}
		f.Free = append(f.Free, all)
	}
	return f
}

// jobState returns a job's entry in the snapshot.
func jobState(t *testing.T, s *backfill.State, id backfill.JobID) backfill.JobState {
	t.Helper()
	for _, j := range s.Snapshot().Jobs {
		if j.Job.ID == id {
			return j
		}
	}
	require.Fail(t, "no such job", "%d", id)
	return backfill.JobState{}
}

func ids(jobs []*backfill.Job) []backfill.JobID {
	var out []backfill.JobID
	for _, j := range jobs {
		out = append(out, j.ID)
	}
	return out
}

func queueIDs(c *backfill.Cycle) []backfill.JobID {
	var out []backfill.JobID
	for j := range c.Queue() {
		out = append(out, j.ID)
	}
	return out
}

func startedIDs(d backfill.Decision) []backfill.JobID {
	var out []backfill.JobID
	for _, s := range d.Started {
		out = append(out, s.Job.ID)
	}
	return out
}

// link links a policy in by its name.
func link(tb testing.TB, name string, options map[string]string) backfill.Decider {
	tb.Helper()
	spec, err := policies.Named(name)
	require.NoError(tb, err)
	d, err := backfill.Link(spec, options)
	require.NoError(tb, err)
	return d
}

func order(t *testing.T, name string) backfill.Order {
	t.Helper()
	o, err := backfill.OrderNamed(name)
	require.NoError(t, err)
	return o
}

// newHost creates a host with a linked-in policy; a refusal fails the test.
func newHost(t *testing.T, s *backfill.State, policy, orderName string) *backfill.Host {
	t.Helper()
	main := link(t, policy, nil)
	fallback, err := backfill.Link(policies.FallbackFor(main.Spec()), nil)
	require.NoError(t, err)
	h, err := backfill.NewHost(s, order(t, orderName), main, fallback, func(r backfill.Refusal) {
		require.NoError(t, r.Err, "%s was refused at %d", r.Policy, r.Now)
	})
	require.NoError(t, err)
	return h
}

// decide lets a host decide one round.
func decide(t *testing.T, h *backfill.Host, now backfill.Time, events ...backfill.Event) backfill.Decision {
	t.Helper()
	d, err := h.Decide(t.Context(), backfill.Round{Now: now, Events: events})
	require.NoError(t, err)
	return d
}

// recorder is a decider that records its rounds and can be made to misbehave.
type recorder struct {
	backfill.Decider
	act    func(*backfill.Cycle) error // instead of the policy, if set
	calls  int
	rounds []backfill.Round
	own    []bool // by round: whether the decision was its own
}

func (r *recorder) Decide(ctx context.Context, tx *backfill.Transaction) error {
	r.calls++
	if r.act != nil {
		return r.act(tx.Cycle)
	}
	return r.Decider.Decide(ctx, tx)
}

func (r *recorder) Decided(round backfill.Round, d backfill.Decision, own bool) {
	round.Events = slices.Clone(round.Events) // the slice is valid until the next round only
	r.rounds, r.own = append(r.rounds, round), append(r.own, own)
	r.Decider.Decided(round, d, own)
}
