package drain_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/policies/drain"
	"github.com/condor-backfill/condor-backfill/backfill/policies/easy"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

func link(t require.TestingT, spec backfill.PolicySpec, options map[string]string) backfill.Decider {
	d, err := backfill.Link(spec, options)
	require.NoError(t, err)
	return d
}

// byTheBook is the policy as the study describes it, in terms of running jobs and partitions. It
// uses neither the profile nor the reservations of other jobs.
type byTheBook struct{ c *backfill.Cycle }

// decideByTheBook makes one pass over the queue and starts jobs on idle partitions. The first job
// that cannot start drains the partition that becomes free first. Other jobs may take an idle
// partition if it does not conflict with the drained one, or if they end within the window.
func decideByTheBook(c *backfill.Cycle) {
	for _, more := c.Next(); more; {
		_, more = c.Next()
	}
	for _, j := range c.Fast().Planned() {
		c.Release(j)
	}
	b := byTheBook{c}
	drained, window := backfill.BundleID(-1), backfill.Time(0)
	for j := range c.Queue() {
		free := func(id backfill.BundleID) bool {
			return b.frees(id) <= c.Now() && (drained < 0 || j.Estimate <= window || !b.conflict(id, drained) &&
				id != drained)
		}
		idle := slices.DeleteFunc(slices.Clone(c.State().Request(j).Candidates.Bundles),
			func(id backfill.BundleID) bool { return !free(id) })
		if len(idle) > 0 {
			c.Start(j, b.all(b.least(idle, free)))
			continue
		}
		if drained >= 0 {
			continue
		}
		first := backfill.Forever
		for _, id := range c.State().Request(j).Candidates.Bundles {
			first = min(first, b.frees(id))
		}
		if first == backfill.Forever {
			continue
		}
		freed := func(id backfill.BundleID) bool { return b.frees(id) <= first }
		drained = b.least(slices.DeleteFunc(slices.Clone(c.State().Request(j).Candidates.Bundles),
			func(id backfill.BundleID) bool { return !freed(id) }), freed)
		window = first - c.Now()
		c.Reserve(j, first, b.all(drained))
	}
}

// frees returns when the partition becomes free: when the last job on its slots is expected to end,
// now if none runs there, or Forever if a slot is not up.
func (b byTheBook) frees(id backfill.BundleID) backfill.Time {
	at := b.c.Now()
	slots := b.c.State().Bundles()[id].Slots
	if slices.ContainsFunc(slots, func(s backfill.SlotID) bool { return !b.c.State().SlotUp(s) }) {
		return backfill.Forever
	}
	for r := range b.c.Running() {
		if slices.ContainsFunc(r.Placement, func(on backfill.Chunks) bool { return slices.Contains(slots, on.Slot) }) {
			at = max(at, r.End)
		}
	}
	return at
}

func (b byTheBook) conflict(x, y backfill.BundleID) bool {
	bundles := b.c.State().Bundles()
	return x != y && slices.ContainsFunc(bundles[x].Slots,
		func(s backfill.SlotID) bool { return slices.Contains(bundles[y].Slots, s) })
}

// least returns the partition that conflicts with the fewest free ones; of equal ones, the first by
// name.
func (b byTheBook) least(ids []backfill.BundleID, free func(backfill.BundleID) bool) backfill.BundleID {
	bundles := b.c.State().Bundles()
	blocks := func(id backfill.BundleID) (n int) {
		for other := range bundles {
			if b.conflict(id, backfill.BundleID(other)) && free(backfill.BundleID(other)) {
				n++
			}
		}
		return n
	}
	return slices.MinFunc(ids, func(x, y backfill.BundleID) int {
		return cmp.Or(cmp.Compare(blocks(x), blocks(y)), strings.Compare(bundles[x].Name, bundles[y].Name))
	})
}

// all returns the placement that takes a whole partition.
func (b byTheBook) all(id backfill.BundleID) (at backfill.Placement) {
	for _, slot := range b.c.State().Bundles()[id].Slots {
		at = append(at, backfill.Chunks{Slot: slot, Count: 1})
	}
	return at
}

// arrival is a job that runs for run, which is at most its estimate.
type arrival struct {
	job *backfill.Job
	run backfill.Time
}

// machine draws a partitioned machine and returns the round that brings it up.
func machine(t *rapid.T) (r backfill.Round) {
	slots := rapid.IntRange(1, 8).Draw(t, "slots")
	for i := range slots {
		r.Events = append(r.Events, backfill.Event{
			Kind: backfill.SlotAdded,
			Slot: backfill.Slot{ID: backfill.SlotID(i), Name: string(rune('a' + i)), Capacity: backfill.Vector{512}},
		})
	}
	for range rapid.IntRange(1, 12).Draw(t, "partitions") {
		ids := rapid.SliceOfNDistinct(rapid.IntRange(0, slots-1), 1, slots, rapid.ID[int]).Draw(t, "partition")
		slices.Sort(ids)
		b := backfill.Bundle{
			ID:   backfill.BundleID(len(r.Bundles)),
			Name: string(rune('z'-len(r.Bundles)%4)) + string(rune('a'+len(r.Bundles))),
		}
		for _, id := range ids {
			b.Slots = append(b.Slots, backfill.SlotID(id))
		}
		if !slices.ContainsFunc(r.Bundles, func(o backfill.Bundle) bool { return slices.Equal(o.Slots, b.Slots) }) {
			r.Bundles = append(r.Bundles, b)
		}
	}
	for id := range 3 {
		set := backfill.CandidateSet{ID: id}
		for _, b := range r.Bundles {
			if rapid.Bool().Draw(t, "candidate") {
				set.Candidates.Bundles = append(set.Candidates.Bundles, b.ID)
			}
		}
		r.Candidates = append(r.Candidates, set)
	}
	return r
}

func arrivals(t *rapid.T) (jobs []arrival) {
	submit := backfill.Time(0)
	for id := range rapid.IntRange(1, 30).Draw(t, "jobs") {
		submit += backfill.Time(rapid.IntRange(0, 4).Draw(t, "gap"))
		estimate := backfill.Time(rapid.IntRange(1, 25).Draw(t, "estimate"))
		jobs = append(jobs, arrival{
			run: backfill.Time(rapid.IntRange(0, int(estimate)).Draw(t, "run")),
			job: &backfill.Job{
				ID: backfill.JobID(id), Submit: submit, Position: backfill.QueuePosition{Cluster: int64(id)}, Nodes: 1,
				Whole:   true,
				Request: backfill.Vector{1}, Estimate: estimate, Candidates: rapid.IntRange(0, 2).Draw(t, "candidates"),
			},
		})
	}
	return jobs
}

// told is the result of a round: which jobs were started and where, which are planned, when and
// where.
type told struct {
	now     backfill.Time
	started map[backfill.JobID]string
	planned map[backfill.JobID]backfill.Time
	where   map[backfill.JobID]string
}

// play runs the jobs on the machine to the end and returns the result of each round.
func play(t *rapid.T, first backfill.Round, jobs []arrival, main backfill.Decider) (rounds []told) {
	order, err := backfill.OrderNamed("fcfs")
	require.NoError(t, err)
	h, err := backfill.NewHost(backfill.NewState([]string{"cpus"}, profile.ByRank), order, main,
		link(t, easy.Spec(), nil), func(r backfill.Refusal) { require.NoError(t, r.Err) })
	require.NoError(t, err)
	ends := map[backfill.JobID]backfill.Time{}
	for round := first; ; {
		next := 0
		for next < len(jobs) && jobs[next].job.Submit == round.Now {
			round.Events = append(round.Events, backfill.Event{Kind: backfill.Submitted, Job: jobs[next].job})
			ends[jobs[next].job.ID] = -jobs[next].run // minus its run time, until it starts
			next++
		}
		jobs = jobs[next:]
		d, err := h.Decide(t.Context(), round)
		require.NoError(t, err)
		result := told{
			d.Now,
			map[backfill.JobID]string{},
			map[backfill.JobID]backfill.Time{},
			map[backfill.JobID]string{},
		}
		for _, s := range d.Started {
			ends[s.Job.ID] = d.Now - ends[s.Job.ID]
			result.started[s.Job.ID] = h.State.DescribePlacement(s.Placement)
		}
		for _, j := range h.State.Snapshot().Jobs {
			if start, at, ok := h.State.Planned(j.Job.ID); ok {
				result.planned[j.Job.ID], result.where[j.Job.ID] = start, h.State.DescribePlacement(at)
			}
		}
		rounds = append(rounds, result)

		round = backfill.Round{Now: h.State.NextWake()}
		if len(jobs) > 0 {
			round.Now = min(round.Now, jobs[0].job.Submit)
		}
		for id, end := range ends {
			if h.State.IsRunning(id) {
				round.Now = min(round.Now, end)
			}
		}
		if round.Now == backfill.Forever {
			return rounds
		}
		for id, end := range ends {
			if h.State.IsRunning(id) && end <= round.Now {
				round.Events = append(round.Events, backfill.Event{Kind: backfill.Completed, JobID: id})
			}
		}
		slices.SortFunc(round.Events, func(a, b backfill.Event) int { return cmp.Compare(a.JobID, b.JobID) })
	}
}

// TestByTheBook checks that drain decides every round as the study's rules do, on random machines
// and jobs.
func TestByTheBook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		book := drain.Spec()
		book.New = func(backfill.Values) (backfill.Policy, error) { return backfill.PolicyFunc(decideByTheBook), nil }
		first, jobs := machine(t), arrivals(t)
		require.Equal(t, play(t, first, jobs, link(t, book, nil)), play(t, first, jobs, link(t, drain.Spec(), nil)))
	})
}

// TestSchedulingPoints checks that with an interval jobs start only at its multiples, and that in
// the end as many jobs start as without an interval.
func TestSchedulingPoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, jobs := machine(t), arrivals(t)
		rounds := play(t, first, jobs, link(t, drain.Spec(), map[string]string{"interval": "7"}))
		waiting := map[backfill.JobID]bool{}
		for i, r := range rounds {
			require.True(t, len(r.started) == 0 || r.now%7 == 0, "started at %d", r.now)
			for id := range r.planned {
				waiting[id] = true
			}
			for id := range r.started {
				delete(waiting, id)
			}
			if i == len(rounds)-1 {
				require.Empty(t, waiting, "every job that had a reservation starts in the end")
			}
		}
		started := 0
		for _, r := range rounds {
			started += len(r.started)
		}
		want := 0
		for _, r := range play(t, first, jobs, link(t, drain.Spec(), nil)) {
			want += len(r.started)
		}
		require.Equal(t, want, started, "as many jobs start as without an interval")
	})
}

// TestAllAtSchedulingPoints checks that an interval changes no decision if all jobs arrive and end
// at scheduling points. There is also a pass at the other points, but it starts nothing.
func TestAllAtSchedulingPoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, jobs := machine(t), arrivals(t)
		for i := range jobs {
			jobs[i].job.Submit, jobs[i].job.Estimate, jobs[i].run = jobs[i].job.Submit*7, jobs[i].job.Estimate*7,
				jobs[i].run*7
		}
		events := play(t, first, jobs, link(t, drain.Spec(), nil))
		happened := map[backfill.Time]bool{}
		for _, r := range events {
			happened[r.now] = true
		}
		points := play(t, first, jobs, link(t, drain.Spec(), map[string]string{"interval": "7"}))
		points = slices.DeleteFunc(points, func(r told) bool {
			if !happened[r.now] {
				require.Empty(t, r.started, "at %d", r.now)
			}
			return !happened[r.now]
		})
		require.Equal(t, events, points)
	})
}

// TestNewTopJobAtAPoint checks that drain wakes at every scheduling point while jobs wait. Without
// any event another job comes to the top of the queue at 5; from the next point on, the slot is
// drained for it.
func TestNewTopJobAtAPoint(t *testing.T) {
	byFive := func(j *backfill.Job, at backfill.Moment) (float64, backfill.Moves) { // from 5 on the queue is reversed
		if at.Now < 5 {
			return float64(j.ID), backfill.Moves{WithTime: true}
		}
		return -float64(j.ID), backfill.Moves{WithTime: true}
	}
	h, err := backfill.NewHost(backfill.NewState([]string{"cpus"}, profile.ByRank), byFive,
		link(t, drain.Spec(), map[string]string{"interval": "10"}), link(t, easy.Spec(), nil), nil)
	require.NoError(t, err)
	candidates := backfill.Candidates{Slots: []backfill.SlotID{0}}
	round := backfill.Round{Candidates: []backfill.CandidateSet{{Candidates: candidates}}, Events: []backfill.Event{
		{Kind: backfill.SlotAdded, Slot: backfill.Slot{Name: "a", Capacity: backfill.Vector{2}}},
	}}
	for id := range backfill.JobID(3) {
		round.Events = append(round.Events, backfill.Event{
			Kind: backfill.Submitted,
			Job: &backfill.Job{
				ID: id, Position: backfill.QueuePosition{Cluster: int64(id)}, Nodes: 1,
				Request: backfill.Vector{2}, Estimate: 25,
			},
		})
	}
	_, err = h.Decide(t.Context(), round)
	require.NoError(t, err)
	_, _, drained := h.State.Planned(1)
	require.True(t, drained)
	require.EqualValues(t, 10, h.State.NextWake())
	_, err = h.Decide(t.Context(), backfill.Round{Now: 10})
	require.NoError(t, err)
	_, _, drained = h.State.Planned(2)
	require.True(t, drained)
}

// TestDrainIsEasy checks that drain and easy decide the same on random pools, with partitions and
// without.
func TestDrainIsEasy(t *testing.T) {
	for seed := range uint64(40) {
		if seed%2 == 0 {
			seed += conformance.Partitioned
		}
		if seed%3 == 0 {
			seed += conformance.Windowed
		}
		if seed%5 < 2 {
			seed += conformance.Ending
		}
		var want []backfill.Decision
		for _, spec := range []backfill.PolicySpec{easy.Spec(), drain.Spec()} {
			run, err := conformance.Start(seed, link(t, spec, nil))
			require.NoError(t, err)
			var got []backfill.Decision
			for range 80 {
				d, err := run.Next(t.Context())
				require.NoError(t, err)
				d.Actions, d.Started = slices.Clone(d.Actions), slices.Clone(d.Started) // valid until the next round
				if d.By != "" {
					d.By = "either"
				}
				got = append(got, d)
			}
			require.Empty(t, run.Findings())
			if want == nil {
				want = got
			}
			require.Equal(t, want, got, "seed %d", seed)
		}
	}
}

// TestREADME checks the example in the README: where and when each job starts.
func TestREADME(t *testing.T) {
	first := backfill.Round{}
	for i := range 4 {
		first.Events = append(first.Events, backfill.Event{
			Kind: backfill.SlotAdded,
			Slot: backfill.Slot{ID: backfill.SlotID(i), Name: string(rune('A' + i)), Capacity: backfill.Vector{512}},
		})
	}
	for i, name := range []string{"A", "B", "C", "D", "AB", "CD", "ABCD"} {
		b := backfill.Bundle{ID: backfill.BundleID(i), Name: name}
		for _, letter := range name {
			b.Slots = append(b.Slots, backfill.SlotID(letter-'A'))
		}
		first.Bundles = append(first.Bundles, b)
	}
	for id, bundles := range [][]backfill.BundleID{{0}, {2}, {0, 1, 2, 3}, {4, 5}} {
		first.Candidates = append(first.Candidates,
			backfill.CandidateSet{ID: id, Candidates: backfill.Candidates{Bundles: bundles}})
	}
	for i, j := range []struct {
		estimate   backfill.Time
		candidates int
	}{{20, 0}, {30, 1}, {20, 3}, {20, 2}, {40, 2}, {30, 2}} {
		id := backfill.JobID(i + 1)
		first.Events = append(first.Events, backfill.Event{Kind: backfill.Submitted, Job: &backfill.Job{
			ID: id, Position: backfill.QueuePosition{Cluster: int64(id)}, Nodes: 1, Whole: true,
			Request: backfill.Vector{1}, Estimate: j.estimate, Candidates: j.candidates,
		}})
	}
	order, err := backfill.OrderNamed("fcfs")
	require.NoError(t, err)
	h, err := backfill.NewHost(backfill.NewState([]string{"cpus"}, profile.ByRank), order, link(t, drain.Spec(), nil),
		link(t, easy.Spec(), nil), nil)
	require.NoError(t, err)
	got := map[backfill.JobID]string{}
	starts := map[backfill.JobID]backfill.Time{}
	for round := first; round.Now < backfill.Forever; {
		d, err := h.Decide(t.Context(), round)
		require.NoError(t, err)
		for _, s := range d.Started {
			got[s.Job.ID], starts[s.Job.ID] = h.State.DescribePlacement(s.Placement), d.Now
		}
		round = backfill.Round{Now: h.State.NextWake()}
		for _, j := range h.State.Snapshot().Jobs {
			if j.Running && j.End == round.Now {
				round.Events = append(round.Events, backfill.Event{Kind: backfill.Completed, JobID: j.Job.ID})
			}
		}
	}
	require.Equal(t, map[backfill.JobID]string{1: "A", 2: "C", 3: "AB", 4: "B", 5: "D", 6: "C"}, got)
	require.Equal(t, map[backfill.JobID]backfill.Time{1: 0, 2: 0, 3: 20, 4: 0, 5: 0, 6: 30}, starts)
}
