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
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// begin is a first delta: a slot, a job that fits, and one that must wait.
func (w *world) begin() negotiator.Delta {
	return negotiator.Delta{
		Now: 1000, SlotsUp: []*negotiator.Slot{w.slot},
		Submitted: []*negotiator.Job{w.job(1, 3, 100), w.job(2, 2, 50)},
	}
}

// TestLife runs two cycles, checks what the daemon publishes and answers, and ends it.
func TestLife(t *testing.T) {
	w, log := newWorld(), &buffer{}
	o := w.options("conservative")
	o.Master, o.Parent, o.Logger = w, os.Getppid(), logTo(log)
	require.Empty(t, New(o).Resources("a"), "the pool has not been looked at")
	d, end := run(t, o)
	_, err := d.Forecast()
	require.ErrorIs(t, err, ErrNoPlan)
	w.deltas <- w.begin()
	poll.Equal(t, 1, w.acts)
	poll.Contains(t, "LastNegotiationCycleMatches0 = 1;", w.lastAd)
	poll.Contains(t, "start times are known", log.String) // reasons are sent before the next look
	w.deltas <- negotiator.Delta{Now: 1001}
	poll.Contains(t, "reserved, expected start ", locked(w, func() string { return w.reasons["2.0"] }))
	w.mu.Lock()
	require.Equal(t, "1.0", w.acted[0][0].Job.Name)
	require.Equal(t, 1, w.ready)
	require.Equal(t, 1, w.alive)
	require.NotContains(t, w.reasons, "1.0", "it runs")
	ad := w.ads[len(w.ads)-1]
	name, _ := ad.Text("Name")
	require.Equal(t, "here", name)
	w.mu.Unlock()

	require.Equal(t, "Name1 = \"slot1_1@a@\"\nStartTime1 = 900\nName2 = \"slot1_2@b@\"\nStartTime2 = 1000\n",
		string(d.Resources("a")))
	ads, err := d.Plans(t.Context(), "2.0")
	require.NoError(t, err)
	require.Len(t, ads.All(), 1)
	plan := ReadJobForecast(ads.All()[0], time.UTC)
	require.Equal(t, "reserved", plan.Situation)
	require.EqualValues(t, 1100, *plan.Start)
	require.EqualValues(t, 1100, *plan.Guarantee)
	matching, _ := ads.All()[0].Int("SlotsMatching")
	require.EqualValues(t, 1, matching)
	require.Equal(t, []Paused{{Slot: "n9", Until: 1200, FailedStarts: 3}}, ReadPaused(ads.All()[0]),
		"not those of another schedd")
	count, _ := d.Ad().Int("BackfillSlotsPaused")
	require.EqualValues(t, 2, count)
	count, _ = d.Ad().Int("BackfillSlotsDeaf")
	require.EqualValues(t, 3, count)
	count, _ = d.Ad().Int("BackfillContestedNames")
	require.EqualValues(t, 4, count)
	ads, err = d.Plans(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, ads.All(), 1, "those that wait")
	ads, err = d.Plans(t.Context(), "9.9")
	require.NoError(t, err)
	require.Empty(t, ads.All())

	require.NoError(t, end())
	require.Equal(t, []string{"here"}, w.gone, "the ad is withdrawn")
	require.Regexp(t, `(?m)^\d\d/\d\d/\d\d \d\d:\d\d:\d\d \[INFO\]  cycle 1: `+
		`fetch=.* match=.* plan=.* act=.* publish=.* rest=.* slots=1 .* idle=1 running=1 started=1 rss=\d+MiB$`+
		`(?s).*\[INFO\]  ---------- Finished Negotiation Cycle ----------\n`, log.String())
}

// TestAnObserverStartsNothing checks that an observer's log and ad count no starts.
func TestAnObserverStartsNothing(t *testing.T) {
	w, log := newWorld(), &buffer{}
	o := w.options("conservative")
	o.Observe, o.Once, o.Logger = true, true, logTo(log)
	w.deltas <- w.begin()
	d := New(o)
	require.NoError(t, d.Run(t.Context()))
	require.Regexp(t, `cycle 1: .* idle=2 running=0 would_start=1 rss=`, log.String())
	matches, published := d.Ad().Int("LastNegotiationCycleMatches0")
	require.True(t, published)
	require.Zero(t, matches)
	idle, _ := d.Ad().Int("LastNegotiationCycleNumIdleJobs0")
	require.EqualValues(t, 2, idle)
}

// TestAnEndWithoutACollector checks that the daemon ends without a warning if the collector is
// gone.
func TestAnEndWithoutACollector(t *testing.T) {
	const stays = "[INFO]  the Negotiator ad stays: the collector cannot be reached"
	for name, c := range map[string]struct {
		err  error
		line string
	}{
		"nobody there":      {fmt.Errorf("dial: %w", syscall.ECONNREFUSED), stays},
		"hung up":           {fmt.Errorf("read: %w", io.EOF), stays},
		"no answer in time": {context.DeadlineExceeded, stays},
		"denied":            {errors.New("denied"), "[WARN]  the Negotiator ad could not be withdrawn: error=denied"},
	} {
		w, log := newWorld(), &buffer{}
		w.clinging = c.err
		o := w.options("easy")
		o.Logger = logTo(log)
		_, end := run(t, o)
		w.deltas <- w.begin()
		poll.Contains(t, "Name = ", w.lastAd)
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
	plan, err := d.Forecast()
	require.NoError(t, err)
	require.Len(t, plan.Jobs, 2)
	require.Equal(t, "2.0", plan.Jobs[0].Job, "those that wait come first")
}

// TestBroken checks that broken guarantees are logged and counted, with their cause.
func TestBroken(t *testing.T) {
	w, log := newWorld(), &buffer{}
	o := w.options("conservative")
	o.Logger = logTo(log)
	d, _ := run(t, o)
	w.deltas <- w.begin()
	w.deltas <- negotiator.Delta{Now: 1200} // the first outlives its estimate
	poll.Contains(t, "a guarantee is broken: job=2.0 promised=", log.String)
	require.Contains(t, log.String(), "cause=overrun")
	n, _ := d.Ad().Int("BackfillGuaranteesBrokenOverrun")
	require.EqualValues(t, 1, n)
	require.NotContains(t, log.String(), "cause=lease")

	w.lose(track.Broken{Job: "3.0", Promised: 1300, Now: 1400, Cause: "lease"})
	w.deltas <- negotiator.Delta{Now: 1201}
	poll.Contains(t, "cause=lease", log.String)
	require.Contains(t, log.String(), "a guarantee is broken: job=3.0 promised=")
	n, _ = d.Ad().Int("BackfillGuaranteesBrokenLease")
	require.EqualValues(t, 1, n)
}

// TestLifted checks that the log says how many promises were lifted when a policy takes over that
// gives none.
func TestLifted(t *testing.T) {
	w, log := newWorld(), &buffer{}
	o, easy := w.options("conservative"), w.options("easy").Negotiator
	changes := make(chan negotiator.Change, 1)
	o.Negotiator.Changes, o.Logger = changes, logTo(log)
	run(t, o)
	w.deltas <- w.begin()
	poll.Contains(t, "cycle 1: ", log.String)
	changes <- negotiator.Change{Policy: easy.Policy, Fallback: easy.Fallback}
	w.deltas <- negotiator.Delta{Now: 1001}
	poll.Contains(t, "promises lifted: 1, as the policy easy gives none", log.String)
}

// TestClockPutBack checks that the daemon starts again if the clock was put back by an hour.
func TestClockPutBack(t *testing.T) {
	w, log := newWorld(), &buffer{}
	o := w.options("easy")
	o.Logger = logTo(log)
	d, end := run(t, o)
	w.deltas <- w.begin()
	poll.Equal(t, 1, w.acts)
	w.deltas <- negotiator.Delta{Now: backfill.Time(time.Now().Add(time.Hour).Unix())}
	w.deltas <- w.begin()
	poll.Equal(t, 2, w.acts) // it started again
	require.Contains(t, log.String(), "THE CLOCK WAS PUT BACK")
	require.NoError(t, end())
	n, _ := d.Ad().Int("BackfillCycles")
	require.EqualValues(t, 2, n)
}

// TestEndInACycle checks that a cycle under way hands its matches over when the daemon ends.
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
	require.EqualValues(t, 1, n, "it is counted as well")
}

// TestDiskIsFull checks, with each policy, that the daemon says what a restart would forget and
// goes on if the disk is full, and that it saves everything when there is room again.
func TestDiskIsFull(t *testing.T) {
	for _, p := range policies.All() {
		t.Run(p.Name, func(t *testing.T) { diskIsFull(t, p.Name) })
	}
}

func diskIsFull(t *testing.T, policy string) {
	t.Helper()
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=512k"); err != nil {
		t.Skip("skipped: no file system can be mounted here:", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(folder, 0)) })
	state, err := OpenState(t.Context(), folder, hclog.NewNullLogger())
	require.NoError(t, err)
	w, log := newWorld(), &buffer{}
	o := w.options(policy)
	o.State, o.Logger = state, logTo(log)
	d, end := run(t, o)
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
	poll.Equal(t, 1, w.acts)
	poll.Contains(t, "cycle 1:", log.String)
	require.Contains(t, log.String(), "no space left on device")
	w.deltas <- negotiator.Delta{Now: 1001}
	poll.Contains(t, "cycle 2:", log.String)
	require.Equal(t, 2, strings.Count(log.String(), "COULD NOT BE WRITTEN DOWN"), "each cycle says so")
	require.NoError(t, ballast.Truncate(0))
	w.deltas <- negotiator.Delta{Now: 1002}
	poll.Contains(t, "cycle 3:", log.String)
	require.NoError(t, end())
	require.Equal(t, 2, strings.Count(log.String(), "COULD NOT BE WRITTEN DOWN"), "it was written")
	require.InDelta(t, 2, d.gather(t)["backfill_state_unwritten_total"].GetMetric()[0].GetCounter().GetValue(), 0)
	saved, err := state.Saved()
	require.NoError(t, err)
	promised := 0
	for _, j := range saved.Jobs {
		if j.Promised && !j.Running {
			promised++
		}
	}
	said := "THE PLAN COULD NOT BE WRITTEN DOWN"
	if promised > 0 {
		said = "WHAT WAS PROMISED COULD NOT BE WRITTEN DOWN"
	}
	require.Contains(t, log.String(), said)
	require.Contains(t, log.String(), fmt.Sprintf("guarantees=%d ", promised))
	require.Contains(t, log.String(), "running=1")
	require.NoError(t, ballast.Close())
	require.NoError(t, state.Close())
}

// childState is the environment variable that tells a child of this test where its state is.
const childState = "DAEMON_TEST_STATE"

// child runs a negotiator that makes a promise and then hangs.
func child(folder string) {
	w := newWorld()
	state, err := OpenState(context.Background(), folder, hclog.NewNullLogger())
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

// TestKilled kills a negotiator at work, and checks that its successor keeps its promises.
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
	_, err = OpenState(t.Context(), folder, hclog.NewNullLogger())
	require.ErrorIs(t, err, ErrInUse, "while it lives")
	require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
	require.Error(t, cmd.Wait())

	state, err := OpenState(t.Context(), folder, hclog.NewNullLogger())
	require.NoError(t, err)
	defer state.Close() //nolint:errcheck // a test's
	w := newWorld()
	w.begin() // makes its jobs
	o := w.options("conservative")
	o.State, o.Once = state, true
	w.deltas <- negotiator.Delta{Now: 1001}
	d := New(o)
	require.NoError(t, d.Run(t.Context()))
	plan, err := d.Forecast()
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
	wait, err := d.Web(t.Context(), anywhere, nil)
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
	poll.Equal(t, 1, w.acts)
	poll.Equal(t, nil, func() error { _, err := d.Forecast(); return err })
	code, text := get("/start-times")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, text, `"job":"2.0"`)
	poll.Contains(t, "backfill_cycles_total 1", func() string {
		_, text = get("/metrics")
		return text
	})
	require.Contains(t, text, `backfill_jobs{situation="reserved"} 1`)
	http.DefaultClient.CloseIdleConnections()
}
