package outlook

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// schema is that of the tests.
var schema = negotiator.Schema{Resources: []string{"cpus", "memory"}, Estimates: []string{"EstimatedRunTime"}}

// ad reads one ad in the line form; semicolons stand for ends of lines.
func ad(tb testing.TB, text string) *classad.ClassAd {
	tb.Helper()
	read, err := classad.ParseOld(strings.ReplaceAll(text, ";", "\n"))
	require.NoError(tb, err)
	return read
}

// newSlot is a slot of 1000 MiB that accepts every job, unless more says otherwise.
func newSlot(tb testing.TB, name string, cpus int, more string) *negotiator.Slot {
	tb.Helper()
	s, err := schema.SlotFromAd(ad(tb,
		fmt.Sprintf("Name = %q; Cpus = %d; Memory = 1000; Requirements = true; %s", name, cpus, more)))
	require.NoError(tb, err)
	return s
}

// newJob is a job of 10 s, submitted at 0, that accepts every slot, unless more says otherwise.
func newJob(tb testing.TB, id int, cpus int, more string) *negotiator.Job {
	tb.Helper()
	j, err := schema.JobFromAd(backfill.JobID(id), ad(tb, fmt.Sprintf("ClusterId = 1; ProcId = %d; QDate = 0; "+
		"EstimatedRunTime = 10; RequestCpus = %d; Requirements = true; %s", id, cpus, more)))
	require.NoError(tb, err)
	return j
}

// linked is a policy that is linked in.
func linked(tb testing.TB, policy string) backfill.Decider {
	tb.Helper()
	spec, err := policies.Named(policy)
	require.NoError(tb, err)
	d, err := backfill.Link(spec, nil)
	require.NoError(tb, err)
	return d
}

// configured is a configuration under which no decision may be refused.
func configured(tb testing.TB, policy, order string) negotiator.Config {
	tb.Helper()
	main := linked(tb, policy)
	fallback, err := backfill.Link(policies.FallbackFor(main.Spec()), nil)
	require.NoError(tb, err)
	o, err := negotiator.OrderNamed(order)
	require.NoError(tb, err)
	return negotiator.Config{
		Schema: schema, Order: o, Policy: main, Fallback: fallback, StartSlack: 3,
		Refused: func(r backfill.Refusal) { require.NoError(tb, r.Err, "refused at %d", r.Now) },
	}
}

// estimators makes a set of estimators for a policy.
func estimators(tb testing.TB, policy string, s estimate.Settings) *estimate.Set {
	tb.Helper()
	set, err := estimate.New(s, nil, linked(tb, policy).Spec().Guarantees, true, nil)
	require.NoError(tb, err)
	return set
}

// predictingConfig is a configuration with estimators. Jobs run for as long as actual says.
func predictingConfig(tb testing.TB, policy, order string, s estimate.Settings,
	actual map[backfill.JobID]backfill.Time,
) negotiator.Config {
	tb.Helper()
	c := configured(tb, policy, order)
	c.StartSlack = 0
	c.Estimates = estimators(tb, policy, s)
	c.Actual = func(id backfill.JobID) backfill.Time { return actual[id] }
	return c
}

// predicting is a negotiator of that configuration.
func predicting(tb testing.TB, policy, order string, s estimate.Settings,
	actual map[backfill.JobID]backfill.Time,
) *negotiator.Negotiator {
	tb.Helper()
	n, err := negotiator.New(predictingConfig(tb, policy, order, s, actual))
	require.NoError(tb, err)
	return n
}

// change is a change to a policy with estimators.
func change(tb testing.TB, policy, order string, s estimate.Settings) negotiator.Change {
	tb.Helper()
	c := configured(tb, policy, order)
	return negotiator.Change{Order: c.Order, Policy: c.Policy, Fallback: c.Fallback, Estimates: estimators(tb, policy, s)}
}

// cycle runs a cycle that must not fail.
func cycle(tb testing.TB, n *negotiator.Negotiator, d negotiator.Delta) negotiator.Report {
	tb.Helper()
	r, err := n.RunCycle(context.Background(), d)
	require.NoError(tb, err)
	return *r
}
