package profileevents_test

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/backfilltest"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/backfill/profileevents"
)

// counted are the policies whose events can be counted.
func counted() []string { return []string{"conservative", "pc", "dc"} }

// one is a job that arrives at submit and really runs for run.
type one struct {
	submit, run, estimate backfill.Time
	cpus, memory          int64
}

// machine has 8 cpus and 100 MiB.
func machine() backfill.Vector { return backfill.Vector{8, 100} }

// link makes a policy of that name, or another way to decide under it.
func link(t require.TestingT, name string, instead backfill.Policy) *backfill.Linked {
	spec, err := policies.Named(name)
	require.NoError(t, err)
	if instead != nil {
		spec.New = func(backfill.Values) (backfill.Policy, error) { return instead, nil }
	}
	linked, err := backfill.Link(spec, nil)
	require.NoError(t, err)
	return linked
}

func host(t require.TestingT, order string, main backfill.Decider) *backfill.Host {
	by, err := backfill.OrderNamed(order)
	require.NoError(t, err)
	h, err := backfill.NewHost(backfill.NewState([]string{"cpus", "memory"}, profile.ByRank), by, main,
		link(t, "conservative", nil),
		func(r backfill.Refusal) { require.NoError(t, r.Err) })
	require.NoError(t, err)
	return h
}

// play runs jobs on the machine to the end and returns their starts. Those that
// fit nowhere start at 0.
func play(t require.TestingT, jobs []one, order string, main backfill.Decider) []backfill.Time {
	h := host(t, order, main)
	starts := make([]backfill.Time, len(jobs))
	ends := map[backfill.JobID]backfill.Time{}
	next := 0
	for first := true; ; first = false {
		r := backfill.Round{Now: h.State.NextWake()}
		if next < len(jobs) {
			r.Now = min(r.Now, jobs[next].submit)
		}
		for _, end := range ends {
			r.Now = min(r.Now, end)
		}
		if r.Now >= backfill.Forever {
			return starts
		}
		if first {
			r.Candidates = []backfill.CandidateSet{{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}}}}
			r.Events = []backfill.Event{{Kind: backfill.SlotAdded, Slot: backfill.Slot{Name: "a", Capacity: machine()}}}
		}
		for id, end := range ends {
			if end == r.Now {
				r.Events = append(r.Events, backfill.Event{Kind: backfill.Completed, JobID: id})
				delete(ends, id)
			}
		}
		for ; next < len(jobs) && jobs[next].submit == r.Now; next++ {
			j := jobs[next]
			r.Events = append(r.Events, backfill.Event{Kind: backfill.Submitted, Job: &backfill.Job{
				ID: backfill.JobID(next), Submit: j.submit, Position: backfill.QueuePosition{Cluster: int64(next)},
				Nodes:   1,
				Request: backfill.Vector{j.cpus, j.memory}, Estimate: j.estimate,
			}})
		}
		d, err := h.Decide(context.Background(), r)
		require.NoError(t, err)
		for _, s := range d.Started {
			starts[s.Job.ID] = d.Now
			ends[s.Job.ID] = d.Now + jobs[s.Job.ID].run
		}
	}
}

func drawJobs(t *rapid.T) []one {
	jobs := make([]one, rapid.IntRange(0, 30).Draw(t, "jobs"))
	submit := backfill.Time(rapid.Int64Range(-50, 50).Draw(t, "origin"))
	ties := rapid.Bool().Draw(t, "many ties")
	for i := range jobs {
		submit += backfill.Time(rapid.Int64Range(0, 5).Draw(t, "gap"))
		run := backfill.Time(rapid.Int64Range(0, 20).Draw(t, "run"))
		if ties {
			run = run / 5 * 5
		}
		jobs[i] = one{
			submit: submit, run: run, estimate: max(1, run+backfill.Time(rapid.Int64Range(0, 4).Draw(t, "slack"))*5),
			cpus: rapid.Int64Range(1, 9).Draw(t, "cpus"), memory: rapid.Int64Range(0, 60).Draw(t, "memory"),
		}
	}
	return jobs
}

// TestSameCountAsScanning counts what the textbook literally scans, and requires
// the same schedule and the same count of the real policy and its counter.
func TestSameCountAsScanning(t *testing.T) {
	for _, name := range counted() {
		t.Run(name, func(outer *testing.T) {
			var most int64
			rapid.Check(outer, func(t *rapid.T) {
				order := rapid.SampledFrom([]string{"fcfs", "sjf", "ljf", "widest", "narrowest", "wfp"}).Draw(t,
					"order")
				most = max(most, requireSame(t, drawJobs(t), name, order))
			})
			require.Greater(outer, most, int64(100))
		})
	}
}

func requireSame(t require.TestingT, jobs []one, name, order string) (scanned int64) {
	textbook := backfilltest.Textbook{Conservative: name == "conservative", DC: name == "dc", Scanned: &scanned}
	want := play(t, jobs, order, link(t, name, textbook))
	counter, err := profileevents.Count(link(t, name, nil))
	require.NoError(t, err)
	require.Equal(t, want, play(t, jobs, order, counter))
	got, err := counter.Count()
	require.NoError(t, err)
	require.Equal(t, scanned, got, "%v", jobs)
	return scanned
}

// TestLongQueues is the same with longer queues.
func TestLongQueues(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	jobs := make([]one, 70)
	for i := range jobs {
		run := 1 + random.Int64N(40)
		jobs[i] = one{
			submit: backfill.Time(random.Int64N(100)), run: backfill.Time(run),
			estimate: backfill.Time(run * (1 + random.Int64N(8))),
			cpus:     1 + random.Int64N(8), memory: random.Int64N(60),
		}
	}
	slices.SortStableFunc(jobs, func(a, b one) int { return cmp.Compare(a.submit, b.submit) })
	for _, name := range counted() {
		for _, order := range []string{"fcfs", "sjf"} {
			requireSame(t, jobs, name, order)
		}
	}
}

// TestByHand: job 0 runs for 10 of 20 s. Job 1 arrives at 1 and is planned for 20,
// behind it; job 2 starts at once.
func TestByHand(t *testing.T) {
	jobs := []one{
		{submit: 0, run: 10, estimate: 20, cpus: 6},
		{submit: 1, run: 5, estimate: 5, cpus: 8},
		{submit: 2, run: 1, estimate: 4, cpus: 2},
	}
	for name, want := range map[string]int64{
		// Job 1 is placed at [20, 25), past the end at 20: 1. Job 2 at [2, 6): nothing
		// starts or ends before 6. At 3 job 2 ends early, and job 1 is tried up to 25: 1.
		// At 10 it is tried in an empty profile.
		"conservative": 2,
		// The same; at 10 it is tried once more, as it moved.
		"pc": 2,
		// Job 1 is searched for twice at its arrival: 2; at that of job 2 it is tried: 1;
		// so it is at 3: 1. At 10 it is tried in an empty profile.
		"dc": 4,
	} {
		counter, err := profileevents.Count(link(t, name, nil))
		require.NoError(t, err)
		require.Equal(t, []backfill.Time{0, 10, 2}, play(t, jobs, "fcfs", counter))
		got, err := counter.Count()
		require.NoError(t, err)
		require.Equal(t, want, got, name)
	}
}

func TestPoliciesWithoutAProfile(t *testing.T) {
	for _, spec := range policies.All() {
		_, err := profileevents.Count(link(t, spec.Name, nil))
		if slices.Contains(counted(), spec.Name) {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "policy "+spec.Name+" keeps no profile")
		}
	}
}

// A policy that is not what it says is found out.
func TestAnotherPolicysMoves(t *testing.T) {
	jobs := []one{ // the deliberate hole, which dc does not let job 3 into and pc does
		{submit: 0, run: 5, estimate: 40, cpus: 4},
		{submit: 0, run: 20, estimate: 20, cpus: 4},
		{submit: 0, run: 10, estimate: 10, cpus: 4},
		{submit: 0, run: 10, estimate: 20, cpus: 8},
	}
	counter, err := profileevents.Count(link(t, "dc", backfilltest.Textbook{}))
	require.NoError(t, err)
	play(t, jobs, "sjf", counter)
	_, err = counter.Count()
	require.EqualError(t, err, "count profile events at 5: job 3 was planned for 20, and no textbook would")
}

// What the count does not cover ends it.
func TestNotCovered(t *testing.T) {
	for says, events := range map[string][]backfill.Event{
		"the pool has more than one slot": {{
			Kind: backfill.SlotAdded,
			Slot: backfill.Slot{ID: 1, Name: "b", Capacity: machine()},
		}},
		"removed is not covered": {{Kind: backfill.Removed, JobID: 0}},
		"slot lost is not covered": {{
			Kind: backfill.SlotLost,
			Slot: backfill.Slot{Name: "a", Capacity: machine()},
		}},
	} {
		counter, err := profileevents.Count(link(t, "pc", nil))
		require.NoError(t, err)
		h := host(t, "fcfs", counter)
		_, err = h.Decide(t.Context(), backfill.Round{
			Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}}}},
			Events: []backfill.Event{
				{Kind: backfill.SlotAdded, Slot: backfill.Slot{Name: "a", Capacity: machine()}},
				{Kind: backfill.Submitted, Job: &backfill.Job{Nodes: 1, Request: backfill.Vector{1, 0}, Estimate: 5}},
			},
		})
		require.NoError(t, err)
		_, err = counter.Count()
		require.NoError(t, err)
		_, err = h.Decide(t.Context(), backfill.Round{Now: 1, Events: events})
		require.NoError(t, err)
		_, err = counter.Count()
		require.ErrorContains(t, err, says)
	}
}

// A job that takes a bundle shares no slot, and is in no one slot's profile.
func TestBundlesAreNotCovered(t *testing.T) {
	counter, err := profileevents.Count(link(t, "conservative", nil))
	require.NoError(t, err)
	_, err = host(t, "fcfs", counter).Decide(t.Context(), backfill.Round{
		Bundles: []backfill.Bundle{{Name: "all", Slots: []backfill.SlotID{0}}},
		Events:  []backfill.Event{{Kind: backfill.SlotAdded, Slot: backfill.Slot{Name: "a", Capacity: machine()}}},
	})
	require.NoError(t, err)
	_, err = counter.Count()
	require.EqualError(t, err,
		"count profile events at 0: the pool has bundles: events are those of one slot that jobs share")
}
