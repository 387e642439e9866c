package backfilltest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/backfilltest"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
)

// TestLinkedPolicies holds every linked-in policy against the suite.
func TestLinkedPolicies(t *testing.T) {
	for _, spec := range policies.All() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			backfilltest.Conform(t, 40, 150, func(t *testing.T) backfill.Decider {
				t.Helper()
				d, err := backfill.Link(spec, nil)
				require.NoError(t, err)
				return d
			})
		})
	}
}
