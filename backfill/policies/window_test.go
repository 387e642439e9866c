package policies_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// closing is a slot of two cpus, as candidates that take no jobs from an instant on (set 0), and
// always do (set 1).
func closing(until backfill.Time) backfill.Round {
	open := [][]backfill.Window{{{From: -backfill.Forever, To: until}}}
	return backfill.Round{
		Candidates: []backfill.CandidateSet{
			{ID: 0, Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}, Windows: open}},
			{ID: 1, Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}}},
		},
		Events: []backfill.Event{{Kind: backfill.SlotAdded, Slot: backfill.Slot{Name: "a", Capacity: v(2)}}},
	}
}

// of returns the event that a job arrives which may use a candidate set.
func of(set int, id backfill.JobID, j a) backfill.Event {
	e := submission(id, 0, j)
	e.Job.Candidates = set
	return e
}

// TestAJobWithoutAStartBlocksNobody checks what becomes of job 2 and of those behind it. The slot takes
// none of its kind from 50 on, and job 1 runs on half of the slot until 60. So the pivot is job 3, and
// job 4 ends in time for that, but job 5 does not. When jobs 1 and 4 end early, job 2 could start: it
// does where nobody who was promised a start takes the room. Slack starts job 2 at once, before the late
// start that it promises job 1.
func TestAJobWithoutAStartBlocksNobody(t *testing.T) {
	for _, spec := range policies.All() {
		if near(spec.Name) != nil {
			continue
		}
		t.Run(spec.Name, func(t *testing.T) {
			h := host(t, backfill.NewState([]string{"cpus"}, profile.ByRank), spec.Name, nil)
			r := closing(50)
			r.Events = append(r.Events, of(1, 1, a{60, v(1)}), of(0, 2, a{10, v(2)}), of(1, 3, a{100, v(2)}),
				of(1, 5, a{61, v(1)}), of(1, 4, a{60, v(1)}))
			d, err := h.Decide(t.Context(), r)
			require.NoError(t, err)
			first, planned, second := started(1, 4), backfill.Time(60), started(2)
			switch spec.Name {
			case "fcfs":
				first, planned = started(1), 0
			case "first-fit", "best-fit":
				first, planned = started(1, 4), 0
			case "conservative", "pc", "dc":
				second = started(3)
			}
			require.Equal(t, first, ids(d))
			start, _, _ := h.State.Planned(3)
			require.Equal(t, planned, start)
			_, _, reserved := h.State.Planned(2)
			require.False(t, reserved)
			_, promised := h.State.Guaranteed(2)
			require.False(t, promised)
			if spec.Name != "first-fit" && spec.Name != "best-fit" {
				reason, _ := h.State.Reason(2)
				require.Equal(t, "no slot that it may use is open when it could begin there; the last of them closes at 50",
					h.State.Describe(reason, nil))
			}
			ended := backfill.Round{Now: 20}
			for _, id := range first {
				ended.Events = append(ended.Events, backfill.Event{Kind: backfill.Completed, JobID: id})
			}
			d, err = h.Decide(t.Context(), ended)
			require.NoError(t, err)
			require.Equal(t, second, ids(d))
		})
	}
}

// TestJobsStartWhenASlotOpens checks that the host wakes when a slot opens, though nothing else
// happens, and that the jobs start then which did not fit before.
func TestJobsStartWhenASlotOpens(t *testing.T) {
	for _, spec := range policies.All() {
		t.Run(spec.Name, func(t *testing.T) {
			h := host(t, backfill.NewState([]string{"cpus"}, profile.ByRank), spec.Name, near(spec.Name))
			r := closing(50)
			r.Candidates[0].Candidates.Windows[0] = []backfill.Window{{From: 30, To: 32}, {From: 100, To: 200}}
			r.Events = append(r.Events, of(0, 1, a{60, v(1)}), of(0, 2, a{60, v(2)}), of(0, 3, a{50, v(1)}))
			d, err := h.Decide(t.Context(), r)
			require.NoError(t, err)
			require.Empty(t, d.Started)
			_, err = h.Decide(t.Context(), backfill.Round{Now: 10, Events: []backfill.Event{of(0, 4, a{300, v(2)})}})
			require.NoError(t, err)
			require.EqualValues(t, 30, h.State.NextWake())
			d, err = h.Decide(t.Context(), backfill.Round{Now: 30})
			require.NoError(t, err)
			want := started(1, 3) // the latter ends before job 2 can begin, at 100
			switch spec.Name {
			case "fcfs":
				want = started(1)
			case "slack", "slack-small": // which has promised job 1 no start before 120
				want = started(2)
			}
			require.Equal(t, want, ids(d))
		})
	}
}

// TestSlackWithinTheWindow checks that a job is promised its earliest start if its candidates close
// before the slack is over.
func TestSlackWithinTheWindow(t *testing.T) {
	for _, tt := range []struct{ closes, planned backfill.Time }{{65, 60}, {80, 60}, {81, 80}} {
		h := host(t, backfill.NewState([]string{"cpus"}, profile.ByRank), "slack", near("slack"))
		r := closing(tt.closes)
		r.Events = append(r.Events, of(1, 1, a{60, v(2)}))
		_, err := h.Decide(t.Context(), r)
		require.NoError(t, err)
		_, err = h.Decide(t.Context(), backfill.Round{Events: []backfill.Event{of(0, 2, a{10, v(2)})}})
		require.NoError(t, err)
		start, _, _ := h.State.Planned(2)
		require.Equal(t, tt.planned, start, tt.closes)
	}
}
