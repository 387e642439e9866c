package dispatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
)

// TestAskStartds says when a claim that was handed over is over: its slot's private ad is there,
// and has it neither among the claims to give nor among those of dynamic slots.
func TestAskStartds(t *testing.T) {
	const free = "Name = \"a\"\nMyAddress = \"<n1>\"\nState = \"Unclaimed\"\n"
	const partitionable = free + "PartitionableSlot = true\n"
	const private = "Name = \"a\"\nMyAddress = \"<n1>\"\n"
	for name, c := range map[string]struct {
		slot, private string
		over          bool
	}{
		"still to give":        {slot: free, private: private + `ClaimId = "a claim"`},
		"over":                 {slot: free, private: private + `ClaimId = "another"`, over: true},
		"the job runs":         {slot: free + "State = \"Claimed\"", private: private + `ClaimId = "another"`},
		"the job is vacated":   {slot: free + "State = \"Preempting\"", private: private + `ClaimId = "another"`},
		"refused, now Owner":   {slot: free + "State = \"Owner\"", private: private + `ClaimId = "another"`, over: true},
		"no private ad":        {slot: free, private: `Name = "b"`},
		"no claim to see":      {slot: free, private: private},
		"of a startd before":   {slot: free, private: "Name = \"a\"\nMyAddress = \"<n2>\"\nClaimId = \"another\""},
		"not advertised":       {slot: `Name = "b"`, private: private + `ClaimId = "another"`},
		"one of several":       {slot: free, private: private + "ClaimId = \"x\"\nClaimIdList = \" x y\""},
		"of a dynamic slot":    {slot: partitionable, private: private + "ClaimId = \"x\"\nChildClaimIds = {\"a claim\"}"},
		"of no dynamic slot":   {slot: partitionable, private: private + "ClaimId = \"x\"\nChildClaimIds = {\"y\"}", over: true},
		"dynamic slots hidden": {slot: partitionable, private: private + `ClaimId = "x"`},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "a", "b", "c")
			collector := fakes.NewCollector(t)
			collector.Set("Machine", c.slot)
			collector.Set("MachinePrivate", c.private)
			d.ask(collector)
			claim := "a claim"
			if name == "one of several" {
				claim = "y"
			}
			d.hand(d.submit(1, specOf(t, 1, "true")), "a", claim)
			require.False(t, d.claims.InDoubt(), "the claim is on its way")
			d.at = d.at.Add(time.Second)
			require.Empty(t, d.look().Failed)
			require.True(t, d.claims.InDoubt())
			require.Equal(t, c.over, d.AskStartds(t.Context()))
			require.Equal(t, !c.over, d.claims.InDoubt())
			d.at = d.at.Add(time.Second)
			require.Equal(t, c.over, len(d.look().Failed) == 1)
		})
	}
}

// TestAskStartdsForClaimsThatNobodyAskedFor says when a schedd has ignored a match: seconds later the
// startd still offers its claim.
func TestAskStartdsForClaimsThatNobodyAskedFor(t *testing.T) {
	const free = "Name = \"a\"\nMyAddress = \"<n1>\"\nState = \"Unclaimed\"\n"
	const private = "Name = \"a\"\nMyAddress = \"<n1>\"\n"
	for name, c := range map[string]struct {
		slot, private string
		ignored       bool
	}{
		"still to give":     {slot: free, private: private + `ClaimId = "c"`, ignored: true},
		"one of several":    {slot: free, private: private + "ClaimId = \"x\"\nClaimIdList = \" x c\"", ignored: true},
		"in use":            {slot: free + "State = \"Claimed\"", private: private + `ClaimId = "c"`},
		"of a dynamic slot": {slot: free, private: private + "ClaimId = \"x\"\nChildClaimIds = {\"c\"}"},
		"not advertised":    {slot: `Name = "b"`, private: private + `ClaimId = "c"`},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "a", "b", "c")
			collector := fakes.NewCollector(t)
			collector.Set("Machine", c.slot)
			collector.Set("MachinePrivate", c.private)
			d.ask(collector)
			d.hand(d.submit(1, specOf(t, 1, "true")), "a", "c")
			d.at = d.at.Add(5 * time.Second)
			require.Empty(t, d.look().Failed)
			require.False(t, d.AskStartds(t.Context()), "the schedd may have read it just now")
			d.at = d.at.Add(2 * time.Second)
			require.Equal(t, c.ignored, d.AskStartds(t.Context()))
			require.Equal(t, !c.ignored, d.claims.InDoubt())
			d.at = d.at.Add(time.Second)
			require.Equal(t, c.ignored, len(d.look().Failed) == 1)
		})
	}
}
