package negotiator

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/classad"
)

// ad reads one ad in the line form; semicolons stand for ends of lines.
func ad(tb testing.TB, text string) *classad.ClassAd {
	tb.Helper()
	read, err := classad.ParseOld(strings.ReplaceAll(text, ";", "\n"))
	require.NoError(tb, err)
	return read
}

// twoResources is the schema of most tests.
func twoResources() Schema {
	return Schema{Resources: []string{"cpus", "memory"}, Estimates: []string{"EstimatedRunTime"}}
}

// newSlot is a slot of 1000 MiB that accepts every job, unless more says otherwise.
func newSlot(tb testing.TB, name string, cpus int, more string) *Slot {
	tb.Helper()
	s, err := twoResources().SlotFromAd(ad(tb,
		fmt.Sprintf("Name = %q; Cpus = %d; Memory = 1000; Requirements = true; %s", name, cpus, more)))
	require.NoError(tb, err)
	return s
}

// newJob is a job of 10 s, submitted at 0, that accepts every slot, unless more says otherwise.
func newJob(tb testing.TB, id int, cpus int, more string) *Job {
	tb.Helper()
	text := fmt.Sprintf("ClusterId = 1; ProcId = %d; QDate = 0; EstimatedRunTime = 10; RequestCpus = %d; "+
		"Requirements = true; %s", id, cpus, more)
	j, err := twoResources().JobFromAd(backfill.JobID(id), ad(tb, text))
	require.NoError(tb, err)
	return j
}

func linked(tb testing.TB, policy string) backfill.Decider {
	tb.Helper()
	spec, err := policies.Named(policy)
	require.NoError(tb, err)
	d, err := backfill.Link(spec, nil)
	require.NoError(tb, err)
	return d
}

// newNegotiator is a negotiator under easy, where no decision may be refused.
func newNegotiator(tb testing.TB) *Negotiator {
	tb.Helper()
	n, err := New(Config{
		Schema: twoResources(), Policy: linked(tb, "easy"), Fallback: linked(tb, "easy"),
		Refused: func(r backfill.Refusal) { require.NoError(tb, r.Err, "refused at %d", r.Now) },
	})
	require.NoError(tb, err)
	return n
}

// cycle runs a cycle that must not fail.
func cycle(tb testing.TB, n *Negotiator, d Delta) Report {
	tb.Helper()
	r, err := n.RunCycle(context.Background(), d)
	require.NoError(tb, err)
	return *r
}

// CheckOutlook plays a negotiator's schedule ahead, and checks what it says of the jobs; see
// outlook_test.go.
var CheckOutlook func(*rapid.T, *Negotiator)

// started lists what a cycle started as job@slot×chunks.
func started(r Report) []string {
	out := []string{}
	for _, m := range r.Matches {
		parts := make([]string, len(m.Placement))
		for i, p := range m.Placement {
			parts[i] = fmt.Sprintf("%s×%d", p.Name(), p.Count)
		}
		out = append(out, m.Job.Name+"@"+strings.Join(parts, "+"))
	}
	return out
}

// why is the state's reason why a job waits, runs or is held.
func why(tb testing.TB, n *Negotiator, id backfill.JobID) string {
	tb.Helper()
	r, ok := n.State().Reason(id)
	if !ok {
		return "unknown"
	}
	return r.Why.String()
}
