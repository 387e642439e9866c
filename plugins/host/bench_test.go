package host

import (
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// BenchmarkCycle measures a round in a busy pool, by where the policy runs.
func BenchmarkCycle(b *testing.B) {
	b.Run("linked", func(b *testing.B) { benchmarkCycle(b, linked(b, named(b, "easy")), 8, 10) })
	for name, options := range map[string]Options{
		"plugin": {}, "plugin-grpc": {NoChannel: true, NoMTLS: true}, "plugin-grpc-mtls": {NoChannel: true},
	} {
		b.Run(name, func(b *testing.B) { benchmarkCycle(b, child(b, "easy", options), 8, 10) })
	}
}

// BenchmarkPolicies measures the table in plugins/README.md.
func BenchmarkPolicies(b *testing.B) {
	for _, policy := range []string{"fcfs", "easy", "conservative", "maui"} {
		for _, size := range []struct{ slots, waiting int }{{10, 10}, {1000, 100}, {10_000, 1000}} {
			name := fmt.Sprintf("policy=%s/slots=%d/waiting=%d", policy, size.slots, size.waiting)
			b.Run(name+"/linked", func(b *testing.B) {
				benchmarkCycle(b, linked(b, named(b, policy)), size.slots, size.waiting)
			})
			b.Run(name+"/plugin", func(b *testing.B) {
				benchmarkCycle(b, child(b, policy, Options{Deadline: time.Minute}), size.slots, size.waiting)
			})
		}
	}
}

// benchmarkCycle keeps a pool busy in which every slot runs a job and others wait: in each round
// one job ends and one arrives.
func benchmarkCycle(b *testing.B, decider backfill.Decider, slots, waiting int) {
	b.Helper()
	jobs := slots + waiting
	host := newHostOn(b, busyState(b, slots, slots, jobs), "fcfs", decider)
	running := make([]backfill.JobID, slots)
	for i := range running {
		running[i] = backfill.JobID(i + 1)
	}
	decide := func(r backfill.Round) {
		d, err := host.Decide(b.Context(), r)
		if err != nil || len(host.refusals) > 0 {
			require.NoError(b, err)
			require.Empty(b, host.refusals)
		}
		for _, s := range d.Started {
			running = append(running, s.Job.ID)
		}
	}
	decide(backfill.Round{Events: []backfill.Event{{Kind: backfill.Wake}}})
	var before Stats
	remote, _ := decider.(*Remote)
	if remote != nil {
		before = remote.Stats()
	}
	var now backfill.Time
	for b.Loop() {
		now++
		jobs++
		r := backfill.Round{Now: now, Events: []backfill.Event{
			{Kind: backfill.Completed, JobID: running[0]}, {Kind: backfill.Submitted, Job: benchJob(jobs, now)},
		}}
		running = running[1:]
		decide(r)
	}
	if remote != nil {
		after := remote.Stats()
		b.ReportMetric(float64(after.Sent-before.Sent)/float64(b.N), "sent-B/op")
		b.ReportMetric(float64(after.Received-before.Received)/float64(b.N), "received-B/op")
	}
}

// BenchmarkResync measures the time until a plugin without a state decides on a large one.
func BenchmarkResync(b *testing.B) {
	const slots, jobs = 10_000, 100_000
	remote := child(b, "fcfs", Options{})
	host := newHostOn(b, busyState(b, slots, slots, jobs), "fcfs", remote)
	now := backfill.Time(0)
	resync := func() {
		remote.trunk.lose()
		now++
		_, err := host.Decide(b.Context(), backfill.Round{Now: now, Events: []backfill.Event{{Kind: backfill.Wake}}})
		require.NoError(b, err)
		require.Empty(b, host.refusals)
	}
	resync()
	before := remote.Stats().Sent
	for b.Loop() {
		resync()
	}
	b.ReportMetric(float64(remote.Stats().Sent-before)/float64(b.N)/1e6, "MB/op")
}

// BenchmarkLargestAnswer measures a round of a plugin whose answers are as large as they may be. They
// are refused.
func BenchmarkLargestAnswer(b *testing.B) {
	for name, options := range map[string]Options{"grpc": {NoMTLS: true}, "grpc-mtls": {}} {
		b.Run(name, func(b *testing.B) {
			command, err := Self("")
			require.NoError(b, err)
			command.Args, command.Env = []string{foreign}, []string{badHow + "=largest"}
			remote := started(b, command, options)
			host, now := newHostOn(b, busyState(b, 1, 1, 10), "fcfs", remote), backfill.Time(0)
			for b.Loop() {
				now++
				job := benchJob(10+int(now), now)
				job.Labels[trouble] = "yes"
				_, err := host.Decide(b.Context(),
					backfill.Round{Now: now, Events: []backfill.Event{{Kind: backfill.Submitted, Job: job}}})
				require.NoError(b, err)
			}
			require.Zero(b, remote.Stats().Failures)
			b.ReportMetric(float64(remote.Stats().Received)/float64(b.N)/1e6, "MB/op")
		})
	}
}

// busyState returns a pool with jobs, the first of which run.
func busyState(tb testing.TB, slots, running, jobs int) *backfill.State {
	tb.Helper()
	snapshot := backfill.Snapshot{
		Resources:  []string{"cpus", "memory"},
		Candidates: []backfill.CandidateSet{everySlot(slots)},
	}
	for i := range slots {
		snapshot.Slots = append(snapshot.Slots, backfill.SlotState{Slot: benchSlot(i), Up: true})
	}
	for i := range jobs {
		j := backfill.JobState{Job: benchJob(i+1, 0)}
		if i < running {
			j.Running, j.Placement = true, backfill.Placement{{Slot: backfill.SlotID(i % slots), Count: 1}}
			j.End = j.Job.Estimate + backfill.Time(i)
		}
		snapshot.Jobs = append(snapshot.Jobs, j)
	}
	state, err := backfill.Restore(snapshot)
	require.NoError(tb, err)
	return state
}

func everySlot(slots int) backfill.CandidateSet {
	var set backfill.CandidateSet
	for i := range slots {
		set.Candidates.Slots = append(set.Candidates.Slots, backfill.SlotID(i))
	}
	return set
}

func benchSlot(id int) backfill.Slot {
	return backfill.Slot{
		ID: backfill.SlotID(id), Name: fmt.Sprintf("slot1@node%05d.cluster.example.org", id),
		Capacity: backfill.Vector{8, 80},
	}
}

// benchJob returns a job with realistic labels.
func benchJob(id int, now backfill.Time) *backfill.Job {
	return &backfill.Job{
		ID: backfill.JobID(id), Submit: now,
		Position: backfill.QueuePosition{Queue: "schedd.cluster.example.org", Cluster: int64(id)},
		Nodes:    1, Request: backfill.Vector{8, 10}, Estimate: 1 << 30,
		Labels: map[string]string{
			"owner": fmt.Sprint("user", id%100), "group": "physics.theory.lattice", "project": "AB-1234",
			"account": "physics@cluster.example.org", "qos": "normal", "executable": "/home/physics/bin/simulate",
		},
	}
}

// The messages about one job that arrives and one that ends are small, and the largest state is far
// from the limit of a message.
func TestMessagesAreSmall(t *testing.T) {
	remote := inProcess(t, Options{}, sdk.NewServer(named(t, "easy"), hclog.NewNullLogger()))
	host := newHostOn(t, busyState(t, 10, 10, 100), "fcfs", remote)
	for now := range backfill.Time(3) {
		before := remote.Stats()
		_, err := host.Decide(t.Context(), backfill.Round{Now: now, Events: []backfill.Event{
			{Kind: backfill.Completed, JobID: backfill.JobID(now) + 1},
			{Kind: backfill.Submitted, Job: benchJob(1000+int(now), now)},
		}})
		require.NoError(t, err)
		if now > 0 { // the first round sends the whole state
			require.Less(t, remote.Stats().Sent-before.Sent, int64(1<<10))
			require.Less(t, remote.Stats().Received-before.Received, int64(1<<10))
		}
	}
	require.Empty(t, host.refusals)
	state := wire.EncodeSnapshot(busyState(t, 10_000, 10_000, 100_000).Snapshot())
	require.Less(t, state.SizeVT(), wire.MaxMessage/4)
}

// BenchmarkStart measures the start of a plugin, until it has described itself, and its end.
func BenchmarkStart(b *testing.B) {
	command, err := Self("easy")
	require.NoError(b, err)
	for b.Loop() {
		remote, err := Start(b.Context(), command, Options{NoMTLS: true, Logger: hclog.NewNullLogger()})
		require.NoError(b, err)
		remote.Close()
	}
}
