package negotiator

import (
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TestChange changes the policy, and the order to an expression, and keeps the queue.
func TestChange(t *testing.T) {
	n, err := New(Config{Schema: twoResources(), Policy: linked(t, "fcfs"), Fallback: linked(t, "easy")})
	require.NoError(t, err)
	d := Delta{SlotsUp: []*Slot{newSlot(t, "a", 2, "")}}
	for i, more := range []string{
		"", "RequestCpus = 2; JobPrio = 1", "JobPrio = 5; EstimatedRunTime = 20",
		"JobPrio = 3",
	} {
		d.Submitted = append(d.Submitted, newJob(t, i, 1, more))
	}
	require.Equal(t, []string{"1.0@a×1"}, started(cycle(t, n, d)))
	require.Equal(t, "[1 2 3]", waitingJobs(n))

	byPriority, err := OrderNamed("expr:JobPrio")
	require.NoError(t, err)
	require.NoError(t, n.Change(Change{Order: byPriority, Policy: linked(t, "first-fit"), Fallback: linked(t, "easy")}))
	r := cycle(t, n, Delta{Now: 1})
	require.Equal(t, []string{"1.2@a×1"}, started(r))
	require.Equal(t, "first-fit", r.Decision.By)
	require.Equal(t, "[3 1]", waitingJobs(n))

	require.Error(t, n.Change(Change{Policy: linked(t, "conservative"), Fallback: linked(t, "easy")}))
	_ = cycle(t, n, Delta{Now: 2})
	require.Equal(t, "[3 1]", waitingJobs(n), "a refused change changes nothing")

	require.NoError(t, n.Change(Change{Policy: linked(t, "conservative"), Fallback: linked(t, "conservative")}))
	_ = cycle(t, n, Delta{Now: 3})
	require.Equal(t, "[1 3]", waitingJobs(n))
	_, guarantees := n.State().Policy()
	require.True(t, guarantees)
	at, _, planned := n.State().Planned(1)
	require.True(t, planned)
	require.EqualValues(t, 21, at, "behind the job that runs")
	require.Nil(t, n.priorities)
}

// TestLiftedPromises: promises are carried over to another policy that gives them, also by a
// checkpoint. The report counts them when one takes over that gives none.
func TestLiftedPromises(t *testing.T) {
	config := func(policy string) Config {
		return Config{Schema: twoResources(), Policy: linked(t, policy), Fallback: linked(t, policy)}
	}
	n, err := New(config("slack"))
	require.NoError(t, err)
	d := Delta{SlotsUp: []*Slot{newSlot(t, "a", 1, "")}}
	for i := range 4 {
		d.Submitted = append(d.Submitted, newJob(t, i, 1, ""))
	}
	cycle(t, n, d)
	promised := func() (latest []backfill.Time) {
		for _, j := range n.Checkpoint().Jobs {
			if j.Promised && !j.Running {
				latest = append(latest, j.Guarantee)
			}
		}
		return latest
	}
	want := promised()
	require.Len(t, want, 3)
	change := func(policy, lifted string) {
		t.Helper()
		require.NoError(t, n.Change(Change{Policy: linked(t, policy), Fallback: linked(t, policy)}))
		r := cycle(t, n, Delta{Now: n.State().Now() + 1})
		require.Empty(t, r.Decision.Broken)
		require.Equal(t, lifted, r.Lifted())
	}
	change("pc", "")
	require.Equal(t, want, promised())
	n, err = Restore(config("conservative"), n.Checkpoint())
	require.NoError(t, err)
	r := cycle(t, n, Delta{Now: 3})
	require.Empty(t, r.Lifted())
	require.Empty(t, r.Decision.Broken)
	require.Equal(t, want, promised())
	change("easy", "promises lifted: 3, as the policy easy gives none")
	require.Empty(t, promised())
	change("fcfs", "")
	change("conservative", "")
	require.Equal(t, []backfill.Time{10, 20, 30}, promised())
	n, err = Restore(config("easy"), n.Checkpoint())
	require.NoError(t, err)
	r = cycle(t, n, Delta{Now: 7})
	require.Equal(t, "promises lifted: 3, as the policy easy gives none", r.Lifted())
}

// TestRunTakesChanges: Run makes each change just before a cycle, and none after the last cycle.
func TestRunTakesChanges(t *testing.T) {
	changes := make(chan Change, 3)
	n, err := New(Config{
		Schema: twoResources(), Policy: linked(t, "easy"), Fallback: linked(t, "easy"),
		Changes: changes,
	})
	require.NoError(t, err)
	s := &script{end: io.EOF, deltas: []Delta{
		{Now: 5, SlotsUp: []*Slot{newSlot(t, "a", 1, "")}, Submitted: []*Job{newJob(t, 1, 1, ""), newJob(t, 2, 1, "")}},
		{Now: 8},
		{Now: 9},
	}}
	made := func(now backfill.Time, err error) {
		s.heard = append(s.heard, fmt.Sprint("changed at ", now, " ", err))
	}
	changes <- Change{Policy: linked(t, "conservative"), Fallback: linked(t, "conservative"), Made: made}
	changes <- Change{Policy: linked(t, "conservative"), Fallback: linked(t, "easy"), Made: made}
	changes <- Change{Policy: linked(t, "fcfs"), Fallback: linked(t, "easy")}
	require.NoError(t, Run(t.Context(), n, s, &watcher{"one", s, nil}))
	require.Equal(t, []string{
		"fetch", "changed at 5 <nil>", "act [1.1@a×1]", "one sees 5",
		"fetch by 15", "changed at 8 policy conservative cannot fall back to easy: one of them gives guarantees " +
			"and the other does not", "one sees 8",
		"fetch by 15", "one sees 9", "fetch by 15",
	}, s.heard)
	name, _ := n.State().Policy()
	require.Equal(t, "fcfs", name)
}

// TestChangeNext: a change that is asked for between two cycles is made before the next one, unless a
// newer one comes through the channel.
func TestChangeNext(t *testing.T) {
	changes := make(chan Change, 1)
	n, err := New(Config{Schema: twoResources(), Policy: linked(t, "easy"), Fallback: linked(t, "easy"), Changes: changes})
	require.NoError(t, err)
	change := func(policy, fallback string) Change {
		return Change{Policy: linked(t, policy), Fallback: linked(t, fallback)}
	}
	step := func(now backfill.Time) string {
		_, err := Decide(t.Context(), n, Delta{Now: now})
		require.NoError(t, err)
		name, _ := n.State().Policy()
		return name
	}
	n.ChangeNext(change("fcfs", "easy"))
	require.Equal(t, "fcfs", step(1))
	n.ChangeNext(change("bb", "easy"))
	changes <- change("conservative", "conservative")
	require.Equal(t, "conservative", step(2), "it is newer")
	require.Equal(t, "conservative", step(3), "the older one is not made later")
	n.ChangeNext(change("dc", "dc"))
	changes <- change("conservative", "easy")
	require.Equal(t, "dc", step(4), "the newer one cannot be made")
}

// TestUnadmittedStartBreaksNoPromise: a failed start is told as a broken promise, but not one of which
// nobody was told as limits had no room for it.
func TestUnadmittedStartBreaksNoPromise(t *testing.T) {
	for name, c := range map[string]struct {
		unadmitted []backfill.JobID
		broken     int
	}{
		"it failed":            {broken: 1},
		"another was too much": {unadmitted: []backfill.JobID{2}, broken: 1},
		"it was too much":      {unadmitted: []backfill.JobID{1}},
	} {
		n, err := New(configured(t, "conservative", "fcfs"))
		require.NoError(t, err)
		room := func(string) string { return "" }
		limited := newJob(t, 1, 1, "BackfillSlotLimits = strcat(\"net_\", TARGET.Name)")
		r := cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 2, "")}, Submitted: []*Job{limited}, Room: room})
		require.Equal(t, []string{"1.1@a×1"}, started(r))
		r = cycle(t, n, Delta{Now: 5, StartFailed: []backfill.JobID{1}, Unadmitted: c.unadmitted, Room: room})
		require.Len(t, r.Decision.Broken, c.broken, name)
	}
}
