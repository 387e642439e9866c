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
	"github.com/condor-backfill/condor-backfill/condorsim/profileevents"
)

// counted returns the policies whose profile events can be counted.
func counted() []string { return []string{"conservative", "pc", "dc"} }

// one is a job that arrives at submit and runs for run, which may be less than its estimate.
type one struct {
	submit, run, estimate backfill.Time
	cpus, memory          int64
}

// machine returns the capacity of the one slot: 8 cpus and 100 MiB.
func machine() backfill.Vector { return backfill.Vector{8, 100} }

// link links in the policy of that name; if instead is not nil, it decides under that name.
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
	ordering, err := backfill.OrderNamed(order)
	require.NoError(t, err)
	h, err := backfill.NewHost(backfill.NewState([]string{"cpus", "memory"}, profile.ByRank), ordering, main,
		link(t, "conservative", nil),
		func(r backfill.Refusal) { require.NoError(t, r.Err) })
	require.NoError(t, err)
	return h
}

// play runs jobs on the machine to the end and returns their starts; 0 for those that fit nowhere.
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

// TestSameCountAsScanning checks, on random jobs in several orders, that the counter of each policy
// yields the same starts and the same count as the textbook version, which scans every event.
func TestSameCountAsScanning(t *testing.T) {
	for _, name := range counted() {
		t.Run(name, func(outer *testing.T) {
			var most int64
			rapid.Check(outer, func(t *rapid.T) {
				order := rapid.SampledFrom([]string{"fcfs", "sjf", "ljf", "widest", "narrowest", "wfp", "area"}).Draw(t,
					"order")
				most = max(most, requireSame(t, drawJobs(t), name, order))
			})
			require.Greater(outer, most, int64(100), "no case scanned enough to be a test")
		})
	}
}

// requireSame requires the same starts and count of the textbook version and of the counter, and
// returns the count.
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

// TestLongQueues is TestSameCountAsScanning with 70 jobs, so that the queues are longer.
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

// TestByHand checks counts that were worked out by hand. Job 0 is expected to run for 20 s and ends
// after 10. Job 1 arrives at 1 and is planned for 20, behind it. Job 2 arrives at 2 and starts at
// once.
func TestByHand(t *testing.T) {
	jobs := []one{
		{submit: 0, run: 10, estimate: 20, cpus: 6},
		{submit: 1, run: 5, estimate: 5, cpus: 8},
		{submit: 2, run: 1, estimate: 4, cpus: 2},
	}
	for name, want := range map[string]int64{
		// Job 1 is placed at [20, 25), which scans the end of job 0 at 20: 1. Job 2 is placed at
		// [2, 6), and nothing starts or ends before 6: 0. At 3 job 2 ends early. Job 1 is tried and
		// stays, which scans the end at 20 again: 1. At 10 job 1 is tried in an empty profile: 0.
		"conservative": 2,
		// The same. At 10 job 1 moves and is then tried once more, also in an empty profile: 0.
		"pc": 2,
		// At its arrival job 1 is placed twice: 2. At the arrival of job 2 it is tried: 1. At 3 it
		// is tried again: 1. At 10 it is tried in an empty profile: 0.
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

// TestPoliciesWithoutAProfile checks that Count refuses the policies that plan no profile.
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

// TestAnotherPolicysMoves checks that the count ends with an error if a policy makes moves that the
// textbook version of its name would not make: here pc decides under the name of dc.
func TestAnotherPolicysMoves(t *testing.T) {
	jobs := []one{ // at 5 a hole opens, into which pc moves job 3 and dc does not
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

// TestNotCovered checks that events which the count does not cover end it with an error.
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

// TestBundlesAreNotCovered checks that bundles end the count with an error: a job that takes one
// occupies several slots, and the count is of one slot that jobs share.
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
