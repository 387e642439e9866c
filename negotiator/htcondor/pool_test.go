package htcondor

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
)

func small(cpus int64) *node { return &node{name: "n1", cpus: cpus, memory: 4096} }

func TestJobsRunAndEnd(t *testing.T) {
	w := newWorld(t, "easy",
		&node{name: "n1", cpus: 4, memory: 4096, policy: true},
		&node{name: "n2", cpus: 4, memory: 4096},
	)
	for range 8 {
		w.submit(&sleeper{cpus: 2, seconds: 10, estimate: 20})
	}
	w.pass(60)
	for _, j := range w.jobs {
		require.True(t, j.done, "%+v", j)
		require.Equal(t, 1, j.runs)
	}
	f := w.pool.Last()
	require.Equal(t, 8, f.Matched)
	require.Zero(t, f.Unstarted)
	require.Equal(t, 2, f.Slots)
}

func TestGang(t *testing.T) {
	w := newWorld(t, "easy",
		&node{name: "n1", cpus: 4, memory: 4096, policy: true},
		&node{name: "n2", cpus: 4, memory: 4096, policy: true},
	)
	blocker := w.submit(&sleeper{cpus: 3, seconds: 20, estimate: 25})
	w.pass(5)
	gang := w.submit(&sleeper{cpus: 2, nodes: 4, seconds: 10, estimate: 20})
	w.pass(10)
	require.Zero(t, gang.runs, "it does not fit beside the other job")
	require.Empty(t, gang.wants, "a part of it was given away")
	w.pass(30)
	require.True(t, blocker.done)
	require.Equal(t, 1, gang.runs)
}

func TestEvictedAndRemoved(t *testing.T) {
	w := newWorld(t, "conservative", small(4))
	j := w.submit(&sleeper{cpus: 4, seconds: 100, estimate: 100})
	w.pass(14)
	require.EqualValues(t, 2, j.status)
	w.vacate(j)
	j.status = 1
	w.step()
	d, _ := w.cycle()
	require.Len(t, d.StartFailed, 1, "it is back in the queue")
	w.pass(10)
	require.Equal(t, 2, j.runs)
	w.vacate(j)
	j.done = true
	w.step()
	d, _ = w.cycle()
	require.Len(t, d.Completed, 1)
	require.Equal(t, map[backfill.JobID]backfill.Time{d.Completed[0]: backfill.Time(w.now - j.began)}, d.Ran)
}

// TestStoppedJobsTeachNothing: estimators do not learn from jobs that were stopped, unless the jobs
// used all the time that they asked for.
func TestStoppedJobsTeachNothing(t *testing.T) {
	const held, removed = 5, 3
	for name, c := range map[string]struct {
		status, after int64
		taught        bool
	}{
		"held":                   {held, 14, false},
		"removed":                {removed, 14, false},
		"held at its limit":      {held, 50, true},
		"vanished between looks": {0, 14, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "easy", small(4))
			j := w.submit(&sleeper{cpus: 4, seconds: 100, estimate: 40})
			before := w.submit(&sleeper{cpus: 4, seconds: 1, estimate: 100})
			before.status, before.extra = held, "\nEnteredCurrentStatus = 1"
			w.pass(int(c.after))
			require.EqualValues(t, 2, j.status)
			w.vacate(j)
			j.status, j.done, j.extra = c.status, c.status == 0, fmt.Sprintf("\nEnteredCurrentStatus = %d", w.now)
			w.step()
			d, _ := w.cycle()
			require.Len(t, d.Completed, 1)
			ran := backfill.Time(-1)
			if c.taught {
				ran = backfill.Time(w.now - j.began)
			}
			require.Equal(t, map[backfill.JobID]backfill.Time{d.Completed[0]: ran}, d.Ran)
			if c.status == held {
				j.status, j.extra = 1, ""
				w.pass(14)
				require.Equal(t, 2, j.runs, "it was released")
				w.vacate(j)
				j.done = true
				w.step()
				d, _ = w.cycle()
				require.Positive(t, d.Ran[d.Completed[0]])
			}
		})
	}
}

// TestAJobConstraintMayNameAnyAttribute: a schedd evaluates the constraint only against attributes
// that are asked for, so those that it names are asked for.
func TestAJobConstraintMayNameAnyAttribute(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.pool.Tune(Tuning{JobConstraint: `Team =?= "a"`, Hold: poll.Patience})
	ours := w.submit(&sleeper{cpus: 1, seconds: 100, estimate: 100})
	theirs := w.submit(&sleeper{cpus: 1, seconds: 100, estimate: 100})
	ours.extra, theirs.extra = "\nTeam = \"a\"", "\nTeam = \"b\""
	w.pass(14)
	require.Equal(t, 1, ours.runs)
	require.Zero(t, theirs.runs)
}

func TestFailedStartIsTriedAgain(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.fate = func(*sleeper) fate { return fails }
	j := w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10})
	w.pass(20)
	require.Equal(t, 1, w.starts, "it is in flight")
	w.pass(20)
	require.Equal(t, 2, w.starts)
	require.Equal(t, 1, w.pool.Last().Unstarted)
	require.Contains(t, w.log.String(), "its schedd was told, and did not start it")
	w.fate = func(*sleeper) fate { return works }
	w.pass(60)
	require.True(t, j.done)
}

func TestFoundElsewhere(t *testing.T) {
	w := newWorld(t, "conservative", &node{name: "n1", cpus: 4, memory: 4096}, &node{name: "n2", cpus: 4, memory: 4096})
	j := w.submit(&sleeper{cpus: 4, seconds: 50, estimate: 50})
	j.status, j.began, j.at = 2, w.now-10, map[*node]int{w.nodes[1]: 1}
	w.nodes[1].parts[j] = 1
	w.step()
	w.step()
	d, _ := w.cycle()
	require.Len(t, d.Found, 1)
	require.Equal(t, "slot1@n2×1", d.Found[0].Placement.String())
	require.EqualValues(t, j.began, d.Found[0].Start)
	w.vacate(j)
	j.at = map[*node]int{w.nodes[0]: 1}
	w.nodes[0].parts[j] = 1
	w.step()
	w.step()
	d, _ = w.cycle()
	require.Len(t, d.Found, 1, "it has moved")
	require.Equal(t, "slot1@n1×1", d.Found[0].Placement.String())
}

func TestEditedJob(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	running := w.submit(&sleeper{cpus: 4, seconds: 500, estimate: 600})
	w.pass(6)
	j := w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10})
	w.pass(4)
	j.estimate = 50
	running.estimate = 900
	w.step()
	d, _ := w.cycle()
	require.Len(t, d.Changed, 1)
	require.EqualValues(t, 50, d.Changed[0].Estimate)
	require.Len(t, d.Ends, 1)
	require.EqualValues(t, running.began+900+60, d.Ends[0].At)
	w.step()
	d, _ = w.cycle()
	require.Empty(t, d.Changed)
	require.Empty(t, d.Ends)
}

func TestStrangersClaim(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	n := w.nodes[0]
	n.strangers = []string{"Name = \"slot1_9@n1\"\nState = \"Claimed\"\nActivity = \"Busy\"\nDynamicSlot = true\n" +
		"Cpus = 3\nMemory = 128\nRequirements = true\nJobId = \"7.0\"\nGlobalJobId = \"other@test#7.0#1\"\n" +
		"RemoteUser = \"eve@test\""}
	w.pass(20)
	require.EqualValues(t, 3, w.n.State().Use()[0], "it takes room, of which we know nothing else")
	j := w.submit(&sleeper{cpus: 2, seconds: 5, estimate: 5})
	w.pass(10)
	require.Zero(t, j.runs)
	n.strangers = nil
	w.pass(20)
	require.True(t, j.done)
	require.Zero(t, w.n.State().Use()[0])
}

func TestMissingSlot(t *testing.T) {
	w := newWorld(t, "easy",
		small(4),
		&node{name: "n2", cpus: 4, memory: 4096},
		&node{name: "n3", cpus: 4, memory: 4096},
	)
	w.pass(4)
	require.EqualValues(t, 12, w.n.State().Capacity()[0])
	w.nodes[0].down = true
	w.pass(12)
	require.EqualValues(t, 12, w.n.State().Capacity()[0], "it may come back")
	w.pass(20)
	require.EqualValues(t, 8, w.n.State().Capacity()[0])
	w.nodes[0].down = false
	w.pass(8)
	require.EqualValues(t, 12, w.n.State().Capacity()[0])
	for _, n := range w.nodes { // a collector that was restarted knows nobody for a while
		n.down = true
	}
	w.pass(60)
	require.EqualValues(t, 12, w.n.State().Capacity()[0])
}

func TestDrainedSlot(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.nodes[0].closed = true
	j := w.submit(&sleeper{cpus: 1, seconds: 5, estimate: 5})
	w.pass(20)
	require.Zero(t, w.starts)
	w.nodes[0].closed = false
	w.pass(20)
	require.True(t, j.done)
}

func TestDeadSchedd(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	running := w.submit(&sleeper{cpus: 2, seconds: 1000, estimate: 1000})
	w.pass(10)
	require.Equal(t, 1, running.runs)
	waiting := w.submit(&sleeper{cpus: 4, seconds: 10, estimate: 10})
	w.pass(4)
	w.schedd.Stop()
	for range 3 {
		w.now += 4
		d, _ := w.cycle()
		require.Empty(t, d.Completed)
		require.Empty(t, d.Removed)
	}
	require.Equal(t, 1, w.n.State().RunningJobs())
	require.Equal(t, 1, w.n.State().Waiting())
	require.NotEmpty(t, w.pool.Last().Problems)
	w.schedd.Start()
	w.vacate(running)
	running.done = true
	w.capable = "" // the old one is void now
	w.pass(30)
	require.True(t, waiting.done)
}

// TestScheddBehindABroker: a schedd that can be reached only through a broker is reported as a
// problem, and tried now and then.
func TestScheddBehindABroker(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	far := fakes.NewSchedd(t, "far@test")
	at := strings.Trim(far.Address().String(), "<>")
	far.Stop()
	at = strings.SplitN(at, "?", 2)[0]
	w.strangers = []string{fmt.Sprintf("Name = \"far@test\"\nMyAddress = \"<%s?CCBID=1.2.3.4:9618#7>\"", at)}
	j := w.submit(&sleeper{cpus: 1, seconds: 5, estimate: 5})
	tries := 0
	w.pool.s.Security.Connect = func(ctx context.Context, place string) (net.Conn, error) {
		if place == at {
			tries++
		}
		return new(net.Dialer).DialContext(ctx, "tcp", place)
	}
	w.pass(20)
	require.True(t, j.done, "nobody else waits for it")
	require.Equal(t, 1, tries)
	require.Len(t, w.pool.Last().Problems, 1)
	require.Contains(t, w.pool.Last().Problems[0], "broker (CCB), which is not supported: open a way to it")
	require.Equal(t, 1, strings.Count(w.log.String(), "a schedd does not tell its queue"))
	far.Start()
	w.pass(300)
	require.Greater(t, tries, 1)
	require.Empty(t, w.pool.Last().Problems, "there is a way to it now")
}

// holdQueue makes the schedd wait for a release before each answer to a query of its queue.
func (w *world) holdQueue(release <-chan struct{}) {
	w.schedd.Before(func(ctx context.Context, command int) error {
		if command != 516 {
			return nil
		}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	})
}

func TestSlowScheddHoldsNobody(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10})
	release := make(chan struct{})
	setHold(w.pool, 50*time.Millisecond)
	w.holdQueue(release)
	w.step()
	d, _ := w.cycle()
	require.Empty(t, d.Submitted)
	require.Contains(t, w.pool.Last().Problems[0], "has not told its queue")
	close(release)
	poll.Equal(t, 1, func() int { // what it answered late serves a later look
		d, _ = w.cycle()
		return len(d.Submitted)
	})
}

// TestScheddThatIsAlwaysSlow: a look waits only once for a schedd that is always slow to send its
// queue.
func TestScheddThatIsAlwaysSlow(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	release := make(chan struct{}, 1)
	setHold(w.pool, 50*time.Millisecond)
	w.holdQueue(release)
	late := func() bool {
		w.cycle()
		return w.pool.last.Schedds[w.schedd.Name].Late
	}
	w.step()
	require.True(t, late())
	release <- struct{}{} // for its jobs
	release <- struct{}{} // for those that were stopped
	poll.Equal(t, false, late)
	setHold(w.pool, time.Hour) // one that is waited for would have the test run out of time
	require.True(t, late())
	close(release)
	poll.Equal(t, false, late)
}

// written is a writer that calls a function with what is written.
type written func(string)

func (w written) Write(p []byte) (int, error) { w(string(p)); return len(p), nil }

func TestCollectorDown(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.collector.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), poll.Patience)
	defer cancel()
	log := ""
	w.pool.log = hclog.New(&hclog.LoggerOptions{Output: written(func(text string) {
		if log += text; strings.Contains(text, "[WARN]") {
			cancel()
		}
	})})
	_, err := w.pool.lookPatiently(ctx)
	require.ErrorIs(t, err, context.Canceled, "it warned of nothing")
	require.Contains(t, log, "the pool cannot be looked at")
	require.NotEmpty(t, w.pool.Last().Problems)
	w.collector.Start()
	w.publish()
	l, err := w.pool.lookPatiently(context.Background())
	require.NoError(t, err)
	require.NotNil(t, l)
}

// TestNothingOldAfterCollectorDown: what a schedd answered while the collector was down is not used
// once the collector is back: it would be out of date.
func TestNothingOldAfterCollectorDown(t *testing.T) {
	w := newWorld(t, "conservative", small(4))
	j := w.submit(&sleeper{cpus: 4, seconds: 20, estimate: 40})
	w.pass(10)
	require.EqualValues(t, 2, j.status)
	release := make(chan struct{})
	w.schedd.Before(func(ctx context.Context, _ int) error { // it answers when the look is over
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	})
	w.collector.Stop()
	for range 2 {
		_, err := w.pool.look(t.Context())
		require.Error(t, err)
	}
	close(release)
	for !j.done {
		w.step()
	}
	w.collector.Start()
	w.publish()
	d, _ := w.cycle()
	require.Len(t, d.Completed, 1, "it has ended meanwhile")
}

func TestObserve(t *testing.T) {
	w := newWorld(t, "conservative", small(4))
	w.settings = func(s *Settings) { s.Observe = true }
	w.negotiator("conservative", nil)
	j := w.submit(&sleeper{cpus: 4, seconds: 10, estimate: 10})
	w.pass(20)
	require.Positive(t, w.starts)
	require.Empty(t, w.schedd.Matches())
	require.NoError(t, w.pool.Explain(t.Context(), []backfill.JobID{1}, func(backfill.JobID) string { return "x" }))
	require.Empty(t, w.schedd.Rejections())
	require.Zero(t, j.runs)
}

func TestOutOfPlan(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.submit(&sleeper{cpus: 1, seconds: 1, estimate: 1, extra: "\nRequestCpus = \"many\""})
	w.submit(&sleeper{cpus: 1, seconds: 1, estimate: 1, extra: "\nDeferralTime = 1900000000"})
	a := w.submit(&sleeper{cpus: 1, nodes: 2, seconds: 1, estimate: 1})
	b := w.submit(&sleeper{cpus: 1, nodes: 2, seconds: 1, estimate: 1, extra: "\nRank = 1"})
	b.cluster, b.proc = a.cluster, 1
	w.submit(&sleeper{cpus: 1, seconds: 1, estimate: 1, extra: "\nBanned = true"})
	w.step()
	d, report := w.cycle()
	require.Len(t, d.Submitted, 1, "the one that all slots refuse")
	require.Len(t, report.Held, 1)
	why, out := w.pool.Why(w.pool.Find("1.0")[0])
	require.True(t, out)
	require.Contains(t, why.Why, "RequestCpus is \"many\"")
	why, _ = w.pool.Why(w.pool.Find("2.0")[0])
	require.Contains(t, why.Why, "DeferralTime")
	why, _ = w.pool.Why(w.pool.Find("3.0")[0])
	require.Contains(t, why.Why, "differ in more than machine_count")
	var left []string
	for _, u := range w.pool.Unplanned() {
		left = append(left, u.Job+" "+u.Schedd)
	}
	require.Equal(t, []string{"1.0 schedd@test", "2.0 schedd@test", "3.0 schedd@test", "3.1 schedd@test"}, left)
	require.NoError(t, w.pool.Explain(t.Context(), nil, nil))
	poll.Until(t, "them to be told, too", func() ([]fakes.Rejection,
		bool,
	) {
		told := w.schedd.Rejections()
		return told, len(told) > 0
	})
	require.Equal(t, 4, w.pool.Last().Unplanned)
	require.Len(t, w.pool.Find("5.0@schedd@test"), 1)
	require.Empty(t, w.pool.Find("9.9"))
}

func TestExplain(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.submit(&sleeper{cpus: 4, seconds: 900, estimate: 900})
	w.pass(4)
	w.submit(&sleeper{cpus: 4, seconds: 10, estimate: 10})
	w.pass(4)
	ids := w.pool.Find("2.0")
	tell := func(text string) {
		require.NoError(t, w.pool.Explain(t.Context(), ids, func(backfill.JobID) string { return text }))
	}
	tell("reserved | 14:05")
	poll.Equal(t, 1, func() int { return len(w.schedd.Rejections()) })
	r := w.schedd.Rejections()[0]
	require.Equal(t, "reserved / 14:05", r.Reason)
	require.EqualValues(t, 2, r.Cluster)
	tell("something else")
	w.now += 600
	tell("reserved | 14:05")
	tell("new")
	poll.Equal(t, 2, func() int { return len(w.schedd.Rejections()) })
	require.Equal(t, "new", w.schedd.Rejections()[1].Reason)
}

func TestEndsWithItsContext(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.pool.first = nil
	ctx, cancel := context.WithCancel(context.Background())
	go cancel()
	_, err := w.pool.Fetch(ctx, backfill.Forever)
	require.ErrorIs(t, err, context.Canceled)
}

// TestJobThatLeavesDuringALook: when a look asks twice, a job that only the first answer had has
// left its queue, and it is known how long it ran.
func TestJobThatLeavesDuringALook(t *testing.T) {
	w := newWorld(t, "conservative",
		&node{name: "n1", cpus: 4, memory: 4096, static: true},
		&node{name: "n2", cpus: 4, memory: 4096, static: true},
	)
	w.cycle()
	first := w.submit(&sleeper{cpus: 1, seconds: 1000, estimate: 1000})
	w.step()
	w.step()
	w.cycle()
	for first.status != 2 {
		w.step()
	}
	w.now += 10
	next := w.submit(&sleeper{cpus: 1, seconds: 1000, estimate: 1000, extra: "\nRank = TARGET.Foo"})
	w.publish()
	asks := 0
	w.schedd.Before(func(_ context.Context, command int) error {
		if command == 516 { // it is asked for its jobs, and for those that were stopped
			if asks++; asks == 3 {
				w.schedd.SetJobs(next.ad())
			}
		}
		return nil
	})
	d, _ := w.cycle()
	require.GreaterOrEqual(t, asks, 4, "it was asked twice")
	require.Len(t, d.Completed, 1)
	require.Equal(t, backfill.Time(w.now-first.began), d.Ran[d.Completed[0]])
	require.Len(t, d.Submitted, 1)
}
