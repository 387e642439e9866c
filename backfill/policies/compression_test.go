package policies_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// TestBestFit starts the head of the queue, then the widest that fits.
func TestBestFit(t *testing.T) {
	s := backfill.NewState([]string{"cpus"}, profile.ByRank)
	// 1 and 2 start from the head; 3 is the pivot; of the rest 5 is the widest
	// that fits the 5 idle cpus, then 6 before 7, equal ones in order.
	d := arrive(t, host(t, s, "best-fit", nil), 10, a{10, v(4)}, a{10, v(1)}, a{10, v(8)}, a{10, v(1)}, a{99, v(3)}, a{10, v(1)}, a{10, v(1)}, a{10, v(6)})
	require.Equal(t, started(1, 2, 5, 4, 6), ids(d))
	require.Equal(t, 3, s.Waiting())
}

// TestCompression lets a job end early under conservative, pc and dc. The slot
// has 4 cpus.
//
//	4 │1 1 1 1 1 1 1 1 1 1│3 3 3 3 3 3 3 3 3 3│5 5 5 5 5
//	3 │1 1 1 1 1 1 1 1 1 1│3 3 3 3 3 3 3 3 3 3│5 5 5 5 5
//	2 │2 2 2 2 2 2 2 2 2 2│3 3 3 3 3 3 3 3 3 3│4 4 4 4 4 4 4 4 4 4
//	1 │2 2 2 2 2 2 2 2 2 2│3 3 3 3 3 3 3 3 3 3│4 4 4 4 4 4 4 4 4 4
//	   0                   10                  20
//
// At 3 job 2 ends: two cpus are free until 10. Job 5 fits in there; job 4 does
// not, as it would delay job 3.
func TestCompression(t *testing.T) {
	jobs := []a{{10, v(2)}, {10, v(2)}, {10, v(4)}, {10, v(2)}, {5, v(2)}}
	for _, tt := range []struct {
		policy, order string
		early         []backfill.Time // planned starts of 3, 4 and 5 after the completion at 3; 0: started
		arrival       []backfill.Time // and of the job that arrives at 4, asking for 2 cpus during 4
		late          backfill.Time
	}{
		{"conservative", "fcfs", []backfill.Time{10, 20, 0}, []backfill.Time{10, 20, 0}, 20},
		{"pc", "fcfs", []backfill.Time{10, 20, 0}, []backfill.Time{10, 20, 0}, 20},
		{"dc", "fcfs", []backfill.Time{10, 20, 0}, []backfill.Time{10, 20, 0}, 20},
		{"dc", "sjf", []backfill.Time{10, 20, 0}, []backfill.Time{10, 20, 0}, 20},
	} {
		t.Run(tt.policy+" "+tt.order, func(t *testing.T) {
			s := backfill.NewState([]string{"cpus"}, profile.ByRank)
			h := hostOrdered(t, s, tt.policy, tt.order)
			arrive(t, h, 4, jobs...)
			require.Equal(t, []backfill.Time{10, 20, 20}, plan(s, 3, 4, 5))
			d, err := h.Decide(t.Context(), backfill.Round{Now: 3, Events: []backfill.Event{{Kind: backfill.Completed, Job: 2}}})
			require.NoError(t, err)
			require.Equal(t, started(5), ids(d))
			require.Equal(t, tt.early, plan(s, 3, 4, 5))
			_, err = h.Decide(t.Context(), backfill.Round{Now: 4, Events: []backfill.Event{submission(6, 4, a{4, v(2)})}})
			require.NoError(t, err)
			require.Equal(t, tt.arrival, plan(s, 3, 4, 5))
			require.Equal(t, []backfill.Time{tt.late}, plan(s, 6))
		})
	}
}

// TestPriorities lets the only running job end early while three jobs wait that
// exclude each other. Conservative goes by the plan, pc and dc by priority; pc
// moves all there is to move, dc only what can start, and the others when
// somebody arrives who might take their room.
func TestPriorities(t *testing.T) {
	jobs := []a{{100, v(4)}, {30, v(3)}, {10, v(4)}, {20, v(2)}} // planned for 0, 100, 130, 140
	for _, tt := range []struct {
		policy, order string
		early         []backfill.Time // planned starts of 2, 3, 4 after job 1 ended at 10; 0: started
		arrival       []backfill.Time // and after job 5 arrived at 11, which asks for all during 50
		last          backfill.Time   // planned start of 5
	}{
		{"conservative", "fcfs", []backfill.Time{0, 40, 50}, []backfill.Time{0, 40, 50}, 70},
		{"pc", "fcfs", []backfill.Time{0, 40, 50}, []backfill.Time{0, 40, 50}, 70},
		{"pc", "sjf", []backfill.Time{40, 0, 20}, []backfill.Time{40, 0, 20}, 70},
		{"pc", "narrowest", []backfill.Time{30, 60, 0}, []backfill.Time{30, 60, 0}, 70},
		{"dc", "fcfs", []backfill.Time{0, 130, 140}, []backfill.Time{0, 40, 50}, 70},
		{"dc", "sjf", []backfill.Time{100, 0, 140}, []backfill.Time{40, 0, 20}, 70},
		{"dc", "ljf", []backfill.Time{0, 130, 140}, []backfill.Time{0, 130, 140}, 40},
		{"dc", "narrowest", []backfill.Time{100, 130, 0}, []backfill.Time{30, 60, 0}, 70},
	} {
		t.Run(tt.policy+" "+tt.order, func(t *testing.T) {
			s := backfill.NewState([]string{"cpus"}, profile.ByRank)
			h := hostOrdered(t, s, tt.policy, tt.order)
			arrive(t, h, 4, jobs...)
			require.Equal(t, []backfill.Time{100, 130, 140}, plan(s, 2, 3, 4))
			_, err := h.Decide(t.Context(), backfill.Round{Now: 10, Events: []backfill.Event{{Kind: backfill.Completed, Job: 1}}})
			require.NoError(t, err)
			require.Equal(t, tt.early, plan(s, 2, 3, 4))
			_, err = h.Decide(t.Context(), backfill.Round{Now: 11, Events: []backfill.Event{submission(5, 11, a{50, v(4)})}})
			require.NoError(t, err)
			require.Equal(t, tt.arrival, plan(s, 2, 3, 4))
			require.Equal(t, []backfill.Time{tt.last}, plan(s, 5))
		})
	}
}

// TestHowUnderGuarantees tells backfilling by the order of jobs, whatever the
// order of compression is.
func TestHowUnderGuarantees(t *testing.T) {
	s := backfill.NewState([]string{"cpus"}, profile.ByRank)
	h := hostOrdered(t, s, "pc", "sjf")
	arrive(t, h, 4, a{100, v(4)}, a{30, v(3)}, a{10, v(4)}, a{20, v(2)})
	decide := func(now backfill.Time, ended backfill.JobID) string {
		d, err := h.Decide(t.Context(), backfill.Round{Now: now, Events: []backfill.Event{{Kind: backfill.Completed, Job: ended}}})
		require.NoError(t, err)
		require.Len(t, d.Started, 1)
		return d.Started[0].How.String()
	}
	require.Equal(t, "backfill", decide(10, 1), "job 3 starts and job 2 waits")
	require.Equal(t, "backfill", decide(20, 3), "job 4 starts and job 2 waits")
	require.Equal(t, "queue", decide(40, 4), "job 2 is the last")
}

// arrive lets jobs 1, 2, 3… arrive at time 0 at one slot.
func arrive(t *testing.T, h *backfill.Host, cpus int64, jobs ...a) backfill.Decision {
	t.Helper()
	r := backfill.Round{
		Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}}}},
		Events:     []backfill.Event{{Kind: backfill.SlotAdded, Slot: backfill.Slot{Name: "a", Capacity: v(cpus)}}},
	}
	for i, j := range jobs {
		r.Events = append(r.Events, submission(backfill.JobID(i+1), 0, j))
	}
	d, err := h.Decide(t.Context(), r)
	require.NoError(t, err)
	return d
}

func submission(id backfill.JobID, now backfill.Time, j a) backfill.Event {
	return backfill.Event{Kind: backfill.Submitted, Spec: &backfill.Job{
		ID: id, Submit: now, Place: backfill.Place{Cluster: int64(id)}, Nodes: 1, Request: j.request, Estimate: j.estimate,
	}}
}

// plan lists the planned starts of jobs, 0 for those that have started.
func plan(s *backfill.State, ids ...backfill.JobID) (starts []backfill.Time) {
	for _, id := range ids {
		start, _, _ := s.Planned(id)
		starts = append(starts, start)
	}
	return starts
}

func ids(d backfill.Decision) (all []backfill.JobID) {
	for _, s := range d.Started {
		all = append(all, s.Job.ID)
	}
	return all
}
