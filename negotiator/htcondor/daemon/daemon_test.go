package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor"
)

// begin is a first delta: a slot, a job that fits and one that must wait.
func (w *world) begin() negotiator.Delta {
	return negotiator.Delta{Now: 1000, SlotsUp: []*negotiator.Slot{w.slot}, Submitted: []*negotiator.Job{w.job(1, 3, 100), w.job(2, 2, 50)}}
}

// TestLife schedules, tells everyone, and ends in order.
func TestLife(t *testing.T) {
	w, log := newWorld(), &buffer{}
	o := w.options("conservative")
	o.Master, o.Parent, o.Logger = w, os.Getppid(), logTo(log)
	d, end := run(t, o)
	_, err := d.Plan()
	require.ErrorIs(t, err, ErrNoPlan)
	w.deltas <- w.begin()
	w.eventually(t, "a match", func() bool { return len(w.acted) == 1 })
	w.eventually(t, "an ad of a cycle", func() bool {
		if len(w.ads) == 0 {
			return false
		}
		n, _ := w.ads[len(w.ads)-1].Int("LastNegotiationCycleMatches0")
		return n == 1
	})
	log.eventually(t, "start times are known") // the next look tells the reasons, unless this one could
	w.deltas <- negotiator.Delta{Now: 1001}
	w.eventually(t, "a reason", func() bool { return w.told["2.0"] != "" })
	w.mu.Lock()
	require.Equal(t, "1.0", w.acted[0][0].Job.Name)
	require.Equal(t, 1, w.ready)
	require.Equal(t, 1, w.alive)
	require.Contains(t, w.told["2.0"], "reserved, expected start ")
	require.NotContains(t, w.told, "1.0", "it runs")
	ad := w.ads[len(w.ads)-1]
	name, _ := ad.Text("Name")
	require.Equal(t, "here", name)
	w.mu.Unlock()

	ads, err := d.Plans(t.Context(), "2.0")
	require.NoError(t, err)
	require.Len(t, ads, 1)
	plan := ReadJobPlan(ads[0])
	require.Equal(t, "reserved", plan.Situation)
	require.EqualValues(t, 1100, *plan.Start)
	require.EqualValues(t, 1100, *plan.Guarantee)
	matching, _ := ads[0].Int("SlotsMatching")
	require.EqualValues(t, 1, matching)
	require.Equal(t, []Paused{{Slot: "n9", Until: 1200, FailedStarts: 3}}, ReadPaused(ads[0]), "not those of another schedd")
	count, _ := d.Ad().Int("BackfillSlotsPaused")
	require.EqualValues(t, 2, count)
	ads, err = d.Plans(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, ads, 1, "those that wait")
	ads, err = d.Plans(t.Context(), "9.9")
	require.NoError(t, err)
	require.Empty(t, ads)

	require.NoError(t, end())
	require.Equal(t, []string{"here"}, w.gone, "the ad is withdrawn")
	require.Regexp(t, `(?m)^\d\d/\d\d/\d\d \d\d:\d\d:\d\d \[INFO\]  cycle 1: fetch=.* match=.* plan=.* act=.* publish=.* rest=.* slots=1 .* idle=1 running=1 started=1 rss=\d+MiB$`, log.String())
}

// TestAnObserverStartsNothing, and says so.
func TestAnObserverStartsNothing(t *testing.T) {
	w, log := newWorld(), &buffer{}
	o := w.options("conservative")
	o.Observe, o.Once, o.Logger = true, true, logTo(log)
	w.deltas <- w.begin()
	d := New(o)
	require.NoError(t, d.Run(t.Context()))
	require.Regexp(t, `cycle 1: .* idle=2 running=0 would_start=1 rss=`, log.String())
	matches, told := d.Ad().Int("LastNegotiationCycleMatches0")
	require.True(t, told)
	require.Zero(t, matches)
	idle, _ := d.Ad().Int("LastNegotiationCycleNumIdleJobs0")
	require.EqualValues(t, 2, idle)
}

// TestAnEndWithoutACollector is none to worry about.
func TestAnEndWithoutACollector(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		line string
	}{
		"nobody there":      {fmt.Errorf("dial: %w", syscall.ECONNREFUSED), "[INFO]  the Negotiator ad stays: the collector cannot be reached"},
		"hung up":           {fmt.Errorf("read: %w", io.EOF), "[INFO]  the Negotiator ad stays: the collector cannot be reached"},
		"no answer in time": {context.DeadlineExceeded, "[INFO]  the Negotiator ad stays: the collector cannot be reached"},
		"denied":            {errors.New("denied"), "[WARN]  the Negotiator ad could not be withdrawn: error=denied"},
	} {
		w, log := newWorld(), &buffer{}
		w.clinging = c.err
		o := w.options("easy")
		o.Logger = logTo(log)
		_, end := run(t, o)
		w.deltas <- w.begin()
		w.eventually(t, "an ad", func() bool { return len(w.ads) > 0 })
		require.NoError(t, end(), name)
		require.Contains(t, log.String(), c.line, name)
	}
}

func TestOnce(t *testing.T) {
	w := newWorld()
	o := w.options("easy")
	o.Once = true
	w.deltas <- w.begin()
	d := New(o)
	require.NoError(t, d.Run(t.Context()))
	plan, err := d.Plan()
	require.NoError(t, err)
	require.Len(t, plan.Jobs, 2)
	require.Equal(t, "2.0", plan.Jobs[0].Job, "those that wait come first")
}

// TestACluster is all jobs of that number, with all that is known of it if it is one.
func TestACluster(t *testing.T) {
	w := newWorld()
	w.unplanned = []htcondor.Unplanned{{ID: 9, Job: "3.7", Schedd: "b", Owner: "carol", Why: "is on its own"}}
	first := w.begin()
	many := w.job(3, 4, 10)
	first.Submitted = append(first.Submitted, many)
	w.deltas <- first
	o := w.options("conservative")
	o.Once = true
	d := New(o)
	require.NoError(t, d.Run(t.Context()))
	for question, want := range map[string][]string{"1": {"1.0"}, "3": {"3.0", "3.7"}, "3@a": {"3.0"}, "3@b": {"3.7"}, "3@c": nil, "33": nil, "0": nil} {
		ads, err := d.Plans(t.Context(), question)
		require.NoError(t, err)
		var jobs []string
		for _, ad := range ads {
			jobs = append(jobs, ReadJobPlan(ad).Job)
		}
		require.Equal(t, want, jobs, question)
	}
	ads, err := d.Plans(t.Context(), "1")
	require.NoError(t, err)
	_, told := ads[0].Int("SlotsMatching")
	require.True(t, told)
}

// TestForecast gives jobs a start for which the policy reserves nothing.
func TestForecast(t *testing.T) {
	w := newWorld()
	o := w.options("first-fit")
	o.Once = true
	first := w.begin()
	first.Submitted = append(first.Submitted, w.job(3, 4, 10))
	w.deltas <- first
	d := New(o)
	require.NoError(t, d.Run(t.Context()))
	plan, err := d.Plan()
	require.NoError(t, err)
	second, known := plan.Find(2)
	require.True(t, known)
	require.EqualValues(t, 1100, *second.Start)
	third, _ := plan.Find(3)
	require.EqualValues(t, 1150, *third.Start, "behind the second")
	require.Equal(t, "2.0", third.Behind)
}

// TestLeftOut lists jobs that are not planned with, last.
func TestLeftOut(t *testing.T) {
	w := newWorld()
	w.unplanned = []htcondor.Unplanned{{ID: 9, Job: "9.0", Schedd: "s", Owner: "carol", Why: "limit matlab: 1 of 1 in use, 1 wanted"}}
	w.jobs[9] = &negotiator.Job{ID: 9, Name: "9.0"}
	o := w.options("conservative")
	o.Once = true
	w.deltas <- w.begin()
	d := New(o)
	require.NoError(t, d.Run(t.Context()))
	for question, want := range map[string][]string{"": {"2.0", "9.0"}, "9.0": {"9.0"}} {
		ads, err := d.Plans(t.Context(), question)
		require.NoError(t, err)
		var jobs []string
		for _, ad := range ads {
			jobs = append(jobs, ReadJobPlan(ad).Job)
		}
		require.Equal(t, want, jobs)
		last := ReadJobPlan(ads[len(ads)-1])
		require.Equal(t, []string{"carol", "s", "waits", w.unplanned[0].Why}, []string{last.Owner, last.Schedd, last.Situation, last.Why()})
		require.Nil(t, last.Start)
	}
}

// TestMatchesNothing says of a job that no slot may take what is wrong with it, and not
// that it is too large.
func TestMatchesNothing(t *testing.T) {
	w := newWorld()
	picky := w.job(3, 1, 10)
	require.NoError(t, picky.Ad.SetExpr("Requirements", "TARGET.HasDocker"))
	first := w.begin()
	first.Submitted = append(first.Submitted, picky, w.job(4, 5, 10))
	w.deltas <- first
	o := w.options("conservative")
	o.Once = true
	d := New(o)
	require.NoError(t, d.Run(t.Context()))
	for question, want := range map[string][]string{
		"":    {"reserved", "cannot run in this pool: matches no slot", "cannot run in this pool: fits on no slot of the pool, even an empty one"},
		"3.0": {"cannot run in this pool: matches no slot: true on none of 1: TARGET.HasDocker"},
	} {
		ads, err := d.Plans(t.Context(), question)
		require.NoError(t, err)
		var whys []string
		for _, ad := range ads {
			whys = append(whys, ReadJobPlan(ad).Why())
		}
		require.Equal(t, want, whys)
	}
}

// TestZones tells the reader's time, whatever the negotiator's is.
func TestZones(t *testing.T) {
	at := func(clock string) *int64 {
		when, err := time.Parse(time.DateTime, "2026-11-22 "+clock)
		require.NoError(t, err)
		return new(when.Unix())
	}
	here := time.Local //nolint:gosmopolitan // the zone of the process is what this is about
	t.Cleanup(func() { time.Local = here })
	time.Local = time.UTC
	full := JobPlan{Job: "1.0", Situation: "reserved", Start: at("15:04:00"), Guarantee: at("16:00:00"), Reserved: at("15:30:00"), Slots: "a"}
	late := JobPlan{Job: "2.0", Situation: "waits", Start: at("15:04:00"), Slots: "a ×2", Behind: "1.0"}
	runs := JobPlan{Job: "3.0", Situation: "runs", Start: at("15:00:00"), Slots: "a"}
	now := backfill.Time(*at("15:01:00"))
	for _, zone := range []struct {
		at   *time.Location
		want []string
	}{
		{time.UTC, []string{
			"reserved for 15:30 UTC, expected start 15:04 UTC on a, guaranteed by 16:00 UTC", "reserved for 2026-11-22 15:30:00",
			"waits, expected start 15:04 UTC on a ×2, behind job 1.0", "behind job 1.0", "runs since 15:00 UTC on a", "runs",
		}},
		{time.FixedZone("EST", -5*3600), []string{
			"reserved for 10:30 EST, expected start 10:04 EST on a, guaranteed by 11:00 EST", "reserved for 2026-11-22 10:30:00",
			"waits, expected start 10:04 EST on a ×2, behind job 1.0", "behind job 1.0", "runs since 10:00 EST on a", "runs",
		}},
	} {
		var got []string
		for _, plan := range []JobPlan{full, late, runs} {
			ad := plan.Ad(now)
			time.Local = zone.at
			read := ReadJobPlan(ad)
			got = append(got, read.Reason, read.Why())
			time.Local = time.UTC
		}
		require.Equal(t, zone.want, got)
	}
}

// TestBroken tells of guarantees that are broken, and by what.
func TestBroken(t *testing.T) {
	w, log := newWorld(), &buffer{}
	o := w.options("conservative")
	o.Logger = logTo(log)
	d, _ := run(t, o)
	w.deltas <- w.begin()
	w.deltas <- negotiator.Delta{Now: 1200} // the first outlives its estimate
	log.eventually(t, "a guarantee is broken: job=2.0 promised=")
	require.Contains(t, log.String(), "cause=overrun")
	n, _ := d.Ad().Int("BackfillGuaranteesBrokenOverrun")
	require.EqualValues(t, 1, n)
}

// TestRivals refuses to work beside another negotiator, and stops when one comes.
func TestRivals(t *testing.T) {
	rival := htcondor.Other{Name: "there", Address: "<127.0.0.2:1>"}
	w := newWorld()
	w.others = []htcondor.Other{rival}
	var found *RivalError
	require.ErrorAs(t, New(w.options("easy")).Run(t.Context()), &found, "alone: it refuses")
	require.ErrorContains(t, found, "another negotiator, there at <127.0.0.2:1>, is at work")

	for name, other := range map[string]htcondor.Other{
		"an observer":                    {Name: observeName + "there", Address: "<127.0.0.2:1>"},
		"itself":                         {Name: "here", Address: "<127.0.0.1:1>"},
		"a dead one":                     {Name: "there", Address: "<127.0.0.1:9>"},
		"our own ad of before a kill -9": {Name: "here", Address: "<127.0.0.1:9>", Ours: true},
	} {
		w = newWorld()
		w.others = []htcondor.Other{other}
		o := w.options("easy")
		o.Once = true
		w.deltas <- w.begin()
		require.NoError(t, New(o).Run(t.Context()), name)
	}

	w = newWorld()
	w.others = []htcondor.Other{rival}
	o := w.options("easy")
	o.Observe, o.Once = true, true
	w.deltas <- w.begin()
	require.NoError(t, New(o).Run(t.Context()), "who only observes may")

	w = newWorld()
	log := &buffer{}
	o = w.options("easy")
	o.Logger = logTo(log)
	d, end := run(t, o)
	w.deltas <- w.begin()
	w.eventually(t, "a match", func() bool { return len(w.acted) == 1 })
	w.mu.Lock()
	w.others = []htcondor.Other{rival}
	w.mu.Unlock()
	w.deltas <- negotiator.Delta{Now: 1001, Submitted: []*negotiator.Job{w.job(3, 1, 10)}}
	require.Eventually(t, func() bool { why, _ := d.Ad().Text("BackfillStopped"); return why != "" }, 20*time.Second, 5*time.Millisecond)
	name, _ := d.Ad().Text("Name")
	require.Equal(t, observeName+"here", name)
	require.Contains(t, log.String(), "NOTHING IS MATCHED: another negotiator, there")
	require.NoError(t, end())
	require.Len(t, w.acted, 1, "nothing after it came")
}

// TestRivalVanishes goes on by itself when nobody else is at work any more, from what it
// left.
func TestRivalVanishes(t *testing.T) {
	state, err := OpenState(t.TempDir(), hclog.NewNullLogger())
	require.NoError(t, err)
	defer state.Close() //nolint:errcheck // a test's
	w, log := newWorld(), &buffer{}
	rival := htcondor.Other{Name: "here", Address: "<127.0.0.2:1>"} // of the same name
	w.others = []htcondor.Other{rival}
	o := w.options("conservative")
	o.Master, o.Parent, o.Logger, o.State = w, os.Getppid(), logTo(log), state
	d := New(o)
	d.tryAgain = 10 * time.Millisecond
	end := live(t, d)
	stopped := func() bool { why, _ := d.Ad().Text("BackfillStopped"); return why != "" }
	require.Eventually(t, stopped, 20*time.Second, time.Millisecond)
	w.eventually(t, "condor_master is told that it is up", func() bool { return w.ready == 1 })
	meet := func(others ...htcondor.Other) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.others = others
	}
	meet()
	w.deltas <- w.begin()
	w.eventually(t, "a match", func() bool { return len(w.acted) == 1 })
	require.False(t, stopped())
	require.Contains(t, log.String(), "no other negotiator is at work any more")
	meet(rival)
	w.deltas <- negotiator.Delta{Now: 1001}
	require.Eventually(t, stopped, 20*time.Second, time.Millisecond)
	meet()
	w.deltas <- negotiator.Delta{Now: 1002}
	require.Eventually(t, func() bool {
		plan, err := d.Plan()
		if err != nil || plan.Now != 1002 {
			return false
		}
		second, known := plan.Find(2)
		return known && second.Guarantee != nil && *second.Guarantee == 1100
	}, 20*time.Second, time.Millisecond, "the promise stands")
	require.False(t, stopped())
	require.NoError(t, end())
	require.Equal(t, []string{observeName + "here", "here", observeName + "here", "here"}, w.gone, "no ad is left behind")
	require.Len(t, w.acted, 1, "nothing is started twice")
}

// TestTwoBegin lets one of two go on that found nobody when they began; a stock negotiator
// would not yield.
func TestTwoBegin(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		other  htcondor.Other
		yields bool
	}{
		"the other is later":             {htcondor.Other{Name: "there", Address: "<127.0.0.2:1>", Ours: true, Started: now.Add(time.Hour)}, false},
		"the other was first":            {htcondor.Other{Name: "there", Address: "<127.0.0.2:1>", Ours: true, Started: now.Add(-time.Hour)}, true},
		"a stock negotiator comes later": {htcondor.Other{Name: "there", Address: "<127.0.0.2:1>", Started: now.Add(time.Hour)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			d, end := run(t, w.options("easy"))
			w.deltas <- w.begin()
			w.eventually(t, "a match", func() bool { return len(w.acted) == 1 })
			w.mu.Lock()
			w.others = []htcondor.Other{c.other}
			w.mu.Unlock()
			w.deltas <- negotiator.Delta{Now: 1001}
			if c.yields {
				require.Eventually(t, func() bool { why, _ := d.Ad().Text("BackfillStopped"); return why != "" }, 20*time.Second, time.Millisecond)
			} else {
				require.Eventually(t, func() bool { n, _ := d.Ad().Int("BackfillCycles"); return n == 2 }, 20*time.Second, time.Millisecond)
			}
			require.NoError(t, end())
			var found *RivalError
			require.ErrorAs(t, New(w.options("easy")).Run(t.Context()), &found, "who comes to one at work steps back in any case")
		})
	}
	// Two that were started in the same second agree, too.
	a, b := New(Options{Address: "<127.0.0.1:1>"}), New(Options{Address: "<127.0.0.1:2>"})
	b.standing.started = a.standing.started
	of := func(d *Daemon) htcondor.Other {
		return htcondor.Other{Address: d.o.Address, Started: d.standing.started, Ours: true}
	}
	require.NotEqual(t, a.before(of(b)), b.before(of(a)))
}

// TestClockPutBack takes the schedule up anew where it would stand still for an hour.
func TestClockPutBack(t *testing.T) {
	w, log := newWorld(), &buffer{}
	o := w.options("easy")
	o.Logger = logTo(log)
	d, end := run(t, o)
	w.deltas <- w.begin()
	w.eventually(t, "a match", func() bool { return len(w.acted) == 1 })
	w.deltas <- negotiator.Delta{Now: backfill.Time(time.Now().Add(time.Hour).Unix())}
	w.deltas <- w.begin()
	w.eventually(t, "a new beginning", func() bool { return len(w.acted) == 2 })
	require.Contains(t, log.String(), "THE CLOCK WAS PUT BACK")
	require.NoError(t, end())
	n, _ := d.Ad().Int("BackfillCycles")
	require.EqualValues(t, 2, n)
}

// TestEndInACycle lets a cycle that is under way hand over what it decided.
func TestEndInACycle(t *testing.T) {
	w := newWorld()
	begun, release := make(chan struct{}), make(chan struct{})
	w.acting = func(ctx context.Context) {
		close(begun)
		select {
		case <-release:
		case <-ctx.Done():
		}
	}
	o := w.options("easy")
	d := New(o)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	w.deltas <- w.begin()
	<-begun
	cancel()
	close(release)
	require.NoError(t, <-done)
	require.Len(t, w.acted, 1)
	n, _ := d.Ad().Int("BackfillCycles")
	require.EqualValues(t, 1, n, "it is told of as well")
}

// TestDiskIsFull schedules on, loudly, and writes down what is promised when there is
// room again.
func TestDiskIsFull(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=512k"); err != nil {
		t.Skip("skipped: no file system can be mounted here:", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(folder, 0)) })
	state, err := OpenState(folder, hclog.NewNullLogger())
	require.NoError(t, err)
	w, log := newWorld(), &buffer{}
	o := w.options("conservative")
	o.State, o.Logger = state, logTo(log)
	_, end := run(t, o)
	ballast, err := os.Create(filepath.Join(folder, "ballast"))
	require.NoError(t, err)
	for err == nil {
		_, err = ballast.Write(make([]byte, 4096))
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	first := w.begin()
	for id := range 500 {
		first.Submitted = append(first.Submitted, w.job(backfill.JobID(id+3), 4, 100))
	}
	w.deltas <- first
	w.eventually(t, "a match", func() bool { return len(w.acted) == 1 })
	log.eventually(t, "cycle 1:")
	require.Contains(t, log.String(), "WHAT WAS PROMISED COULD NOT BE WRITTEN DOWN")
	require.Contains(t, log.String(), "no space left on device")
	require.NoError(t, ballast.Truncate(0))
	w.deltas <- negotiator.Delta{Now: 1001}
	log.eventually(t, "cycle 2:")
	require.NoError(t, end())
	left, err := state.Left()
	require.NoError(t, err)
	require.Len(t, left.Jobs, 502)
	require.NoError(t, ballast.Close())
	require.NoError(t, state.Close())
}

// childState tells a child of this test where its state is.
const childState = "DAEMON_TEST_STATE"

// child is a negotiator that promises something and then hangs.
func child(folder string) {
	w := newWorld()
	state, err := OpenState(folder, hclog.NewNullLogger())
	if err != nil {
		panic(err)
	}
	o := w.options("conservative")
	o.State = state
	w.deltas <- w.begin()
	go func() {
		for len(w.deltas) > 0 || func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.acted) == 0 }() {
			time.Sleep(time.Millisecond)
		}
		_, _ = os.Stdout.WriteString("acted\n")
	}()
	signals := make(chan struct{})
	if err = New(o).Run(contextOf(signals)); err != nil {
		panic(err)
	}
}

// TestKilled kills a negotiator in the middle of its work: what it promised stands.
func TestKilled(t *testing.T) {
	folder := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childState+"="+folder)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line := make([]byte, len("acted\n"))
	_, err = out.Read(line)
	require.NoError(t, err)
	_, err = OpenState(folder, hclog.NewNullLogger())
	require.ErrorIs(t, err, ErrInUse, "while it lives")
	require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
	require.Error(t, cmd.Wait())

	state, err := OpenState(folder, hclog.NewNullLogger())
	require.NoError(t, err)
	defer state.Close() //nolint:errcheck // a test's
	w := newWorld()
	w.begin() // its jobs are there
	o := w.options("conservative")
	o.State, o.Once = state, true
	w.deltas <- negotiator.Delta{Now: 1001}
	d := New(o)
	require.NoError(t, d.Run(t.Context()))
	plan, err := d.Plan()
	require.NoError(t, err)
	second, known := plan.Find(2)
	require.True(t, known)
	require.NotNil(t, second.Guarantee)
	require.EqualValues(t, 1100, *second.Guarantee)
	first, _ := plan.Find(1)
	require.Equal(t, "runs", first.Situation)
	require.Empty(t, w.acted, "nothing is started twice")
}

func TestWeb(t *testing.T) {
	w, log := newWorld(), &buffer{}
	o := w.options("conservative")
	o.Logger = logTo(log)
	d, _ := run(t, o)
	wait, err := d.Web(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	defer wait()
	url := regexp.MustCompile(`http://\S+`).FindString(log.String())
	get := func(path string) (int, string) {
		response, err := http.Get(url + path)
		require.NoError(t, err)
		defer response.Body.Close() //nolint:errcheck // a test's
		var text strings.Builder
		_, err = copyAll(&text, response.Body)
		require.NoError(t, err)
		return response.StatusCode, text.String()
	}
	code, _ := get("/start-times")
	require.Equal(t, http.StatusServiceUnavailable, code)
	w.deltas <- w.begin()
	w.eventually(t, "a cycle", func() bool { return len(w.acted) == 1 })
	require.Eventually(t, func() bool { _, err := d.Plan(); return err == nil }, 20*time.Second, 5*time.Millisecond)
	code, text := get("/start-times")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, text, `"job":"2.0"`)
	require.Eventually(t, func() bool {
		_, text = get("/metrics")
		return strings.Contains(text, "backfill_cycles_total 1")
	}, 20*time.Second, 5*time.Millisecond)
	require.Contains(t, text, `backfill_jobs{situation="reserved"} 1`)
	http.DefaultClient.CloseIdleConnections()
}
