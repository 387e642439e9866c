package backfill_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// windows returns the windows of one candidate from pairs of instants.
func windows(instants ...backfill.Time) (all []backfill.Window) {
	for i := 0; i < len(instants); i += 2 {
		all = append(all, backfill.Window{From: instants[i], To: instants[i+1]})
	}
	return all
}

// opening returns a round at an instant after which candidate set 0 is slots with these windows.
func opening(now backfill.Time, lists ...[]backfill.Window) backfill.Round {
	set := backfill.Candidates{Windows: lists}
	for id := range lists {
		set.Slots = append(set.Slots, backfill.SlotID(id))
	}
	return backfill.Round{Now: now, Candidates: []backfill.CandidateSet{{Candidates: set}}}
}

// TestActionsOutsideTheWindow checks that the core refuses to start a job, and to plan one, where its
// candidate is closed at the start.
func TestActionsOutsideTheWindow(t *testing.T) {
	for _, tt := range []struct {
		now  backfill.Time
		act  func(*backfill.Cycle, *backfill.Job)
		want string
	}{
		{10, func(c *backfill.Cycle, j *backfill.Job) { c.Start(j, on(0, 1)) }, ""},
		{
			9, func(c *backfill.Cycle, j *backfill.Job) { c.Start(j, on(0, 1)) },
			"start job 1: at 9: on slot a the job may not begin at 9",
		},
		{
			20, func(c *backfill.Cycle, j *backfill.Job) { c.Start(j, on(0, 1)) },
			"start job 1: at 20: on slot a the job may not begin at 20",
		},
		{20, func(c *backfill.Cycle, j *backfill.Job) { c.Start(j, on(1, 1)) }, ""},
		{5, func(c *backfill.Cycle, j *backfill.Job) { c.Reserve(j, 19, on(0, 1)) }, ""},
		{
			5, func(c *backfill.Cycle, j *backfill.Job) { c.Reserve(j, 20, on(0, 1)) },
			"reserve for job 1: at 20: on slot a the job may not begin at 20",
		},
		{5, func(c *backfill.Cycle, j *backfill.Job) { c.Reserve(j, 30, on(0, 1)) }, ""},
	} {
		s := newState(t, cpus(4), cpus(4))
		accept(t, s, opening(0, windows(10, 20, 30, 31), nil), nil)
		r := backfill.Round{Now: tt.now, Events: submitted(job(1, 0, 50, 4))}
		_, err := attempt(t, s, r, func(c *backfill.Cycle) { tt.act(c, s.Job(1)) })
		if tt.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, tt.want)
	}
}

// TestWindowsThatMakeNoSense checks which windows a round is refused for.
func TestWindowsThatMakeNoSense(t *testing.T) {
	for _, tt := range []struct {
		windows [][]backfill.Window
		want    string
	}{
		{[][]backfill.Window{windows(-backfill.Forever, 3, 5, backfill.Forever), nil}, ""},
		{[][]backfill.Window{nil}, "candidate set 0: 1 lists of windows for 2 slots"},
		{[][]backfill.Window{{}, nil}, "candidate set 0: the candidate in place 0 is never open"},
		{[][]backfill.Window{nil, windows(3, 3)}, "candidate set 0: the candidate in place 1 is open from 3 to 3: "},
		{[][]backfill.Window{nil, windows(3, 5, 5, 7)}, "in place 1 is open from 5 to 7: windows must be ascending and apart"},
		{[][]backfill.Window{nil, windows(3, backfill.Forever+1)}, "in place 1 is open from 3 to "},
	} {
		s := newState(t, cpus(4), cpus(4))
		r := opening(0, nil, nil)
		r.Candidates[0].Candidates.Windows = tt.windows
		_, err := s.Open(r)
		if tt.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, tt.want)
	}
}

// TestAPromiseWhosePlaceCloses checks what becomes of job 2, which was promised slot a at 10, when that
// takes none of its kind any more at 10: it is planned elsewhere by then, or later, or is promised
// nothing any more.
func TestAPromiseWhosePlaceCloses(t *testing.T) {
	closed := windows(0, 10)
	for _, tt := range []struct {
		name     string
		b        []backfill.Window // of the other slot, on which job 1 runs until 20
		planned  backfill.Time     // 0: not at all
		promised bool
		latest   backfill.Time
		broken   []backfill.Broken
	}{
		{"later", nil, 20, true, 20, []backfill.Broken{{Promised: 10, Now: 20, Cause: backfill.CauseJobChanged}}},
		{
			"gone", windows(0, 20), 0, false, 0,
			[]backfill.Broken{{Promised: 10, Now: backfill.Forever, Cause: backfill.CauseJobChanged}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newState(t, cpus(4), cpus(4))
			h := newHost(t, s, "conservative", "fcfs")
			long, short := job(0, 0, 20, 4), job(1, 0, 10, 4)
			decide(t, h, 0, submitted(long, short, job(2, 0, 5, 4))...)
			start, at, _ := s.Planned(2)
			require.EqualValues(t, 10, start)
			require.Equal(t, on(1, 1), at)
			r := opening(1, tt.b, closed)
			d, err := h.Decide(t.Context(), r)
			require.NoError(t, err)
			start, _, _ = s.Planned(2)
			require.Equal(t, tt.planned, start)
			latest, promised := s.Guaranteed(2)
			require.Equal(t, tt.promised, promised)
			require.Equal(t, tt.latest, latest)
			for i := range tt.broken {
				tt.broken[i].Job = s.Job(2)
			}
			require.Equal(t, tt.broken, d.Broken)
			if tt.planned > 0 {
				return
			}
			reason, _ := s.Reason(2)
			require.Equal(t, backfill.NoStart, reason.Why)
			require.EqualValues(t, 20, reason.Closes)
			d = decide(t, h, 4, jobEvent(backfill.Completed, 1)) // job 1 ends early, and slot b is still open
			require.Equal(t, []backfill.JobID{2}, startedIDs(d))
			require.True(t, d.Started[0].Promised, "it entered the plan, for now")
		})
	}
}

// TestAPromiseMovesToAnotherSlot checks that a promise stays as it is if another slot is free by then.
func TestAPromiseMovesToAnotherSlot(t *testing.T) {
	s := newState(t, cpus(4), cpus(4))
	h := newHost(t, s, "conservative", "fcfs")
	decide(t, h, 0, submitted(job(0, 0, 10, 4), job(1, 0, 10, 4), job(2, 0, 5, 4))...)
	start, at, _ := s.Planned(2)
	require.EqualValues(t, 10, start)
	d, err := h.Decide(t.Context(), opening(1, windows(11, 12), nil))
	require.NoError(t, err)
	require.Empty(t, d.Broken)
	start, moved, _ := s.Planned(2)
	require.EqualValues(t, 10, start)
	require.NotEqual(t, at, moved)
	latest, _ := s.Guaranteed(2)
	require.EqualValues(t, 10, latest)
}

// TestNextOpening checks that the host wakes for the candidates of waiting jobs alone, also on a state
// that was restored or cloned, and after a round that was taken back.
func TestNextOpening(t *testing.T) {
	s := newState(t, cpus(4), cpus(4))
	accept(t, s, opening(0, windows(10, 20, 30, 31), windows(0, 5, 40, 50)), nil)
	require.Equal(t, backfill.Forever, s.NextWake(), "nobody waits")
	accept(t, s, backfill.Round{Now: 1, Events: submitted(job(1, 0, 50, 4))}, nil)
	require.EqualValues(t, 10, s.NextWake())
	accept(t, s, backfill.Round{Now: 12}, nil)
	require.EqualValues(t, 30, s.NextWake())
	tx, err := s.Open(backfill.Round{Now: 35})
	require.NoError(t, err)
	tx.Rollback()
	require.EqualValues(t, 30, s.NextWake())
	require.EqualValues(t, 30, s.Clone().NextWake())
	restored, err := backfill.Restore(s.Snapshot())
	require.NoError(t, err)
	require.EqualValues(t, 30, restored.NextWake())
	require.Equal(t, s.Snapshot(), restored.Snapshot())
	accept(t, s, backfill.Round{Now: 41, Events: []backfill.Event{jobEvent(backfill.Removed, 1)}}, nil)
	require.Equal(t, backfill.Forever, s.NextWake())
}
