package backfill_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// owned returns the job as one of a user's.
func owned(j *backfill.Job, owner string) *backfill.Job {
	j.Labels = map[string]string{"owner": owner}
	return j
}

// TestWhoEntersAPlanWithAHorizon checks whose jobs enter a plan that holds what four cpus do in 60 s:
// those of one user up to half of that, in order, and one of each user whatever it needs.
func TestWhoEntersAPlanWithAHorizon(t *testing.T) {
	narrow := func(id backfill.JobID, owner string) *backfill.Job { return owned(job(id, 0, 30, 1), owner) }
	wide := func(id backfill.JobID, owner string) *backfill.Job { return owned(job(id, 0, 300, 4), owner) }
	for _, tt := range []struct {
		name  string
		depth int
		jobs  []*backfill.Job
		want  []backfill.JobID
	}{
		{
			"one user: four jobs of 30 cpu seconds are half of 240", 0,
			[]*backfill.Job{narrow(1, "a"), narrow(2, "a"), narrow(3, "a"), narrow(4, "a"), narrow(5, "a")},
			started(1, 2, 3, 4),
		},
		{
			"nobody behind one that was left out, but each user's first", 0,
			[]*backfill.Job{
				narrow(1, "a"), narrow(2, "a"), narrow(3, "a"), narrow(4, "a"), narrow(5, "a"), narrow(6, "b"), narrow(7, "b"),
				narrow(8, "c"),
			},
			started(1, 2, 3, 4, 6, 8),
		},
		{
			"in turns, two users share all of it", 0,
			[]*backfill.Job{
				narrow(1, "a"), narrow(2, "b"), narrow(3, "a"), narrow(4, "b"), narrow(5, "a"), narrow(6, "b"), narrow(7, "a"),
				narrow(8, "b"), narrow(9, "b"),
			},
			started(1, 2, 3, 4, 5, 6, 7, 8),
		},
		{
			"a job that alone is more than that, and one beside it", 0,
			[]*backfill.Job{wide(1, "a"), wide(2, "a"), narrow(3, "b"), narrow(4, "b")},
			started(1, 3),
		},
		{"the depth comes first", 1, []*backfill.Job{narrow(1, "a"), narrow(2, "b")}, started(1)},
		{"whoever has no name is one user", 0, []*backfill.Job{job(1, 0, 90, 2), job(2, 0, 90, 2)}, started(1)},
		{"no cpus are needed", 0, []*backfill.Job{
			owned(job(1, 0, 90, 0, 6), "a"), owned(job(2, 0, 90, 0, 6), "a"),
		}, started(1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newState(t, backfill.Vector{4, 10})
			if tt.jobs[0].Request[0] > 0 {
				s = newState(t, cpus(4))
			}
			accept(t, s, backfill.Round{Events: []backfill.Event{policyChanged(true)}}, nil)
			var entered []backfill.JobID
			round := backfill.Round{
				Planning: &backfill.Planning{Depth: tt.depth, Horizon: 60}, Events: submitted(tt.jobs...),
			}
			c, err := s.Open(round)
			require.NoError(t, err)
			drain(c.Cycle)
			for j := range c.Fast().Entering() {
				entered = append(entered, j.ID)
				promise(c.Cycle, j)
			}
			require.Equal(t, tt.want, entered)
			for _, j := range c.Due() {
				_, at, _ := c.Reservation(j)
				c.Start(j, at)
			}
			_, err = c.Close()
			require.NoError(t, err)
		})
	}
}

// TestWhoMayBeLeftOutOfTheHorizon checks which decisions are refused: those that leave out a job whose
// user has no promise, or the next one although it fits the plan.
func TestWhoMayBeLeftOutOfTheHorizon(t *testing.T) {
	jobs := []*backfill.Job{
		owned(job(1, 0, 10, 4), "a"), owned(job(2, 0, 10, 4), "a"), owned(job(3, 0, 90, 4), "a"), owned(job(4, 0, 10, 4), "b"),
	}
	for _, tt := range []struct {
		promised []int
		err      string
	}{
		{[]int{0, 1, 3}, ""},
		{[]int{0, 1, 2, 3}, ""}, // more than it must
		{[]int{0, 1}, "job 4 is left without a reservation, and its user's part of the plan has room"},
		{[]int{0, 3}, "job 2 is left without a reservation, and its user's part of the plan has room"},
		{nil, "job 1 is left without a reservation, and its user's part of the plan has room"},
	} {
		s := newState(t, cpus(4))
		accept(t, s, backfill.Round{Events: []backfill.Event{policyChanged(true)}}, nil)
		before := factsOf(s, 0)
		round := backfill.Round{Planning: &backfill.Planning{Horizon: 60}, Events: submitted(jobs...)}
		_, err := attempt(t, s, round, func(c *backfill.Cycle) {
			for _, i := range tt.promised {
				promise(c, jobs[i])
			}
			for _, j := range c.Due() {
				_, at, _ := c.Reservation(j)
				c.Start(j, at)
			}
		})
		if tt.err == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, tt.err)
		require.Equal(t, before, factsOf(s, 0))
	}
}

// TestReasonsBeyondTheHorizon checks what those that wait for their part of the plan are told, also
// after the state was written and read, and that a larger horizon lets them enter.
func TestReasonsBeyondTheHorizon(t *testing.T) {
	jobs := []*backfill.Job{
		owned(job(1, 0, 30, 4), "a"), owned(job(2, 0, 30, 4), "a"), owned(job(3, 0, 30, 4), "a"), owned(job(4, 0, 30, 1), "b"),
		owned(job(5, 0, 10, 1), "b"), owned(job(6, 0, 30, 4), "b"),
	}
	enter := func(c *backfill.Cycle) {
		for j := range c.Fast().Entering() {
			promise(c, j)
		}
		for _, j := range c.Due() {
			_, at, _ := c.Reservation(j)
			c.Start(j, at)
		}
	}
	s := newState(t, cpus(4))
	accept(t, s, backfill.Round{Events: []backfill.Event{policyChanged(true)}}, nil)
	accept(t, s, backfill.Round{Planning: &backfill.Planning{Horizon: 60}, Events: submitted(jobs...)}, enter)
	accept(t, s, backfill.Round{Now: 1}, enter)
	restored, err := backfill.Restore(s.Snapshot())
	require.NoError(t, err)
	for _, state := range []*backfill.State{s, restored, s.Clone()} {
		tell := func(id backfill.JobID) string {
			r, _ := state.Reason(id)
			return state.Describe(r, nil)
		}
		require.Contains(t, tell(2), "reserved")
		require.Contains(t, tell(4), "reserved")
		require.Equal(t, "no promise yet: 1 promised job of its user takes that user's part of the plan", tell(3))
		require.Equal(t, "no promise yet: 1 job before it in the plan's order, which reaches 60 s of the whole pool", tell(5))
		require.Equal(t, "no promise yet: 1 promised job of its user takes that user's part of the plan", tell(6))
	}
	accept(t, s, backfill.Round{Now: 2, Planning: &backfill.Planning{Horizon: 600}}, enter)
	require.Zero(t, s.BeyondDepth())
	_, err = s.Open(backfill.Round{Now: 3, Planning: &backfill.Planning{Horizon: -1}})
	require.EqualError(t, err, "plan horizon -1 s: must be from 0, which means no limit, to 1099511627776")
}
