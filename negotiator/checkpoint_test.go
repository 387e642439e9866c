package negotiator

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

// restored is a negotiator that continues from a checkpoint.
func restored(tb testing.TB, c Config, m Checkpoint) *Negotiator {
	tb.Helper()
	n, err := Restore(c, m)
	require.NoError(tb, err)
	return n
}

// configured is a configuration under which no decision may be refused.
func configured(tb testing.TB, policy, order string) Config {
	tb.Helper()
	main := linked(tb, policy)
	fallback, err := backfill.Link(policies.FallbackFor(main.Spec()), nil)
	require.NoError(tb, err)
	o, err := OrderNamed(order)
	require.NoError(tb, err)
	return Config{
		Schema: twoResources(), Order: o, Policy: main, Fallback: fallback, StartSlack: 3,
		Trust:   estimate.TrustAll, // so that equal jobs have equal run times, whoever ran before
		Refused: func(r backfill.Refusal) { require.NoError(tb, r.Err, "refused at %d", r.Now) },
	}
}

// weather draws deltas that fit the state of the pool.
type weather struct {
	slots map[string]*Slot // that are up
	jobs  int
}

func (w *weather) delta(tb testing.TB, t *rapid.T, n *Negotiator) Delta {
	tb.Helper()
	draw := func(most int, what string) int { return rapid.IntRange(0, most).Draw(t, what) }
	d := Delta{Now: max(0, n.State().Now())}
	if wake := n.NextWake(); wake == backfill.Forever || draw(2, "early") == 0 {
		d.Now = min(wake, d.Now+backfill.Time(draw(8, "step")))
	} else {
		d.Now = wake
	}
	first := n.State().Now() < 0
	for _, name := range []string{"a", "b", "c"} {
		up := w.slots[name] != nil
		switch {
		// several slots that return are used by number, and a successor has other numbers
		case !first && len(d.SlotsUp)+len(d.SlotsDown) > 0:
		case !up && (first || draw(2, "up") == 0), up && draw(12, "changes") == 0:
			w.slots[name] = newSlot(tb, name, 1+draw(5, "cpus"), fmt.Sprintf(`Site = "%c"`, 'x'+rune(draw(1, "site"))))
			d.SlotsUp = append(d.SlotsUp, w.slots[name])
		case up && draw(12, "down") == 0:
			delete(w.slots, name)
			d.SlotsDown = append(d.SlotsDown, name)
		}
	}
	for _, s := range n.Checkpoint().Jobs {
		switch what := draw(40, "what"); {
		case s.Running && (what < 6 || s.End <= d.Now && what < 30):
			d.Completed = append(d.Completed, s.Job.ID)
		case s.Running && what == 6:
			d.StartFailed = append(d.StartFailed, s.Job.ID)
		case s.Running && what == 7:
			d.Ends = append(d.Ends, End{s.Job.ID, d.Now + 1 + backfill.Time(draw(20, "end"))})
		case what == 8:
			d.Removed = append(d.Removed, s.Job.ID)
		case what == 9 && !s.Running:
			d.Changed = append(d.Changed, w.job(tb, t, int(s.Job.ID), s.Job.Submit))
		case what == 10 && len(w.slots) > 0:
			d.Found = append(d.Found, w.found(t, s.Job, d.Now))
		}
	}
	for range draw(3, "arrivals") {
		w.jobs++
		d.Submitted = append(d.Submitted, w.job(tb, t, w.jobs, d.Now))
	}
	if draw(12, "stranger") == 0 && len(w.slots) > 0 {
		w.jobs++
		d.Found = append(d.Found, w.found(t, w.job(tb, t, w.jobs, d.Now), d.Now))
	}
	return d
}

func (w *weather) job(tb testing.TB, t *rapid.T, id int, submit backfill.Time) *Job {
	tb.Helper()
	j := newJob(tb, id, rapid.IntRange(1, 6).Draw(t, "cpus"), rapid.SampledFrom([]string{
		"", "MinHosts = 2", `Requirements = TARGET.Site == "x"`, "Rank = TARGET.Cpus",
		"EstimatedRunTime = 25; JobPrio = 3", "RequestMemory = 600",
	}).Draw(t, "kind"))
	j.Submit = submit
	if j.Estimate == 10 {
		j.Estimate = backfill.Time(rapid.IntRange(1, 20).Draw(t, "estimate"))
	}
	return j
}

func (w *weather) found(t *rapid.T, j *Job, now backfill.Time) Running {
	name := rapid.SampledFrom([]string{"a", "b", "c"}).Filter(func(name string) bool {
		return w.slots[name] != nil
	}).Draw(t, "on")
	start := now - backfill.Time(rapid.IntRange(0, 9).Draw(t, "since"))
	return Running{
		Job: j, Placement: Placement{{Slot: w.slots[name], Count: j.Nodes}}, Start: start,
		End: rapid.SampledFrom([]backfill.Time{0, now + 5}).Draw(t, "end"),
	}
}

// outcome is what a cycle did, except for reservations, in terms that do not depend on how slots
// are numbered.
func outcome(n *Negotiator, r *Report) (lines []string) {
	lines = append(started(*r), r.Decision.By)
	for _, h := range r.Held {
		lines = append(lines, "held "+h.Job.Name)
	}
	for _, b := range r.Decision.Broken {
		lines = append(lines, fmt.Sprint("broken ", b.Job.ID, b.Promised, b.Now, b.Cause))
	}
	return append(lines, waitingJobs(n))
}

// textOf is a checkpoint in terms that do not depend on how slots are numbered.
func textOf(m Checkpoint) (lines []string) {
	for _, slot := range m.Slots {
		lines = append(lines, fmt.Sprint(slot.Name, slot.Capacity))
	}
	slices.Sort(lines)
	for _, s := range m.Jobs {
		lines = append(lines, fmt.Sprint(s.Job.Name, s.Running, s.Held, s.Placement, s.Start, s.End,
			s.Promised, s.Guarantee))
	}
	return append(lines, fmt.Sprint(m.Now, m.Policy, m.Guarantees, m.Planning, m.Wakes))
}

// settled is a checkpoint without the jobs that only wait, and without wakes.
func settled(m Checkpoint) Checkpoint {
	m.Wakes = nil
	m.Jobs = slices.DeleteFunc(m.Jobs, func(j JobCheckpoint) bool {
		return !j.Running && j.Held == "" && j.Placement == nil
	})
	return m
}

// withoutMoves links a policy in that moves no reservation to another slot at its same start. Which of several
// ways to move is taken depends on the numbers of slots, which a successor has others of once slots have come
// back; the plans are as good, but a latest start that is promised next may be another.
func withoutMoves(tb testing.TB, spec backfill.PolicySpec) backfill.Decider {
	tb.Helper()
	options := map[string]string{}
	for _, o := range spec.Options {
		if o.Name == "replace" {
			options[o.Name] = "false"
		}
	}
	main, err := backfill.Link(spec, options)
	require.NoError(tb, err)
	return main
}

// TestARestoredNegotiatorGoesOn runs the same pool twice. In one run a restored negotiator replaces
// the last one before some of the cycles.
func TestARestoredNegotiatorGoesOn(t *testing.T) {
	for _, spec := range policies.All() {
		t.Run(spec.Name, rapid.MakeCheck(func(r *rapid.T) {
			order := rapid.SampledFrom([]string{"fcfs", "wfp", "area", "expr:JobPrio ?: 0 + WaitTime"}).Draw(r, "order")
			planning := backfill.Planning{
				Depth: rapid.IntRange(0, 3).Draw(r, "depth"), Reorder: rapid.Bool().Draw(r, "reorder"),
			}
			config := func() Config {
				c := configured(t, spec.Name, order)
				c.Planning, c.Policy = planning, withoutMoves(t, spec)
				return c
			}
			one, err := New(config())
			require.NoError(r, err)
			other, err := New(config())
			require.NoError(r, err)
			w := &weather{slots: map[string]*Slot{}}
			for i := range rapid.IntRange(1, 25).Draw(r, "cycles") {
				if i > 0 && rapid.IntRange(0, 2).Draw(r, "restart") == 0 {
					before := other.Checkpoint()
					other = restored(t, config(), before)
					require.Equal(r, textOf(before), textOf(other.Checkpoint()))
					require.Equal(r, one.NextWake(), other.NextWake())
					require.Equal(r, waitingJobs(one), waitingJobs(other))
				}
				d := w.delta(t, r, one)
				want, err := one.RunCycle(t.Context(), d)
				require.NoError(r, err)
				got, err := other.RunCycle(t.Context(), d)
				require.NoError(r, err)
				require.Equal(r, outcome(one, want), outcome(other, got))
				require.Equal(r, textOf(one.Checkpoint()), textOf(other.Checkpoint()))
				require.Equal(r, textOf(settled(one.Checkpoint())), textOf(one.Settled()))
			}
		}))
	}
}

// TestRestoreRefuses checkpoints that no negotiator can have left, with an error that names the
// job.
func TestRestoreRefuses(t *testing.T) {
	a := newSlot(t, "a", 2, `Site = "x"`)
	job := newJob(t, 1, 2, "")
	elsewhere := newJob(t, 2, 1, `Requirements = TARGET.Site == "y"`)
	on := func(chunks int) Placement { return Placement{{Slot: a, Count: chunks}} }
	checkpoint := func(jobs ...JobCheckpoint) Checkpoint {
		return Checkpoint{Now: 5, Policy: "pc", Guarantees: true, Slots: []*Slot{a}, Jobs: jobs}
	}
	planned := func(j *Job, start, latest backfill.Time) JobCheckpoint {
		return JobCheckpoint{
			Job: j, Placement: on(1),
			Standing: backfill.Standing{Start: start, End: start + 10, Promised: true, Guarantee: latest},
		}
	}
	run := JobCheckpoint{Job: job, Placement: on(1), Standing: backfill.Standing{Running: true, Start: 1, End: 11}}
	for want, m := range map[string]Checkpoint{
		"job checkpoint 0 is of no job":             checkpoint(JobCheckpoint{Standing: backfill.Standing{Running: true}}),
		"slot a came up twice":                      {Slots: []*Slot{a, a}},
		"job 1.1: its ID 1 is that of job 1.1, too": checkpoint(run, run),
		"job 1.1: 0 chunks": checkpoint(JobCheckpoint{
			Job: &Job{ID: 1, Name: "1.1", Ad: job.Ad},
		}),
		"job 1.1: slot b is not there": checkpoint(JobCheckpoint{
			Job:      job,
			Standing: backfill.Standing{Running: true}, Placement: Placement{{Slot: &Slot{Name: "b"}, Count: 1}},
		}),
		"job 1.1: 2 of its 1 chunks are on slot a": checkpoint(JobCheckpoint{
			Job:      job,
			Standing: backfill.Standing{Running: true}, Placement: on(2),
		}),
		"job 1.1: snapshot: job 1 runs nowhere": checkpoint(JobCheckpoint{
			Job:      job,
			Standing: backfill.Standing{Running: true},
		}),
		"job 1.1: snapshot: job 1 is held and has a place": checkpoint(JobCheckpoint{
			Job:      job,
			Standing: backfill.Standing{Held: "why"}, Placement: on(1),
		}),
		"job 1.1: it is planned for 20 without a guarantee": checkpoint(JobCheckpoint{
			Job:       job,
			Placement: on(1), Standing: backfill.Standing{Start: 20, End: 30},
		}),
		"job 1.1: it is planned for 20, and was promised to start at 15 at the latest": checkpoint(
			planned(job, 20, 15)),
		"job 1.3: snapshot: job 3 is planned for 11: 1 chunks of [2 0] are not free": checkpoint(planned(job, 20, 20),
			planned(newJob(t, 3, 2, ""), 11, 20)),
	} {
		_, err := Restore(configured(t, "pc", "fcfs"), m)
		require.ErrorContains(t, err, want)
	}
	n, err := Restore(configured(t, "pc", "fcfs"), checkpoint(planned(elsewhere, 20, 20)))
	require.NoError(t, err)
	_, _, isPlanned := n.State().Planned(elsewhere.ID)
	require.False(t, isPlanned, "the slot is no candidate any more")
	require.EqualValues(t, 5, n.NextWake())
	c := configured(t, "pc", "fcfs")
	c.Fallback = linked(t, "easy")
	_, err = Restore(c, checkpoint())
	require.ErrorContains(t, err, "cannot fall back")
}

// TestRestoreWithLessThanAll: a job that has a guarantee and no reservation, as its plan was not
// kept, is planned at once. A job that another policy left gets a guarantee, as at any change of
// the policy.
func TestRestoreWithLessThanAll(t *testing.T) {
	a := newSlot(t, "a", 2, "")
	m := Checkpoint{Now: 5, Policy: "pc", Guarantees: true, Slots: []*Slot{a}, Jobs: []JobCheckpoint{
		{Job: newJob(t, 1, 2, ""), Placement: Placement{{Slot: a, Count: 1}}, Standing: backfill.Standing{Running: true, Start: 1, End: 11}},
		{Job: newJob(t, 2, 1, ""), Standing: backfill.Standing{Promised: true, Guarantee: 30}},
		{Job: newJob(t, 3, 1, ""), Standing: backfill.Standing{Promised: true, Guarantee: 7}},
		{Job: newJob(t, 4, 1, "")},
	}}
	n := restored(t, configured(t, "pc", "fcfs"), m)
	require.EqualValues(t, 5, n.NextWake(), "at once")
	r := cycle(t, n, Delta{Now: 5})
	require.Len(t, r.Decision.Broken, 1)
	require.EqualValues(t, 7, r.Decision.Broken[0].Promised)
	jobs := n.Checkpoint().Jobs
	require.EqualValues(t, 30, jobs[1].Guarantee, "it stands")
	require.Equal(t, []backfill.Time{11, 11, 24}, []backfill.Time{jobs[1].Start, jobs[2].Start, jobs[3].Guarantee})

	m.Policy, m.Guarantees = "easy", false
	n = restored(t, configured(t, "conservative", "fcfs"), m)
	require.EqualValues(t, 11, n.NextWake())
	cycle(t, n, Delta{Now: 6})
	name, _ := n.State().Policy()
	require.Equal(t, "conservative", name)
	require.EqualValues(t, 11, n.Checkpoint().Jobs[1].Start)
}

// TestALargeQueueIsRestoredWhole: a user with far more different jobs than a cycle may match keeps all
// reservations, and so do others beside him.
func TestALargeQueueIsRestoredWhole(t *testing.T) {
	c := configured(t, "conservative", "fcfs")
	c.Matching = matchmaker.Limits{Evaluation: 10_000, Cluster: 20_000, User: 20_000, All: 40_000}
	m := Checkpoint{Now: 5, Policy: "conservative", Guarantees: true}
	for i := range 50 {
		m.Slots = append(m.Slots, newSlot(t, fmt.Sprint("slot", i), 1, fmt.Sprintf("Site = %d", i)))
	}
	for i := range 600 {
		slot, start := m.Slots[i%50], backfill.Time(100+100*(i/50))
		m.Jobs = append(m.Jobs, JobCheckpoint{
			Job:       newJob(t, i+1, 1, fmt.Sprintf("Requirements = TARGET.Site >= 0 && TARGET.Site < %d; Owner = %q", 100+i, fmt.Sprint("bob", i%2))),
			Placement: Placement{{Slot: slot, Count: 1}},
			Standing:  backfill.Standing{Start: start, End: start + 10, Promised: true, Guarantee: start},
		})
	}
	n := restored(t, c, m)
	require.Zero(t, n.matchmaker.Unplanned())
	for _, j := range n.Checkpoint().Jobs {
		require.Empty(t, j.Held)
		require.NotNil(t, j.Placement, "job %d keeps its reservation", j.Job.ID)
	}
}

// BenchmarkCheckpoint makes a checkpoint of 10,000 jobs on 10,000 slots, and restores it.
func BenchmarkCheckpoint(b *testing.B) {
	var m Checkpoint
	for i := range 10_000 {
		slot := newSlot(b, fmt.Sprint("slot", i), 2, "")
		m.Slots = append(m.Slots, slot)
		m.Jobs = append(m.Jobs, JobCheckpoint{Job: newJob(b, i, 1, ""), Standing: backfill.Standing{Running: i%2 == 0}})
		if i%2 == 0 {
			m.Jobs[i].Placement, m.Jobs[i].End = Placement{{Slot: slot, Count: 1}}, 100
		}
	}
	n := restored(b, configured(b, "easy", "fcfs"), m)
	b.Run("take", func(b *testing.B) {
		for b.Loop() {
			n.Checkpoint()
		}
	})
	b.Run("restore", func(b *testing.B) {
		for b.Loop() {
			restored(b, configured(b, "easy", "fcfs"), m)
		}
	})
}
