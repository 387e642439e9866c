package backfilltest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
)

// Conform drives a policy through random pools, one for each seed from 0, and fails the test on
// every finding of package conformance, those of broken advice and promises included. The callback
// decider creates the policy under test; it is called once for each pool.
func Conform(t *testing.T, pools, rounds int, decider func(t *testing.T) backfill.Decider,
	promises ...conformance.Promise,
) {
	t.Helper()
	for seed := range uint64(pools) {
		conform(t, seed, rounds, decider, promises)
	}
}

// ConformPartitioned is [Conform] on pools with bundles.
func ConformPartitioned(t *testing.T, pools, rounds int, decider func(t *testing.T) backfill.Decider,
	promises ...conformance.Promise,
) {
	t.Helper()
	for seed := range uint64(pools) {
		conform(t, conformance.Partitioned+seed, rounds, decider, promises)
	}
}

// ConformShallow is [Conform] with plans of a small depth.
func ConformShallow(t *testing.T, pools, rounds int, decider func(t *testing.T) backfill.Decider,
	promises ...conformance.Promise,
) {
	t.Helper()
	for seed := range uint64(pools) {
		conform(t, conformance.Shallow+seed, rounds, decider, promises)
	}
}

// ConformDeferred is [Conform] with jobs that may not start at once, every other time with plans of a
// small depth if the policy follows one.
func ConformDeferred(t *testing.T, pools, rounds int, decider func(t *testing.T) backfill.Decider,
	promises ...conformance.Promise,
) {
	t.Helper()
	for seed := range uint64(pools) {
		conform(t, conformance.Deferred+seed%2*conformance.Shallow+seed, rounds, decider, promises)
	}
}

// ConformWindowed is [Conform] with candidates that are not always open: a third of the pools have
// bundles besides, a third jobs that may not start at once, and half of them plans of a small depth if
// the policy follows one.
func ConformWindowed(t *testing.T, pools, rounds int, decider func(t *testing.T) backfill.Decider,
	promises ...conformance.Promise,
) {
	t.Helper()
	for seed := range uint64(pools) {
		kind := []uint64{0, conformance.Deferred, conformance.Partitioned}[seed/2%3]
		conform(t, conformance.Windowed+kind+seed%2*conformance.Shallow+seed, rounds, decider, promises)
	}
}

// ConformEnding is [Conform] with slots that end: a third of the pools have bundles besides, a third jobs
// that may not start at once, a quarter candidates that are not always open, and half of them plans of a
// small depth if the policy follows one.
func ConformEnding(t *testing.T, pools, rounds int, decider func(t *testing.T) backfill.Decider,
	promises ...conformance.Promise,
) {
	t.Helper()
	for seed := range uint64(pools) {
		kind := []uint64{0, conformance.Deferred, conformance.Partitioned}[seed/2%3]
		if seed%4 == 3 {
			kind += conformance.Windowed
		}
		conform(t, conformance.Ending+kind+seed%2*conformance.Shallow+seed, rounds, decider, promises)
	}
}

func conform(t *testing.T, seed uint64, rounds int, decider func(t *testing.T) backfill.Decider,
	promises []conformance.Promise,
) {
	t.Helper()
	t.Run(fmt.Sprintf("pool-%d", seed), func(t *testing.T) {
		findings, err := conformance.Conform(t.Context(), seed, rounds, decider(t), promises...)
		require.NoError(t, err)
		for _, f := range findings {
			require.Fail(t, string(f.Rule), f.String())
		}
	})
}

// NewHost creates a host for a driver's pool, with main as the active policy. A refused decision
// fails the test.
func NewHost(t *testing.T, d *conformance.Driver, main backfill.Decider) *backfill.Host {
	t.Helper()
	host, err := conformance.NewHost(d, main, func(r backfill.Refusal) {
		require.NoError(t, r.Err, "the decision of %s at %d was refused", r.Policy, r.Now)
	})
	require.NoError(t, err)
	return host
}
