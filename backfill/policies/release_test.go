package policies_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// playOut submits jobs at 0 to an idle slot of one cpu, and returns their starts if each runs for
// its estimate.
func playOut(t *testing.T, policy string, jobs []backfill.Event) map[backfill.JobID]backfill.Time {
	t.Helper()
	h, starts := host(t, oneSlot(t, v(1)), policy, near(policy)), map[backfill.JobID]backfill.Time{}
	for r := (backfill.Round{Events: jobs}); r.Now != backfill.Forever; r = (backfill.Round{Now: h.State.NextWake()}) {
		for run := range h.State.Running() {
			if run.End <= r.Now {
				r.Events = append(r.Events, backfill.Event{Kind: backfill.Completed, JobID: run.Job.ID})
			}
		}
		d, err := h.Decide(t.Context(), r)
		require.NoError(t, err)
		for _, s := range d.Started {
			starts[s.Job.ID] = d.Now
		}
	}
	return starts
}

// TestAnEarliestStart checks what becomes of a job that may not start before 10, and of two behind it
// in the queue. Where it has a reservation, job 2 would delay it and waits, and job 3 ends in time.
// Under policies without one for it, it is not in the queue before 10, and blocks nobody.
func TestAnEarliestStart(t *testing.T) {
	late := submission(1, 0, a{5, v(1)})
	late.Job.Release = 10
	jobs := []backfill.Event{late, submission(2, 0, a{20, v(1)}), submission(3, 0, a{10, v(1)})}
	type starts map[backfill.JobID]backfill.Time
	behind := starts{2: 0, 1: 20, 3: 25}
	inTime := starts{3: 0, 1: 10, 2: 15}
	for _, spec := range policies.All() {
		want := inTime
		switch spec.Name {
		case "fcfs", "first-fit":
			want = behind
		case "best-fit": // at 20, of two jobs of one width the first
			want = behind
		case "slack", "slack-small": // job 1 is promised 10 and twice its 5 s at the latest, and job 2 ends by then
			want = starts{2: 0, 1: 20, 3: 25}
		}
		require.Equal(t, want, starts(playOut(t, spec.Name, jobs)), spec.Name)
	}
}

// TestAnHourInCoolDownBlocksNobody checks that jobs which may not start for an hour, first in the
// queue, do not keep a slot idle that others can use until then, and take no reservation from a
// blocked job.
func TestAnHourInCoolDownBlocksNobody(t *testing.T) {
	for _, spec := range policies.All() {
		h := host(t, oneSlot(t, v(4)), spec.Name, nil)
		var r backfill.Round
		for id := range backfill.JobID(12) {
			e := submission(id, 0, a{60, v(1)})
			e.Job.Release = 3600
			r.Events = append(r.Events, e)
		}
		r.Events = append(r.Events, submission(20, 0, a{100, v(3)}), submission(21, 0, a{200, v(2)}),
			submission(22, 0, a{100, v(1)}))
		d, err := h.Decide(t.Context(), r)
		require.NoError(t, err)
		if spec.Name == "fcfs" { // job 21 blocks job 22
			require.Equal(t, started(20), ids(d), spec.Name)
			continue
		}
		require.Equal(t, started(20, 22), ids(d), spec.Name)
		if spec.Name != "first-fit" && spec.Name != "best-fit" {
			start, _, planned := h.State.Planned(21)
			require.True(t, planned, spec.Name)
			if near(spec.Name) == nil {
				require.EqualValues(t, 100, start, spec.Name)
			}
		}
	}
}

// TestPromisesBeginAtTheEarliestStart checks what a job is promised at its arrival that may not start
// before 1,000: its first place from then on, and under slack twice its estimate later, as job 1 may
// start later there, too.
func TestPromisesBeginAtTheEarliestStart(t *testing.T) {
	late := submission(2, 0, a{50, v(1)})
	late.Job.Release = 1000
	busy := submission(1, 0, a{1010, v(1)})
	for policy, want := range map[string]backfill.Time{"conservative": 1010, "pc": 1010, "dc": 1010, "slack": 1100} {
		h := host(t, oneSlot(t, v(1)), policy, near(policy))
		_, err := h.Decide(t.Context(), backfill.Round{Events: []backfill.Event{busy, late}})
		require.NoError(t, err)
		latest, promised := h.State.Guaranteed(2)
		require.True(t, promised, policy)
		require.Equal(t, want, latest, policy)
		// Room before does not move it to before 1,000.
		_, err = h.Decide(t.Context(), backfill.Round{
			Now: 10, Events: []backfill.Event{{Kind: backfill.Completed, JobID: 1}},
		})
		require.NoError(t, err)
		d, err := h.Decide(t.Context(), backfill.Round{Now: 1000})
		require.NoError(t, err)
		require.Equal(t, started(2), ids(d), policy)
	}
}

// oneSlot returns a pool of one slot.
func oneSlot(t *testing.T, capacity backfill.Vector) *backfill.State {
	t.Helper()
	s := backfill.NewState([]string{"cpus"}, profile.ByRank)
	tx, err := s.Open(backfill.Round{
		Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}}}},
		Events:     []backfill.Event{{Kind: backfill.SlotAdded, Slot: backfill.Slot{Name: "a", Capacity: capacity}}},
	})
	require.NoError(t, err)
	_, err = tx.Close()
	require.NoError(t, err)
	return s
}
