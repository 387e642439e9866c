package policies_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// busyPool is a pool in which the slots are busy and jobs wait. The slots are of five classes and
// have four resources. The jobs are of 50 autoclusters; with gangs, one autocluster in ten has jobs
// of many nodes. Nothing in it is random.
type busyPool struct {
	gangs   bool
	host    *backfill.Host
	running []backfill.JobID // by expected end
	jobs    int
}

const autoclusters = 50

// job returns the next job of the pool.
func (p *busyPool) job(submit backfill.Time) *backfill.Job {
	p.jobs++
	i := p.jobs
	cluster := i % autoclusters
	nodes := 1
	if p.gangs && cluster%10 == 9 {
		nodes = 2 + cluster
	}
	return &backfill.Job{
		ID: backfill.JobID(i), Submit: submit, Position: backfill.QueuePosition{Cluster: int64(i)}, Nodes: nodes,
		Request:  v(int64(1+cluster%8), int64(1024*(1+cluster%5)), int64(cluster%3), int64(cluster/45)),
		Estimate: backfill.Time(600 + (i*7919)%86400), Candidates: cluster,
	}
}

func newBusyPool(b *testing.B, policy string, slots, waiting int, gangs bool) *busyPool {
	b.Helper()
	p := &busyPool{gangs: gangs}
	first := backfill.Round{Now: 0}
	classes := make([][]backfill.SlotID, 5)
	for i := range slots {
		class := i % 5
		classes[class] = append(classes[class], backfill.SlotID(i))
		first.Events = append(first.Events, backfill.Event{Kind: backfill.SlotAdded, Slot: backfill.Slot{
			ID: backfill.SlotID(i), Name: fmt.Sprintf("slot1@n%05d", i), Capacity: v(int64(8*(1+class)), 65536, 100,
				int64(class/4)*4),
		}})
	}
	// Autoclusters 45 to 49 need the class of slots with gpus; the others may use two to five
	// classes.
	for c := range autoclusters {
		var set backfill.CandidateSet
		set.ID = c
		for i := range slots {
			if class := i % 5; c >= 45 && class == 4 || c < 45 && class >= c%4 {
				set.Candidates.Slots = append(set.Candidates.Slots, backfill.SlotID(i))
				if c%2 == 1 {
					set.Candidates.Rank = append(set.Candidates.Rank, int32(class))
				}
			}
		}
		first.Candidates = append(first.Candidates, set)
	}
	s := backfill.NewState([]string{"cpus", "memory", "disk", "gpus"}, profile.ByRank)
	p.host = hostBench(b, s, "first-fit")
	_, err := p.host.Decide(b.Context(), first)
	require.NoError(b, err)
	for s.Waiting() < waiting {
		r := backfill.Round{Now: 1}
		for range max(1, waiting-s.Waiting()) {
			r.Events = append(r.Events, backfill.Event{Kind: backfill.Submitted, Job: p.job(1)})
		}
		d, err := p.host.Decide(b.Context(), r)
		require.NoError(b, err)
		for _, started := range d.Started {
			p.running = append(p.running, started.Job.ID)
		}
	}
	p.host = hostBench(b, s, policy)
	return p
}

func hostBench(b *testing.B, s *backfill.State, policy string) *backfill.Host {
	b.Helper()
	return orderedBench(b, s, policy, nil)
}

func orderedBench(b *testing.B, s *backfill.State, policy string, order backfill.Order) *backfill.Host {
	b.Helper()
	spec, err := policies.Named(policy)
	require.NoError(b, err)
	main, err := backfill.Link(spec, nil)
	require.NoError(b, err)
	fallback, err := backfill.Link(policies.FallbackFor(spec), nil)
	require.NoError(b, err)
	h, err := backfill.NewHost(s, order, main, fallback, func(r backfill.Refusal) { b.Fatal(r.Err) })
	require.NoError(b, err)
	return h
}

// copy returns an independent pool in the same state, under another policy.
func (p *busyPool) copy(b *testing.B, policy string) *busyPool {
	b.Helper()
	return &busyPool{
		gangs: p.gangs, jobs: p.jobs, running: slices.Clone(p.running),
		host: hostBench(b, p.host.State.Clone(), policy),
	}
}

// first runs the policy's first cycle on the pool.
func (p *busyPool) first(b *testing.B) {
	b.Helper()
	_, err := p.host.Decide(b.Context(), backfill.Round{Now: 2})
	require.NoError(b, err)
}

// next runs a cycle in which one job has ended and another has arrived.
func (p *busyPool) next(b *testing.B, now backfill.Time) {
	b.Helper()
	d, err := p.host.Decide(b.Context(), backfill.Round{Now: now, Events: []backfill.Event{
		{Kind: backfill.Completed, JobID: p.running[0]}, {Kind: backfill.Submitted, Job: p.job(now)},
	}})
	require.NoError(b, err)
	p.running = p.running[1:]
	for _, started := range d.Started {
		p.running = append(p.running, started.Job.ID)
	}
}

// BenchmarkCycle measures, for pools of several sizes and for each policy, the first cycle and one
// in which one job has ended and another has arrived.
func BenchmarkCycle(b *testing.B) {
	for _, size := range []struct {
		slots, waiting int
		gangs          bool
	}{{1, 100, false}, {1, 5000, false}, {100, 1000, false}, {10000, 5000, false}, {10000, 5000, true}} {
		b.Run(fmt.Sprintf("slots=%d/waiting=%d/gangs=%t", size.slots, size.waiting, size.gangs), func(b *testing.B) {
			pool := newBusyPool(b, "first-fit", size.slots, size.waiting, size.gangs)
			for _, spec := range policies.All() {
				b.Run("policy="+spec.Name+"/first", func(b *testing.B) {
					for b.Loop() {
						b.StopTimer()
						p := pool.copy(b, spec.Name)
						b.StartTimer()
						p.first(b)
					}
				})
				b.Run("policy="+spec.Name+"/next", func(b *testing.B) {
					p := pool.copy(b, spec.Name)
					p.first(b)
					now := backfill.Time(2)
					for b.Loop() {
						now++
						p.next(b, now)
					}
				})
			}
		})
	}
}
