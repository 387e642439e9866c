package backfilltest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/backfilltest"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/policies/easy"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

// TestLinkedPolicies checks that every linked-in policy keeps the rules of package conformance and
// its own promises.
func TestLinkedPolicies(t *testing.T) {
	for _, spec := range policies.All() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			conform(t, spec, nil, thorough.Cases(6, 18))
		})
	}
}

// TestEasyDepth checks that easy with several reservations keeps the rules and easy's promises.
func TestEasyDepth(t *testing.T) {
	conform(t, easy.Spec(), map[string]string{"depth": "3"}, thorough.Cases(6, 12))
}

func conform(t *testing.T, spec backfill.PolicySpec, options map[string]string, pools int) {
	t.Helper()
	decider := func(t *testing.T) backfill.Decider {
		t.Helper()
		d, err := backfill.Link(spec, options)
		require.NoError(t, err)
		return d
	}
	backfilltest.ConformOn(t, backfilltest.Plain, pools, 120, decider, conformance.PromisesOf(spec.Name)...)
	backfilltest.ConformOn(t, backfilltest.Partitioned, pools/3, 120, decider, conformance.PromisesOf(spec.Name)...)
	backfilltest.ConformOn(t, backfilltest.Deferred, pools, 120, decider, conformance.PromisesOf(spec.Name)...)
	backfilltest.ConformOn(t, backfilltest.Sparing, 2*pools, 120, decider, conformance.PromisesOf(spec.Name)...)
	backfilltest.ConformOn(t, backfilltest.Preempting, 2*pools, 120, decider, conformance.PromisesOf(spec.Name)...)
	backfilltest.ConformOn(t, backfilltest.Windowed, 2*pools, 120, decider, conformance.PromisesOf(spec.Name)...)
	backfilltest.ConformOn(t, backfilltest.Limited, 2*pools, 120, decider, conformance.PromisesOf(spec.Name)...)
	backfilltest.ConformOn(t, backfilltest.Ending, 2*pools, 120, decider, conformance.PromisesOf(spec.Name)...)
	if spec.PlanDepth {
		backfilltest.ConformOn(t, backfilltest.Shallow, pools, 120, decider, conformance.PromisesOf(spec.Name)...)
	}
}
