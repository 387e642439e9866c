package backfill_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// effect is what Cycle.Next reports about an event.
type effect struct {
	Kind      backfill.EventKind
	Freed     bool
	Displaced []backfill.JobID
}

func effects(events []backfill.Event) []effect {
	var out []effect
	for _, e := range events {
		out = append(out, effect{e.Kind, e.Freed, ids(e.Displaced)})
	}
	return out
}

// planned is a pool of two slots of 4 cpus, under a policy that gives guarantees, at time 2:
//
//	job 1 runs on a with 2 cpus, [0, 10)
//	job 2 runs on b with 4 cpus, [0, 8)
//	job 3 is planned on a with 4 cpus, [10, 20), promised by 12
//	job 4 is planned on b with 4 cpus, [8, 12), promised by 8
//	job 5 is planned on a and b with 2 cpus each, [22, 27), promised by 22
//	job 6 is held
func planned(t *testing.T) *backfill.State {
	t.Helper()
	s := newState(t, cpus(4), cpus(4))
	one, two, three, four, five, six := job(1, 0, 10, 2), job(2, 0, 8, 4), job(3, 0, 10, 4), job(4, 0, 4, 4), gang(5, 0,
		5, 2, 2), job(6, 0, 1, 1)
	accept(t, s, backfill.Round{Events: append([]backfill.Event{policyChanged(true)},
		submitted(one, two, three, four, five, six)...)}, func(c *backfill.Cycle) {
		c.Guarantee(one, 0)
		c.Start(one, on(0, 1))
		c.Guarantee(two, 0)
		c.Start(two, on(1, 1))
		c.Reserve(three, 10, on(0, 1))
		c.Guarantee(three, 12)
		c.Reserve(four, 8, on(1, 1))
		c.Guarantee(four, 8)
		c.Reserve(five, 22, on(0, 1, 1, 1))
		c.Guarantee(five, 22)
		c.Hold(six, "its owner said so")
	})
	accept(t, s, backfill.Round{Now: 2}, nil)
	return s
}

// TestEvents checks the effect of each kind of event on the pool of planned: what Next reports of
// the event, which guarantees break, and the plan afterwards. The policy does only what it must: it
// reserves the earliest start for each displaced job, and starts the jobs that are due.
func TestEvents(t *testing.T) {
	changed := func(j *backfill.Job) backfill.Event { return backfill.Event{Kind: backfill.Changed, Job: j} }
	never := job(7, 2, 5, 5)
	type broken struct {
		job           backfill.JobID
		promised, now backfill.Time
		cause         backfill.Cause
	}
	for _, tt := range []struct {
		name   string
		now    backfill.Time
		events []backfill.Event
		want   []effect
		broken []broken
		plan   map[backfill.JobID]backfill.Time // of the waiting jobs
		queue  []backfill.JobID
	}{
		{
			name: "completed early", now: 4,
			events: []backfill.Event{jobEvent(backfill.Completed, 2)},
			want:   []effect{{backfill.Completed, true, nil}},
			plan:   map[backfill.JobID]backfill.Time{3: 10, 4: 8, 5: 22},
		},
		{
			name: "completed in time", now: 8,
			events: []backfill.Event{jobEvent(backfill.Completed, 2)},
			want:   []effect{{backfill.Completed, false, nil}},
			plan:   map[backfill.JobID]backfill.Time{3: 10, 5: 22}, // 4 starts
		},
		{
			name: "overrun displaces a planned job and breaks its guarantee", now: 8,
			events: []backfill.Event{{Kind: backfill.EstimateChanged, JobID: 2, End: 16}},
			want:   []effect{{backfill.EstimateChanged, true, []backfill.JobID{4}}}, // job 4's reservation is void
			broken: []broken{{4, 8, 16, backfill.CauseOverrun}},
			plan:   map[backfill.JobID]backfill.Time{3: 10, 4: 16, 5: 22},
		},
		{
			name: "overrun within the guarantee breaks nothing", now: 5,
			events: []backfill.Event{{Kind: backfill.EstimateChanged, JobID: 1, End: 12}},
			want:   []effect{{backfill.EstimateChanged, true, []backfill.JobID{3}}},
			plan:   map[backfill.JobID]backfill.Time{3: 12, 4: 8, 5: 22},
		},
		{
			name: "an end that comes nearer", now: 3,
			events: []backfill.Event{{Kind: backfill.EstimateChanged, JobID: 2, End: 5}},
			want:   []effect{{backfill.EstimateChanged, true, nil}},
			plan:   map[backfill.JobID]backfill.Time{3: 10, 4: 8, 5: 22},
		},
		{
			name: "slot lost", now: 3,
			events: []backfill.Event{{Kind: backfill.SlotLost, Slot: slot(1, nil)}},
			want:   []effect{{backfill.SlotLost, true, []backfill.JobID{2, 4, 5}}},
			broken: []broken{
				{2, 0, 20, backfill.CauseSlotLost},
				{4, 8, 28, backfill.CauseSlotLost},
				{5, 22, 32, backfill.CauseSlotLost},
			},
			plan:  map[backfill.JobID]backfill.Time{3: 10, 2: 20, 4: 28, 5: 32},
			queue: []backfill.JobID{2, 3, 4, 5},
		},
		{
			name: "slot grows", now: 3,
			events: []backfill.Event{{Kind: backfill.SlotChanged, Slot: slot(1, cpus(5))}},
			want:   []effect{{backfill.SlotChanged, true, nil}},
			plan:   map[backfill.JobID]backfill.Time{3: 10, 4: 8, 5: 22},
		},
		{
			name: "slot stays as it is", now: 3,
			events: []backfill.Event{{Kind: backfill.SlotChanged, Slot: slot(1, cpus(4))}},
			want:   []effect{{backfill.SlotChanged, false, nil}},
			plan:   map[backfill.JobID]backfill.Time{3: 10, 4: 8, 5: 22},
		},
		{
			name: "slot shrinks under a running job, which stays", now: 3,
			events: []backfill.Event{{Kind: backfill.SlotChanged, Slot: slot(1, cpus(2))}},
			want:   []effect{{backfill.SlotChanged, true, []backfill.JobID{4}}},
			broken: []broken{{4, 8, 27, backfill.CauseSlotChanged}}, // 5 still fits on b, 4 fits only on a
			plan:   map[backfill.JobID]backfill.Time{3: 10, 4: 27, 5: 22},
		},
		{
			name: "slot added", now: 3,
			events: []backfill.Event{{Kind: backfill.SlotAdded, Slot: slot(2, cpus(4))}},
			want:   []effect{{backfill.SlotAdded, true, nil}},
			plan:   map[backfill.JobID]backfill.Time{3: 10, 4: 8, 5: 22},
		},
		{
			name: "slots that come and grow in a row count as one", now: 3,
			events: []backfill.Event{
				{Kind: backfill.SlotAdded, Slot: slot(2, cpus(4))},
				{Kind: backfill.SlotAdded, Slot: slot(3, cpus(4))},
				{Kind: backfill.SlotChanged, Slot: slot(0, cpus(5))},
				{Kind: backfill.SlotChanged, Slot: slot(1, cpus(4))}, // stays as it is
			},
			want: []effect{
				{backfill.SlotAdded, false, nil},
				{backfill.SlotAdded, false, nil},
				{backfill.SlotChanged, false, nil},
				{backfill.SlotChanged, true, nil},
			},
			plan: map[backfill.JobID]backfill.Time{3: 10, 4: 8, 5: 22},
		},
		{
			name: "a slot that shrinks ends the row", now: 3,
			events: []backfill.Event{
				{Kind: backfill.SlotAdded, Slot: slot(2, cpus(4))},
				{Kind: backfill.SlotChanged, Slot: slot(0, cpus(5))},
				{Kind: backfill.SlotChanged, Slot: slot(1, cpus(3))},
				{Kind: backfill.SlotChanged, Slot: slot(2, cpus(5))},
			},
			want: []effect{
				{backfill.SlotAdded, false, nil},
				{backfill.SlotChanged, true, nil},
				{backfill.SlotChanged, true, []backfill.JobID{4}},
				{backfill.SlotChanged, true, nil},
			},
			broken: []broken{{4, 8, 27, backfill.CauseSlotChanged}},
			plan:   map[backfill.JobID]backfill.Time{3: 10, 4: 27, 5: 22},
		},
		{
			name: "a completion ends the row", now: 3,
			events: []backfill.Event{
				{Kind: backfill.SlotAdded, Slot: slot(2, cpus(4))},
				jobEvent(backfill.Completed, 1),
				{Kind: backfill.SlotChanged, Slot: slot(1, cpus(5))},
			},
			want: []effect{
				{backfill.SlotAdded, true, nil},
				{backfill.Completed, true, nil},
				{backfill.SlotChanged, true, nil},
			},
			plan: map[backfill.JobID]backfill.Time{3: 10, 4: 8, 5: 22},
		},
		{
			name: "start failed", now: 3,
			events: []backfill.Event{jobEvent(backfill.StartFailed, 2)},
			want:   []effect{{backfill.StartFailed, true, []backfill.JobID{2}}},
			broken: []broken{{2, 0, 12, backfill.CauseStartFailed}},
			plan:   map[backfill.JobID]backfill.Time{2: 12, 3: 10, 4: 8, 5: 22},
			queue:  []backfill.JobID{2, 3, 4, 5},
		},
		{
			name: "slot ended", now: 3,
			events: []backfill.Event{{Kind: backfill.StartFailed, JobID: 2, SlotEnded: true}},
			want:   []effect{{backfill.StartFailed, true, []backfill.JobID{2}}},
			broken: []broken{{2, 0, 12, backfill.CauseSlotEnded}},
			plan:   map[backfill.JobID]backfill.Time{2: 12, 3: 10, 4: 8, 5: 22},
			queue:  []backfill.JobID{2, 3, 4, 5},
		},
		{
			name: "start late", now: 9,
			events: []backfill.Event{jobEvent(backfill.Completed, 2), jobEvent(backfill.StartFailed, 4)},
			want:   []effect{{backfill.Completed, false, nil}, {backfill.StartFailed, true, []backfill.JobID{4}}},
			broken: []broken{{4, 8, 9, backfill.CauseStartLate}},
			plan:   map[backfill.JobID]backfill.Time{3: 10, 5: 22}, // 4 starts
		},
		{
			name: "a running job removed", now: 3,
			events: []backfill.Event{jobEvent(backfill.Removed, 1)},
			want:   []effect{{backfill.Removed, true, nil}},
			plan:   map[backfill.JobID]backfill.Time{3: 10, 4: 8, 5: 22},
		},
		{
			name: "a planned job removed", now: 3,
			events: []backfill.Event{jobEvent(backfill.Removed, 3)},
			want:   []effect{{backfill.Removed, true, nil}},
			plan:   map[backfill.JobID]backfill.Time{4: 8, 5: 22},
		},
		{
			name: "a held job removed", now: 3,
			events: []backfill.Event{jobEvent(backfill.Removed, 6)},
			want:   []effect{{backfill.Removed, false, nil}},
			plan:   map[backfill.JobID]backfill.Time{3: 10, 4: 8, 5: 22},
		},
		{
			name: "a planned job changed", now: 3,
			events: []backfill.Event{changed(job(3, 0, 15, 4))},
			want:   []effect{{backfill.Changed, true, []backfill.JobID{3}}},
			broken: []broken{{3, 12, 27, backfill.CauseJobChanged}},
			plan:   map[backfill.JobID]backfill.Time{3: 27, 4: 8, 5: 22},
		},
		{
			name: "a planned job changed for the better", now: 3,
			events: []backfill.Event{changed(job(3, 0, 7, 2))},
			want:   []effect{{backfill.Changed, true, []backfill.JobID{3}}},
			plan:   map[backfill.JobID]backfill.Time{4: 8, 5: 22}, // starts beside 1
			queue:  []backfill.JobID{4, 5},
		},
		{
			name: "a planned job changed so that it never fits", now: 3,
			events: []backfill.Event{changed(job(3, 0, 10, 5))},
			want:   []effect{{backfill.Changed, true, nil}}, // its place is free
			plan:   map[backfill.JobID]backfill.Time{4: 8, 5: 22},
		},
		{
			name: "a held job may wait again", now: 3,
			events: []backfill.Event{changed(job(6, 0, 1, 3))},
			want:   []effect{{backfill.Changed, false, []backfill.JobID{6}}},
			plan:   map[backfill.JobID]backfill.Time{3: 10, 4: 8, 5: 22, 6: 12},
		},
		{
			name: "an arriving job that never fits is not reported", now: 3,
			events: append(submitted(never), backfill.Event{Kind: backfill.Wake}),
			want:   []effect{{backfill.Wake, false, nil}},
			plan:   map[backfill.JobID]backfill.Time{3: 10, 4: 8, 5: 22},
		},
		{
			name: "another policy that gives guarantees", now: 3,
			events: []backfill.Event{policyChanged(true)},
			want:   []effect{{backfill.PolicyChanged, true, nil}}, // the plan may have room
			plan:   map[backfill.JobID]backfill.Time{3: 10, 4: 8, 5: 22},
		},
		{
			name: "overrun and slot lost at once", now: 8,
			events: []backfill.Event{
				{Kind: backfill.SlotLost, Slot: slot(1, nil)},
				{Kind: backfill.EstimateChanged, JobID: 2, End: 16},
			},
			want: []effect{
				{backfill.SlotLost, true, []backfill.JobID{2, 4, 5}},
				{backfill.EstimateChanged, false, nil},
			},
			broken: []broken{
				{2, 0, 20, backfill.CauseSlotLost},
				{4, 8, 28, backfill.CauseSlotLost},
				{5, 22, 32, backfill.CauseSlotLost},
			},
			plan: map[backfill.JobID]backfill.Time{3: 10, 2: 20, 4: 28, 5: 32},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := planned(t)
			c, err := s.Open(backfill.Round{Now: tt.now, Events: tt.events})
			require.NoError(t, err)
			seen := drain(c.Cycle)
			require.Equal(t, tt.want, effects(seen))
			for _, e := range seen {
				for _, j := range e.Displaced {
					if _, _, planned := c.Reservation(j); planned {
						continue // an earlier event displaced it, too
					}
					start, at, ok := c.Earliest(j, tt.now)
					require.True(t, ok)
					c.Reserve(j, start, at)
				}
			}
			for _, j := range c.Due() {
				_, at, _ := c.Reservation(j)
				c.Start(j, at)
			}
			d, err := c.Close()
			require.NoError(t, err)

			var lost []broken
			for _, b := range d.Broken {
				lost = append(lost, broken{b.Job.ID, b.Promised, b.Now, b.Cause})
				if !s.IsRunning(b.Job.ID) {
					require.Equal(t, b.Now, jobState(t, s, b.Job.ID).Guarantee, "the new guarantee")
				}
			}
			require.Equal(t, tt.broken, lost, "in the order of jobs")
			plan := map[backfill.JobID]backfill.Time{}
			for _, j := range s.Snapshot().Jobs {
				if start, _, ok := s.Planned(j.Job.ID); ok {
					plan[j.Job.ID] = start
					require.True(t, j.Promised)
					require.LessOrEqual(t, start, j.Guarantee)
				}
			}
			require.Equal(t, tt.plan, plan)
			if tt.queue != nil {
				require.Equal(t, tt.queue, ids(s.FirstWaiting(10)))
			}
		})
	}
}
