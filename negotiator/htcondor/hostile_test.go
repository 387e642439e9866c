package htcondor

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// TestHostileJobs: nothing that users write into their jobs stops the negotiator.
func TestHostileJobs(t *testing.T) {
	w := newWorld(t, "conservative", small(4))
	for _, extra := range []string{
		"QDate = -1e300", "QDate = 99999999999999999", "QDate = error", "JobPrio = real(\"NaN\")", "MinHosts = 0",
		"AllowedExecuteDuration = 1e300", "AllowedExecuteDuration = -5", "RequestMemory = 1e11", "RequestCpus = 0",
		"RequestCpus = 0.5",
		"RequestMemory = real(\"INF\")", "Requirements = MY.Requirements", "Requirements = TARGET.'a\"b' == 1",
		"User = 7", "ConcurrencyLimits = \",,:\"",
		"AccountingGroup = \"@\"", "Rank = 1/0", "JobUniverse = 11\nMaxHosts = 99999999999", "JobUniverse = 11\n" +
			"MaxHosts = 1000000\nRequestMemory = 1000000000000",
	} {
		w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10, extra: "\n" + extra})
	}
	wide := w.submit(&sleeper{cpus: 1, nodes: 1_000_000, memory: 100_000_000_000, seconds: 1, estimate: 1})
	run := w.submit(&sleeper{cpus: 1, seconds: 50, estimate: 50, extra: "\nJobCurrentStartDate = -99999999999999"})
	run.status, run.began, run.at = 2, w.now, map[*node]int{w.nodes[0]: 1}
	w.nodes[0].parts[run] = 1
	w.step()
	w.cycle()
	w.step()
	w.cycle()
	require.Contains(t, w.log.String()+fmt.Sprint(w.pool.Why(w.pool.Find(fmt.Sprintf("%d.0", wide.cluster))[0])),
		"nodes")
}

// TestClockPutBack: a clock that is put back neither stops the negotiator nor makes it wait.
func TestClockPutBack(t *testing.T) {
	w := newWorld(t, "conservative", small(4))
	w.pass(8)
	w.now -= 3600
	j := w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10})
	j.submit = 1
	w.pass(30)
	require.True(t, j.done)
}

// TestEditedWhileRunning: a job that runs on another number of nodes than it asks for still takes
// up its slots.
func TestEditedWhileRunning(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	j := w.submit(&sleeper{cpus: 3, seconds: 500, estimate: 600})
	w.pass(8)
	require.Equal(t, 1, j.runs)
	j.extra = "\nRequestCpus = \"many\""
	w.pass(24)
	require.EqualValues(t, 3, w.n.State().Use()[0])
	w.vacate(j)
	j.done = true
	w.pass(24)
	require.Zero(t, w.n.State().Use()[0])
}

// TestEditedInFlight: a job that is edited while its match waits to be handed over is planned anew,
// and gets what it asks for now.
func TestEditedInFlight(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	first := w.submit(&sleeper{cpus: 4, seconds: 30, estimate: 40})
	w.pass(8)
	j := w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10})
	w.pass(4)
	first.done, first.status = true, 4 // its schedd knows, its startd has not cleared up
	w.step()
	_, report := w.cycle()
	require.Len(t, report.Matches, 1)
	require.Zero(t, j.matched)
	j.cpus, j.estimate = 3, 77
	w.step()
	d, _ := w.cycle()
	require.Len(t, d.Removed, 1)
	require.Len(t, d.Submitted, 1)
	require.Zero(t, w.pool.Last().Unstarted)
	w.vacate(first)
	w.pass(8)
	require.Equal(t, 1, j.runs)
	require.EqualValues(t, 3, w.n.State().Use()[0])
}

// TestEditedAndEvicted: when a job comes back to the queue, it is planned as it was edited while it
// ran.
func TestEditedAndEvicted(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	j := w.submit(&sleeper{cpus: 1, seconds: 500, estimate: 600})
	w.pass(8)
	j.cpus = 4
	w.pass(8)
	require.EqualValues(t, 1, w.n.State().Use()[0], "it has what it has")
	w.nodes[0].closed = true
	w.vacate(j)
	j.status = 1
	w.pass(8)
	w.nodes[0].closed = false
	w.pass(16)
	require.Equal(t, 2, j.runs)
	require.EqualValues(t, 4, w.n.State().Use()[0])
}

// TestDeadSlotWithJobs: a slot that has gone with its jobs gets no other jobs.
func TestDeadSlotWithJobs(t *testing.T) {
	w := newWorld(t, "easy",
		small(4),
		&node{name: "n2", cpus: 4, memory: 4096},
		&node{name: "n3", cpus: 4, memory: 4096},
	)
	for range 3 {
		w.submit(&sleeper{cpus: 3, seconds: 400, estimate: 600})
	}
	w.pass(16)
	dead := w.nodes[0]
	require.NotEmpty(t, dead.parts)
	dead.hidden = true // its machine is off; the schedds have not given its jobs up
	w.pass(60)
	for range 3 {
		w.submit(&sleeper{cpus: 1, seconds: 20, estimate: 20})
	}
	w.pass(100)
	for _, j := range w.jobs[3:] {
		require.True(t, j.done)
	}
	require.Zero(t, w.pool.Last().Unstarted, "nothing was tried there")
	require.EqualValues(t, 9, w.n.State().Use()[0], "its job has not been given up")
	dead.hidden = false
	w.submit(&sleeper{cpus: 1, seconds: 300, estimate: 300})
	w.submit(&sleeper{cpus: 1, seconds: 300, estimate: 300})
	w.submit(&sleeper{cpus: 1, seconds: 300, estimate: 300})
	w.pass(20)
	require.EqualValues(t, 12, w.n.State().Use()[0], "it is back")
}

// TestForgottenStrangers: foreign claims stay planned around while the collector has forgotten
// them.
func TestForgottenStrangers(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	n := w.nodes[0]
	n.strangers = []string{"Name = \"slot1_9@n1\"\nMyAddress = \"<n1>\"\nState = \"Claimed\"\nActivity = \"Busy\"\n" +
		"DynamicSlot = true\nCpus = 3\nMemory = 128\nRequirements = true\nJobId = \"7.0\"\nGlobalJobId = \"other@test#7.0#1\"\n" +
		"RemoteUser = \"eve@test\""}
	w.pass(20)
	require.EqualValues(t, 3, w.n.State().Use()[0])
	n.hidden = true
	w.pass(20)
	require.EqualValues(t, 3, w.n.State().Use()[0])
	n.hidden, n.strangers = false, nil
	w.pass(8)
	require.Zero(t, w.n.State().Use()[0])
}

// TestClaimOfMovedJob: a claim that a startd keeps after its job has moved elsewhere still takes up
// its slot.
func TestClaimOfMovedJob(t *testing.T) {
	w := newWorld(t, "easy", small(4), &node{name: "n2", cpus: 4, memory: 4096})
	j := w.submit(&sleeper{cpus: 1, seconds: 500, estimate: 600})
	w.pass(8)
	old := "n1"
	if j.at[w.nodes[1]] > 0 {
		old = "n2"
	}
	other := w.nodes[0]
	if old == "n1" {
		other = w.nodes[1]
	}
	w.vacate(j)
	j.at, j.began = map[*node]int{other: 1}, w.now
	other.parts[j] = 1
	w.node("slot1@" + old).strangers = []string{fmt.Sprintf("Name = \"slot1_1@%s\"\nMyAddress = \"<%s>\"\nState = \"Preempting\"\n"+
		"DynamicSlot = true\nCpus = 1\nMemory = 128\nRequirements = true\nJobId = \"1.0\"\n"+
		"GlobalJobId = \"schedd@test#1.0#1\"", old, old)}
	w.pass(24)
	require.EqualValues(t, 2, w.n.State().Use()[0])
}

// TestRoundingComesLate: requests are rounded as soon as there is a slot that rounds.
func TestRoundingComesLate(t *testing.T) {
	w := newWorld(t, "easy", &node{name: "n1", cpus: 4, memory: 4096, policy: true})
	w.submit(&sleeper{cpus: 4, seconds: 500, estimate: 600, memory: 100})
	w.pass(8)
	w.submit(&sleeper{cpus: 4, seconds: 500, estimate: 600, memory: 100})
	w.pass(8)
	w.nodes = append(w.nodes, &node{name: "n2", cpus: 2, memory: 4096, parts: map[*sleeper]int{}})
	w.pass(8)
	for _, j := range w.n.State().Snapshot().Jobs {
		if !j.Running {
			require.EqualValues(t, 128, j.Job.Request[1])
		}
	}
}

// TestPassingAttributeAskedForLate: an attribute that a job has had all along may first be asked
// for later.
func TestPassingAttributeAskedForLate(t *testing.T) {
	w := newWorld(t, "easy", &node{name: "n1", cpus: 1, memory: 4096, policy: true})
	w.submit(&sleeper{cpus: 1, seconds: 500, estimate: 600})
	w.pass(8)
	j := w.submit(&sleeper{cpus: 1, seconds: 5, estimate: 5, extra: "\nJobPrio = 7"})
	w.pass(8)
	w.nodes = append(w.nodes, &node{
		name: "n2", cpus: 2, memory: 4096, policy: true, start: "TARGET.JobPrio == 7",
		parts: map[*sleeper]int{},
	})
	w.pass(24)
	require.True(t, j.done)
}

// TestAttributesAreBounded: users cannot make a look ask for an unbounded number of attributes.
func TestAttributesAreBounded(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	for k := range 40 {
		var rank []string
		for i := range 90 + k {
			rank = append(rank, fmt.Sprintf("TARGET.A%d_%d =?= 1", k, i))
		}
		w.submit(&sleeper{cpus: 1, seconds: 1, estimate: 1, extra: "\nRank = " + strings.Join(rank, " || ")})
	}
	ours := w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10, extra: "\nRank = TARGET.'a b;c' =!= 1"})
	w.pass(40)
	why, _ := w.pool.Why(w.pool.Find("40.0")[0])
	require.Contains(t, why.Why, "must be at most 100")
	w.pass(20)
	require.True(t, ours.done)
}

// TestDeadScheddIsWaitedForOnce: a look waits for a schedd that does not answer only once.
func TestDeadScheddIsWaitedForOnce(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.pass(4)
	setHold(w.pool, 200*time.Millisecond)
	release := make(chan struct{})
	defer close(release)
	w.schedd.Before(func(ctx context.Context, _ int) error {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	})
	w.step()
	w.cycle()
	setHold(w.pool, time.Hour) // one that is waited for would have the test run out of time
	for range 3 {
		w.step()
		w.cycle()
		require.NotEmpty(t, w.pool.Last().Problems)
	}
}

// TestWait: looks keep their distance, and a flight that is long overdue does not cause one after
// the other.
func TestWait(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	now := time.Unix(w.now, 0)
	w.pool.belief.See(&observe.Snapshot{Schedds: map[string]*observe.Schedd{"s": {Name: "s", Read: true, Groups: []*observe.Group{
		{Spec: &observe.Spec{}, Jobs: []observe.JobKey{{Schedd: "s", Cluster: 1}}},
	}}}})
	w.pool.claims.Start(now.Add(-time.Hour), []negotiator.Match{{Job: &negotiator.Job{ID: 1}}})
	require.Len(t, w.pool.claims.Flights(), 1)
	s := &observe.Snapshot{Began: now, Ended: now, Now: backfill.Time(w.now)}
	w.pool.belief.See(s)
	w.pool.last, w.pool.looked, w.pool.cycleEnd = s, now, now
	for _, c := range []struct {
		wake  backfill.Time
		after time.Duration
	}{
		{backfill.Forever, time.Minute},
		{backfill.Time(w.now) + 20, 20 * time.Second},
		{0, time.Second},
		{-backfill.Forever, time.Second},
	} {
		require.Equal(t, now.Add(c.after), w.pool.due(c.wake), "%d", c.wake)
	}
}

// TestFloodOfWakeups: however often somebody asks for a cycle, CycleDelay passes after each.
// Otherwise cycles that take long would follow each other at once, and nothing else would be
// served.
func TestFloodOfWakeups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Settings{Tuning: Tuning{Pace: config.Pace{CycleDelay: 2 * time.Second}}})
		for range 3 {
			p.looked = p.now()
			<-time.After(time.Minute) //nolint:forbidigo // the cycle, in the bubble's time
			p.cycleEnd = p.now()
			ctx, end := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for ctx.Err() == nil {
					p.Wakeup()
					<-time.After(time.Millisecond) //nolint:forbidigo // as above
				}
			}()
			_, _, err := p.wait(ctx, backfill.Forever)
			require.NoError(t, err)
			require.Equal(t, 2*time.Second, p.now().Sub(p.cycleEnd))
			end()
			<-ended
		}
	})
}

// TestMinInterval: so much time passes between the beginnings of two looks, however short the cycle, and
// if the cycle was longer, it is followed by CycleDelay.
func TestMinInterval(t *testing.T) {
	for took, after := range map[time.Duration]time.Duration{
		time.Second: 9 * time.Second, 9 * time.Second: 2 * time.Second, time.Minute: 2 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			p := New(Settings{Tuning: Tuning{Pace: config.Pace{CycleDelay: 2 * time.Second, MinInterval: 10 * time.Second}}})
			p.looked = p.now()
			<-time.After(took) //nolint:forbidigo // the cycle, in the bubble's time
			p.cycleEnd = p.now()
			p.Wakeup()
			_, _, err := p.wait(t.Context(), backfill.Forever)
			require.NoError(t, err)
			require.Equal(t, after, p.now().Sub(p.cycleEnd), "%v", took)
		})
	}
}

// TestTune: the constraints and the interval can change between two cycles.
func TestTune(t *testing.T) {
	w := newWorld(t, "easy", small(4), &node{name: "n2", cpus: 4, memory: 4096})
	ours := w.submit(&sleeper{cpus: 1, seconds: 100, estimate: 100, extra: "\nTeam = \"a\""})
	theirs := w.submit(&sleeper{cpus: 4, seconds: 100, estimate: 100, extra: "\nTeam = \"b\""})
	wide := w.submit(&sleeper{cpus: 4, seconds: 100, estimate: 100, extra: "\nTeam = \"a\""})
	w.pool.Tune(Tuning{Look: config.Look{
		JobConstraint: `Team =?= "a"`, SlotConstraint: `Name == "slot1@n1"`, Interval: 7 * time.Second,
	}})
	w.pass(14)
	require.Equal(t, 1, ours.runs)
	require.Zero(t, theirs.runs, "it is left out")
	require.Zero(t, wide.runs, "the other slot is left out")
	require.Equal(t, w.pool.looked.Add(7*time.Second), w.pool.due(backfill.Forever))
	w.pool.Tune(Tuning{})
	w.pass(30)
	require.Equal(t, 1, theirs.runs+wide.runs, "there is one other slot")
	require.Equal(t, w.pool.looked.Add(time.Minute), w.pool.due(backfill.Forever))
}

// TestSlotsThatChangeTheirMind: a job that is planned on a slot which now refuses jobs is planned
// anew, under every policy; a job that no slot accepted is queued once one does.
func TestSlotsThatChangeTheirMind(t *testing.T) {
	for _, policy := range []string{"conservative", "easy", "ibb"} {
		w := newWorld(t, policy, &node{name: "n1", cpus: 4, memory: 4096}, &node{name: "n2", cpus: 4, memory: 4096})
		w.submit(&sleeper{cpus: 4, seconds: 100, estimate: 100})
		w.submit(&sleeper{cpus: 4, seconds: 60, estimate: 60})
		w.pass(16)
		c := w.submit(&sleeper{cpus: 4, seconds: 30, estimate: 30})
		banned := w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10, extra: "\nBanned = true"})
		w.pass(8)
		require.Equal(t, 1, w.n.State().Held())
		for n := range w.jobs[1].at {
			n.closed = true
		}
		w.pass(150)
		require.True(t, c.done, "%s\n%s", policy, w.log)
		require.Zero(t, w.pool.Last().Unstarted, policy)
		for _, n := range w.nodes {
			n.closed, n.start = false, "true"
		}
		w.pass(60)
		require.True(t, banned.done, policy)
	}
}

// TestBrokenAdsShowNoSecret: ads that cannot be read, or that come from broken daemons, put no
// secret into the log.
func TestBrokenAdsShowNoSecret(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.submit(&sleeper{cpus: 1, seconds: 5, estimate: 5})
	w.pass(4)
	w.collector.Garble(func(line string) string { // what cuts a line in two
		if strings.HasPrefix(line, "ClaimId") || strings.HasPrefix(line, "Capability") {
			return strings.TrimSuffix(line, `"`)
		}
		return line
	})
	for range 10 {
		w.step()
		_, _ = w.pool.look(t.Context())
		w.pool.dispatcher.HandOver(t.Context())
	}
	require.NotContains(t, w.log.String()+fmt.Sprint(w.pool.Last()), "topsecret")
	require.Contains(t, w.log.String(), "cannot be read")
	w.collector.Garble(nil)
	w.pass(60)
	require.True(t, w.jobs[0].done)
}

// TestIdleClaimUnderJobsOnTheirWay: an idle claim is planned around, even while jobs are being
// started beside it.
func TestIdleClaimUnderJobsOnTheirWay(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.nodes[0].lingering = []lingering{{cpus: 3, memory: 128, until: w.now + 400}}
	j := w.submit(&sleeper{cpus: 2, seconds: 10, estimate: 10})
	w.pass(150)
	require.EqualValues(t, 3, w.n.State().Use()[0])
	require.Equal(t, 1, w.pool.Last().Foreign)
	w.pass(300)
	require.True(t, j.done)
	require.Zero(t, w.pool.Last().Foreign)
}

// TestANewConstraintTeachesNothing: running jobs that a new constraint leaves out disappear without
// having ended: their run times are unknown, so that estimators do not learn from them.
func TestANewConstraintTeachesNothing(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	for _, team := range []string{"a", "b"} {
		w.submit(&sleeper{cpus: 1, seconds: 60, estimate: 100, extra: fmt.Sprintf("\nTeam = %q", team)})
	}
	w.pass(20)
	w.pool.Tune(Tuning{Look: config.Look{JobConstraint: `Team =?= "a"`}})
	stays, leaves := w.pool.Find("1.0")[0], w.pool.Find("2.0")[0]
	foreign, ran := false, map[backfill.JobID]backfill.Time{}
	for range 12 {
		for range 4 {
			w.step()
		}
		d, _ := w.cycle()
		foreign = foreign || w.pool.Last().Foreign > 0
		for _, id := range d.Completed {
			ran[id] = d.Ran[id]
		}
	}
	require.Equal(t, backfill.Time(-1), ran[leaves])
	require.True(t, foreign, "its claim is planned around")
	require.Positive(t, ran[stays], "one that has ended tells")
}
