package accountant

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TestIgnoringPriorities says what NEGOTIATOR_IGNORE_USER_PRIORITIES does: as in HTCondor, the
// submitter with the best priority has all that it wants before the next one, but for floors.
func TestIgnoringPriorities(t *testing.T) {
	a := open(t, "NEGOTIATOR_IGNORE_USER_PRIORITIES = True")
	require.NoError(t, a.SetFactor("a@d", 1))
	require.NoError(t, a.SetFactor("b@d", 3))
	require.NoError(t, a.SetFactor("c@d", 3.1))
	require.NoError(t, a.Update(at(0), map[string]Use{"a@d": {40, 40}}))
	jobs := waiting("c@d", "b@d", "b@d", "a@d", "a@d", "a@d", "a@d", "a@d", "a@d", "a@d")
	jobs[9].Prio = 1
	require.Equal(t, []backfill.JobID{9, 3, 4, 5, 6, 7, 8, 1, 2, 0}, order(t, a.Share(jobs), jobs))
	require.NoError(t, a.SetFloor("c@d", 1))
	s := a.Share(jobs)
	require.Equal(t, []backfill.JobID{0, 9, 3, 4, 5, 6, 7, 8, 1, 2}, order(t, s, jobs), "the floor first")
	behind := s.Arrive(Waiting{ID: 10, Submitter: "a@d", Weight: 1})
	require.Greater(t, behind, s.keys[8])
	require.Less(t, behind, s.keys[1])

	many := make([]Waiting, 1_000_000)
	for i := range many {
		many[i] = Waiting{ID: backfill.JobID(i), Submitter: "a@d", Weight: 1}
	}
	s = a.Share(many)
	for i := range many[1:] {
		require.Less(t, s.keys[many[i].ID], s.keys[many[i+1].ID], "a submitter's jobs have an order")
	}
	require.Less(t, s.keys[many[len(many)-1].ID], s.Arrive(Waiting{ID: -1, Submitter: "b@d", Weight: 1}))
}

// TestGlobalJobPrios says what USE_GLOBAL_JOB_PRIOS does, which HTCondor heeds between submitters
// of the same priority only.
func TestGlobalJobPrios(t *testing.T) {
	a := open(t, "NEGOTIATOR_IGNORE_USER_PRIORITIES = True\nUSE_GLOBAL_JOB_PRIOS = True")
	require.NoError(t, a.SetFactor("c@d", 2000))
	jobs := waiting("a@d", "a@d", "b@d", "b@d", "c@d")
	jobs[1].Prio, jobs[2].Prio, jobs[3].Prio, jobs[4].Prio = 10, 5, 20, 99
	require.Equal(t, []backfill.JobID{3, 1, 2, 0, 4}, order(t, a.Share(jobs), jobs))
	require.NoError(t, a.SetFloor("a@d", 1))
	require.Equal(t, []backfill.JobID{1, 3, 2, 0, 4}, order(t, a.Share(jobs), jobs), "the floor first")
}
