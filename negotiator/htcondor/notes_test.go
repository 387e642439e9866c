package htcondor

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Each match and each reason that a schedd was told of is noted in the stock negotiator's words.
func TestNotes(t *testing.T) {
	w := newWorld(t, "easy", small(1))
	var notes []string
	w.settings = func(s *Settings) {
		s.Name, s.Notes = "us.test", func(line string) { notes = append(notes, line) }
	}
	w.negotiator("easy", nil)
	w.submit(&sleeper{cpus: 1, seconds: 100, estimate: 100})
	waits := w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10, owner: "bob"})
	w.pass(12)
	schedd, startd := w.schedd.Address().String(), "<n1>"
	require.Equal(t, []string{
		"      Matched 1.0 alice@test " + schedd + " preempting none " + startd + " slot1@n1",
	}, notes)

	name, _ := w.schedd.Headers()[0].Text("NegotiatorName")
	require.Equal(t, "us.test", name)

	id := w.pool.Find("2.0")
	require.Zero(t, waits.runs)
	require.NoError(t, w.pool.Explain(t.Context(), id, func(backfill.JobID) string { return "reserved,\nby 15:32" }))
	require.Equal(t, "      Rejected 2.0 bob@test "+schedd+": reserved, by 15:32", notes[1])
	require.Len(t, notes, 2)
	require.NoError(t, w.pool.Explain(t.Context(), id, func(backfill.JobID) string { return "reserved,\nby 15:32" }))
	require.Len(t, notes, 2, "it was not told again")
}

// TestNotesOfLimits: the log says which limit is reached, in the cycle in which it keeps a job out, for
// the first job that it keeps out; and again each minute.
func TestNotesOfLimits(t *testing.T) {
	w := newWorld(t, "easy", small(8))
	var notes []string
	w.settings = func(s *Settings) {
		s.Notes = func(line string) {
			if strings.Contains(line, "Rejected") {
				notes = append(notes, line)
			}
		}
	}
	w.account(map[string]string{"SW_LIMIT": "1"})
	for range 3 {
		w.submit(&sleeper{cpus: 1, seconds: 100, estimate: 100, extra: "\nConcurrencyLimits = \"sw\""})
	}
	w.step()
	w.cycle()
	require.Regexp(t, `^\s*Rejected 2\.0 alice@test <.*>: .*: concurrency limit sw reached$`, notes[0], "HTCondor's tests look for it")
	w.pass(40)
	require.Len(t, notes, 1)
	w.pass(40)
	require.Len(t, notes, 2)
	w.pass(60) // the first job has ended, the second runs
	require.Regexp(t, `Rejected 3\.0 `, notes[len(notes)-1])
	w.pass(120)
	before := len(notes)
	w.pass(80)
	require.Len(t, notes, before, "nobody is kept out")
}
