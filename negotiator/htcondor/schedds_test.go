package htcondor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
)

// farm is a pool of many schedds whose slots are all free and whose jobs all wait. Time
// stands still unless it is moved.
type farm struct {
	t         *testing.T
	collector *fakes.Collector
	schedds   []*fakes.Schedd
	ads       []string // of schedds and submitters
	more      []string
	now       time.Time
	log       *strings.Builder
	pool      *Pool
	n         *negotiator.Negotiator
}

func newFarm(t *testing.T, policy string, slots, schedds int) *farm {
	t.Helper()
	f := &farm{t: t, collector: fakes.NewCollector(t), now: time.Unix(1_700_000_000, 0), log: &strings.Builder{}}
	for i := range schedds {
		f.schedds = append(f.schedds, fakes.NewSchedd(t, fmt.Sprintf("s%02d@test", i)))
	}
	ads, private := make([]string, slots), make([]string, slots)
	for i := range slots {
		ads[i] = fmt.Sprintf("Name = \"slot1@n%d\"\nMyAddress = \"<n%d>\"\nState = \"Unclaimed\"\nActivity = \"Idle\"\nCpus = 1\nMemory = 1024\nArch = \"X86_64\"\nRequirements = true", i, i)
		private[i] = fmt.Sprintf("Name = \"slot1@n%d\"\nMyAddress = \"<n%d>\"\nClaimId = \"<n%d>#1#%d#[]topsecret\"", i, i, i, i)
	}
	f.collector.Set("Machine", ads...)
	f.collector.Set("MachinePrivate", private...)
	schema := negotiator.DefaultSchema()
	schema.Resources = []string{"cpus", "memory", Claims}
	security := fakes.Client()
	f.pool = New(Settings{
		Collector: &client.Collector{Security: security, Addresses: []cedar.Address{f.collector.Address()}}, Security: security,
		Schema: schema, StartSlack: 60, Clock: func() time.Time { return f.now }, Patience: 3 * time.Second,
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: f.log, DisableTime: true}),
	})
	f.pool.hold = poll.Patience // no fake is late because the machine is busy
	var err error
	f.n, err = negotiator.New((&world{t: t, pool: f.pool, policy: policy}).config())
	require.NoError(t, err)
	return f
}

// submit puts idle jobs of one cpu into a schedd's queue.
func (f *farm) submit(s *fakes.Schedd, jobs int, more string) {
	f.t.Helper()
	var ads []string
	for i := range jobs {
		ads = append(ads, fmt.Sprintf("ClusterId = 1\nProcId = %d\nUser = \"alice@test\"\nOwner = \"alice\"\nJobUniverse = 5\nJobStatus = 1\nQDate = 1600000000\nRequestCpus = 1\nRequestMemory = 10\nRequirements = true\nAllowedExecuteDuration = 600\n%s", i, more))
	}
	s.SetJobs(ads...)
}

// publish shows the schedds to the collector.
func (f *farm) publish() {
	schedds, submitters := append([]string{}, f.ads...), append([]string{}, f.more...)
	for _, s := range f.schedds {
		s.SetTime(f.now.Unix())
		schedds = append(schedds, s.Ad())
		submitters = append(submitters, s.SubmitterAd("alice@test", "", 1, 0))
	}
	f.collector.Set("Scheduler", schedds...)
	f.collector.Set("Submitter", submitters...)
}

// cycle is a look and what follows.
func (f *farm) cycle() *negotiator.Report {
	f.t.Helper()
	f.publish()
	l, err := f.pool.look(f.t.Context())
	require.NoError(f.t, err)
	report, err := f.n.RunCycle(f.t.Context(), f.pool.differ(l))
	require.NoError(f.t, err)
	require.NoError(f.t, f.pool.Act(f.t.Context(), report.Matches))
	return report
}

// matches waits until a schedd was handed so many.
func (f *farm) matches(s *fakes.Schedd, n int) {
	f.t.Helper()
	poll.Until(f.t, fmt.Sprintf("%d matches at %s", n, s.Name), func() (seen []any, so bool) {
		have := len(s.Matches())
		return []any{have, f.log}, have == n
	})
}

// crooked is a schedd that says what it likes to whoever calls, until the test ends.
func crooked(t *testing.T, name string, talk func(ctx context.Context, c net.Conn)) (ad, submitter string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer func() { _ = c.Close() }()
				talk(ctx, c)
			})
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		all.Wait()
	})
	at := "<" + listener.Addr().String() + ">"
	return fmt.Sprintf("MyType = \"Scheduler\"\nName = %q\nMyAddress = %q\nScheddIpAddr = %q\nMyCurrentTime = 1\n", name, at, at),
		fmt.Sprintf("MyType = \"Submitter\"\nName = \"alice@test\"\nScheddName = %q\nScheddIpAddr = %q\nMyAddress = %q\nIdleJobs = 1\n", name, at, at)
}

// silent says nothing, drips tells a byte now and then, and babbles rubbish without end.
func silent(ctx context.Context, _ net.Conn) { <-ctx.Done() }

func drips(ctx context.Context, c net.Conn) {
	for ctx.Err() == nil {
		if _, err := c.Write([]byte{1}); err != nil {
			return
		}
		wait, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		<-wait.Done()
		cancel()
	}
}

func babbles(_ context.Context, c net.Conn) {
	rubbish := make([]byte, 4096)
	for {
		_, _ = rand.Read(rubbish)
		if _, err := c.Write(rubbish); err != nil {
			return
		}
	}
}

// One cycle plans and matches the jobs of all schedds that answer, whatever the others
// do; of those that have told their jobs before, these keep their places.
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
		ad, err := classad.ParseOld(fmt.Sprintf("User = \"alice@test\"\nOwner = \"alice\"\nJobUniverse = 5\nJobStatus = 1\nQDate = %d\nRequestCpus = 1\nRequestMemory = 10\nRequirements = true\nAllowedExecuteDuration = 600\nJobCount = 1000\nJobIds = \"%s\"", 1_600_000_000+g, strings.Join(ids, " ")))
		require.NoError(t, err)
		groups = append(groups, ad)
	}
	for i, talk := range []func(context.Context, net.Conn){silent, silent, silent, silent, drips, drips, drips, babbles, babbles, babbles} {
		ad, submitter := crooked(t, fmt.Sprintf("z%d@test", i), talk)
		f.ads, f.more = append(f.ads, ad), append(f.more, submitter)
	}
	// The crooked ones are met first: those that are mute then are not waited for again, while 40 handshakes
	// beside the babble have the time that they take on a busy machine.
	f.pool.s.Patience = poll.Patience
	honest := f.schedds
	f.schedds, f.pool.hold = nil, time.Millisecond
	require.Empty(t, f.cycle().Matches)
	f.schedds, f.pool.hold = honest, poll.Patience
	require.Len(t, f.cycle().Matches, 80)
	f.pool.hold = time.Second
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
	poll.Until(t, "the large queue, which may be late", func() (idle int, so bool) {
		f.cycle()
		idle = f.pool.Last().Idle
		return idle, idle >= 99_000
	})
	for key, j := range f.pool.jobs {
		if key.schedd == dead.Name || key.schedd == mute.Name {
			require.Equal(t, running, j.phase)
		}
	}
	require.Equal(t, "its schedd has not answered yet", func() string {
		_, why := f.pool.ready(&flight{job: &job{key: jobKey{schedd: mute.Name}, group: &group{plan: &plan{}}}})
		return why
	}())
}

// The jobs of a schedd that does not answer keep their places for as long as its ads are
// there and a quarter of an hour more.
func TestSilentScheddKeepsReservations(t *testing.T) {
	f := newFarm(t, "conservative", 1, 2)
	f.submit(f.schedds[0], 3, "")
	f.cycle()
	f.matches(f.schedds[0], 1)
	planned := func() (n int) {
		for _, j := range f.n.Memory().Jobs {
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
	require.NotContains(t, f.pool.schedds, gone.Name)
}

// A schedd that is slow to take its matches is waited for once, and keeps no other from
// being told.
func TestSlowNegotiationDelaysNobody(t *testing.T) {
	f := newFarm(t, "conservative", 24, 3)
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
		if answer := f.pool.schedds[s.Name].telling; answer != nil { // a busy machine was late
			poll.Equal(t, 1, func() int { return len(answer) })
		}
	}
	heard := func(n int) {
		t.Helper()
		poll.Equal(t, n, func() int {
			f.pool.handOver(t.Context())
			if f.pool.schedds[slow.Name].telling != nil {
				return -1 // it is being told
			}
			return len(slow.Matches())
		})
	}
	f.pool.s.Patience = time.Minute
	f.pool.hold = 2 * time.Second
	require.Len(t, f.cycle().Matches, 18)
	told(f.schedds[0], 1)
	told(f.schedds[2], 1)
	require.Empty(t, slow.Matches())
	require.True(t, f.pool.schedds[slow.Name].slow)
	f.pool.hold = time.Hour // one that is waited for would have the test run out of time
	for i, s := range f.schedds {
		f.submit(s, []int{2, 16, 2}[i], "")
	}
	f.now = f.now.Add(time.Second)
	require.Len(t, f.cycle().Matches, 2)
	told(f.schedds[0], 2)
	told(f.schedds[2], 2)
	f.pool.hold = 2 * time.Second
	release <- struct{}{}
	heard(16)
	require.True(t, f.pool.schedds[slow.Name].slow, "it took its time")
	f.pool.hold = time.Hour
	f.submit(slow, 17, "")
	f.now = f.now.Add(time.Second)
	require.Len(t, f.cycle().Matches, 1)
	close(release)
	heard(17)
	require.False(t, f.pool.schedds[slow.Name].slow, "it was quick")
	claims := map[string]bool{}
	for _, s := range f.schedds {
		for _, m := range s.Matches() {
			require.False(t, claims[m.Claim], "each claim goes to one job")
			claims[m.Claim] = true
		}
	}
}

// Reasons are told to all schedds at once; one that hangs is told none for a while.
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
	later := f.pool.jobs[jobKey{slow.Name, 1, 2}].id // the others are told nothing again so soon, slow or not
	var ids []backfill.JobID
	for id := range f.pool.byID {
		if id != later {
			ids = append(ids, id)
		}
	}
	because := func(id backfill.JobID) string {
		if f.pool.byID[id].key.schedd == slow.Name {
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
	f.now, ids = f.now.Add(tellEvery-time.Second), append(ids, later)
	require.NoError(t, f.pool.Explain(t.Context(), ids, because))
	require.Zero(t, f.pool.explained[later].at)
	f.now = f.now.Add(time.Second)
	close(release)
	require.NoError(t, f.pool.Explain(t.Context(), []backfill.JobID{later}, because))
	require.NotZero(t, f.pool.explained[later].at, "it is tried again")
}

// A schedd that was renamed has its jobs once, under its new name, though its old ad
// stays for a while.
func TestRenamedSchedd(t *testing.T) {
	f := newFarm(t, "conservative", 4, 1)
	s := f.schedds[0]
	f.submit(s, 2, "")
	f.cycle()
	old := s.Ad()
	for _, more := range [][]string{{old}, nil} {
		f.ads = more
		s.Name = "renamed@test"
		f.now = f.now.Add(time.Second)
		f.cycle()
		f.cycle()
		require.Len(t, f.pool.jobs, 2)
		for key := range f.pool.jobs {
			require.Equal(t, "renamed@test", key.schedd)
		}
		require.Equal(t, 2, f.n.State().RunningJobs()+f.n.State().Waiting())
	}
	require.Len(t, f.pool.schedds, 1)
	require.Equal(t, 1, strings.Count(f.log.String(), "a schedd has another name now"))
}

// A queue that does not end is not read to its end.
func TestEndlessQueue(t *testing.T) {
	f := newFarm(t, "conservative", 4, 2)
	f.pool.most = 500
	f.submit(f.schedds[0], 1, "A = 1")
	var jobs []string
	for i := range 100 {
		jobs = append(jobs, fmt.Sprintf("ClusterId = 1\nProcId = %d\nUser = \"u%d@test\"\nJobStatus = 1\nRequirements = true", i, i))
	}
	f.schedds[1].SetJobs(jobs...)
	f.cycle()
	require.Len(t, f.pool.jobs, 1)
	require.ErrorContains(t, f.pool.schedds[f.schedds[1].Name].failed, "does not end after 500 bytes")
}

// However many hosts a schedd says that a job runs on, they are counted.
func TestManyHosts(t *testing.T) {
	p := New(Settings{Schema: negotiator.DefaultSchema()})
	hosts := make([]string, 200_000)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("slot1_1@h%d", i)
	}
	at := p.places(&group{hosts: append(hosts, hosts...)}) // quadratic, it would not end
	require.Len(t, at, len(hosts))
	require.Equal(t, 2, at[0].Chunks)
}

// Starts that fail for one schedd alone leave a slot to the others, and what they were
// promised.
func TestSlotIsLeftOutForOneSchedd(t *testing.T) {
	f := newFarm(t, "conservative", 4, 3)
	a, b, c := f.schedds[0], f.schedds[1], f.schedds[2]
	f.submit(a, 1, "")
	f.cycle()
	f.matches(a, 1)
	name, _ := a.Matches()[0].Ad.Text("Name")
	only := fmt.Sprintf("Requirements = TARGET.Name == %q", name)
	f.submit(b, 3, only)
	require.Empty(t, f.cycle().Matches)
	f.now = f.now.Add(4 * time.Second) // nothing came of it
	report := f.cycle()
	require.Equal(t, []Pause{{Slot: name, Schedd: a.Name, Failures: 1, Until: f.now.Add(firstPause)}}, f.pool.Last().Paused)
	require.Empty(t, report.Decision.Broken, "nor is the order that they came in")
	report = f.cycle() // jobs of two schedds have been told apart since
	require.Empty(t, report.Decision.Broken)
	f.matches(a, 2)
	f.matches(b, 1)
	again, _ := a.Matches()[1].Ad.Text("Name")
	require.NotEqual(t, name, again)
	f.now = f.now.Add(4 * time.Second) // nor of b's
	f.cycle()
	require.Contains(t, f.pool.Last().Paused, Pause{Slot: name, Failures: 1, Until: f.now.Add(firstPause)})
	f.submit(c, 1, only)
	require.Empty(t, f.cycle().Matches)
}

// However often startds change how they take amounts, a bounded number of ways is
// remembered.
func TestRoundingsAreBounded(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	for i := range 3 * fewRoundings {
		lines := fmt.Sprintf("Name = \"slot1@n1\"\nState = \"Unclaimed\"\nPartitionableSlot = true\nCpus = 4\nMemory = 4096\nTotalSlotCpus = 4\nTotalSlotMemory = 4096\nRequirements = true\nConsumptionCpus = %d\n", i+1)
		_, err := w.pool.readSlot(cedar.Lines(lines), 1)
		require.NoError(t, err)
	}
	require.LessOrEqual(t, len(w.pool.rounding), fewRoundings+1)
	require.EqualValues(t, 3*fewRoundings, w.pool.taken(classad.New(), backfill.Vector{1, 0, 1})[0])
}

// A schedd whose ads cannot be read is a problem of each look, not lines without end.
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
	require.Len(t, f.pool.jobs, 1)
	require.Contains(t, strings.Join(f.pool.Last().Problems, ";"), "1000 parts cannot be read")
	require.Less(t, strings.Count(f.log.String(), "\n"), 10)
}

// A schedd that runs no more jobs drops matches in silence. It gets no more of them than it
// takes, and no slot is blamed.
func TestScheddRunsSoManyAtOnce(t *testing.T) {
	w := newWorld(t, "easy", &node{name: "n1", cpus: 8, memory: 8192, policy: true}, &node{name: "n2", cpus: 1, memory: 4096})
	w.most = 2
	w.account(nil)
	for range 6 {
		w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10})
	}
	w.pass(8)
	require.Equal(t, 2, w.running())
	why, out := w.pool.Why(w.pool.Find("6.0")[0])
	require.True(t, out)
	require.Equal(t, "its schedd runs no more than 2 jobs at once", why.Why)
	w.most = 1 // it is configured anew while more run
	w.pass(150)
	for _, j := range w.jobs {
		require.True(t, j.done)
		require.Equal(t, 1, j.runs)
	}
	require.Zero(t, w.pool.Last().Unstarted)
	require.NotContains(t, w.log.String(), "starts fail there")
}

// Jobs that were planned with before the schedd was full are not tried while it is, and do not
// keep the others out for ever.
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

// A schedd may be full with jobs that it does not tell us of.
func TestScheddThatSaysThatItIsFull(t *testing.T) {
	w := newWorld(t, "easy", &node{name: "n1", cpus: 8, memory: 8192, policy: true}, &node{name: "n2", cpus: 8, memory: 4096}, &node{name: "n3", cpus: 8, memory: 4096})
	w.most, w.hidden = 3, 3
	w.account(nil)
	w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10})
	w.pass(60)
	require.NotZero(t, w.pool.Last().Unstarted)
	require.NotContains(t, w.log.String(), "starts fail there")
}
