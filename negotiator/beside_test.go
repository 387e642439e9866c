package negotiator

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// TestRouse: jobs that wait are placed on slots that sleep, in the queue's order, after those that no
// other slot can run. Nobody gets more than there is, and nothing changes.
func TestRouse(t *testing.T) {
	n := newNegotiator(t)
	gang := newJob(t, 4, 3, "")
	gang.Nodes = 3
	r := cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "awake", 4, "")}, Submitted: []*Job{
		newJob(t, 1, 4, ""), newJob(t, 2, 2, ""), newJob(t, 3, 1, "Requirements = TARGET.Cpus > 4"), gang,
		newJob(t, 5, 2, ""), newJob(t, 6, 2, "Owner = \"eve\""), newJob(t, 7, 1, "Requirements = TARGET.Cpus > 9"),
	}})
	require.Equal(t, []string{"1.1@awake×1"}, started(r))
	wanted := func(held []backfill.JobID, asleep ...*Slot) (all []string) {
		for _, m := range n.Rouse(asleep, held) {
			all = append(all, m.Job.Name+"@"+m.Placement.String())
		}
		return all
	}
	notEve := newSlot(t, "a", 5, "Requirements = TARGET.Owner =!= \"eve\"")
	held := []backfill.JobID{3, 7, 99}
	for name, c := range map[string]struct {
		asleep []*Slot
		held   []backfill.JobID
		want   []string
	}{
		"nobody sleeps":      {nil, held, nil},
		"one":                {[]*Slot{notEve}, held, []string{"1.3@a×1", "1.2@a×1", "1.5@a×1"}},
		"nobody is held":     {[]*Slot{notEve}, nil, []string{"1.2@a×1", "1.5@a×1"}},
		"for eve":            {[]*Slot{newSlot(t, "b", 6, "")}, nil, []string{"1.2@b×1", "1.5@b×1", "1.6@b×1"}},
		"one that is small":  {[]*Slot{newSlot(t, "b", 1, "")}, held, nil},
		"a gang on two":      {[]*Slot{newSlot(t, "b", 6, ""), newSlot(t, "c", 4, "")}, []backfill.JobID{4}, []string{"1.4@b×2 c×1"}},
		"a gang on too few":  {[]*Slot{newSlot(t, "b", 8, "")}, []backfill.JobID{4}, []string{"1.2@b×1", "1.5@b×1", "1.6@b×1"}},
		"one that is closed": {[]*Slot{newSlot(t, "b", 8, "Requirements = false")}, held, nil},
	} {
		before := n.Checkpoint()
		require.Equal(t, c.want, wanted(c.held, slices.Clone(c.asleep)...), name)
		require.Equal(t, before, n.Checkpoint(), name)
	}
}

// TestRouseAmongJobsThatMatchNothing: jobs that match no machine, however many kinds of them there are,
// keep no machine asleep: another user's job has one woken at once, and their own user's later.
func TestRouseAmongJobsThatMatchNothing(t *testing.T) {
	const machines, kinds = 5_000, 101
	for user, looks := range map[string]int{"alice": 1, "eve": 5} {
		n := newNegotiator(t)
		var jobs []*Job
		var held []backfill.JobID
		for i := range kinds {
			jobs = append(jobs, newJob(t, i+1, 1, fmt.Sprint("Requirements = TARGET.Cpus > ", 1000+i)))
			jobs[i].User = "eve"
			held = append(held, jobs[i].ID)
		}
		good := newJob(t, kinds+1, 4, "")
		good.User = user
		held = append(held, good.ID)
		cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "awake", 1, "")}, Submitted: append(jobs, good)})
		var asleep []*Slot
		for i := range machines {
			asleep = append(asleep, newSlot(t, fmt.Sprint("m", i), 4, ""))
		}
		for look := range looks {
			require.Equal(t, look == looks-1, len(n.Rouse(asleep, held)) > 0, user)
		}
	}
}

// TestFill: on slots that overlap with others start jobs that match these and that still wait after the
// plan, with what it leaves idle; slots of one machine share that.
func TestFill(t *testing.T) {
	n := newNegotiator(t)
	closed := "Requirements = false; BackfillClosed = \"for what other slots leave idle\""
	fills := "Requirements = TARGET.Fills"
	first, second := newSlot(t, "b1", 8, fills), newSlot(t, "b2", 8, fills)
	open := []Overlapping{
		{Slot: first, Machine: "m", Primary: []string{"a"}, Overlapping: []string{"b1", "b2"}},
		{Slot: second, Machine: "m", Primary: []string{"a"}, Overlapping: []string{"b1", "b2"}},
	}
	gang := newJob(t, 4, 1, "Fills = true; Requirements = TARGET.Name =!= \"a\"")
	gang.Nodes = 2
	now := backfill.Time(1)
	step := func(d Delta) (filled []string) {
		d.Now = now
		now++
		cycle(t, n, d)
		var held []backfill.JobID
		for _, j := range n.Settled().Jobs {
			if j.Held != "" {
				held = append(held, j.Job.ID)
			}
		}
		next := Delta{Now: now}
		for _, m := range n.Fill(open, held) {
			filled = append(filled, m.Job.Name+"@"+m.Placement.String())
			next.Found = append(next.Found, Running{Job: m.Job, Placement: m.Placement, Start: now})
		}
		if len(next.Found) > 0 {
			cycle(t, n, next)
		}
		now++
		return filled
	}
	require.Empty(t, n.Fill(nil, nil))
	picky := "Fills = true; Requirements = TARGET.Name =!= \"a\""
	require.Equal(t, []string{"1.2@b1×1"}, step(Delta{
		SlotsUp: []*Slot{newSlot(t, "a", 8, ""), newSlot(t, "b1", 8, closed), newSlot(t, "b2", 8, closed)},
		Submitted: []*Job{
			newJob(t, 1, 5, ""), newJob(t, 2, 2, picky), newJob(t, 3, 2, picky), gang, newJob(t, 5, 1, "Requirements = TARGET.Name =!= \"a\""),
		},
	}), "the plan took 5 of 8 cpus, and the slots refuse job 5")
	require.Empty(t, step(Delta{}), "one cpu is left")
	require.Equal(t, []string{"1.3@b1×1"}, step(Delta{Completed: []backfill.JobID{2}}), "and only once")
	require.True(t, n.State().IsRunning(3))
	require.Empty(t, step(Delta{Submitted: []*Job{newJob(t, 6, 3, "")}}), "the plan does not wait for jobs that fill")
	require.True(t, n.State().IsRunning(6))
	require.Empty(t, step(Delta{StartFailed: []backfill.JobID{3}}), "the plan has all")
	require.Equal(t, []string{"1.3@b1×1"}, step(Delta{Completed: []backfill.JobID{6}}), "it was ended, and starts again")
}

// TestRousingIsBounded: however many slots are said to sleep, and kinds of jobs wait, only so many
// pairs are looked at; the first jobs are served.
func TestRousingIsBounded(t *testing.T) {
	asked := 0
	r := rousing{left: 1000, useless: map[pairing]bool{}, nowhere: map[int]bool{}, tried: map[string]int{}}
	r.would = func(kind int, _ *classad.ClassAd) bool { asked++; return kind == 2 }
	for range 300 {
		r.slots = append(r.slots, further{Slot: &Slot{}, free: backfill.Vector{4}})
	}
	placed := 0
	for kind := range 100 {
		j := &backfill.Job{ID: backfill.JobID(kind + 1), Nodes: 1, Request: backfill.Vector{1}, Candidates: kind}
		if at, _ := r.place(j, ""); at != nil {
			placed++
		}
	}
	require.Equal(t, 1, placed)
	require.LessOrEqual(t, asked, 1000)
}
