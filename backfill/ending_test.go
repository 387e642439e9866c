package backfill_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// ends returns the event that a slot of four cpus ends at an instant.
func ends(id int, at backfill.Time) backfill.Event {
	s := slot(id, cpus(4))
	s.End = at
	return backfill.Event{Kind: backfill.SlotChanged, Slot: s}
}

// unestimated returns a job whose estimate is not its own.
func unestimated(j *backfill.Job) *backfill.Job {
	j.Unestimated = true
	return j
}

// TestActionsOnASlotThatEnds checks that the core refuses to start a job, and to plan one, where the slot
// ends first, but for a job whose estimate is not its own, which only has to begin before.
func TestActionsOnASlotThatEnds(t *testing.T) {
	for _, tt := range []struct {
		job   *backfill.Job
		start backfill.Time
		want  string // no error
		end   backfill.Time
	}{
		{job(1, 0, 50, 4), 0, "", 50},
		{job(1, 0, 51, 4), 0, "start job 1: at 0: 1 chunks of [4] are not free on slot a during [0, 51)", 0},
		{job(1, 0, 10, 4), 40, "", 50},
		{job(1, 0, 10, 4), 41, "reserve for job 1: at 41: 1 chunks of [4] are not free on slot a during [41, 51)", 0},
		{unestimated(job(1, 0, 51, 4)), 0, "", 50},
		{unestimated(job(1, 0, 51, 4)), 49, "", 50},
		{unestimated(job(1, 0, 1, 4)), 48, "", 49},
		{unestimated(job(1, 0, 51, 4)), 50, "reserve for job 1: at 50: 1 chunks of [4] are not free on slot a during [50, 51)", 0},
	} {
		s := newState(t, cpus(4), cpus(4))
		accept(t, s, backfill.Round{Events: []backfill.Event{ends(0, 50)}}, nil)
		_, err := attempt(t, s, backfill.Round{Events: submitted(tt.job)}, func(c *backfill.Cycle) {
			if tt.start == 0 {
				c.Start(tt.job, on(0, 1))
			} else {
				c.Reserve(tt.job, tt.start, on(0, 1))
			}
		})
		if tt.want != "" {
			require.EqualError(t, err, tt.want)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, tt.end, s.Snapshot().Jobs[0].End)
	}
}

// TestAGangEndsWithItsFirstSlot checks when a gang without an estimate of its own is taken to end, and
// that it is so again when an end moves.
func TestAGangEndsWithItsFirstSlot(t *testing.T) {
	s := newState(t, cpus(4), cpus(4))
	accept(t, s, backfill.Round{Events: []backfill.Event{ends(0, 50), ends(1, 70)}}, nil)
	j := unestimated(gang(1, 0, 100, 2, 4))
	later := unestimated(gang(2, 0, 100, 2, 4))
	accept(t, s, backfill.Round{Events: submitted(j, later)}, func(c *backfill.Cycle) {
		c.Start(j, on(0, 1, 1, 1))
		_, _, ok := c.Earliest(later, 0)
		require.False(t, ok, "it needs both slots, and one ends")
		single := unestimated(job(3, 0, 100, 4))
		_, ok = c.State().Profile().Place(c.State().Request(single), 49)
		require.False(t, ok)
		at, ok := c.State().Profile().Place(c.State().Request(single), 50)
		require.True(t, ok)
		require.Equal(t, on(1, 1), at)
	})
	end := func() backfill.Time { return s.Snapshot().Jobs[0].End }
	require.EqualValues(t, 50, end())
	for _, tt := range []struct{ now, first, want backfill.Time }{
		{10, 30, 30}, {11, 60, 60}, {12, 0, 70}, {13, 12, 70}, {14, 80, 70},
	} {
		accept(t, s, backfill.Round{Now: tt.now, Events: []backfill.Event{ends(0, tt.first)}}, nil)
		require.Equal(t, tt.want, end(), "at %d", tt.now)
	}
}

// TestAPromiseWhoseSlotEnds checks which promises are lifted when the end of a slot moves, and why; and
// what the reason of a job is that has no start any more.
func TestAPromiseWhoseSlotEnds(t *testing.T) {
	for _, tt := range []struct {
		end    backfill.Time
		broken bool
		wait   bool
	}{{0, false, false}, {60, false, false}, {30, false, false}, {29, true, true}, {5, true, true}} {
		h := newHost(t, newState(t, cpus(4)), "conservative", "fcfs")
		decide := func(r backfill.Round) backfill.Decision {
			d, err := h.Decide(t.Context(), r)
			require.NoError(t, err)
			return d
		}
		decide(backfill.Round{Events: append([]backfill.Event{ends(0, 40)}, submitted(job(1, 0, 10, 4), job(2, 0, 20, 4))...)})
		start, _, _ := h.State.Planned(2)
		require.EqualValues(t, 10, start)
		d := decide(backfill.Round{Now: 1, Events: []backfill.Event{ends(0, tt.end)}})
		_, _, planned := h.State.Planned(2)
		require.Equal(t, !tt.broken, planned, tt.end)
		require.Equal(t, tt.broken, len(d.Broken) == 1, tt.end)
		if tt.broken {
			require.Equal(t, backfill.Broken{Job: h.State.Job(2), Promised: 10, Now: backfill.Forever, Cause: backfill.CauseSlotEnds},
				d.Broken[0])
			require.Equal(t, "slot ends", d.Broken[0].Cause.String())
			reason, _ := h.State.Reason(2)
			require.Equal(t, backfill.NoStart, reason.Why)
			require.Equal(t, tt.end, reason.Closes)
			require.Contains(t, h.State.Describe(reason, nil), "all slots that it may use end before it would, ")
		}
	}
}

// TestALimitAsASlotsEndMoves checks that what a running job takes of a row is planned with, if the job ends
// at another time as the end of its slot moves: nobody is planned to take that before, and nobody waits
// longer.
func TestALimitAsASlotsEndMoves(t *testing.T) {
	for _, tt := range []struct{ end, want backfill.Time }{{0, 100}, {70, 70}, {30, 30}} {
		s := newState(t, cpus(1), cpus(1))
		first := unestimated(taking(1, 100, 2))
		accept(t, s, licences(0, 3, append([]backfill.Event{ends(0, 50)}, submitted(first)...)...),
			func(c *backfill.Cycle) { c.Start(first, on(0, 1)) })
		h := newHost(t, s, "conservative", "fcfs")
		for _, r := range []backfill.Round{
			{Now: 1, Events: submitted(taking(2, 20, 2))},
			{Now: 2, Events: []backfill.Event{ends(0, tt.end)}},
		} {
			_, err := h.Decide(t.Context(), r)
			require.NoError(t, err)
		}
		start, _, _ := h.State.Planned(2)
		require.Equal(t, tt.want, start, "its slot ends at %d", tt.end)
	}
}

// TestSlotsThatEndAsPlainData checks that a snapshot keeps ends, in JSON too, and says nothing of slots
// without one.
func TestSlotsThatEndAsPlainData(t *testing.T) {
	s := newState(t, cpus(4), cpus(4))
	accept(t, s, backfill.Round{Events: []backfill.Event{ends(0, 50)}}, nil)
	text, err := json.Marshal(s.Snapshot())
	require.NoError(t, err)
	require.Contains(t, string(text), `"End":50`)
	text, err = json.Marshal(slot(0, cpus(4)))
	require.NoError(t, err)
	require.NotContains(t, string(text), "End")
	var snap backfill.Snapshot
	text, err = json.Marshal(s.Snapshot())
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &snap))
	again, err := backfill.Restore(snap)
	require.NoError(t, err)
	require.Equal(t, cpus(0), again.Free(0, 50))
	require.Equal(t, cpus(4), again.Free(0, 49))
	_, err = s.Open(backfill.Round{Events: []backfill.Event{ends(0, -1)}})
	require.ErrorContains(t, err, "slot a ends at -1: must be from 0, which means never, to the end of time")
}

// TestWhySlotsEndTooEarly checks what is told of jobs whose slots all end before they would.
func TestWhySlotsEndTooEarly(t *testing.T) {
	h := newHost(t, newState(t, cpus(4), cpus(4), cpus(4)), "easy", "fcfs")
	events := []backfill.Event{ends(0, 40), ends(1, 50), ends(2, 90)}
	events = append(events, submitted(job(1, 0, 60, 4), job(2, 0, 45, 4), unestimated(job(3, 0, 45, 4)))...)
	_, err := h.Decide(t.Context(), backfill.Round{Events: events})
	require.NoError(t, err)
	events = submitted(job(4, 1, 50, 4), job(5, 1, 95, 4), job(6, 1, 20, 4))
	_, err = h.Decide(t.Context(), backfill.Round{Now: 1, Events: events})
	require.NoError(t, err)
	for id, want := range map[backfill.JobID]string{
		4: "all slots that it may use end before it would, 2 of 3 even if idle now; the last of them closes at 90",
		5: "all slots that it may use end before it would, 3 of 3 even if idle now; the last of them closes at 90",
	} {
		reason, _ := h.State.Reason(id)
		require.Equal(t, want, h.State.Describe(reason, nil), id)
	}
}
