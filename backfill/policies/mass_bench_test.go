package policies_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// mass is a pool of size slots of one core and as many waiting jobs, to which the same thing
// happens many times in one round.
type mass struct {
	*backfill.Host
	up   []backfill.Event
	now  backfill.Time
	size int
}

// newMass creates the pool. If ends is not nil, a job runs on the i-th slot and is expected to end
// at ends(i).
func newMass(b *testing.B, policy string, size int, ends func(i int) backfill.Time) *mass {
	b.Helper()
	up, jobs, sets := staticPool(size)
	m := &mass{
		Host: hostBench(b, backfill.NewState([]string{"cpus", "memory"}, profile.ByRank), policy), up: up,
		size: size,
	}
	r := backfill.Round{Events: up, Candidates: sets}
	if ends != nil {
		for i := range up {
			j := *jobs[i].Job
			j.ID, j.Position.Cluster, j.Estimate = j.ID+backfill.JobID(size), j.Position.Cluster+int64(size), ends(i)
			r.Events = append(r.Events, backfill.Event{
				Kind: backfill.Found, Job: &j,
				Placement: backfill.Placement{{Slot: backfill.SlotID(i), Count: 1}}, End: j.Estimate,
			})
		}
	}
	m.round(b, r)
	m.round(b, backfill.Round{Now: 1, Events: jobs})
	return m
}

func (m *mass) round(b *testing.B, r backfill.Round) backfill.Decision {
	b.Helper()
	d, err := m.Decide(b.Context(), r)
	require.NoError(b, err)
	m.now = r.Now
	return d
}

// slots returns an event for each of the first n slots.
func (m *mass) slots(kind backfill.EventKind, n int) (events []backfill.Event) {
	for _, e := range m.up[:n] {
		e.Kind = kind
		events = append(events, e)
	}
	return events
}

// jobs returns an event for each of the jobs that newMass submitted.
func (m *mass) jobs(kind backfill.EventKind) (events []backfill.Event) {
	for i := range m.size {
		events = append(events, backfill.Event{Kind: kind, JobID: backfill.JobID(1 + i)})
	}
	return events
}

// change lets another policy and order take over.
func (m *mass) change(b *testing.B, policy, order string) {
	b.Helper()
	spec, err := policies.Named(policy)
	require.NoError(b, err)
	main, err := backfill.Link(spec, nil)
	require.NoError(b, err)
	fallback, err := backfill.Link(policies.FallbackFor(spec), nil)
	require.NoError(b, err)
	ordering, err := backfill.OrderNamed(order)
	require.NoError(b, err)
	require.NoError(b, m.Change(ordering, main, fallback))
}

// BenchmarkMass measures one round in which the same thing happens many times: all starts fail, all
// planned starts are missed, all running jobs outlive their estimates, a tenth of the slots
// disappears or returns, or another policy or order takes over. None of them may keep a daemon busy
// for long.
func BenchmarkMass(b *testing.B) {
	apart := func(i int) backfill.Time { return backfill.Time(100_000 + 37*i) }
	together := func(int) backfill.Time { return 100_000 }
	for _, event := range []struct {
		name string
		ends func(i int) backfill.Time // of the running jobs; nil: no job runs yet
		do   func(b *testing.B, m *mass) backfill.Round
	}{
		{"failed", nil, func(_ *testing.B, m *mass) backfill.Round {
			return backfill.Round{Now: 2, Events: m.jobs(backfill.StartFailed)}
		}},
		{"missed", together, func(_ *testing.B, m *mass) backfill.Round {
			var ended []backfill.Event
			for _, e := range m.jobs(backfill.Completed) {
				e.JobID += backfill.JobID(m.size)
				ended = append(ended, e)
			}
			return backfill.Round{Now: 100_001, Events: ended}
		}},
		{"overrun", together, func(*testing.B, *mass) backfill.Round { return backfill.Round{Now: 100_000} }},
		{"lost", apart, func(_ *testing.B, m *mass) backfill.Round {
			return backfill.Round{Now: 2, Events: m.slots(backfill.SlotLost, m.size/10)}
		}},
		{"returned", apart, func(b *testing.B, m *mass) backfill.Round {
			b.Helper()
			m.round(b, backfill.Round{Now: 2, Events: m.slots(backfill.SlotLost, m.size/10)})
			return backfill.Round{Now: 3, Events: m.slots(backfill.SlotAdded, m.size/10)}
		}},
		{"policy", apart, func(b *testing.B, m *mass) backfill.Round {
			b.Helper()
			policy, _ := m.State.Policy()
			m.change(b, "easy", "fcfs")
			m.round(b, backfill.Round{Now: 2})
			m.change(b, policy, "fcfs")
			return backfill.Round{Now: 3}
		}},
		{"order", apart, func(b *testing.B, m *mass) backfill.Round {
			b.Helper()
			policy, _ := m.State.Policy()
			m.change(b, policy, "ljf")
			return backfill.Round{Now: 2, Events: []backfill.Event{{
				Kind:  backfill.Completed,
				JobID: backfill.JobID(m.size + m.size/2),
			}}}
		}},
	} {
		for _, size := range []int{500, 2000, 5000, 10_000} {
			for _, policy := range []string{"conservative", "pc", "dc"} {
				b.Run(fmt.Sprintf("event=%s/size=%d/policy=%s", event.name, size, policy), func(b *testing.B) {
					for b.Loop() {
						b.StopTimer()
						m := newMass(b, policy, size, event.ends)
						r := event.do(b, m)
						b.StartTimer()
						m.round(b, r)
					}
				})
			}
		}
	}
}
