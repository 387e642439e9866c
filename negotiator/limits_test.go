package negotiator

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// licensed is a job that takes so much of limits.
func licensed(tb testing.TB, id int, takes ...Take) *Job {
	tb.Helper()
	j := newJob(tb, id, 1, "")
	j.Takes = takes
	return j
}

// TestLimitsAreRows: a job takes of the limits that are there; of one that comes later, it does from
// then on, waiting or running. Rows of limits that are gone are used again once no job names them.
func TestLimitsAreRows(t *testing.T) {
	n := newNegotiator(t)
	takes := func(id backfill.JobID) []backfill.Take { return n.State().Job(id).Takes }
	few, many := []Take{{"b", 1}, {"a", 2}}, []Take{{"a", 1}, {"c", 1}}
	cycle(t, n, Delta{
		SlotsUp: []*Slot{newSlot(t, "n", 2, "")}, Limits: []Limit{{"a", 9}},
		Submitted: []*Job{licensed(t, 1, few...), licensed(t, 2, many...), licensed(t, 3, few...)},
	})
	require.True(t, n.State().IsRunning(1))
	require.Equal(t, []backfill.Take{{Row: 0, Amount: 2}}, takes(1))
	before, _ := n.State().Reason(1)

	cycle(t, n, Delta{
		Now: 2, Limits: []Limit{{"b", 5}, {"a", 8}},
		Ends: []End{{Job: 2, At: 30}},
	})
	for id := range backfill.JobID(4) {
		if id != 0 && id != 2 {
			require.Equal(t, []backfill.Take{{Row: 0, Amount: 2}, {Row: 1, Amount: 1}}, takes(id), id)
		}
	}
	require.Equal(t, []backfill.Take{{Row: 0, Amount: 1}}, takes(2))
	after, _ := n.State().Reason(1)
	require.Equal(t, before, after)
	require.Equal(t, []Limit{{"a", 8}, {"b", 5}}, n.limits.list())

	cycle(t, n, Delta{Now: 3, Limits: []Limit{{"c", 1}}, LimitsGone: []string{"b"}, Ends: []End{{Job: 2, At: 40}}})
	require.Equal(t, []backfill.Take{{Row: 0, Amount: 1}, {Row: 2, Amount: 1}}, takes(2))
	run, _ := n.State().Reason(2)
	require.Equal(t, backfill.Runs, run.Why)
	require.Equal(t, backfill.Time(40), endOf(n, 2))

	cycle(t, n, Delta{Now: 4, Completed: []backfill.JobID{1}, Removed: []backfill.JobID{3}})
	cycle(t, n, Delta{Now: 5, Limits: []Limit{{"d", 1}}, Submitted: []*Job{licensed(t, 4, Take{"d", 1}, Take{"b", 1})}})
	require.Equal(t, []backfill.Take{{Row: 1, Amount: 1}}, takes(4), "the row of b, which nobody named")
	cycle(t, n, Delta{Now: 6, Limits: []Limit{{"b", 7}}})
	require.Equal(t, []backfill.Take{{Row: 1, Amount: 1}, {Row: 3, Amount: 1}}, takes(4))
	cycle(t, n, Delta{Now: 7, LimitsGone: []string{"b"}})
	cycle(t, n, Delta{Now: 8, Limits: []Limit{{"b", 7}, {"e", 7}}})
	require.Equal(t, []Limit{{"a", 8}, {"d", 1}, {"c", 1}, {"b", 7}, {"e", 7}}, n.limits.list(), "b has its row again")

	again, err := Restore(Config{
		Schema: twoResources(), Policy: linked(t, "easy"), Fallback: linked(t, "fcfs"),
	}, n.Checkpoint())
	require.NoError(t, err)
	require.Equal(t, n.limits.list(), again.limits.list())
	require.Equal(t, takes(4), again.State().Job(4).Takes)
}

// endOf returns when a running job is expected to end.
func endOf(n *Negotiator, id backfill.JobID) backfill.Time {
	for run := range n.State().Running() {
		if run.Job.ID == id {
			return run.End
		}
	}
	return 0
}

// TestImpossibleLimits: limits and takes that cannot be are refused, and change nothing.
func TestImpossibleLimits(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, Delta{Limits: []Limit{{"a", 1}}})
	for want, d := range map[string]Delta{
		`limit "a" is reported twice`:                          {Limits: []Limit{{"a", 1}, {"a", 2}}},
		`limit "" has no name`:                                 {Limits: []Limit{{"", 1}}},
		`limit "b" has a height of -1: must be from 0 to`:      {Limits: []Limit{{"b", -1}}},
		`limit "b" is gone, and was not there`:                 {LimitsGone: []string{"b"}},
		`limit "a" is gone, and is reported, too`:              {Limits: []Limit{{"a", 1}}, LimitsGone: []string{"a"}},
		`job 1.1: it takes 0 of the limit "a": must be from 1`: {Submitted: []*Job{licensed(t, 1, Take{"a", 0})}},
	} {
		d.Now = 1
		_, err := n.RunCycle(t.Context(), d)
		require.ErrorContains(t, err, want)
	}
	require.True(t, slices.Equal([]Limit{{"a", 1}}, n.limits.list()))
}

// TestLimitsInThePlan: jobs beyond a limit have start times, reasons that count in whole licences, and
// start when one ends; a wide one is not starved, and one that wants more than there is is held.
func TestLimitsInThePlan(t *testing.T) {
	c := configured(t, "conservative", "fcfs")
	c.StartSlack = 0
	n, err := New(c)
	require.NoError(t, err)
	takes := func(licences float64) Take { return Take{"sw", int64(licences * LimitUnit)} }
	r := cycle(t, n, Delta{
		SlotsUp: []*Slot{newSlot(t, "n", 8, "")}, Limits: []Limit{{"sw", 2 * LimitUnit}},
		Submitted: []*Job{
			licensed(t, 1, takes(1.5)), licensed(t, 2, takes(2)), licensed(t, 3, takes(0.5)), licensed(t, 4, takes(0.5)),
			licensed(t, 5, takes(3)), newJob(t, 6, 1, ""),
		},
	})
	require.Equal(t, []string{"1.1@n×1", "1.3@n×1", "1.6@n×1"}, started(r))
	require.Equal(t, "reserved, expected start 10 on n×1, guaranteed by 10; waits for limit sw: 2 of 2 in use, it takes 2", reason(t, n, 2))
	require.Equal(t, "reserved, expected start 20 on n×1, guaranteed by 20; waits for limit sw: 2 of 2 in use, it takes 0.5", reason(t, n, 4))
	require.Equal(t, "held: takes more of a limit than there is: 3 of sw, which is 2", reason(t, n, 5))
	r = cycle(t, n, Delta{Now: 10, Completed: []backfill.JobID{1, 3, 6}})
	require.Equal(t, []string{"1.2@n×1"}, started(r))
	r = cycle(t, n, Delta{Now: 11, Limits: []Limit{{"sw", 3 * LimitUnit}}})
	require.Equal(t, []string{"1.4@n×1"}, started(r))
	r = cycle(t, n, Delta{Now: 20, Completed: []backfill.JobID{2}})
	require.Empty(t, started(r))
	r = cycle(t, n, Delta{Now: 21, Completed: []backfill.JobID{4}})
	require.Equal(t, []string{"1.5@n×1"}, started(r))
}

// TestNoLimitIsExceeded: under any policy, what starts never takes more of a limit than is left.
func TestNoLimitIsExceeded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		policy := rapid.SampledFrom([]string{"easy", "conservative", "slack", "fcfs", "maui", "bb"}).Draw(rt, "policy")
		n, err := New(configured(t, policy, "fcfs"))
		require.NoError(rt, err)
		number := func(label string, least, most int) int { return rapid.IntRange(least, most).Draw(rt, label) }
		names := []string{"a", "b", "c"}
		heights := map[string]int64{}
		d := Delta{SlotsUp: []*Slot{newSlot(t, "n", 6, ""), newSlot(t, "m", 3, "")}}
		next := 1
		for now := range backfill.Time(30) {
			d.Now = now
			for _, name := range names {
				_, there := heights[name]
				switch number(name, 0, 6) {
				case 0:
					heights[name] = int64(number("height", 0, 8))
					d.Limits = append(d.Limits, Limit{name, heights[name]})
				case 1:
					if there {
						delete(heights, name)
						d.LimitsGone = append(d.LimitsGone, name)
					}
				}
			}
			for range number("jobs", 0, 2) {
				j := newJob(t, next, number("cpus", 1, 3), "")
				j.Submit, j.Estimate = now, backfill.Time(number("estimate", 1, 9))
				for _, name := range names {
					if amount := number("takes", -2, 4); amount > 0 {
						j.Takes = append(j.Takes, Take{name, int64(amount)})
					}
				}
				d.Submitted, next = append(d.Submitted, j), next+1
			}
			for run := range n.State().Running() {
				if run.End <= now || number("ends", 0, 5) == 0 {
					d.Completed = append(d.Completed, run.Job.ID)
				}
			}
			r := cycle(t, n, d)
			used := map[string]int64{}
			for run := range n.State().Running() {
				for _, take := range n.Job(run.Job.ID).Takes {
					used[take.Limit] += take.Amount
				}
			}
			for _, m := range r.Matches {
				for _, take := range m.Job.Takes {
					if height, there := heights[take.Limit]; there {
						require.LessOrEqual(rt, used[take.Limit], height, "%s takes of %s at %d", m.Job.Name, take.Limit, now)
					}
				}
			}
			d = Delta{}
		}
	})
}

// reason is the state's reason in words.
func reason(tb testing.TB, n *Negotiator, id backfill.JobID) string {
	tb.Helper()
	r, known := n.State().Reason(id)
	require.True(tb, known)
	return n.State().Describe(r, func(j *backfill.Job) string { return n.Job(j.ID).Name })
}

// TestALimitThatComesLiftsOnlyWhatItHasNoRoomFor: jobs are promised starts, and then a limit comes that
// they name. By planned start, each whose amount fits beside what runs and those before it keeps its
// promise; others are lifted by the limit, and it is never exceeded by what is planned.
func TestALimitThatComesLiftsOnlyWhatItHasNoRoomFor(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		policy := rapid.SampledFrom([]string{"conservative", "slack", "pc"}).Draw(rt, "policy")
		number := func(label string, least, most int) int { return rapid.IntRange(least, most).Draw(rt, label) }
		c := configured(t, policy, "fcfs")
		c.StartSlack = 0
		n, err := New(c)
		require.NoError(rt, err)
		d := Delta{SlotsUp: []*Slot{newSlot(t, "n", 4, ""), newSlot(t, "m", 2, "")}}
		all := int64(0)
		for id := range number("jobs", 1, 12) {
			j := newJob(t, id+1, number("cpus", 1, 3), "")
			j.Estimate = backfill.Time(number("estimate", 1, 9))
			if amount := int64(number("takes", 0, 3)); amount > 0 {
				j.Takes, all = []Take{{"a", amount}}, all+amount
			}
			d.Submitted = append(d.Submitted, j)
		}
		cycle(t, n, d)
		before := n.State().Snapshot().Jobs
		height := rapid.SampledFrom([]int64{all, int64(number("height", 3, 8))}).Draw(rt, "limit")
		taken := [999]int64{}
		take := func(j backfill.JobState, most int64) bool {
			span := taken[j.Start:j.End]
			amount := int64(0)
			for _, take := range n.Job(j.Job.ID).Takes {
				amount = take.Amount
			}
			if amount > 0 && slices.Max(span)+amount > most {
				return false
			}
			for i := range span {
				span[i] += amount
			}
			return true
		}
		runs := func(j backfill.JobState) bool { return j.Running }
		for _, j := range before {
			if runs(j) {
				take(j, all)
			}
		}
		slices.SortStableFunc(before, func(a, b backfill.JobState) int { return int(a.Start - b.Start) })
		kept := map[backfill.JobID]bool{}
		for _, j := range before {
			kept[j.Job.ID] = !j.Running && take(j, height)
		}
		r := cycle(t, n, Delta{Limits: []Limit{{"a", height}}})
		for _, b := range r.Decision.Broken {
			require.False(rt, kept[b.Job.ID], "job %d has room in the limit", b.Job.ID)
			require.Equal(rt, backfill.CauseLimitChanged, b.Cause)
		}
		after := map[backfill.JobID]backfill.JobState{}
		taken = [999]int64{}
		for _, j := range n.State().Snapshot().Jobs {
			after[j.Job.ID] = j
			require.True(rt, take(j, 1<<30))
		}
		alone := [99]int64{} // what those that run exceed the limit by stays
		for _, j := range before {
			if now := after[j.Job.ID]; j.Running {
				for at := j.Start; at < j.End; at++ {
					for _, taken := range now.Job.Takes {
						alone[at] += taken.Amount
					}
				}
			} else if kept[j.Job.ID] {
				require.LessOrEqual(rt, now.Start, j.Start, "job %d", j.Job.ID)
				require.Equal(rt, j.Guarantee, now.Guarantee, "job %d", j.Job.ID)
			}
		}
		for at := range taken {
			require.True(rt, taken[at] <= height || taken[at] == alone[at], "%d of %d at %d", taken[at], height, at)
		}
	})
}
