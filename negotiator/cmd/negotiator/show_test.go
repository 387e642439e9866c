package main

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// link is the policy easy, linked in.
func link(t *testing.T) negotiator.Config {
	t.Helper()
	spec, err := policies.Named("easy")
	require.NoError(t, err)
	easy, err := backfill.Link(spec, nil)
	require.NoError(t, err)
	return negotiator.Config{Policy: easy, Fallback: easy}
}

// fourNodes is the built-in workload.
func fourNodes(t *testing.T) *condorsim.Workload {
	t.Helper()
	w, err := new(poolFlags).load(config.Default())
	require.NoError(t, err)
	return w
}

// screens are the pictures that a view drew, without the control sequences that clear the rest.
type screens []string

func (s *screens) Write(b []byte) (int, error) {
	picture, drawn := strings.CutPrefix(string(b), home)
	if drawn {
		picture = strings.TrimSuffix(strings.ReplaceAll(picture, clearLine+"\n", "\n"), clearRest)
	}
	*s = append(*s, picture)
	return len(b), nil
}

// watch runs a workload and returns its pictures for a terminal of this size.
func watch(t *testing.T, w *condorsim.Workload, width, height int) (screens, *condorsim.Result) {
	t.Helper()
	var seen screens
	v := makeView(&seen, w, "40")
	v.size = func() (int, int) { return width, height }
	v.look = shortly(t.Context(), new(outlook.Twins))
	result, err := condorsim.Run(t.Context(), w, link(t), nil, v)
	require.NoError(t, err)
	return seen, result
}

func TestView(t *testing.T) {
	seen, result := watch(t, fourNodes(t), 200, 50)
	require.Len(t, seen, result.Cycles)
	require.Contains(t, seen[0], "npb54 under easy, 40 s a second   t = 0 s   cycle 1 took 0s\n"+
		"jobs: 53 to come, 0 waiting, 1 running, 0 ended, 0 held\n")
	require.Contains(t, seen[0], "slot1@node1.cluster  2/8   1.0 ft.B.2")
	last := seen[len(seen)-1]
	require.Contains(t, last, "jobs: 0 to come, 0 waiting, 0 running, 54 ended, 0 held")
	require.Contains(t, last, "slot1@node4.cluster  0/8")
}

// TestAPartitionedMachineIsShown with a job that takes half of it and one that waits for all of it.
func TestAPartitionedMachineIsShown(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace.swf")
	require.NoError(t, os.WriteFile(trace,
		[]byte("1 0 -1 30 16 -1 -1 16 60 -1 1 1 1 1 1 1 -1 -1\n2 1 -1 20 32 -1 -1 32 40 -1 1 1 1 1 1 1 -1 -1\n"),
		0o600))
	s := config.Default()
	s.Pool, s.Workload = "tiny-bgp", trace
	w, err := new(poolFlags).load(s)
	require.NoError(t, err)
	seen, _ := watch(t, w, 200, 50)
	require.Regexp(t, `m-0\.0\.3 +4/4 +1 *\n m-0\.1\.0 +0/4 *\n`, seen[2])
	require.NotContains(t, seen[2], "0/0", "a wire has nothing to run on")
	require.Regexp(t, `2 +1 +32 +40 s +t = 60 s +32-0\.0\.0-0\.1\.3`, seen[2])
	s.Workload = ""
	_, err = new(poolFlags).load(s)
	require.ErrorContains(t, err, "job 1.0: 2 chunks: on a partitioned machine a job has one")
}

// TestTheViewFollowsLostSlots, and the jobs that ran there.
func TestTheViewFollowsLostSlots(t *testing.T) {
	w := fourNodes(t)
	w.Outages = []pools.Outage{{Slots: []int{0}, At: 3, For: 1000}}
	seen, _ := watch(t, w, 200, 50)
	require.Regexp(t, `slot1@node1.cluster +2/8 +1\.0 ft`, seen[0])
	require.Regexp(t, `slot1@node1.cluster +down *\n`, seen[3])
	require.Contains(t, seen[3], "1.0 ft.B.2")
}

func TestTheViewIsAsLargeAsTheTerminal(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {130, 45}, {40, 10}, {1, 1}, {0, 0}} {
		seen, _ := watch(t, fourNodes(t), size[0], size[1])
		for _, picture := range seen {
			require.LessOrEqual(t, strings.Count(picture, "\n"), max(1, size[1]-1), "%v", size)
			for line := range strings.Lines(picture) {
				require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), max(1, size[0]-1), line)
			}
		}
	}
}

func TestTheViewClearsWhatWasThere(t *testing.T) {
	var out bytes.Buffer
	v := makeView(&out, fourNodes(t), "40")
	require.Equal(t, home+"ab"+clearLine+"\n"+clearLine+"\nc"+clearLine+"\n"+clearRest, v.fit("ab\n\nc\n\n"))
	v.close()
	require.Equal(t, backAgain, out.String())
}

func TestViewOfNothing(t *testing.T) {
	w := fourNodes(t)
	w.Jobs = nil
	c := link(t)
	c.Schema = w.Schema
	n, err := negotiator.New(c)
	require.NoError(t, err)
	for _, d := range []negotiator.Delta{{}, {SlotsUp: w.Slots}} {
		r, err := n.RunCycle(t.Context(), d)
		require.NoError(t, err)
		var out bytes.Buffer
		require.NoError(t, makeView(&out, w, "40").Cycle(r))
		require.Contains(t, out.String(), "jobs: 0 to come, 0 waiting, 0 running, 0 ended, 0 held")
	}
}

func TestViewOfAFullDevice(t *testing.T) {
	failure := errors.New("no room is left")
	_, err := condorsim.Run(t.Context(), fourNodes(t), link(t), nil, makeView(failing{failure}, fourNodes(t), "40"))
	require.ErrorIs(t, err, failure)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestTheViewShowsTheLastEntryOfTheLog while the log itself is held back.
func TestTheViewShowsTheLastEntryOfTheLog(t *testing.T) {
	v := makeView(new(bytes.Buffer), nil, "40")
	require.Empty(t, v.lastNews())
	v.news = func() string {
		return "2026-01-01T00:00:00Z [ERROR] negotiator: nothing is changed:\n  error=\n  | n.yaml: \x1b[2J" +
			strings.Repeat(" word", 40)
	}
	lines := strings.Split(v.lastNews(), "\n")
	require.Len(t, lines, 4, "two, an empty one, and an end")
	require.Regexp(t, `^\[ERROR\] nothing is changed: error= \| n.yaml: \x{fffd}\[2J word`, lines[0])
	for _, line := range lines {
		require.Less(t, utf8.RuneCountInString(line), 80)
	}
}

func TestBar(t *testing.T) {
	for share, want := range map[float64]string{
		0: "░░░░", 0.1: "░░░░", 0.13: "█░░░", 0.5: "██░░",
		1: "████", 7: "████",
	} {
		require.Equal(t, want, new(view).bar(share, 4), share)
	}
}

func TestLogLines(t *testing.T) {
	w, err := new(poolFlags).load(files(t, "Name = \"s\"\nCpus = 2\nRequirements = true\n",
		job("1", "0", "5", "Cmd = \"first\"", "RequestCpus = 2"),
		job("1", "1", "5", "Cmd = \"second\"", "RequestCpus = 3"), job("2", "0", "5", "RequestCpus = 1")))
	require.NoError(t, err)
	var out bytes.Buffer
	log := hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Debug, DisableTime: true})
	_, err = condorsim.Run(t.Context(), w, link(t), nil, &logLines{logger: log, w: w})
	require.NoError(t, err)
	require.Equal(t, `[DEBUG] submitted: t=0 job=1.0 cmd=first
[DEBUG] submitted: t=0 job=1.1 cmd=second
[DEBUG] submitted: t=0 job=2.0 cmd=""
[WARN]  held: t=0 job=1.1 cmd=second reason="fits on no slot of the pool, even an empty one"
[INFO]  started: t=0 job=1.0 cmd=first wait=0 how=head slots=s×1 waiting=1 running=1
[INFO]  ended: t=5 job=1.0 cmd=first
[INFO]  started: t=5 job=2.0 cmd="" wait=5 how=queue slots=s×1 waiting=0 running=1
[INFO]  ended: t=10 job=2.0 cmd=""
`, strings.ReplaceAll(out.String(), `"s×1"`, "s×1"))
}

// job is a job ad with QDate 0.
func job(cluster, proc, run string, more ...string) string {
	return "ClusterId = " + cluster + "\nProcId = " + proc +
		"\nQDate = 0\nEstimatedRunTime = 10\nRequirements = true\nRemoteWallClockTime = " + run + "\n" +
		strings.Join(more, "\n") + "\n\n"
}

// files writes a configuration with a pool and a workload of these ads.
func files(t *testing.T, pool string, jobs ...string) config.Config {
	t.Helper()
	dir := t.TempDir()
	c := config.Default()
	c.Pool, c.Workload = filepath.Join(dir, "pool.ads"), filepath.Join(dir, "jobs.ads")
	require.NoError(t, os.WriteFile(c.Pool, []byte(pool), 0o600))
	require.NoError(t, os.WriteFile(c.Workload, []byte(strings.Join(jobs, "")), 0o600))
	return c
}

const slotAd = "Name = \"s\"\nCpus = 2\nRequirements = true\n"

func TestLoadWorkload(t *testing.T) {
	w := fourNodes(t)
	require.Equal(t, "npb54", w.Name)
	require.Len(t, w.Jobs, 54)
	require.Len(t, w.Slots, 4)
	w, err := new(poolFlags).load(files(t, slotAd, job("1", "0", "5")))
	require.NoError(t, err)
	require.Equal(t, "jobs", w.Name)

	for _, c := range []struct {
		name, pool, jobs, err string
	}{
		{"no slots", "", job("1", "0", "5"), "read the pool: DIR/pool.ads: there is no slot in it"},
		{"no slot ad", "Name =\n", job("1", "0", "5"), "DIR/pool.ads:1:"},
		{
			"a slot without cpus", "Name = \"s\"\n", job("1", "0", "5"),
			"read the pool: DIR/pool.ads:1: slot s has no Cpus",
		},
		{"no jobs", slotAd, "# none\n", "read the workload: DIR/jobs.ads: there is no job in it"},
		{"no job ad", slotAd, job("1", "0", "5") + "ClusterId = (\n", "DIR/jobs.ads:9:"},
		{
			"a job without run time", slotAd, job("1", "0", `"long"`),
			"read the workload: DIR/jobs.ads:1: job 1.0: RemoteWallClockTime",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := files(t, c.pool, c.jobs)
			_, err := new(poolFlags).load(s)
			require.ErrorContains(t, err, strings.ReplaceAll(c.err, "DIR", filepath.Dir(s.Pool)))
		})
	}
	for _, edit := range []func(*config.Config){
		func(c *config.Config) { c.Pool = "no/such/pool.ads" },
		func(c *config.Config) { c.Workload = "no/such/pool.ads" },
	} {
		s := config.Default()
		edit(&s)
		_, err := new(poolFlags).load(s)
		require.ErrorIs(t, err, os.ErrNotExist)
		require.ErrorContains(t, err, "no/such/pool.ads")
	}
}

func TestExplain(t *testing.T) {
	w, err := new(poolFlags).load(files(t, slotAd,
		job("1", "0", "5", "RequestCpus = 2"), job("1", "1", "5", "RequestCpus = 2"),
		job("1", "2", "5", "RequestCpus = 2"),
		job("1", "3", "5", "RequestCpus = 3"), job("1", "5", "5", "Requirements = TARGET.Cpus > 1 && TARGET.Big"),
		strings.ReplaceAll(job("1", "4", "5", "RequestCpus = 1"), "QDate = 0", "QDate = 8")))
	require.NoError(t, err)
	p := &prepared{activator: activator{active: &active{}}, workload: w, config: link(t)}
	for _, c := range []struct {
		at                backfill.Time
		job, where, says  string
		start, guaranteed any
	}{
		{-1, "1.0", "to come", "will be submitted at 0", nil, nil},
		{0, "1.0", "runs", "runs since 0 on s×1", int64(0), nil},
		{0, "1.1", "reserved", "reserved, expected start 10 on s×1", int64(10), nil},
		{0, "1.2", "waits", "waits behind job 1.1, expected start 20 on s×1", int64(20), nil},
		{0, "1.3", "held", "held: fits on no slot of the pool, even an empty one", nil, nil},
		{0, "1.5", "held", "held: matches no slot: true on none of 1: TARGET.Big", nil, nil},
		{0, "1.4", "to come", "will be submitted at 8", nil, nil},
		{5, "1.0", "ended", "has ended", nil, nil},
		{7, "1.1", "runs", "runs since 5 on s×1", int64(5), nil},
		{99, "1.4", "ended", "has ended", nil, nil},
		{99, "1.3", "held", "held: fits on no slot of the pool, even an empty one", nil, nil},
	} {
		state, err := p.stateAt(t.Context(), c.at, outlook.FuturesOptions{})
		require.NoError(t, err)
		e := p.expect(state, findJob(w, c.job))
		require.Equal(t, []string{c.job, c.where, c.says}, []string{e.Job, e.Situation, e.Reason})
		if c.start == nil {
			require.Nil(t, e.Start)
		} else {
			require.Equal(t, c.start, *e.Start)
		}
		require.Nil(t, e.Guarantee)
	}
	require.Nil(t, findJob(w, "9.9"))
}

func TestSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "negotiator.yaml")
	require.NoError(t, os.WriteFile(path, []byte("policy: easy\norder: sjf\nplugins: {dirs: [b]}\n"), 0o600))
	s, err := (&poolFlags{Config: path, Order: new("ljf"), PluginDir: []string{"a"}, InProcess: true}).settings()
	require.NoError(t, err)
	require.Equal(t, []string{"easy", "ljf", "rank"}, []string{s.Policy, s.Order, s.Placement}, "flag, file, default")
	require.Equal(t, []string{"a", "b"}, s.Plugins.Dirs)
	require.True(t, s.Plugins.InProcess)
	_, err = (&poolFlags{Order: new("tallest")}).settings()
	require.ErrorContains(t, err, "tallest")
	_, err = (&poolFlags{Config: path + "x"}).settings()
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestControlCharactersOfJobs(t *testing.T) {
	w, err := new(poolFlags).load(files(t, slotAd, job("1", "0", "5", "Cmd = \"a\x1b[2J\\nb\"")))
	require.NoError(t, err)
	seen, _ := watch(t, w, 80, 24)
	require.NotContains(t, seen[0], "\x1b")
	require.Contains(t, seen[0], "1.0 a\ufffd[2J\\nb\n")
}

func TestTheViewSaysWhyJobsAreHeld(t *testing.T) {
	w, err := new(poolFlags).load(files(t, slotAd, job("1", "0", "5", "RequestCpus = 3", "Cmd = \"wide\""),
		job("1", "1", "5")))
	require.NoError(t, err)
	seen, _ := watch(t, w, 80, 24)
	require.Contains(t, seen[0], "jobs: 0 to come, 0 waiting, 1 running, 0 ended, 1 held\n")
	for _, picture := range seen {
		require.Contains(t, picture, "\nheld: 1.0 wide: "+backfill.ReasonNeverFits+"\n")
	}
}

func TestSlowestSpeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		pace := scaled(1e-300)
		require.NoError(t, pace(ctx, 0))
		require.ErrorIs(t, pace(ctx, 1000), context.DeadlineExceeded)
	})
}

func TestScaled(t *testing.T) {
	require.Nil(t, scaled(math.Inf(1)), "as fast as it can")
	synctest.Test(t, func(t *testing.T) {
		pace := scaled(1000)
		began := time.Now()
		for _, at := range []backfill.Time{500, 500, 520, 540} {
			require.NoError(t, pace(t.Context(), at))
		}
		require.Equal(t, 40*time.Millisecond, time.Since(began), "from the first instant on")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, pace(ctx, 1_000_000), context.Canceled)
	})
}
