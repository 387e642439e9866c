package observe

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestResourcesBeyondThePlan: who asks for a resource that slots list and no plan counts is told so, as long as a
// slot lists it.
func TestResourcesBeyondThePlan(t *testing.T) {
	const wants = "RequestLicenses = 1\n"
	for name, c := range map[string]struct {
		slot, job, requirements, told string
	}{
		"listed":          {`MachineResources = "Cpus Memory Swap Licenses"`, wants, "TARGET.Licenses >= RequestLicenses", "licenses"},
		"with commas":     {`MachineResources = "Cpus, Memory, LICENSES, Tapes"`, wants, "TARGET.Licenses >= RequestLicenses", "licenses"},
		"nobody asks":     {`MachineResources = "Cpus Memory Licenses"`, "", "true", ""},
		"none lists it":   {`MachineResources = "Cpus Memory Swap"`, wants, "TARGET.Licenses >= RequestLicenses", ""},
		"planned with":    {`MachineResources = "Cpus Memory"`, "", "TARGET.Memory > 1", ""},
		"swap":            {`MachineResources = "Cpus Memory Swap"`, "", "TARGET.Swap > 1", ""},
		"an odd name":     {`MachineResources = "Cpus Li;censes"`, wants, "TARGET.Licenses >= RequestLicenses", ""},
		"too many":        {`MachineResources = "` + strings.Repeat("a b c ", 50) + `Licenses"`, wants, "TARGET.Licenses > 0", "licenses"},
		"an expression":   {`MachineResources = strcat("Lic", "enses")`, wants, "TARGET.Licenses > 0", ""},
		"no amount of it": {`MachineResources = "Licenses"`, wants, "TARGET.Licenses >= RequestLicenses", "licenses"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newSite(t, "s@test")
			p.slots = []string{partitionable("Licenses = 2\n" + c.slot + "\n")}
			p.schedds[0].SetJobs(strings.Replace(job(c.job), "Requirements = true", "Requirements = "+c.requirements, 1))
			p.see() // what is asked for grows from round to round
			problems := p.see().Problems
			if c.told == "" {
				require.Empty(t, problems)
				return
			}
			require.Equal(t, []string{"jobs ask for " + c.told + ", which slots list (such as slot1@n) and no plan counts, so that " +
				"startds may refuse starts: add it to BACKFILL_RESOURCES and restart the negotiator"}, problems)
			p.slots = nil
			p.Forget([]string{"slot1@n"})
			require.NotContains(t, strings.Join(p.see().Problems, "\n"), c.told)
		})
	}
}
