package liveview

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/configs"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

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
	v := makeView(&seen, shown(w))
	v.size = func() (int, int) { return width, height }
	result, err := condorsim.Run(t.Context(), w, link(t), nil, v)
	require.NoError(t, err)
	return seen, result
}

func TestView(t *testing.T) {
	seen, result := watch(t, fourNodes(t), 200, 50)
	require.Len(t, seen, result.Cycles)
	require.Contains(t, seen[0], "npb54 under easy, 40 s a second   0 00:00:00   cycle 1 took 0s\n"+
		"jobs: 53 to come, 0 waiting, 1 running, 0 ended, 0 held\n")
	require.Contains(t, seen[0], "slot1@node1.cluster  2/8   1.0 ft.B.2")
	last := seen[len(seen)-1]
	require.Contains(t, last, "jobs: 0 to come, 0 waiting, 0 running, 54 ended, 0 held")
	require.Contains(t, last, "slot1@node4.cluster  0/8")
}

// TestTheViewTellsWhenSlotsEnd, in a column that is there only if some slot ends.
func TestTheViewTellsWhenSlotsEnd(t *testing.T) {
	w := fourNodes(t)
	seen, _ := watch(t, w, 200, 50)
	require.NotContains(t, seen[0], "ends")
	w.Slots[0].End = 1_000_000
	seen, _ = watch(t, w, 200, 50)
	require.Regexp(t, `slot +cpus +ends +runs`, seen[0])
	require.Regexp(t, `slot1@node1\.cluster +./8 +11 13:46:40`, seen[0])
}

// TestAPartitionedMachineIsShown with a job that takes half of it and one that waits for all of it.
func TestAPartitionedMachineIsShown(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace.swf")
	require.NoError(t, os.WriteFile(trace,
		[]byte("1 0 -1 30 16 -1 -1 16 60 -1 1 1 1 1 1 1 -1 -1\n2 1 -1 20 32 -1 -1 32 40 -1 1 1 1 1 1 1 -1 -1\n"),
		0o600))
	pool, err := pools.Find("tiny-bgp", configs.Files(), negotiator.DefaultSchema())
	require.NoError(t, err)
	bounds := pool.Bounds()
	read, err := workload.Open(trace, workload.Options{CPUs: bounds.Processors, Memory: bounds.Memory})
	require.NoError(t, err)
	w, err := condorsim.OnPool(read, pool)
	require.NoError(t, err)
	seen, _ := watch(t, w, 200, 50)
	require.Regexp(t, `m-0\.0\.3 +4/4 +1 *\n m-0\.1\.0 +0/4 *\n`, seen[2])
	require.NotContains(t, seen[2], "0/0", "a wire has nothing to run on")
	require.Regexp(t, `2 +1 +32 +40 s \(0\.01 h\) +0 00:01:00 +32-0\.0\.0-0\.1\.3`, seen[2])
}

// TestTheViewTellsExpectedStarts in place of planned ones.
func TestTheViewTellsExpectedStarts(t *testing.T) {
	w := fromAds(t, slotAd, job("1", "0", "5"), job("1", "1", "5"), job("1", "2", "5"))
	var seen screens
	v := makeView(&seen, shown(w))
	v.Look = func(*negotiator.Report) map[backfill.JobID]ahead.Beginning {
		return map[backfill.JobID]ahead.Beginning{2: {At: 77, Placement: backfill.Placement{{Slot: 0, Count: 1}}}}
	}
	_, err := condorsim.Run(t.Context(), w, link(t), nil, v)
	require.NoError(t, err)
	require.Regexp(t, `1\.2 +1 +1 +10 s \(0\.00 h\) +0 00:01:17 +s×1`, seen[0])
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
	v := makeView(&out, shown(fourNodes(t)))
	require.Equal(t, home+"ab"+clearLine+"\n"+clearLine+"\nc"+clearLine+"\n"+clearRest, v.fit("ab\n\nc\n\n"))
	v.Close()
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
		require.NoError(t, makeView(&out, shown(w)).Cycle(r))
		require.Contains(t, out.String(), "jobs: 0 to come, 0 waiting, 0 running, 0 ended, 0 held")
	}
}

func TestViewOfAFullDevice(t *testing.T) {
	failure := errors.New("no room is left")
	_, err := condorsim.Run(t.Context(), fourNodes(t), link(t), nil, makeView(failing{failure}, shown(fourNodes(t))))
	require.ErrorIs(t, err, failure)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestTheViewShowsTheLastEntryOfTheLog while the log itself is held back.
func TestTheViewShowsTheLastEntryOfTheLog(t *testing.T) {
	v := makeView(new(bytes.Buffer), shown(new(condorsim.Workload)))
	require.Empty(t, v.lastNews())
	v.News = func() string {
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
		require.Equal(t, want, new(View).bar(share, 4), share)
	}
}

func TestLogLines(t *testing.T) {
	w := fromAds(t, "Name = \"s\"\nCpus = 2\nRequirements = true\n",
		job("1", "0", "5", "Cmd = \"first\"", "RequestCpus = 2"),
		job("1", "1", "5", "Cmd = \"second\"", "RequestCpus = 3"), job("2", "0", "5", "RequestCpus = 1"))
	var out bytes.Buffer
	log := hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Debug, DisableTime: true})
	_, err := condorsim.Run(t.Context(), w, link(t), nil, &Log{log, shown(w).Job})
	require.NoError(t, err)
	require.Equal(t, `[DEBUG] submitted: t=0 job=1.0 cmd=first
[DEBUG] submitted: t=0 job=1.1 cmd=second
[DEBUG] submitted: t=0 job=2.0 cmd=""
[WARN]  held: t=0 job=1.1 cmd=second reason="fits on no slot of the pool, even an empty one: it requests 3 cpus, and none that it matches has more than 2"
[INFO]  started: t=0 job=1.0 cmd=first wait=0 how=head slots=s×1 waiting=1 running=1
[INFO]  ended: t=5 job=1.0 cmd=first
[INFO]  started: t=5 job=2.0 cmd="" wait=5 how=queue slots=s×1 waiting=0 running=1
[INFO]  ended: t=10 job=2.0 cmd=""
`, strings.ReplaceAll(out.String(), `"s×1"`, "s×1"))
}

// TestScavengersAreShown: the log and the view tell of them, and of the job that begins in the place of one.
func TestScavengersAreShown(t *testing.T) {
	w := fromAds(t, slotAd, job("1", "0", "5", "BackfillScavenger = true", "RequestCpus = 2"),
		strings.ReplaceAll(job("2", "0", "7", "RequestCpus = 2"), "QDate = 0", "QDate = 3"))
	require.NotNil(t, w.Scavengers)
	var out bytes.Buffer
	log := hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Info, DisableTime: true})
	_, err := condorsim.Run(t.Context(), w, link(t), nil, &Log{log, shown(w).Job})
	require.NoError(t, err)
	require.Equal(t, `[INFO]  scavenges: t=0 job=1.0 cmd="" slots=s×1
[INFO]  started: t=3 job=2.0 cmd="" wait=0 how=head slots=s×1 waiting=0 running=1 from=13 scavengers=1
[INFO]  ended: t=5 job=1.0 cmd=""
[INFO]  ended: t=12 job=2.0 cmd=""
`, strings.ReplaceAll(out.String(), `"s×1"`, "s×1"), "the scavenger ends before it has left")
	seen, _ := watch(t, w, 80, 24)
	require.Contains(t, seen[0], "1.0 (scavenges)")
	require.NotContains(t, seen[len(seen)-1], "(scavenges)")
	require.Contains(t, seen[len(seen)-1], "0 to come, 0 waiting, 0 running, 2 ended")
}

// slotAd is a pool of one slot with two cpus.
const slotAd = "Name = \"s\"\nCpus = 2\nRequirements = true\n"

func TestControlCharactersOfJobs(t *testing.T) {
	w := fromAds(t, slotAd, job("1", "0", "5", "Cmd = \"a\x1b[2J\\nb\""))
	seen, _ := watch(t, w, 80, 24)
	require.NotContains(t, seen[0], "\x1b")
	require.Contains(t, seen[0], "1.0 a\ufffd[2J\\nb\n")
}

func TestTheViewSaysWhyJobsAreHeld(t *testing.T) {
	w := fromAds(t, slotAd, job("1", "0", "5", "RequestCpus = 3", "Cmd = \"wide\""),
		job("1", "1", "5"))
	seen, _ := watch(t, w, 80, 24)
	require.Contains(t, seen[0], "jobs: 0 to come, 0 waiting, 1 running, 0 ended, 1 held\n")
	for _, picture := range seen {
		require.Contains(t, picture, "\nheld: 1.0 wide: "+backfill.ReasonNeverFits+": it requests 3 ")
	}
}

// TestStrangersDoNotDraw shows slots and jobs whose names would move the cursor.
func TestStrangersDoNotDraw(t *testing.T) {
	evil := strings.Replace(slotAd, `"s"`, "\"s\x1b]0;title\x07\x1b[2J\"", 1)
	require.NotEqual(t, slotAd, evil)
	w := fromAds(t, evil, job("1", "0", "5"), job("1", "1", "5"))
	for _, j := range w.Jobs {
		j.Name += "\x1b]0;title\x07"
	}
	seen, _ := watch(t, w, 200, 50)
	for _, picture := range seen {
		require.NotContains(t, picture, "\x1b]")
		require.NotContains(t, picture, "\x1b[2J")
		require.NotContains(t, picture, "\x07")
	}
}
