package condorsim_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/jobtable"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// threeNodes are made once, as thousands of runs use them.
var threeNodes = sync.OnceValue(func() []*negotiator.Slot {
	const node = `; PartitionableSlot = true; Cpus = 4; Memory = 1100; Requirements = true;;`
	pool, err := pools.FromAds("test.ads", negotiator.DefaultSchema(), ads(
		`Name = "a"`+node+`Name = "b"`+node+`Name = "c"`+node))
	if err != nil {
		panic(err)
	}
	return pool.Slots
})

// onNodes puts jobs on three slots of 4 cpus each, with outages.
func onNodes(tb testing.TB, outages []pools.Outage, jobs ...workload.Job) *condorsim.Workload {
	tb.Helper()
	w, err := condorsim.OnPool(trace(jobs...),
		&pools.Description{Schema: negotiator.DefaultSchema(), Slots: threeNodes(), Outages: outages})
	require.NoError(tb, err)
	return w
}

const all = backfill.Forever // as a length of time: for good

func fails(at, lasts backfill.Time, slots ...int) pools.Outage {
	if lasts == all {
		lasts = 0
	}
	return pools.Outage{Slots: slots, At: at, For: lasts}
}

func drains(at, lasts backfill.Time, slots ...int) pools.Outage {
	o := fails(at, lasts, slots...)
	o.Drain = true
	return o
}

// spans lists the last runs of the jobs, which are those that count.
func spans(r *condorsim.Result) (list []string) {
	for _, o := range r.Outcomes {
		switch {
		case o.Held != "":
			list = append(list, "held: "+o.Held)
		default:
			list = append(list, fmt.Sprintf("%d-%d %s", o.Start, o.End, o.Placement))
		}
	}
	return list
}

func TestOutages(t *testing.T) {
	const never = "held: " + backfill.ReasonNeverFits
	for _, c := range []struct {
		name     string
		outages  []pools.Outage
		jobs     []workload.Job
		want     []string
		requeues int
		lost     float64
	}{
		{
			"a failure sends its job back, to run anew",
			[]pools.Outage{fails(10, 5, 0)},
			[]workload.Job{{Run: 20, Procs: 4}, {Run: 20, Procs: 8}},
			[]string{"15-35 a×4", "0-20 b×4 c×4"},
			1, 40,
		},
		{
			"a gang is lost with one of its slots",
			[]pools.Outage{fails(10, 5, 1)},
			[]workload.Job{{Run: 20, Procs: 12}},
			[]string{"15-35 a×4 b×4 c×4"},
			1, 120,
		},
		{
			"what completes at that instant has made it",
			[]pools.Outage{fails(20, 5, 0, 1, 2)},
			[]workload.Job{{Run: 20, Procs: 12}, {Run: 1}},
			[]string{"0-20 a×4 b×4 c×4", "25-26 a×1"},
			0, 0,
		},
		{
			"times count from the first submission on",
			[]pools.Outage{fails(10, 5, 0)},
			[]workload.Job{{Submit: 100, Run: 20, Procs: 12}},
			[]string{"115-135 a×4 b×4 c×4"},
			1, 120,
		},
		{
			"a slot that is gone at first",
			[]pools.Outage{fails(0, 7, 0, 1, 2)},
			[]workload.Job{{Run: 20}},
			[]string{"7-27 a×1"},
			0, 0,
		},
		{
			"what fits no more is held until the slot is back",
			[]pools.Outage{fails(5, 50, 2)},
			[]workload.Job{
				{Submit: 0, Run: 3, Procs: 12},
				{Submit: 10, Run: 20, Procs: 12},
				{Submit: 11, Run: 5, Procs: 1},
			},
			[]string{"0-3 a×4 b×4 c×4", "55-75 a×4 b×4 c×4", "11-16 a×1"},
			0, 0,
		},
		{
			"a slot that never comes back",
			[]pools.Outage{fails(5, all, 2)},
			[]workload.Job{{Run: 20, Procs: 12}, {Submit: 10, Run: 20, Procs: 8}},
			[]string{never, "10-30 a×4 b×4"},
			1, 60,
		},
		{
			"two failures that overlap are one",
			[]pools.Outage{fails(5, 10, 0, 1, 2), fails(10, 10, 0, 1, 2)},
			[]workload.Job{{Run: 20}},
			[]string{"20-40 a×1"},
			1, 5,
		},
		{
			"one that follows at once as well",
			[]pools.Outage{fails(5, 10, 0, 1, 2), fails(15, 10, 0, 1, 2)},
			[]workload.Job{{Run: 20}},
			[]string{"25-45 a×1"},
			1, 5,
		},
		{
			"a drained slot runs on and takes no more",
			[]pools.Outage{drains(5, 50, 0)},
			[]workload.Job{{Run: 20, Procs: 4}, {Submit: 6, Run: 9, Procs: 12}, {Submit: 7, Run: 9, Procs: 8}},
			[]string{"0-20 a×4", "55-64 a×4 b×4 c×4", "7-16 b×4 c×4"},
			0, 0,
		},
		{
			"a drained slot may fail",
			[]pools.Outage{drains(5, 50, 0, 1, 2), fails(10, 5, 0)},
			[]workload.Job{{Run: 20, Procs: 4}, {Submit: 6, Run: 9, Procs: 1}},
			[]string{"55-75 a×4", "55-64 b×1"},
			1, 40,
		},
		{
			"a drain in a failure",
			[]pools.Outage{fails(5, 50, 0, 1, 2), drains(10, 5, 0, 1)},
			[]workload.Job{{Run: 20, Procs: 4}},
			[]string{"55-75 a×4"},
			1, 20,
		},
		{
			"a drain that outlasts a failure",
			[]pools.Outage{fails(5, 5, 0, 1, 2), drains(7, 50, 0, 1)},
			[]workload.Job{{Run: 20, Procs: 8}},
			[]string{"57-77 a×4 b×4"},
			1, 40,
		},
		{
			"a drain for good",
			[]pools.Outage{drains(5, all, 0, 1, 2)},
			[]workload.Job{{Run: 20, Procs: 8}, {Submit: 6, Run: 5}},
			[]string{"0-20 a×4 b×4", "held: matches no slot: those that would do are closed: of 3 slots 3 are drained"},
			0, 0,
		},
		{
			"nothing is waited for when all is done",
			[]pools.Outage{fails(5, 1<<30, 2), fails(1<<20, 5, 1)},
			[]workload.Job{{Run: 2}},
			[]string{"0-2 a×1"},
			0, 0,
		},
	} {
		for _, policy := range policies.All() {
			t.Run(c.name+"/"+policy.Name, func(t *testing.T) {
				w := onNodes(t, c.outages, c.jobs...)
				result, err := condorsim.Run(t.Context(), w, link(t, policy.Name, nil), nil, newModel(t, w))
				require.NoError(t, err)
				if policy.Name == "first-fit" || policy.Name == "best-fit" || policy.Name == "fcfs" ||
					policy.Name == "easy" || policy.Name == "conservative" {
					require.Equal(t, c.want, spans(result))
				}
				if !strings.HasPrefix(policy.Name, "slack") { // other jobs may run when the slot fails
					require.Equal(t, c.requeues, result.Requeues)
					require.InDelta(t, c.lost, result.LostCoreSeconds, 0)
				}
				require.Zero(t, result.Refusals)
			})
		}
	}
}

func TestBrokenGuarantees(t *testing.T) {
	for _, c := range []struct {
		name    string
		outages []pools.Outage
		jobs    []workload.Job
		want    map[string]int
	}{
		{"none", []pools.Outage{fails(100, 5, 0)}, []workload.Job{{Run: 20}}, map[string]int{}},
		{
			"one that ran and one that was planned",
			[]pools.Outage{fails(10, 100, 0)},
			[]workload.Job{{Run: 20, Procs: 12}, {Submit: 1, Run: 20, Procs: 4}},
			map[string]int{"slot lost": 1},
		}, // the second job takes another slot at once
		{
			"a drain",
			[]pools.Outage{drains(10, 100, 0, 1)},
			[]workload.Job{{Run: 20, Procs: 12}, {Submit: 1, Run: 20, Procs: 4}, {Submit: 2, Run: 20, Procs: 4}},
			map[string]int{"slot drained": 1},
		},
		{
			"what must be held",
			[]pools.Outage{drains(10, 100, 0)},
			[]workload.Job{{Run: 20, Procs: 8}, {Submit: 1, Run: 20, Procs: 12}},
			map[string]int{"slot drained": 1},
		},
		{
			"what arrives to be held was promised nothing",
			[]pools.Outage{fails(0, 100, 0)},
			[]workload.Job{{Run: 20, Procs: 12}},
			map[string]int{},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := onNodes(t, c.outages, c.jobs...)
			result, err := condorsim.Run(t.Context(), w, link(t, "conservative", nil), nil)
			require.NoError(t, err)
			require.Equal(t, c.want, result.BrokenBy, spans(result))
			sum := 0
			for _, n := range result.BrokenBy {
				sum += n
			}
			require.Equal(t, sum, result.Broken)
			result, err = condorsim.Run(t.Context(), w, link(t, "easy", nil), nil)
			require.NoError(t, err)
			require.Empty(t, result.BrokenBy, "nothing was promised")
		})
	}
}

// The slack is measured against the first promise, even if the job was held in between, came back
// and was promised another start.
func TestTheFirstPromiseCounts(t *testing.T) {
	for _, c := range []struct {
		name    string
		outages []pools.Outage
		jobs    []workload.Job
		start   backfill.Time // of the second job
	}{
		{
			"promised nothing anew",
			[]pools.Outage{drains(10, 100, 0)},
			[]workload.Job{{Run: 20, Procs: 8}, {Submit: 1, Run: 20, Procs: 12}},
			110,
		},
		{
			"promised anew as another job arrives",
			[]pools.Outage{drains(10, 100, 0)},
			[]workload.Job{
				{Run: 20, Procs: 8},
				{Submit: 1, Run: 20, Procs: 12},
				{Submit: 105, Run: 30, Procs: 4},
				{Submit: 110, Run: 1, Procs: 1},
			},
			135,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := onNodes(t, c.outages, c.jobs...)
			result, err := condorsim.Run(t.Context(), w, link(t, "conservative", nil), nil)
			require.NoError(t, err)
			second := result.Outcomes[1]
			require.Equal(t, c.start, second.Start)
			require.True(t, second.Promised)
			require.EqualValues(t, 20, second.Guarantee)
			measures := result.Measures()
			n := float64(len(c.jobs))
			require.InDelta(t, 1, measures["guarantees_broken_times"], 0)
			requirePromisesAddUp(t, result)
			require.Equal(t, []float64{n, n - 1, 1},
				[]float64{measures["guarantees_given"], measures["guarantees_kept"], measures["guarantees_broken"]})
		})
	}
}

func TestAJobThatLosesItsSlotTooOften(t *testing.T) {
	var outages []pools.Outage
	for i := range 5 {
		outages = append(outages, fails(backfill.Time(10*i+5), 1, 0, 1, 2))
	}
	for most, want := range map[int]string{
		2: "held: " + condorsim.GivenUp, 4: "held: " + condorsim.GivenUp,
		5: "46-66 a×1", 0: "46-66 a×1",
	} {
		w := onNodes(t, outages, workload.Job{Run: 20}, workload.Job{Submit: 60, Run: 1})
		w.GiveUpAfter = most
		result, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil, newModel(t, w))
		require.NoError(t, err)
		require.Equal(t, want, spans(result)[0])
		require.Equal(t, "60-61", spans(result)[1][:5])
	}
}

// A job that needs more time than any slot lives is given up; one that never fits ends the run; one
// that needs all slots at once gets them.
func TestFailuresByChanceEnd(t *testing.T) {
	often := pools.Outage{Slots: []int{0, 1, 2}, MTBF: 100, MTTR: 1000, Shape: 1}
	for _, policy := range policies.All() {
		w := onNodes(t, []pools.Outage{often}, workload.Job{Run: 100_000}, workload.Job{Run: 3, Procs: 12},
			workload.Job{Run: 3, Procs: 13}, workload.Job{Submit: 1e6, Run: 1})
		result, err := condorsim.Run(t.Context(), w, link(t, policy.Name, nil), nil, newModel(t, w))
		require.NoError(t, err)
		require.Equal(t, condorsim.GivenUp, result.Outcomes[0].Held, policy.Name)
		require.True(t, result.Outcomes[1].Ended, policy.Name)
		require.Equal(t, backfill.ReasonNeverFits, result.Outcomes[2].Held, policy.Name)
		require.True(t, result.Outcomes[3].Ended, policy.Name)
	}
}

// failuresOf lists when slots went and came.
func failuresOf(t *testing.T, w *condorsim.Workload) (list []string) {
	t.Helper()
	_, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil, sink(func(r *negotiator.Report) error {
		for _, s := range r.Delta.SlotsUp {
			list = append(list, fmt.Sprintf("%d +%s", r.Delta.Now, s.Name))
		}
		for _, name := range r.Delta.SlotsDown {
			list = append(list, fmt.Sprintf("%d -%s", r.Delta.Now, name))
		}
		return nil
	}))
	require.NoError(t, err)
	return list
}

func TestChanceFollowsFromTheSeedAndTheSlotAlone(t *testing.T) {
	random := func(slots ...int) []pools.Outage {
		return []pools.Outage{{Slots: slots, MTBF: 500, MTTR: 50, Shape: 0.7}}
	}
	until := workload.Job{Submit: 20_000, Run: 1} // this job keeps the pool from being idle
	first := failuresOf(t, onNodes(t, random(0, 1), workload.Job{}, until))
	require.Greater(t, len(first), 40)
	require.Equal(t, first, failuresOf(t, onNodes(t, random(0, 1), workload.Job{Run: 300, Procs: 7},
		workload.Job{Submit: 7, Run: 50, Procs: 12}, until)), "whatever runs")
	lines := func(name string, list []string) (own []string) {
		for _, s := range list[3:] {
			if s[len(s)-1:] == name {
				own = append(own, s)
			}
		}
		return own
	}
	alone := failuresOf(t, onNodes(t, random(1), workload.Job{}, until))
	require.Equal(t, lines("b", alone), lines("b", first), "whatever other slots there are")
	seeded := onNodes(t, random(0, 1), workload.Job{}, until)
	seeded.Seed = 7
	require.NotEqual(t, first, failuresOf(t, seeded))
}

// The mean times are the requested ones, whatever the shape.
func TestMeanTimes(t *testing.T) {
	for _, shape := range []float64{0.5, 1, 3} {
		w := onNodes(t, []pools.Outage{{Slots: []int{0}, MTBF: 2000, MTTR: 300, Shape: shape}}, workload.Job{},
			workload.Job{Submit: 20_000_000, Run: 1})
		var up, down float64
		var since backfill.Time
		n := 0
		_, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil, sink(func(r *negotiator.Report) error {
			length := float64(r.Delta.Now - since)
			switch {
			case len(r.Delta.SlotsDown) > 0:
				up += length
				n++
			case len(r.Delta.SlotsUp) == 1:
				down += length
			default:
				return nil
			}
			since = r.Delta.Now
			return nil
		}))
		require.NoError(t, err)
		require.InEpsilon(t, 2000, up/float64(n), 0.05, "shape %v", shape)
		require.InEpsilon(t, 300, down/float64(n), 0.05, "shape %v", shape)
	}
}

// model rebuilds the pool from what a simulation reports, and checks that it is possible.
type model struct {
	t        require.TestingT
	w        *condorsim.Workload
	free     map[string]backfill.Vector
	capacity map[string]backfill.Vector
	up       map[string]bool
	drains   map[string]bool
	runs     map[backfill.JobID]run
	ended    map[backfill.JobID]int
	last     backfill.Time
}

type run struct {
	start backfill.Time
	at    negotiator.Placement
}

func newModel(t require.TestingT, w *condorsim.Workload) *model {
	m := &model{
		t: t, w: w, free: map[string]backfill.Vector{}, capacity: map[string]backfill.Vector{}, up: map[string]bool{},
		drains: map[string]bool{},
		runs:   map[backfill.JobID]run{}, ended: map[backfill.JobID]int{}, last: -1 << 60,
	}
	for _, s := range w.Slots {
		m.free[s.Name], m.capacity[s.Name] = append(backfill.Vector{}, s.Capacity...), s.Capacity
	}
	return m
}

func (m *model) take(id backfill.JobID, at negotiator.Placement, sign int64) {
	request, err := m.w.Schema.Request(m.w.Jobs[id].Ad, 1)
	require.NoError(m.t, err)
	for _, place := range at {
		for _, name := range place.Slots() {
			capacity, takes := m.capacity[name], request
			if place.Bundle != nil {
				takes = capacity
			}
			free := m.free[name]
			free.AddScaled(takes, -sign*int64(place.Count))
			for i, amount := range free {
				if amount < 0 || amount > capacity[i] {
					require.Fail(m.t, "no such amount can be free", "%s has %v free", name, free)
				}
			}
		}
	}
}

// Cycle is a negotiator.Sink.
func (m *model) Cycle(r *negotiator.Report) error {
	now := r.Delta.Now
	require.GreaterOrEqual(m.t, now, m.last)
	m.last = now
	for _, id := range r.Delta.Completed {
		j := m.w.Jobs[id]
		require.Contains(m.t, m.runs, id)
		require.Equal(m.t, m.runs[id].start+j.Run, now, "job %s runs from the beginning to the end", j.Name)
		m.take(id, m.runs[id].at, -1)
		delete(m.runs, id)
		m.ended[id]++
	}
	for _, name := range r.Delta.SlotsDown {
		require.True(m.t, m.up[name])
		m.up[name] = false
		for id, on := range m.runs {
			for _, place := range on.at {
				if slices.Contains(place.Slots(), name) {
					m.take(id, on.at, -1)
					delete(m.runs, id)
					break
				}
			}
		}
	}
	for _, s := range r.Delta.SlotsUp {
		m.up[s.Name] = true
		starts, given := s.Ad.Bool("START")
		m.drains[s.Name] = given && !starts
	}
	for _, match := range r.Matches {
		id := match.Job.ID
		require.Zero(m.t, m.ended[id], "job %s starts after it ended", match.Job.Name)
		require.NotContains(m.t, m.runs, id)
		require.GreaterOrEqual(m.t, now, match.Job.Submit)
		chunks := 0
		for _, place := range match.Placement {
			for _, name := range place.Slots() {
				require.True(m.t, m.up[name] && !m.drains[name], "job %s starts at %d on %s", match.Job.Name, now, name)
			}
			chunks += place.Count
		}
		require.Equal(m.t, match.Job.Nodes, chunks)
		m.take(id, match.Placement, 1)
		m.runs[id] = run{now, match.Placement}
	}
	for id, on := range m.runs {
		require.LessOrEqual(m.t, now, on.start+m.w.Jobs[id].Run, "job %d was forgotten", id)
	}
	return nil
}

// drawOutages draws a few outages of all kinds.
func drawOutages(t *rapid.T) (list []pools.Outage) {
	time := func(name string, most int64) backfill.Time {
		return backfill.Time(rapid.Int64Range(0, most).Draw(t, name))
	}
	for range rapid.IntRange(0, 6).Draw(t, "outages") {
		slots := rapid.SampledFrom([][]int{{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 1, 2}}).Draw(t, "slots")
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0, 1:
			list = append(list, fails(time("at", 100), 1+time("for", 30), slots...))
		case 2, 3:
			list = append(list, drains(time("at", 100), 1+time("for", 60), slots...))
		default:
			list = append(list, pools.Outage{
				Slots: slots, MTBF: 5 + time("mtbf", 200),
				MTTR: 1 + time("mttr", 20), Shape: 0.8,
			})
		}
	}
	if rapid.IntRange(0, 5).Draw(t, "for good") == 0 {
		list = append(list, pools.Outage{Slots: []int{1}, At: time("at", 50), Drain: rapid.Bool().Draw(t, "drain")})
	}
	return list
}

// Whatever fails and is drained, under any policy, no job is lost and no slot holds more than it
// has; and the same input gives the same bytes.
func TestNoJobIsLostWhateverFails(t *testing.T) {
	for _, policy := range policies.All() {
		t.Run(policy.Name, func(outer *testing.T) {
			rapid.Check(outer, func(t *rapid.T) {
				in := drawTrace(t)
				origin := rapid.SampledFrom([]int64{0, -50, -1e6}).Draw(t, "origin")
				for i := range in.Jobs {
					in.Jobs[i].Submit += origin
				}
				outages := drawOutages(t)
				seed := rapid.Uint64().Draw(t, "seed")
				giveUp := rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "give up after")
				order := rapid.SampledFrom([]string{"fcfs", "sjf", "wfp", "area", "expr:WaitTime * Width"}).Draw(t, "order")
				var bytesOf [2]bytes.Buffer
				for i := range bytesOf {
					w := onNodes(outer, outages, in.Jobs...)
					w.Seed, w.GiveUpAfter = seed, giveUp
					c := link(outer, policy.Name, nil)
					var err error
					c.Order, err = negotiator.OrderNamed(order)
					require.NoError(t, err)
					m := newModel(t, w)
					result, err := condorsim.Run(context.Background(), w, c, nil, m)
					require.NoError(t, err)
					require.Zero(t, result.Refusals)
					requireAccounted(t, m, result)
					require.NoError(t, jobtable.Write(&bytesOf[i], result))
				}
				require.Equal(t, bytesOf[0].String(), bytesOf[1].String())
			})
		})
	}
}

// requireAccounted compares a result with the model's.
func requireAccounted(t require.TestingT, m *model, r *condorsim.Result) {
	require.Empty(t, m.runs)
	requeues, lost, late := 0, 0.0, 0
	for i, o := range r.Outcomes {
		id := backfill.JobID(i)
		requeues, lost = requeues+o.Requeues, lost+o.Lost
		if o.Held != "" {
			require.False(t, o.Started || o.Ended)
			require.Zero(t, m.ended[id])
			continue
		}
		require.True(t, o.Started && o.Ended)
		require.Equal(t, 1, m.ended[id])
		require.Equal(t, o.Start+r.Workload.Jobs[i].Run, o.End)
		if o.Promised && o.Start > o.Guarantee {
			late++
		}
	}
	require.LessOrEqual(t, late, r.Broken)
	requirePromisesAddUp(t, r)
	require.Equal(t, requeues, r.Requeues)
	require.InDelta(t, lost, r.LostCoreSeconds, 0)
	if len(r.Workload.Outages) == 0 {
		require.Zero(t, requeues)
	}
}
