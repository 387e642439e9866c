package htcondor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// TestAnyLeft: whatever the saved state says, the negotiator starts, with it or without it.
func TestAnyLeft(t *testing.T) {
	w := newWorld(t, "conservative", mixed()...)
	for i := range 12 {
		w.submit(&sleeper{cpus: 2 + int64(i%3), nodes: 1 + i%2, seconds: 100, estimate: 100})
	}
	w.pass(12)
	data, err := json.Marshal(w.pool.Saved(w.n.Checkpoint()))
	require.NoError(t, err)
	refused := 0
	rapid.Check(t, func(rt *rapid.T) {
		left := &track.SavedState{}
		require.NoError(t, json.Unmarshal([]byte(mangle(rt, string(data))), left))
		memory, err := w.pool.Open(t.Context(), left)
		require.NoError(t, err)
		config := w.config()
		if w.n, err = negotiator.Restore(config, memory); err != nil {
			refused++
			_, err = w.pool.Open(t.Context(), nil)
			require.NoError(t, err)
			w.n, err = negotiator.New(config)
			require.NoError(t, err)
		}
		w.calm = false
		for range 3 {
			w.now++
			w.publish()
			w.cycle()
		}
		require.Equal(t, 12, w.n.State().RunningJobs()+w.n.State().Waiting()+w.n.State().Held())
	})
	t.Log(refused, "were refused")
}

// mangle replaces, repeats or drops some of the numbers and objects of a text.
func mangle(rt *rapid.T, text string) string {
	tokens := strings.SplitAfter(text, ",")
	for range rapid.IntRange(0, 6).Draw(rt, "changes") {
		i := rapid.IntRange(0, len(tokens)-1).Draw(rt, "at")
		token := tokens[i]
		colon := strings.LastIndexByte(token, ':')
		end := strings.IndexAny(token[colon+1:], ",]}")
		if isNumber := !strings.ContainsAny(token[colon+1:colon+2], `"[tf`); colon >= 0 && end > 0 && isNumber && !strings.Contains(token, "address") {
			number := rapid.SampledFrom([]string{
				"0", "-1", "1", "2", "1700000000", "1700000500", "9007199254740993",
				"-9000000000000000000", "4611686018427387904",
			}).Draw(rt, "number")
			tokens[i] = token[:colon+1] + number + token[colon+1+end:]
		}
	}
	return strings.Join(tokens, "")
}

// TestSuccessor: the next negotiator goes on with what the one before saved: what runs, what is on
// its way, what was promised.
func TestSuccessor(t *testing.T) {
	w := newWorld(t, "conservative",
		&node{name: "n1", cpus: 4, memory: 4096, policy: true},
		&node{name: "n2", cpus: 4, memory: 4096, policy: true},
	)
	w.submit(&sleeper{cpus: 4, seconds: 100, estimate: 100})
	w.submit(&sleeper{cpus: 4, seconds: 300, estimate: 300})
	w.pass(8)
	for range 4 {
		w.submit(&sleeper{cpus: 3, seconds: 100, estimate: 100})
	}
	w.pass(8)
	before := map[string]backfill.JobState{}
	for _, j := range w.n.State().Snapshot().Jobs {
		before[w.n.Job(j.Job.ID).Name] = j
	}
	require.Len(t, before, 6)
	left := w.pool.Saved(w.n.Checkpoint())
	require.Len(t, left.Jobs, 6)
	w.negotiator("conservative", left)
	d, report := w.cycle()
	require.Empty(t, d.Submitted)
	require.Empty(t, d.Found)
	require.Empty(t, d.SlotsUp)
	require.Empty(t, report.Decision.Broken)
	for _, j := range w.n.State().Snapshot().Jobs {
		former := before[w.n.Job(j.Job.ID).Name]
		require.Equal(t, former.Promised, j.Promised)
		require.Equal(t, former.Guarantee, j.Guarantee)
		require.Equal(t, former.Running, j.Running)
		require.Equal(t, former.Start, j.Start)
		require.Equal(t, former.End, j.End)
	}

	// While nobody looks, a slot goes and a job is edited: it shows.
	left = w.pool.Saved(w.n.Checkpoint())
	w.kill(w.nodes[1])
	w.step()
	w.step()
	w.jobs[5].estimate = 500
	w.negotiator("conservative", left)
	d, _ = w.cycle()
	require.Empty(t, d.StartFailed, "what ran on the slot may be about to start")
	require.Len(t, d.Submitted, 1, "the edited job is another")
	w.now += 31
	d, _ = w.cycle()
	require.Len(t, d.StartFailed, 1)
	d, _ = w.cycle()
	require.Equal(t, []string{"slot1@n2"}, d.SlotsDown)
	w.nodes[1].down = false
	w.pass(700)
	for _, j := range w.jobs {
		require.True(t, j.done)
	}
}

// TestSuccessorFindsRoom: jobs that ended while there was no negotiator make room for others in its
// first cycle.
func TestSuccessorFindsRoom(t *testing.T) {
	w := newWorld(t, "conservative", small(4))
	a := w.submit(&sleeper{cpus: 4, seconds: 10, estimate: 1000})
	w.pass(8)
	b := w.submit(&sleeper{cpus: 4, seconds: 10, estimate: 2000})
	c := w.submit(&sleeper{cpus: 4, seconds: 10, estimate: 10})
	w.pass(4)
	left := w.pool.Saved(w.n.Checkpoint())
	require.Len(t, left.Jobs, 3)
	b.status = 3
	for !a.done {
		w.step()
	}
	w.negotiator("conservative", left)
	d, report := w.cycle()
	require.Len(t, d.Completed, 1)
	require.Len(t, d.Removed, 1)
	require.Empty(t, report.Decision.Broken)
	w.pass(20)
	require.True(t, c.done)
}

// TestSuccessorMatches: if a negotiator stops between deciding and handing over, its successor
// hands the match over.
func TestSuccessorMatches(t *testing.T) {
	w := newWorld(t, "conservative", small(4))
	j := w.submit(&sleeper{cpus: 4, seconds: 10, estimate: 10})
	w.step()
	l, err := w.pool.look(t.Context())
	require.NoError(t, err)
	report, err := w.n.RunCycle(t.Context(), w.pool.compare(l))
	require.NoError(t, err)
	require.Len(t, report.Matches, 1)
	w.negotiator("conservative", w.pool.Saved(w.n.Checkpoint()))
	w.pass(12)
	require.Equal(t, 1, j.runs)
}

// TestStrangersClaimsAtTheBeginning: a negotiator that starts in a full pool starts nothing on
// slots that foreign claims take up.
func TestStrangersClaimsAtTheBeginning(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.nodes[0].strangers = []string{"Name = \"slot1_9@n1\"\nMyAddress = \"<n1>\"\nState = \"Claimed\"\nActivity = \"Busy\"\n" +
		"DynamicSlot = true\nCpus = 3\nMemory = 128\nRequirements = true\nJobId = \"7.0\"\n" +
		"GlobalJobId = \"other@test#7.0#1\"\nRemoteUser = \"eve@test\""}
	w.step()
	w.step()
	w.submit(&sleeper{cpus: 2, seconds: 5, estimate: 5})
	w.step()
	w.negotiator("easy", nil)
	_, report := w.cycle()
	require.Empty(t, report.Matches)
	require.EqualValues(t, 3, w.n.State().Use()[0])
}

// TestSuccessorKnowsTheSchedds: what stands under a schedd's name or at its address when a negotiator
// starts does not take its place, if a negotiator before knew it. One that has moved is found.
func TestSuccessorKnowsTheSchedds(t *testing.T) {
	for what, stranger := range map[string]func(w *world) string{
		"a name at its address": func(w *world) string {
			return fmt.Sprintf("MyType = \"Scheduler\"\nName = \"a@test\"\nScheddIpAddr = %q\nMyAddress = %[1]q\n", w.schedd.Address())
		},
		"its name at an address before it": func(w *world) string {
			evil := fakes.NewSchedd(t, "schedd@test")
			for evil.Address().String() > w.schedd.Address().String() {
				evil = fakes.NewSchedd(t, "schedd@test")
			}
			return evil.Ad()
		},
	} {
		w := newWorld(t, "conservative", small(4))
		w.pass(8)
		left := w.pool.Saved(w.n.Checkpoint())
		require.Len(t, left.Schedds, 1)
		w.strangers = []string{stranger(w)}
		w.negotiator("conservative", left)
		j := w.submit(&sleeper{cpus: 1, seconds: 20, estimate: 30})
		w.pass(20)
		require.Equal(t, 1, j.runs, what)
		require.NotEmpty(t, w.pool.Last().Problems, what)
	}
	w := newWorld(t, "conservative", small(4))
	w.pass(8)
	left := w.pool.Saved(w.n.Checkpoint())
	gone := fakes.NewSchedd(t, "schedd@test")
	left.Schedds[0].Address = gone.Address().String()
	gone.Stop()
	w.negotiator("conservative", left)
	j := w.submit(&sleeper{cpus: 1, seconds: 20, estimate: 30})
	w.pass(20)
	require.Equal(t, 1, j.runs)
}
