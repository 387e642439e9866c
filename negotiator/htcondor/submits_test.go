package htcondor

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// asking is the state of who is asked for submits, with a clock of its own.
type asking struct {
	*submits
	at    time.Time
	found []string
}

func newAsking(names ...string) *asking {
	a := &asking{at: time.Unix(1_700_000_000, 0)}
	a.submits = newSubmits(func() time.Time { return a.at }, nil)
	a.submits.found = func(name string) { a.found = append(a.found, name) }
	a.see(lookAt(true, names...))
	return a
}

// lookAt is a look at schedds of one host each, to which ten jobs were submitted.
func lookAt(read bool, names ...string) *observe.Snapshot {
	s := &observe.Snapshot{Schedds: map[string]*observe.Schedd{}}
	for _, name := range names {
		s.Schedds[name] = &observe.Schedd{
			Name: name, Address: cedar.Address{Host: name}, Since: time.Unix(1_600_000_000, 0), Read: read, Submits: 10,
		}
	}
	return s
}

// asks asks the next schedd, which answers after a time, and returns its name; "" if there is none.
func (a *asking) asks(count int64, took, cost time.Duration) string {
	next, _ := a.next()
	if next == nil {
		return ""
	}
	a.at = a.at.Add(took)
	a.hear(counted{schedd: next, count: count, cost: cost})
	return next.at.Name
}

// TestSubmitsBehindABroker: a broker is not asked twice a second for each of its schedds.
func TestSubmitsBehindABroker(t *testing.T) {
	a := newAsking("far", "near")
	a.brokered = func(s *observe.Schedd) bool { return s.Name == "far" }
	asked := map[string]int{}
	for range 200 {
		asked[a.asks(10, 0, 0)]++
		a.at = a.at.Add(time.Second / 20)
	}
	require.Equal(t, 2, asked["far"])
	require.InDelta(t, 20, asked["near"], 1)
}

// TestSubmitsWakeOnce: each submit is reported once, whether the next look reads the queue or not.
func TestSubmitsWakeOnce(t *testing.T) {
	a := newAsking("s")
	later := func(count int64) {
		t.Helper()
		a.at = a.at.Add(time.Second)
		require.Equal(t, "s", a.asks(count, 0, 0))
	}
	later(10)
	require.Empty(t, a.found)
	later(11)
	require.Equal(t, []string{"s"}, a.found)
	later(11)
	require.Equal(t, []string{"s"}, a.found)
	a.see(lookAt(false, "s"))
	later(11)
	require.Equal(t, []string{"s"}, a.found, "its queue is read late")
	a.see(lookAt(true, "s"))
	later(11)
	require.Len(t, a.found, 2, "its queue was read, but before that submit")
	later(0)
	require.Len(t, a.found, 3, "it has restarted")
}

// TestUncountedSubmits: of a schedd that a look did not ask the first answer says nothing new.
func TestUncountedSubmits(t *testing.T) {
	a, s := newAsking(), lookAt(true, "s")
	s.Schedds["s"].Submits = observe.Uncounted
	a.see(s)
	require.Equal(t, "s", a.asks(10, 0, 0))
	require.Empty(t, a.found)
	a.see(s)
	a.at = a.at.Add(time.Second)
	require.Equal(t, "s", a.asks(11, 0, 0))
	require.Equal(t, []string{"s"}, a.found)
}

// TestWhoIsAskedForSubmits says which schedds are asked, after a look.
func TestWhoIsAskedForSubmits(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*observe.Schedd)
		asked  bool
	}{
		"answers":          {func(*observe.Schedd) {}, true},
		"late":             {func(s *observe.Schedd) { s.Read, s.Late = false, true }, true},
		"failed":           {func(s *observe.Schedd) { s.Failed = errors.New("it hangs") }, false},
		"moved":            {func(s *observe.Schedd) { s.Moved = true }, false},
		"was never read":   {func(s *observe.Schedd) { s.Since = time.Time{} }, false},
		"was not asked":    {func(s *observe.Schedd) { s.Submits = observe.Uncounted }, true},
		"has none of them": {func(s *observe.Schedd) { s.Submits = 0 }, true},
	} {
		t.Run(name, func(t *testing.T) {
			a, s := newAsking(), lookAt(true, "s")
			c.change(s.Schedds["s"])
			a.see(s)
			require.Equal(t, c.asked, a.asks(10, 0, 0) == "s")
		})
	}
}

// TestSlowScheddsAreAskedLess: who takes long is asked seldom, and who does not answer only after the
// next look that reads its queue.
func TestSlowScheddsAreAskedLess(t *testing.T) {
	a := newAsking("s")
	a.at = a.at.Add(time.Minute)
	require.Equal(t, "s", a.asks(10, 100*time.Millisecond, 0))
	a.at = a.at.Add(1999 * time.Millisecond)
	require.Empty(t, a.asks(10, 0, 0))
	a.at = a.at.Add(time.Millisecond)
	next, _ := a.next()
	require.NotNil(t, next)
	a.hear(counted{schedd: next, err: errors.New("it hangs")})
	a.at = a.at.Add(time.Hour)
	require.Empty(t, a.asks(10, 0, 0))
	a.see(lookAt(false, "s"))
	require.Empty(t, a.asks(10, 0, 0))
	a.see(lookAt(true, "s"))
	require.Equal(t, "s", a.asks(10, 0, 0))
}

// TestHungScheddsKeepNobody: while some schedds hang, others are asked.
func TestHungScheddsKeepNobody(t *testing.T) {
	var names []string
	for i := range mostAsking - 1 {
		names = append(names, fmt.Sprint("hangs", i))
	}
	a := newAsking(names...)
	for range names {
		a.at = a.at.Add(time.Second)
		next, _ := a.next()
		require.NotNil(t, next)
	}
	a.see(lookAt(true, append(names, "answers", "answers too")...))
	for _, want := range []string{"answers", "answers too", "answers"} {
		a.at = a.at.Add(time.Second)
		require.Equal(t, want, a.asks(10, 0, 0))
	}
	a.at = a.at.Add(time.Second)
	next, _ := a.next()
	require.NotNil(t, next)
	a.at = a.at.Add(time.Second)
	require.Empty(t, a.asks(10, 0, 0), "as many hang as may be asked at once")
}

// TestOneHostsScheddsAreBounded: of one host some schedds are asked, first those that were before.
func TestOneHostsScheddsAreBounded(t *testing.T) {
	crowd := lookAt(true)
	for i := range 200 {
		s := lookAt(true, fmt.Sprintf("s%03d", i)).Schedds[fmt.Sprintf("s%03d", i)]
		s.Address.Host = "crowd"
		crowd.Schedds[s.Name] = s
	}
	a, one := newAsking(), lookAt(true)
	one.Schedds["s199"] = crowd.Schedds["s199"]
	a.see(one)
	crowd.Schedds["other"] = lookAt(true, "other").Schedds["other"]
	a.see(crowd)
	require.Len(t, a.schedds, mostOfHost+1)
	require.Contains(t, a.schedds, "s199")
	require.Contains(t, a.schedds, "other")
}

// TestAskingIsCheap: whatever schedds there are and however long they take to answer, questions
// take a fiftieth of a processor, and a twentieth of the time of each schedd, or it is asked every
// half second.
func TestAskingIsCheap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var names []string
		for i := range rapid.IntRange(1, 20).Draw(t, "schedds") {
			names = append(names, fmt.Sprint("s", i))
		}
		a := newAsking(names...)
		cost := time.Duration(rapid.IntRange(1, 5000).Draw(t, "µs of a question")) * time.Microsecond
		took := time.Duration(rapid.IntRange(0, 50).Draw(t, "ms of an answer")) * time.Millisecond
		asked, began, end := map[string]int{}, a.at, a.at.Add(30*time.Second)
		for a.at.Before(end) {
			if name := a.asks(10, took, cost); name != "" {
				asked[name]++
				continue
			}
			_, wait := a.next()
			require.Positive(t, wait)
			a.at = a.at.Add(wait)
		}
		span, pause := a.at.Sub(began), max(took*restAfterQuestion, askingEvery)
		require.LessOrEqual(t, a.spent, span/askingPart+100*time.Millisecond, "the price is learned from the first")
		for name, n := range asked {
			require.LessOrEqual(t, time.Duration(n-1)*pause, span, name)
		}
		require.Len(t, asked, len(names), "all have their turn")
	})
}

// standing is a machine with room for a job of bob's, and jobs of alice's that wait for a larger one.
func standing(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "conservative", small(4))
	w.submit(&sleeper{cpus: 8, seconds: 20, estimate: 30})
	ran := w.submit(&sleeper{owner: "bob", cpus: 1, seconds: 1, estimate: 5})
	w.pass(16)
	require.True(t, ran.done)
	w.pool.first, w.pool.s.Interval = nil, 1000*time.Hour // longer than any test
	return w
}

// fetch waits for the next look by a clock that shows a second more each time, and returns what has
// changed.
func (w *world) fetch(ctx context.Context) (negotiator.Delta, error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, poll.Patience)
	defer cancel()
	asked := int64(0)
	w.pool.now = func() time.Time {
		asked++
		return time.Unix(w.now+asked, 0)
	}
	defer func() { w.pool.now = w.pool.s.Clock }()
	return w.pool.Fetch(ctx, backfill.Forever)
}

// TestUnannouncedSubmitsStart: a job starts soon although its schedd does not say that it was
// submitted, as where another user's jobs wait.
func TestUnannouncedSubmitsStart(t *testing.T) {
	w := standing(t)
	bobs := w.submit(&sleeper{owner: "bob", cpus: 1, seconds: 5, estimate: 5})
	w.step()
	d, err := w.fetch(t.Context())
	require.NoError(t, err)
	require.Len(t, d.Submitted, 1)
	require.Len(t, w.decide(d).Matches, 1)
	w.pass(3)
	require.Equal(t, 1, bobs.runs)
	require.Equal(t, 1, w.pool.Last().Found)
}

// TestNothingSubmittedNoLook: while nothing is submitted, nobody looks, however often schedds are
// asked.
func TestNothingSubmittedNoLook(t *testing.T) {
	w := standing(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked, other atomic.Int32
	w.schedd.Before(func(_ context.Context, command int) error {
		if command != 6 {
			other.Add(1)
		}
		if asked.Add(1) == 2 {
			cancel()
		}
		return nil
	})
	w.pool.submits.now = time.Now //nolint:forbidigo // the pool waits in real time here
	_, err := w.fetch(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, other.Load())
}

// TestHungScheddKeepsNoLook: a schedd that does not say what was submitted keeps no look from
// beginning.
func TestHungScheddKeepsNoLook(t *testing.T) {
	w := standing(t)
	asked := make(chan struct{})
	var hangs atomic.Bool
	w.schedd.Before(func(ctx context.Context, command int) error {
		if command == 6 && hangs.CompareAndSwap(false, true) {
			close(asked)
			<-ctx.Done()
		}
		return nil
	})
	go func() {
		<-asked
		w.pool.Wakeup()
	}()
	_, err := w.fetch(t.Context())
	require.NoError(t, err)
}

// TestObserversAskForNoSubmits: who starts no jobs asks no schedd for submits.
func TestObserversAskForNoSubmits(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.settings = func(s *Settings) { s.Observe = true }
	w.negotiator("easy", nil)
	var asked atomic.Int32
	w.schedd.Before(func(_ context.Context, command int) error {
		if command == 6 {
			asked.Add(1)
		}
		return nil
	})
	w.cycle()
	require.EqualValues(t, observe.Uncounted, w.pool.last.Schedds["schedd@test"].Submits)
	w.pool.askForSubmits(t.Context())()
	require.Zero(t, asked.Load())
}
