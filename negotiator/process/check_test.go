package process

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
)

// TestCheckSlots: machines are named whose START has no line for leases, and no others.
func TestCheckSlots(t *testing.T) {
	collector := fakes.NewCollector(t)
	pool := &client.Collector{Security: fakes.Client(), Addresses: []cedar.Address{collector.Address()}}
	slot := func(machine, more string) string {
		return "MyType = \"Machine\"\nName = \"slot1@" + machine + "\"\nMachine = \"" + machine + "\"\n" + more
	}
	const heeds = "Start = (true) && (MY.NegotiatorMatchExprBackfillLease is undefined || MY.NegotiatorMatchExprBackfillLease)\n"

	require.Empty(t, checkSlots(t.Context(), pool, true), "no slots")
	collector.Set("Machine", slot("a", heeds+"Rank = 0.0\n"), slot("b", heeds))
	require.Empty(t, checkSlots(t.Context(), pool, true))

	collector.Set("Machine", slot("a", heeds+"Rank = Owner == \"alice\"\n"), slot("c", "Start = true\n"), slot("b", ""))
	warnings := checkSlots(t.Context(), pool, true)
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0], "START of 2 machines, such as b, does not heed leases")
	require.Contains(t, warnings[0], condorconfig.StartLine)
	require.Empty(t, checkSlots(t.Context(), pool, false), "nothing is lent")

	collector.Deny()
	warnings = checkSlots(t.Context(), pool, true)
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0], "the collector does not tell how START of the slots is set: ")
}
