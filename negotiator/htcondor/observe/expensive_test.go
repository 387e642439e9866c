package observe

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// tooMuch is an expression of many steps.
const tooMuch = `[ a = b+b+b+b+b+b; b = c+c+c+c; c = d+d+d+d; d = e+e+e+e; e = f+f+f+f; f = g+g+g+g; g = 1 ].a`

// A job is not planned, and is told why, if what it asks for is too expensive to evaluate.
func TestExpensiveAttributes(t *testing.T) {
	for attribute, wrong := range map[string]string{
		"RequestMemory":     "its RequestMemory is too expensive to evaluate: it takes more than 10000 steps",
		"EstimatedRunTime":  "its EstimatedRunTime is too expensive",
		"AccountingGroup":   "its AccountingGroup is too expensive",
		"ConcurrencyLimits": "its ConcurrencyLimits is too expensive",
		"Extra":             "what it consumes is too expensive to evaluate",
		"Rank":              "",
	} {
		t.Run(attribute, func(t *testing.T) {
			o := quiet()
			policy := cedar.Lines(partitionable("ConsumptionCpus = ifThenElse(isUndefined(TARGET.Extra), 1, TARGET.Extra)\n"))
			_, err := o.readSlot(policy, lookOf(1))
			require.NoError(t, err)
			o.countWays()
			ad, err := classad.Parse(`[ User = "ann@test"; RequestCpus = 1; RequestMemory = 10; Requirements = true ]`)
			require.NoError(t, err)
			require.NoError(t, ad.SetExpr(attribute, tooMuch))
			spec, _ := o.specOf(ad, "schedd")
			if wrong == "" {
				require.NoError(t, spec.Wrong)
				return
			}
			require.ErrorContains(t, spec.Wrong, wrong)
		})
	}
}
