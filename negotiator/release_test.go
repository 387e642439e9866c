package negotiator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// lateJob returns a job of some cpus that may not start before an instant.
func lateJob(t *testing.T, id, cpus int, release backfill.Time) *Job {
	t.Helper()
	j := newJob(t, id, cpus, "")
	j.Release = release
	return j
}

// A job that may not start yet is matched when it may, and the next cycle is due then.
func TestAnEarliestStart(t *testing.T) {
	n := newNegotiator(t)
	r := cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 4, "")}, Submitted: []*Job{lateJob(t, 1, 4, 30)}})
	require.Empty(t, r.Matches)
	require.Equal(t, backfill.Time(30), n.NextWake())
	require.Empty(t, cycle(t, n, Delta{Now: 29}).Matches)
	r = cycle(t, n, Delta{Now: 30})
	require.Len(t, r.Matches, 1)
	require.Equal(t, backfill.JobID(1), r.Matches[0].Job.ID)
}

// A job that comes back may cool down: one delta says both, and the job is not started again at once.
func TestAJobThatFailedMayCoolDown(t *testing.T) {
	n := newNegotiator(t)
	first := Delta{SlotsUp: []*Slot{newSlot(t, "a", 4, "")}, Submitted: []*Job{newJob(t, 1, 4, "")}}
	require.Len(t, cycle(t, n, first).Matches, 1)
	r := cycle(t, n, Delta{Now: 5, StartFailed: ids{1}, Changed: []*Job{lateJob(t, 1, 4, 60)}})
	require.Empty(t, r.Matches)
	require.Equal(t, backfill.Time(60), n.NextWake())
	require.Len(t, cycle(t, n, Delta{Now: 60}).Matches, 1)

	_, err := n.RunCycle(t.Context(), Delta{Now: 61, StartFailed: ids{1, 1}, Changed: []*Job{lateJob(t, 1, 4, 90)}})
	require.ErrorContains(t, err, "job ID 1 is reported twice")
	_, err = n.RunCycle(t.Context(), Delta{Now: 61, Completed: ids{1}, Changed: []*Job{lateJob(t, 1, 4, 90)}})
	require.ErrorContains(t, err, "job 1.1 (ID 1) was edited, but does not wait")
}

// A restored negotiator plans a job anew whose earliest start is later than what was planned.
func TestARestoredJobHasAnotherEarliestStart(t *testing.T) {
	config := Config{Schema: twoResources(), Policy: linked(t, "conservative"), Fallback: linked(t, "conservative")}
	n, err := New(config)
	require.NoError(t, err)
	cycle(t, n, Delta{
		SlotsUp:   []*Slot{newSlot(t, "a", 4, "")},
		Submitted: []*Job{newJob(t, 1, 4, ""), newJob(t, 2, 4, ""), lateJob(t, 3, 4, 25)},
	})
	from := n.Checkpoint()
	for i := range from.Jobs {
		if from.Jobs[i].Job.ID == 2 {
			from.Jobs[i].Job = lateJob(t, 2, 4, 40)
		}
	}
	again, err := Restore(config, from)
	require.NoError(t, err)
	cycle(t, again, Delta{Now: 1})
	for id, want := range map[backfill.JobID]backfill.Time{2: 40, 3: 25} {
		start, _, planned := again.State().Planned(id)
		require.True(t, planned)
		require.Equal(t, want, start, "job %d", id)
	}
}

// A promise to start at the very instant at which a job may, as of a slot that opens then, is not broken
// by a cycle that comes late by no more than the start slack, which is 3 s here.
func TestACycleComesLate(t *testing.T) {
	for now, broken := range map[backfill.Time]int{30: 0, 31: 0, 33: 0, 34: 1} {
		n, err := New(configured(t, "conservative", "fcfs"))
		require.NoError(t, err)
		cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 4, "")}, Submitted: []*Job{lateJob(t, 1, 4, 30)}})
		r := cycle(t, n, Delta{Now: now})
		require.Len(t, r.Matches, 1)
		require.Len(t, r.Decision.Broken, broken, "at %d", now)
	}
}

// A job that is late and does not start is promised another start: that breaks the promise.
func TestACycleComesLateAndInVain(t *testing.T) {
	n, err := New(configured(t, "conservative", "fcfs"))
	require.NoError(t, err)
	a := newSlot(t, "a", 4, "")
	cycle(t, n, Delta{SlotsUp: []*Slot{a}, Submitted: []*Job{lateJob(t, 1, 4, 30)}})
	r := cycle(t, n, Delta{Now: 31, Found: []Running{{
		Job: newJob(t, 2, 4, ""), Placement: Placement{{Slot: a, Count: 1}}, Start: 31, End: 32,
	}}})
	require.Empty(t, r.Matches)
	require.Len(t, r.Decision.Broken, 1)
}
