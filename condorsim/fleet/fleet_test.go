package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// world is a pool that does what a test says, a step at each pause of the fleet.
type world struct {
	*Fleet
	t      *testing.T
	fake   string // the folder of the programs' answers
	now    time.Time
	steps  []func()
	said   []string
	taken  []int
	lost   map[int]string
	counts Counts
	cancel context.CancelFunc
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, fake: t.TempDir(), now: time.Unix(1e9, 0), lost: map[int]string{}}
	bin, err := filepath.Abs("testdata/bin")
	require.NoError(t, err)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("FAKE", w.fake)
	w.file("cluster", "6")
	w.Fleet = &Fleet{
		Dir: t.TempDir(), Name: "test", Program: "prog", Arguments: []string{"cell", "$(number)"}, Host: "here",
		Take: func(number int) (error, error) {
			text, err := os.ReadFile(filepath.Join(w.Dir, ResultOf(strconv.Itoa(number))))
			switch {
			case err != nil:
				return errors.New("its result did not come back"), nil
			case string(text) == "full":
				return nil, errors.New("the disk is full")
			case string(text) != "good":
				return errors.New("it is damaged"), nil
			}
			w.taken = append(w.taken, number)
			return nil, nil
		},
		Lost:    func(number int, why error) { w.lost[number] = why.Error() },
		Say:     func(text string) { w.said = append(w.said, text) },
		Printed: func(number int, text string) { w.said = append(w.said, strconv.Itoa(number)+" printed "+text) },
		Now:     func() time.Time { return w.now },
		Pause: func(_ context.Context, d time.Duration) {
			w.now = w.now.Add(d)
			if len(w.steps) == 0 {
				w.cancel()
				return
			}
			next := w.steps[0]
			w.steps = w.steps[1:]
			next()
		},
		Progress: func(c Counts) { w.counts = c },
	}
	return w
}

// play runs the tasks 0, 1… with these steps of the world. When they are used up it is interrupted.
func (w *world) play(tasks int, steps ...func()) error {
	w.t.Helper()
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(w.t.Context())
	defer w.cancel()
	w.steps = steps
	all := make([]Task, tasks)
	for i := range all {
		all[i] = Task{Number: i, Name: fmt.Sprintf("task-%d", i), Kind: "x", Files: []string{"kit.json", "0-a.swf"}}
	}
	return w.Run(ctx, all)
}

func (w *world) file(name, text string) {
	require.NoError(w.t, os.WriteFile(filepath.Join(w.fake, name), []byte(text), 0o600))
}

// log returns a step that adds events to the n-th log: lines such as "005 0 (1) Normal…", of kind and proc.
func (w *world) log(n int, events ...string) func() {
	return func() {
		file, err := os.OpenFile(filepath.Join(w.Dir, fmt.Sprintf("%d.log", n)), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		require.NoError(w.t, err)
		for _, e := range events {
			parts := strings.SplitN(e, " ", 3)
			_, err = fmt.Fprintf(file, "%s (%03d.%s.000) 2026-12-01 04:58:18 \n\t%s\n...\n",
				parts[0], w.cluster(n), parts[1], parts[2])
			require.NoError(w.t, err)
		}
		require.NoError(w.t, file.Close())
	}
}

// cluster returns the cluster of the n-th submission: they have numbers from 7 on, but those that failed.
func (w *world) cluster(n int) int {
	s, err := load(w.Dir)
	require.NoError(w.t, err)
	for _, sub := range s.Submissions {
		if sub.N == n && sub.Cluster > 0 {
			return sub.Cluster
		}
	}
	return 7 + n
}

// ends returns a step in which jobs of the n-th log end well, of procs that are tasks.
func (w *world) ends(n int, tasks ...int) func() {
	return func() {
		for proc, number := range tasks {
			w.result(number, "good")
			w.log(n, fmt.Sprintf("005 %d (1) Normal termination (return value 0)", proc))()
		}
	}
}

func (w *world) result(number int, text string) {
	require.NoError(w.t, os.WriteFile(filepath.Join(w.Dir, ResultOf(strconv.Itoa(number))), []byte(text), 0o600))
}

// passes returns a step in which time passes.
func (w *world) passes(d time.Duration) func() { return func() { w.now = w.now.Add(d) } }

// calls returns the calls of HTCondor's programs so far.
func (w *world) calls() []string {
	text, _ := os.ReadFile(filepath.Join(w.fake, "calls"))
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func (w *world) read(name string) string {
	text, err := os.ReadFile(filepath.Join(w.Dir, name))
	require.NoError(w.t, err)
	return string(text)
}

// Tasks become one cluster, and nothing is asked of the schedd but to take it, and where slots are limited to
// use those that it keeps once it has made further jobs, and to give them up in the end.
func TestOneCluster(t *testing.T) {
	w := newWorld(t)
	w.Slots, w.Lines = 2, []string{`+Project = "a, b"`}
	require.NoError(t, w.play(3,
		w.log(0, "000 0 x", "001 0 x"), func() { require.Equal(t, Counts{Waiting: 2, Running: 1}, w.counts) }, w.ends(0, 0, 1, 2)))
	require.Equal(t, []string{"condor_submit -terse 0.sub", "condor_reschedule", "condor_reschedule"}, w.calls())
	require.Equal(t, []int{0, 1, 2}, w.taken)
	require.Equal(t, []string{"3 cells submitted as cluster 7"}, w.said)
	require.Equal(t, "0, 128, 60, 86400, kit.json,0-a.swf\n", strings.SplitAfter(w.read("0.list"), "\n")[0])
	require.Contains(t, w.read("0.sub"), "max_materialize = 2\n")
	require.Contains(t, w.read("0.sub"), "keep_claim_idle = 5\n+Project = \"a, b\"\nqueue number, ")
	require.Contains(t, w.read("0.sub"), `arguments = "cell $(number)"`)
	require.NoFileExists(t, filepath.Join(w.Dir, ResultOf("0")))
}

// What comes to nothing is told with its reason and run again, with more memory each time; after the fourth
// time it is given up. A job that HTCondor holds is removed. The others go on.
func TestRunAgain(t *testing.T) {
	w := newWorld(t)
	t.Cleanup(func() { require.Contains(t, w.read("0.sub"), "max_idle = 100\nqueue number, ") })
	holds := func(n, proc int) func() {
		return w.log(n, fmt.Sprintf("004 %d evicted", proc),
			fmt.Sprintf("012 %d memory usage exceeded request_memory\n\tCode 34 Subcode 0", proc))
	}
	steps := []func(){
		w.log(0, "001 0 x", "024 0 the startd went away", "004 0 the startd went away"), holds(0, 1), w.log(0, "005 2 (0) Abnormal termination (signal 9)"),
		func() {
			require.NoError(t, os.WriteFile(filepath.Join(w.Dir, ErrorsOf("2")), []byte("one\nout of luck\n"), 0o600))
		},
		w.passes(lull),
	}
	for n := 1; n <= tries; n++ {
		steps = append(steps, func() {
			if n == 1 {
				require.Equal(t, "1, 256, 60, 172800, kit.json,0-a.swf\n2, 256, 60, 172800, kit.json,0-a.swf\n", w.read("1.list"))
				w.result(2, "good")
				w.log(1, "005 1 (1) Normal termination (return value 0)")()
			}
		}, holds(n, 0), w.passes(lull))
	}
	require.NoError(t, w.play(3, append(steps, func() {
		w.result(0, "good")
		w.log(0, "005 0 (1) Normal termination (return value 0)")()
	})...))
	require.Equal(t, []int{2, 0}, w.taken)
	require.Equal(t, map[int]string{
		1: "its job came to nothing 4 times: held: memory usage exceeded request_memory",
	}, w.lost)
	require.Equal(t, "task-0 lost its slot, and will be given another one: the startd went away", w.said[1])
	require.Equal(t, "task-1 will be run again: held: memory usage exceeded request_memory", w.said[2])
	require.Equal(t, "task-2 will be run again: it was killed by signal 9, and its result did not come back", w.said[3])
	require.Equal(t, []string{
		"condor_submit -terse 0.sub", "condor_rm 7.1", "condor_submit -terse 1.sub", "condor_rm 8.0",
		"condor_submit -terse 2.sub", "condor_rm 9.0", "condor_submit -terse 3.sub", "condor_rm 10.0",
	}, w.calls())
}

// A hold by a user is left to the user. Removed jobs are submitted again, and said once if there are many.
func TestHeldAndRemovedByUsers(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.play(3,
		w.log(0, "012 0 via condor_hold (by user alice)\n\tCode 1 Subcode 0"), w.passes(lull),
		func() { require.Equal(t, 1, w.counts.Held) },
		w.log(0, "013 0 via condor_release (by user alice)"),
		w.log(0, "009 0 via condor_rm (by user bob)", "009 1 via condor_rm (by user bob)", "036 -1 x"),
		w.passes(lull), w.ends(1, 0, 1, 2)))
	require.Equal(t, []string{
		"3 cells submitted as cluster 7",
		"task-0 is held, and waits to be released: via condor_hold (by user alice)",
		"task-0 was released",
		"2 cells (task-0 and others): will be run again: via condor_rm (by user bob)",
		"task-2 will be run again: its cluster was removed",
		"3 cells submitted as cluster 8",
	}, w.said)
	require.Len(t, w.taken, 3)
}

// A schedd that is down is waited for, and said so once; what it has forgotten meanwhile is submitted again.
func TestScheddIsDown(t *testing.T) {
	w := newWorld(t)
	w.file("queue", "7\n")
	down := func() { w.file("down", "") }
	up := func() { require.NoError(t, os.Remove(filepath.Join(w.fake, "down"))) }
	forgets := func() { require.NoError(t, os.Remove(filepath.Join(w.fake, "queue"))) }
	require.NoError(t, w.play(1, w.passes(silence), down, w.passes(silence), w.passes(silence), up, w.passes(silence),
		forgets, w.passes(silence), w.passes(silence), w.passes(lull), w.ends(1, 0)))
	require.Len(t, w.said, 6)
	require.Contains(t, w.said[1], "no cell runs")
	require.Contains(t, w.said[2], "the schedd does not answer; waiting for it: condor_q")
	require.Equal(t, "the schedd answers again", w.said[3])
	require.Equal(t, "task-0 will be run again: its job is not in the queue any more", w.said[4])

	w = newWorld(t)
	w.file("down", "")
	require.ErrorContains(t, w.play(1), "Can't find address of local schedd", "nothing was submitted yet")
}

// Interrupted, it keeps what is finished and removes the jobs. If that fails, or the process was killed, the
// next one takes over, also if the last was killed before it knew the cluster's number.
func TestTakenOver(t *testing.T) {
	w := newWorld(t)
	require.ErrorIs(t, w.play(3, w.ends(0, 0), func() { w.result(1, "good") },
		w.log(0, "005 1 (1) Normal termination (return value 0)")), context.Canceled)
	require.Equal(t, []string{"condor_submit -terse 0.sub", "condor_rm 7"}, w.calls())
	require.Equal(t, []int{0, 1}, w.taken)

	for _, known := range []bool{true, false} {
		w = newWorld(t)
		down := func() { w.file("down", "") }
		require.ErrorContains(t, w.play(3, w.ends(0, 0), down), "the same command takes them over")
		require.NoError(t, os.Remove(filepath.Join(w.fake, "down")))
		if !known {
			state := strings.Replace(w.read(stateName), `"cluster":7`, `"cluster":0`, 1)
			require.NoError(t, os.WriteFile(filepath.Join(w.Dir, stateName), []byte(state), 0o600))
		}
		w.result(1, "good")
		w.log(0, "005 1 (1) Normal termination (return value 0)")() // while nobody looks
		w.file("queue", "7\n")
		w.taken, w.said = nil, nil
		w.file("calls", "")
		last := func() {
			w.result(2, "good")
			w.log(0, "005 2 (1) Normal termination (return value 0)")()
		}
		w.steps = []func(){last}
		tasks := []Task{{Number: 1, Name: "one"}, {Number: 2, Name: "two"}}
		require.NoError(t, w.Run(t.Context(), tasks))
		require.Equal(t, []int{1, 2}, w.taken)
		require.Equal(t, []string{"condor_q 7 -af ClusterId", "condor_rm 7"}, w.calls(), "task 0 is no task any more")
		require.Equal(t, []string{"the jobs of cluster 7 are taken over"}, w.said)
	}
}

// A submission that is interrupted may have made a cluster: the next process finds it, and removes or follows it.
func TestInterruptedSubmission(t *testing.T) {
	w := newWorld(t)
	w.file("slow", "")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, w.Run(ctx, []Task{{Number: 0, Name: "task-0"}}), context.DeadlineExceeded)
	w.log(0, "000 0 x")() // it was made
	require.NoError(t, os.Remove(filepath.Join(w.fake, "slow")))
	w.file("calls", "")
	w.file("queue", "7\n")
	require.NoError(t, w.play(1, w.ends(0, 0)))
	require.Equal(t, []string{"condor_q 7 -af ClusterId"}, w.calls())
	require.Equal(t, []int{0}, w.taken)
}

// Jobs of another machine's schedd are left alone, and those of another kit removed.
func TestAbandoned(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.Abandon(t.Context()), "there is none")
	require.NoError(t, (&state{Host: "there", Submissions: []*submission{{Cluster: 3, Tasks: []int{0}}}}).save(w.Dir))
	require.ErrorContains(t, w.play(1), "were submitted on there, and this is here: go on there")
	w.Host = "there"
	require.NoError(t, w.Abandon(t.Context()))
	require.Equal(t, []string{"condor_rm 3"}, w.calls())
	s, err := load(w.Dir)
	require.NoError(t, err)
	require.Empty(t, s.Submissions)
}

// A held job that cannot be removed, as the schedd is down at that moment, is removed in the end.
func TestRemovedLater(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.play(1, func() { w.file("down", "") },
		w.log(0, "012 0 no such file\n\tCode 12 Subcode 2"),
		func() { require.NoError(t, os.Remove(filepath.Join(w.fake, "down"))) }, w.passes(lull), w.ends(1, 0)))
	require.Equal(t, []string{"condor_submit -terse 0.sub", "condor_rm 7.0", "condor_submit -terse 1.sub", "condor_rm 7"}, w.calls())
}

// A submission that seemed to fail, and did not, is made once more, and removed in the end.
func TestSubmittedTwice(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.play(1, w.log(0, "005 0 (0) Abnormal termination (signal 9)"), func() { w.file("down", "") },
		w.passes(lull), w.log(1, "000 0 x"), func() { require.NoError(t, os.Remove(filepath.Join(w.fake, "down"))) },
		w.passes(lull), func() {
			w.result(0, "good")
			const text = "005 (008.000.000) 2026-12-01 04:58:18 \n\t(1) Normal termination (return value 0)\n...\n"
			require.NoError(t, os.WriteFile(filepath.Join(w.Dir, "2.log"), []byte(text), 0o600))
		}))
	require.Equal(t, []int{0}, w.taken)
	require.Equal(t, "condor_rm 8", w.calls()[len(w.calls())-1])
}

// If nothing can be kept any more, all ends, and the jobs are removed; also those that are gone.
func TestFullDisk(t *testing.T) {
	w := newWorld(t)
	w.file("norm", "")
	require.EqualError(t, w.play(2, func() { w.result(0, "full") },
		w.log(0, "005 0 (1) Normal termination (return value 0)")), "the disk is full")
	require.Equal(t, []string{"condor_submit -terse 0.sub", "condor_rm 7"}, w.calls())
}

// Without HTCondor's programs it is said at once.
func TestNoHTCondor(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	require.EqualError(t, Look(),
		"condor_submit is not on the PATH: run this on a machine that can submit jobs to a pool")
}

// What tasks took says what others of their kind are given.
func TestNeeds(t *testing.T) {
	s := &state{Took: map[string]took{}}
	s.learn("x", event{seconds: 4000, megabytes: 1000})
	s.learn("x", event{seconds: 10, megabytes: 10})
	require.Equal(t, needs{megabytes: 1500, seconds: 6000, limit: 120000}, Task{}.needs(s.Took["x"], 0))
	require.Equal(t, needs{megabytes: 3000, seconds: 6000, limit: 240000}, Task{}.needs(s.Took["x"], 1))
	require.Equal(t, needs{megabytes: 700, seconds: 60, limit: leastLimit}, Task{Megabytes: 700}.needs(took{}, 0))
}

func TestLinesOfUsers(t *testing.T) {
	for _, line := range []string{"accounting_group = physics", `+Project = "x"`, "requirements=(Memory > 3) && Arch == \"X\""} {
		require.NoError(t, CheckLine(line))
	}
	for line, says := range map[string]string{
		"queue 5": "sets nothing", "": "sets nothing", " = 5": "sets nothing", "a = 1\nqueue": "more than one line",
		`+Project = "x" \`:     "ends in a backslash",
		"Executable = /bin/sh": "is the sweep's own", "queue = 5": "is the sweep's own",
	} {
		require.ErrorContains(t, CheckLine(line), says)
	}
}
