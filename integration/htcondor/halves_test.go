package htcondor_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
	"github.com/condor-backfill/condor-backfill/integration/poll"
)

// halves are lines of configuration that start two negotiators of ours, each for one of two nodes.
// condor_master leaves a killed west dead.
const halves = `
NEGOTIATOR_NAME = east
NEGOTIATOR_SLOT_CONSTRAINT = regexp("@n1@", Name)
NEGOTIATOR_WEST = $(NEGOTIATOR)
NEGOTIATOR_WEST_ARGS = -f -local-name west
west.NEGOTIATOR_NAME = west
west.NEGOTIATOR_LOG = $(LOG)/NegotiatorLog.west
west.NEGOTIATOR_ADDRESS_FILE = $(LOG)/.negotiator_address.west
west.NEGOTIATOR_SLOT_CONSTRAINT = regexp("@n2@", Name)
west.BACKFILL_STATE = $(SPOOL)/backfill-west
west.BACKFILL_PRIORITIES_OF = east
west.BACKFILL_RECORD = $(SPOOL)/backfill-west.rec
MASTER_NEGOTIATOR_WEST_BACKOFF_CONSTANT = 3600
MASTER_NEGOTIATOR_WEST_BACKOFF_CEILING = 3600
DAEMON_LIST = $(DAEMON_LIST) NEGOTIATOR_WEST
DC_DAEMON_LIST = $(DC_DAEMON_LIST) NEGOTIATOR_WEST
`

// signalOne sends a signal to the negotiator of the pool that runs under a local name; "": under none.
func (p *ourPool) signalOne(t *testing.T, localName string, signal syscall.Signal) {
	t.Helper()
	reached := 0
	processes, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	for _, dir := range processes {
		root, _ := os.Readlink(dir + "/root") // it may have ended
		line, _ := os.ReadFile(dir + "/cmdline")
		_, name, _ := strings.Cut(string(line), "-local-name\x00")
		program, _, _ := strings.Cut(string(line), "\x00")
		if root != p.Dir || filepath.Base(program) != "negotiator" ||
			strings.Contains(string(line), "plugin-serve") || strings.TrimRight(name, "\x00") != localName {
			continue
		}
		pid, wrong := strconv.Atoi(filepath.Base(dir))
		require.NoError(t, wrong)
		require.NoError(t, syscall.Kill(pid, signal))
		reached++
	}
	require.Equal(t, 1, reached)
}

// toldByOne is a line of start-times --json, or an answer of what-if --json, of several negotiators.
type toldByOne struct {
	Job        string
	Negotiator string
	Start      *int64
	Guarantee  *int64
	Elsewhere  []struct {
		Negotiator, Reason string
		Start              *int64
	}
}

// toldByAll asks all negotiators of the pool for start times.
func (p *ourPool) toldByAll(t *testing.T) map[string]toldByOne {
	t.Helper()
	text, err := p.Try("alice", "negotiator", "start-times", "--json")
	if err != nil {
		return nil
	}
	var lines []toldByOne
	require.NoError(t, json.Unmarshal([]byte(text), &lines), text)
	told := map[string]toldByOne{}
	for _, line := range lines {
		require.NotContains(t, told, line.Job, "one line a job: %s", text)
		told[line.Job] = line
	}
	return told
}

// TestHalves runs two of our negotiators side by side, each on its half of the pool and with the same user
// priorities. Users ask both at once; one that was killed is named, and the other answers.
func TestHalves(t *testing.T) {
	t.Parallel()
	const east, west = "east@" + pooltest.Host, "west@" + pooltest.Host
	port, other := freePort(t), freePort(t)
	pool := ours(t, []string{"NODES=2", "CPUS=4"}, halves, "BACKFILL_HTTP = localhost:"+port,
		"west.BACKFILL_HTTP = localhost:"+other)
	pool.permit("lease")
	t.Cleanup(func() {
		for line := range strings.Lines(pool.Log("NegotiatorLog.west")) {
			if !strings.Contains(line, "cause=lease") {
				require.NotRegexp(t, `\[ERROR\]|^panic:|a guarantee is broken`, line)
			}
		}
	})
	pool.Wait("both negotiators", time.Minute, func() bool { return len(pool.Ads("-negotiator")) == 2 })
	jobs := pool.Submit("carol", sleep(3, 2, 12, estimate+"5"))
	pool.WaitDone(2*time.Minute, jobs...)
	long := pool.Submit("alice", sleep(65, 4, 1, on("n1"), estimate+"75"))
	short := pool.Submit("alice", sleep(40, 4, 1, on("n2"), estimate+"45"))
	pool.WaitStatus(pooltest.Running, time.Minute, long[0], short[0])
	only := pool.Submit("bob", sleep(1, 4, 1, on("n1"), estimate+"5"))
	both := pool.Submit("bob", sleep(1, 4, 1, estimate+"5"))
	jobs = append(jobs, long[0], short[0], only[0], both[0])
	told := poll.Until(t, "start times by whom they are", func() (map[string]toldByOne, bool) {
		all := pool.toldByAll(t)
		o, b := all[only[0].String()], all[both[0].String()]
		return all, o.Start != nil && b.Start != nil && len(b.Elsewhere) == 1 && b.Elsewhere[0].Start != nil
	})
	require.Len(t, told, 2)
	o, b := told[only[0].String()], told[both[0].String()]
	require.Equal(t, east, o.Negotiator, "the other cannot run it")
	require.Contains(t, o.Elsewhere[0].Reason, "cannot run on its slots: ")
	require.Equal(t, west, b.Negotiator, "it starts it first")
	require.Equal(t, east, b.Elsewhere[0].Negotiator)
	require.Less(t, *b.Start, *b.Elsewhere[0].Start)
	t.Log("\n" + pool.As("alice", "negotiator", "start-times"))

	p := &page{base: "http://localhost:" + port}
	poll.Contains(t, "; west would start it first, at ", func() string {
		for _, row := range p.rows(t) {
			if row["job"] == both[0].String() {
				return row["reason"].(string)
			}
		}
		return ""
	})
	_, picture := p.ask(t, http.MethodGet, "/api/v1/picture", "")
	head := picture["head"].(map[string]any)
	require.Contains(t, fmt.Sprint(head["parts"]), "page:http://127.0.0.1:"+other)
	require.Equal(t, map[string]any{"slots": 2.0, "cpus": 8.0, "in_use": 8.0, "running": 2.0, "waiting": 2.0}, head["whole"])

	text := pool.As("alice", "negotiator", "explain", both[0].String())
	require.Contains(t, text, "told by          west\n")
	require.Contains(t, text, "elsewhere        east would start it at ")
	require.Contains(t, text, "2 in the pool, 2 match")
	text = pool.As("alice", "negotiator", "explain", long[0].String())
	require.Contains(t, text, "runs since ")
	require.Equal(t, 1, strings.Count(text, "told by"), text)
	text = pool.As("alice", "negotiator", "explain", both[0].String(), "--name", "east")
	require.NotContains(t, text, "told by", "one that is asked alone says what it says")
	_, err := pool.Try("alice", "negotiator", "explain", both[0].String(), "--name", "north")
	require.ErrorContains(t, err, "there is "+east+" and "+west)
	require.ErrorContains(t, err, "exit status 2")
	var answer struct {
		Negotiator string
		Others     []struct{ Negotiator string }
	}
	text = pool.As("alice", "negotiator", "what-if", "--cpus", "4", "--time", "5m", "--json")
	require.NoError(t, json.Unmarshal([]byte(text), &answer), text)
	require.Equal(t, west, answer.Negotiator, text)
	require.Equal(t, east, answer.Others[0].Negotiator)
	text = pool.As("alice", "negotiator", "what-if", "--without", "n1")
	require.Contains(t, text, "On the slots of east:\n")
	require.Contains(t, text, "west cannot tell: there is no slot or machine n1 ")
	require.Len(t, pool.drains(t, "n2", "--by", "10m"), 1, "whoever has the slot drains it")
	require.Len(t, pool.drains(t), 1)
	pool.As("root", "negotiator", "drain", "n2", "--cancel")

	poll.Equal(t, 8.0, func() float64 { return pool.accountAt(t, east, "alice").weight })
	poll.Equal(t, true, func() bool {
		e, w := pool.accountAt(t, east, "alice"), pool.accountAt(t, west, "alice")
		return w.priority > 501 && math.Abs(e.priority-w.priority) < e.priority/100
	})
	pool.As("root", "condor_userprio", "-name", east, "-setfactor", "bob@"+pooltest.Host, "77")
	poll.Equal(t, 77.0, func() float64 { return pool.accountAt(t, west, "bob").factor })

	pool.WaitDone(2*time.Minute, jobs...)
	runs := map[string]int{}
	for _, run := range pool.Audit().Runs {
		runs[run.Job.String()]++
		for _, line := range []toldByOne{o, b} {
			if run.Job.String() == line.Job {
				require.LessOrEqual(t, run.Start.Unix(), *line.Guarantee, "its promise is kept")
				require.InDelta(t, *line.Start, run.Start.Unix(), 60, "futures go by how short jobs outlived theirs")
			}
		}
	}
	for _, job := range jobs {
		require.Equal(t, 1, runs[job.String()], "%v runs once", job)
	}

	pool.signalOne(t, "", syscall.SIGSTOP)
	_, err = pool.Try("alice", "negotiator", "start-times")
	require.ErrorContains(t, err, "exit status 1: negotiator: what "+east+" would say is missing: ")
	problems := func() string {
		return pool.Ads("-negotiator", "-constraint", `Name == "`+west+`"`)[0].Text("BackfillProblems")
	}
	poll.Contains(t, "user priorities age here from those of before", problems)
	pool.signalOne(t, "", syscall.SIGCONT)
	poll.Equal(t, "", problems)

	pool.signalOne(t, "west", syscall.SIGKILL)
	late := pool.Submit("bob", sleep(1, 5, 1)) // no slot has so many
	out := poll.Until(t, "the other to answer", func() (string, bool) {
		answer, wrong := pool.Try("alice", "negotiator", "explain", late[0].String())
		err = wrong
		return answer, strings.Contains(answer, "cannot run in this pool")
	})
	require.Contains(t, out, "told by          east\n")
	require.ErrorContains(t, err, "exit status 1: negotiator: what "+west+" would say is missing: ")
	pool.As("bob", "condor_rm", late[0].String())
	after := pool.Submit("bob", sleep(1, 1, 1, on("n1"), estimate+"5"))
	pool.WaitDone(time.Minute, after...)
}

// account is what condor_userprio tells of a user.
type account struct{ priority, factor, weight float64 }

// accountAt asks a negotiator about a user.
func (p *ourPool) accountAt(t *testing.T, negotiator, user string) (a account) {
	t.Helper()
	out, err := p.Try("alice", "condor_userprio", "-name", negotiator, "-allusers", "-af", "Name", "Priority",
		"PriorityFactor", "WeightedResourcesUsed")
	require.NoError(t, err)
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, user+"@") {
			var name string
			_, err = fmt.Sscan(line, &name, &a.priority, &a.factor, &a.weight)
			require.NoError(t, err, line)
		}
	}
	return a
}
