package negotiator

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TestScavengersInAnUnrulyPool: jobs of both classes fail, are edited and change class, slots go and come back
// with other attributes, limits come and go, and the negotiator is restarted. No delta is refused; nothing is
// lost, starts twice or exceeds a slot; and no scavenger waits that could start.
func TestScavengersInAnUnrulyPool(t *testing.T) {
	tb := t
	rapid.Check(t, func(t *rapid.T) {
		u := &unruly{scavenged: newScavenged(tb, rapid.SampledFrom([]string{"easy", "conservative"}).Draw(t, "policy")), up: map[string]*Slot{}}
		for _, slot := range u.slots {
			u.up[slot.Name] = slot
		}
		for range rapid.IntRange(2, 30).Draw(t, "cycles") {
			u.step(tb, t)
		}
		d := Delta{Now: u.now + 1, Removed: slices.Sorted(maps.Keys(u.jobs))}
		_, err := u.n.RunCycle(tb.Context(), d)
		require.NoError(t, err)
		require.Zero(t, u.n.scavengers.book.Len()+len(u.n.scavengers.jobs)+u.n.jobs.Len()+len(u.n.limits.lists))
		for _, jobs := range u.n.members {
			require.Zero(t, jobs)
		}
		require.Equal(t, backfill.Forever, u.n.scavengers.due)
	})
}

type unruly struct {
	*scavenged
	up     map[string]*Slot
	height int64 // of the licences; 0: there is no such limit
}

func (u *unruly) job(tb testing.TB, t *rapid.T, id int) *Job {
	tb.Helper()
	j := newJob(tb, id, rapid.IntRange(1, 4).Draw(t, "cpus"), rapid.SampledFrom([]string{"Kind = 1", "Kind = 2"}).Draw(t, "kind"))
	j.Nodes, j.Submit = rapid.SampledFrom([]int{1, 1, 2}).Draw(t, "nodes"), u.now
	j.Estimate = backfill.Time(rapid.IntRange(1, 30).Draw(t, "estimate"))
	if j.Scavenger = rapid.Bool().Draw(t, "scavenger"); j.Scavenger {
		j.User = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "user")
		j.Release = backfill.Time(rapid.SampledFrom([]int{0, 0, 20}).Draw(t, "release"))
	}
	if rapid.IntRange(0, 3).Draw(t, "licensed") == 0 {
		j.Takes = []Take{{Limit: "licence", Amount: LimitUnit}}
	}
	return j
}

func (u *unruly) step(tb testing.TB, t *rapid.T) {
	tb.Helper()
	u.now += backfill.Time(rapid.IntRange(0, 5).Draw(t, "step"))
	d := Delta{Now: u.now}
	for _, id := range u.leaving {
		delete(u.at, id)
		d.StartFailed, d.Displaced = append(d.StartFailed, id), append(d.Displaced, id)
	}
	for _, id := range slices.Sorted(maps.Keys(u.pledged)) {
		u.at[id] = u.pledged[id]
		d.Began = append(d.Began, Began{Job: id, At: u.now})
	}
	u.leaving = nil
	clear(u.pledged)
	u.changeJobs(tb, t, &d)
	u.changeSlots(tb, t, &d)
	if rapid.IntRange(0, 5).Draw(t, "restart") == 0 {
		saved := u.n.Checkpoint()
		again, err := Restore(Config{Schema: twoResources(), Policy: u.n.policy, Fallback: u.n.fallback}, saved)
		require.NoError(t, err)
		u.n = again
	}
	r, err := u.n.RunCycle(tb.Context(), d)
	require.NoError(t, err, "%+v", d)
	for _, m := range r.Matches {
		require.NotContains(t, u.at, m.Job.ID, "it started twice")
		require.Same(t, u.jobs[m.Job.ID], m.Job)
		if len(m.Displaces) > 0 || m.At != 0 {
			u.pledged[m.Job.ID] = m.Placement
		} else {
			u.at[m.Job.ID] = m.Placement
		}
		u.leaving = append(u.leaving, m.Displaces...)
	}
	u.fits(t)
	u.agrees(t)
}

// changeJobs has each job do something at most.
func (u *unruly) changeJobs(tb testing.TB, t *rapid.T, d *Delta) {
	tb.Helper()
	for range rapid.IntRange(0, 3).Draw(t, "jobs") {
		u.next++
		j := u.job(tb, t, u.next)
		u.jobs[j.ID] = j
		d.Submitted = append(d.Submitted, j)
	}
	for _, id := range slices.Sorted(maps.Keys(u.jobs)) {
		_, runs := u.at[id]
		failed := slices.Contains(d.StartFailed, id)
		began := slices.ContainsFunc(d.Began, func(b Began) bool { return b.Job == id })
		if began || slices.ContainsFunc(d.Submitted, func(j *Job) bool { return j.ID == id }) {
			continue
		}
		switch what := rapid.IntRange(0, 12).Draw(t, "what"); {
		case what == 0 && !failed:
			d.Removed = append(d.Removed, id)
			delete(u.jobs, id)
			delete(u.at, id)
		case what < 3 && runs:
			d.Completed = append(d.Completed, id)
			delete(u.jobs, id)
			delete(u.at, id)
		case what == 3 && runs:
			d.StartFailed = append(d.StartFailed, id)
			delete(u.at, id)
		case what == 4: // also in the cycle in which it comes back
			if runs {
				d.StartFailed = append(d.StartFailed, id)
				delete(u.at, id)
			}
			j := u.job(tb, t, int(id))
			u.jobs[id] = j
			d.Changed = append(d.Changed, j)
		}
	}
}

// changeSlots has slots go and come back, and the limit, too. The jobs of a slot that goes are back in the queue.
func (u *unruly) changeSlots(tb testing.TB, t *rapid.T, d *Delta) {
	tb.Helper()
	for i, slot := range u.slots {
		switch what := rapid.IntRange(0, 9).Draw(t, "slot"); {
		case what == 0 && u.up[slot.Name] != nil:
			d.SlotsDown = append(d.SlotsDown, slot.Name)
			delete(u.up, slot.Name)
			for id, at := range u.at {
				if slices.ContainsFunc(at, func(on Chunks) bool { return on.Slot.Name == slot.Name }) {
					delete(u.at, id)
				}
			}
		case what == 1:
			asks := rapid.SampledFrom([]string{"true", "TARGET.Kind == 1", "TARGET.Estimate =!= 1", "random() < 0.5"}).Draw(t, "asks")
			u.slots[i] = newSlot(tb, slot.Name, int(slot.Capacity[0]), "Requirements = "+asks)
			u.up[slot.Name] = u.slots[i]
			d.SlotsUp = append(d.SlotsUp, u.slots[i])
		}
	}
	switch what := rapid.IntRange(0, 9).Draw(t, "limit"); {
	case what < 2:
		u.height = int64(rapid.IntRange(1, 3).Draw(t, "height"))
		d.Limits = []Limit{{Name: "licence", Height: u.height * LimitUnit}}
	case what == 2 && u.height > 0:
		u.height, d.LimitsGone = 0, []string{"licence"}
	}
}

// agrees fails the test if the book is not what the pool is, or if somebody waits in vain.
func (u *unruly) agrees(t *rapid.T) {
	book, taken := &u.n.scavengers.book, int64(0)
	use := u.use(u.at)
	for name, more := range u.use(u.pledged) {
		use[name] += more
	}
	for _, all := range []map[backfill.JobID]Placement{u.at, u.pledged} {
		for id := range all {
			taken += int64(len(u.jobs[id].Takes))
		}
	}
	for id, j := range u.jobs {
		require.Equal(t, j.Scavenger, book.Has(id))
		require.Equal(t, !j.Scavenger, u.n.jobs.get(id) != nil)
		require.Same(t, j, u.n.Job(id))
		if !j.Scavenger {
			continue
		}
		_, runs := book.Run(id)
		_, there := u.at[id]
		require.Equal(t, there, runs, "job %d", id)
		known := u.n.candidatesOf(u.n.scavengers.jobs[id].cluster)
		if runs || known == nil || j.Release > u.now || j.Nodes > 1 || len(j.Takes) > 0 && u.height > 0 && taken >= u.height {
			continue
		}
		cpus, _ := j.Ad.Int("RequestCpus")
		for _, slot := range known.Slots {
			s := u.n.inventory.slots[slot]
			require.False(t, u.up[s.Name] != nil && use[s.Name]+cpus <= s.Capacity[0], "job %d waits, and fits on %s", id, s.Name)
		}
	}
}
