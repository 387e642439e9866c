package htcondor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/claims"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// TestFiftySchedds: one cycle plans and matches the jobs of all schedds that answer, whatever the
// others do. Jobs of a schedd that answered before keep their places.
func TestFiftySchedds(t *testing.T) {
	f := newFarm(t, "easy", 80, 40)
	for _, s := range f.schedds {
		f.submit(s, 2, "")
	}
	big, dead, mute := f.schedds[0], f.schedds[1], f.schedds[2]
	var groups []*classad.ClassAd
	for g := range 100 {
		ids := make([]string, 1000)
		for i := range ids {
			ids[i] = fmt.Sprintf("%d.%d", g+1, i)
		}
		ad, err := classad.ParseOld(fmt.Sprintf("User = \"alice@test\"\nOwner = \"alice\"\nJobUniverse = 5\n"+
			"JobStatus = 1\nQDate = %d\nRequestCpus = 1\nRequestMemory = 10\nRequirements = true\n"+
			"AllowedExecuteDuration = 600\nJobCount = 1000\nJobIds = \"%s\"", 1_600_000_000+g, strings.Join(ids, " ")))
		require.NoError(t, err)
		groups = append(groups, ad)
	}
	for i, talk := range []func(context.Context, net.Conn){
		silent, silent, silent, silent, drips, drips, drips,
		babbles, babbles, babbles,
	} {
		ad, submitter := crooked(t, fmt.Sprintf("z%d@test", i), talk)
		f.ads, f.more = append(f.ads, ad), append(f.more, submitter)
	}
	// The crooked ones are met first: those that are mute then are not waited for again, while 40
	// handshakes beside the babble have the time that they take on a busy machine.
	honest := f.schedds
	f.schedds = nil
	setHold(f.pool, time.Millisecond)
	require.Empty(t, f.cycle().Matches)
	f.schedds = honest
	setHold(f.pool, poll.Patience)
	require.Len(t, f.cycle().Matches, 80)
	setHold(f.pool, time.Second)
	for _, s := range f.schedds {
		f.matches(s, 2)
	}
	require.Equal(t, 50, f.pool.Last().Schedds)
	require.GreaterOrEqual(t, len(f.pool.Last().Problems), 10)

	// One schedd dies, one hangs, one gets a large queue. What waits and runs of the two
	// stays as it is.
	big.SetGroups(groups...)
	dead.Stop()
	release := make(chan struct{})
	defer close(release)
	mute.Before(func(ctx context.Context, _ int) error {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return errors.New("it was mute")
	})
	f.now = f.now.Add(time.Second)
	late := false // a busy machine may take so long that the question is given up, which is an answer
	poll.Until(t, "as much of the large queue as is planned, which may be late", func() (idle int, so bool) {
		f.cycle()
		idle, late = f.pool.Last().Idle, late || f.pool.last.Schedds[mute.Name].Late
		return idle, idle >= 24_000
	})
	for j := range f.pool.belief.Jobs() {
		if j.Key.Schedd == dead.Name || j.Key.Schedd == mute.Name {
			require.Equal(t, track.Running, j.Phase)
		}
	}
	require.True(t, late)
}

// TestSilentScheddKeepsReservations: the jobs of a schedd that does not answer keep their places
// while its ads are there, and for another quarter of an hour.
func TestSilentScheddKeepsReservations(t *testing.T) {
	f := newFarm(t, "conservative", 1, 2)
	f.submit(f.schedds[0], 3, "")
	f.cycle()
	f.matches(f.schedds[0], 1)
	planned := func() (n int) {
		for _, j := range f.n.Checkpoint().Jobs {
			if j.Placement != nil {
				n++
			}
		}
		return n
	}
	require.Equal(t, 3, planned())
	f.schedds[0].Stop()
	gone := f.schedds[0]
	for range 20 {
		f.now = f.now.Add(time.Minute)
		f.cycle()
		require.Equal(t, 3, planned(), "its ads are there")
	}
	f.schedds = f.schedds[1:]
	for range 15 {
		f.now = f.now.Add(time.Minute)
		f.cycle()
		require.Equal(t, 3, planned())
	}
	f.now = f.now.Add(time.Minute)
	f.cycle()
	require.Zero(t, planned())
	require.NotContains(t, f.pool.last.Schedds, gone.Name)
}

// TestSlowNegotiationDelaysNobody: a cycle waits only once for a schedd that is slow to take its
// matches, and tells the others meanwhile.
func TestSlowNegotiationDelaysNobody(t *testing.T) {
	const ever = time.Hour // whatever waited for so long would have the test run out of time
	f := newFarm(t, "conservative", 24, 3, ever)
	f.pool.s.Security.Timeout = ever
	junk := strings.Repeat("x", 1<<20) // more than the system holds for one who does not read
	var ads []*classad.ClassAd
	for _, ad := range f.collector.Ads("Machine") {
		ad = ad.Clone()
		ad.SetString("Junk", junk)
		ads = append(ads, ad)
	}
	f.collector.SetAds("Machine", ads...)
	slow := f.schedds[1]
	release := make(chan struct{}, 1)
	slow.Before(func(ctx context.Context, command int) error {
		if command == 416 {
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
		return nil
	})
	f.submit(f.schedds[0], 1, "")
	f.submit(slow, 16, "")
	f.submit(f.schedds[2], 1, "")
	told := func(s *fakes.Schedd, n int) { // without another try
		t.Helper()
		f.matches(s, n)
		if f.pool.dispatcher.Status(s.Name).Telling { // a busy machine was late
			poll.Equal(t, true, func() bool { return f.pool.dispatcher.Status(s.Name).Answered })
		}
	}
	heard := func(n int) { // however long it reads, if it goes on
		t.Helper()
		for have := len(slow.Matches()); have < n; {
			have = poll.Until(t, "one more match", func() (got int, so bool) {
				got = len(slow.Matches())
				return got, got > have
			})
		}
		poll.Equal(t, false, func() bool {
			f.pool.dispatcher.HandOver(t.Context())
			return f.pool.dispatcher.Status(slow.Name).Telling
		})
		require.Len(t, slow.Matches(), n)
	}
	report := f.decide()
	require.Len(t, report.Matches, 18)
	setHold(f.pool, 2*time.Second)
	f.act(report)
	told(f.schedds[0], 1)
	told(f.schedds[2], 1)
	require.Empty(t, slow.Matches())
	require.True(t, f.pool.dispatcher.Status(slow.Name).Slow)
	setHold(f.pool, ever)
	for i, s := range f.schedds {
		f.submit(s, []int{2, 16, 2}[i], "")
	}
	f.now = f.now.Add(time.Second)
	require.Len(t, f.cycle().Matches, 2)
	told(f.schedds[0], 2)
	told(f.schedds[2], 2)
	setHold(f.pool, 2*time.Second)
	release <- struct{}{}
	heard(16)
	require.True(t, f.pool.dispatcher.Status(slow.Name).Slow, "it took its time")
	setHold(f.pool, ever)
	f.submit(slow, 17, "")
	f.now = f.now.Add(time.Second)
	require.Len(t, f.cycle().Matches, 1)
	close(release)
	heard(17)
	require.False(t, f.pool.dispatcher.Status(slow.Name).Slow, "it was quick")
	claims := map[string]bool{}
	for _, s := range f.schedds {
		for _, m := range s.Matches() {
			require.False(t, claims[m.Claim], "each claim goes to one job")
			claims[m.Claim] = true
		}
	}
}

// TestSlowScheddKeepsNoReasons: all schedds are told reasons at once; one that hangs is told none
// for a while.
func TestSlowScheddKeepsNoReasons(t *testing.T) {
	f := newFarm(t, "conservative", 1, 3)
	for _, s := range f.schedds {
		f.submit(s, 2, "")
	}
	slow := f.schedds[0]
	f.submit(slow, 3, "")
	f.cycle()
	f.matches(slow, 1) // it reads its match by itself, and that call is not to be counted
	release, calls := make(chan struct{}), make(chan struct{}, 10)
	slow.Before(func(ctx context.Context, _ int) error {
		calls <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	})
	later := f.pool.Find("1.2@" + slow.Name)[0] // the others are told nothing again so soon, slow or not
	var ids []backfill.JobID
	for j := range f.pool.belief.Jobs() {
		if j.ID != later {
			ids = append(ids, j.ID)
		}
	}
	because := func(id backfill.JobID) string {
		if f.pool.belief.Job(id).Key.Schedd == slow.Name {
			return strings.Repeat("because ", 4<<20) // more than the system holds for one who does not read
		}
		return "because"
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told := make(chan error, 1)
	go func() { told <- f.pool.Explain(ctx, ids, because) }()
	for _, s := range f.schedds[1:] {
		poll.Equal(t, 2, func() int { return len(s.Rejections()) })
	}
	<-calls
	require.Empty(t, told, "the slow one is being told")
	cancel() // as the end of its time does
	require.ErrorIs(t, <-told, context.Canceled)
	f.now, ids = f.now.Add(5*time.Minute-time.Second), append(ids, later)
	require.NoError(t, f.pool.Explain(t.Context(), ids, because))
	require.Empty(t, calls, "it is told nothing for a while")
	f.now = f.now.Add(time.Second)
	close(release)
	require.NoError(t, f.pool.Explain(t.Context(), []backfill.JobID{later}, because))
	poll.Equal(t, 1, func() int { return len(calls) }) // another try
}

// TestRenamedSchedd: the jobs of a renamed schedd are known once: under its old name as long as the
// collector has an ad of that, since the other may be anyone's, and then under its new name.
func TestRenamedSchedd(t *testing.T) {
	f := newFarm(t, "conservative", 4, 1)
	s := f.schedds[0]
	f.submit(s, 2, "")
	f.cycle()
	old, known := s.Ad(), s.Name
	for _, more := range [][]string{{old}, nil} {
		if f.ads = more; more == nil {
			known = "renamed@test"
		}
		s.Name = "renamed@test"
		f.now = f.now.Add(time.Second)
		f.cycle()
		f.cycle()
		require.Len(t, f.jobs(), 2)
		for _, j := range f.jobs() {
			require.Equal(t, known, j.Key.Schedd)
		}
		require.Equal(t, 2, f.n.State().RunningJobs()+f.n.State().Waiting())
	}
	require.Len(t, f.pool.last.Schedds, 1)
	require.Equal(t, 1, strings.Count(f.log.String(), "a schedd has another name now"))
}

// TestSlotIsLeftOutForOneSchedd: if starts fail on a slot for one schedd only, the others keep the
// slot, and their promises.
func TestSlotIsLeftOutForOneSchedd(t *testing.T) {
	f := newFarm(t, "conservative", 4, 2)
	a, b := f.schedds[0], f.schedds[1]
	f.submit(a, 1, "")
	f.cycle()
	f.matches(a, 1)
	name, _ := a.Matches()[0].Ad.Text("Name")
	only := fmt.Sprintf("Requirements = TARGET.Name == %q", name)
	f.submit(b, 3, only)
	require.Empty(t, f.cycle().Matches)
	f.now = f.now.Add(4 * time.Second) // nothing came of it
	report := f.cycle()
	require.Equal(t, []claims.Pause{{
		Slot: name, Schedd: a.Name, Users: "alice@test", Failures: 1, Until: f.now.Add(5 * time.Second),
	}},
		f.pool.Last().Paused)
	require.Empty(t, report.Decision.Broken, "nor is the order that they came in")
	report = f.cycle() // jobs of two schedds have been told apart since
	require.Empty(t, report.Decision.Broken)
	f.matches(a, 2)
	f.matches(b, 1)
	again, _ := a.Matches()[1].Ad.Text("Name")
	require.NotEqual(t, name, again)
}

// TestUnreadableQueue: a schedd whose ads cannot be read is one problem of each look, and does not
// flood the log.
func TestUnreadableQueue(t *testing.T) {
	f := newFarm(t, "conservative", 4, 2)
	var groups []*classad.ClassAd
	for i := range 500 {
		ad := classad.New()
		ad.SetInt("JobStatus", 1)
		ad.SetInt("QDate", int64(i))
		ad.SetString("JobIds", "1.x nonsense")
		groups = append(groups, ad)
	}
	f.submit(f.schedds[0], 1, "")
	f.schedds[1].SetGroups(groups...)
	f.cycle()
	require.Len(t, f.jobs(), 1)
	require.Contains(t, strings.Join(f.pool.Last().Problems, ";"), "1000 parts cannot be read")
	require.Less(t, strings.Count(f.log.String(), "\n"), 10)
}

// TestScheddRunsSoManyAtOnce: a schedd that runs as many jobs as it may drops matches in silence.
// It gets no more matches than it can take, and no slot becomes a suspect.
func TestScheddRunsSoManyAtOnce(t *testing.T) {
	w := newWorld(t, "easy",
		&node{name: "n1", cpus: 8, memory: 8192, policy: true},
		&node{name: "n2", cpus: 1, memory: 4096},
	)
	w.most = 2
	w.account(nil)
	for range 6 {
		w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10})
	}
	w.pass(8)
	require.Equal(t, 2, w.running())
	// The others are in the plan, and wait for those to end.
	require.Equal(t, "its schedd runs no more than 2 jobs at once", w.pool.Lacking(w.pool.Find("6.0")[0]))
	w.most = 1 // it is configured anew while more run
	w.pass(150)
	for _, j := range w.jobs {
		require.True(t, j.done)
		require.Equal(t, 1, j.runs)
	}
	require.Zero(t, w.pool.Last().Unstarted)
	require.NotContains(t, w.log.String(), "starts fail there")
}

// TestWaitingJobsOfAFullSchedd: jobs that were planned before the schedd was full are not tried
// while it is, and do not keep others out of the plan for ever.
func TestWaitingJobsOfAFullSchedd(t *testing.T) {
	w := newWorld(t, "easy", &node{name: "n1", cpus: 8, memory: 8192, policy: true})
	w.most = 2
	w.account(nil)
	for range 2 {
		w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10, extra: "\nRequirements = TARGET.Wonder"})
	}
	long := w.submit(&sleeper{cpus: 1, seconds: 300, estimate: 300})
	w.pass(100)
	require.Equal(t, 1, long.runs, "what matches no slot takes no room for long")
	w.most = 1
	for range 3 {
		w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10})
	}
	w.pass(100)
	require.Equal(t, 1, w.running())
	for _, j := range w.jobs[2:] {
		require.LessOrEqual(t, j.runs, 1)
	}
	w.pass(250)
	for _, j := range w.jobs[2:] {
		require.True(t, j.done)
	}
	require.Zero(t, w.pool.Last().Unstarted)
	require.NotContains(t, w.log.String(), "starts fail there")
}

// TestScheddThatSaysThatItIsFull: a schedd may be full with jobs that its queue does not show.
func TestScheddThatSaysThatItIsFull(t *testing.T) {
	w := newWorld(t, "easy",
		&node{name: "n1", cpus: 8, memory: 8192, policy: true},
		&node{name: "n2", cpus: 8, memory: 4096},
		&node{name: "n3", cpus: 8, memory: 4096},
	)
	w.most, w.hidden = 3, 3
	w.account(nil)
	w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10})
	w.pass(60)
	require.NotZero(t, w.pool.Last().Unstarted)
	require.NotContains(t, w.log.String(), "starts fail there")
}
