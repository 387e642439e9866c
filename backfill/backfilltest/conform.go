package backfilltest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
)

// Conform drives a policy through random pools of all kinds and judges it as negotiator plugin check
// does, see [conformance.Pool]: each fault fails the test, promises that are not kept included; advice is
// logged. The callback decider creates the policy under test; it is called once for each pool.
func Conform(t *testing.T, pools, rounds int, decider func(t *testing.T) backfill.Decider,
	promises ...conformance.Promise,
) {
	t.Helper()
	for n := range pools {
		all := conformance.Kinds{
			Partitioned: true, Deferred: true, Shallow: true, Windowed: true, Limited: true, Ending: true, Sparing: true,
		}
		conform(t, conformance.Pool(n, 0, all), rounds, decider, promises, conformance.Rule.Advice)
	}
}

// Kind is a kind of pools, such as [Windowed]: it returns what is added to a seed for such a pool, see
// package conformance. Half of the pools of most kinds have plans of a small depth, if the policy
// follows one.
type Kind func(seed uint64) uint64

// ConformOn is stricter than [Conform], on pools of one kind, one for each seed from 0: advice fails the
// test, too. The policies of this project follow it.
func ConformOn(t *testing.T, kind Kind, pools, rounds int, decider func(t *testing.T) backfill.Decider,
	promises ...conformance.Promise,
) {
	t.Helper()
	for seed := range uint64(pools) {
		conform(t, kind(seed)+seed, rounds, decider, promises, func(conformance.Rule) bool { return false })
	}
}

// Plain pools are of no kind.
func Plain(uint64) uint64 { return 0 }

// Partitioned pools have bundles.
func Partitioned(uint64) uint64 { return conformance.Partitioned }

// Shallow pools have plans of a small depth.
func Shallow(uint64) uint64 { return conformance.Shallow }

// Deferred pools have jobs that may not start at once.
func Deferred(seed uint64) uint64 { return conformance.Deferred + shallow(seed) }

// Windowed pools have candidates that are not always open; a third have bundles besides, a third jobs
// that may not start at once.
func Windowed(seed uint64) uint64 {
	kind := []uint64{0, conformance.Deferred, conformance.Partitioned}[seed/2%3]
	return conformance.Windowed + kind + shallow(seed)
}

// Limited pools have jobs that take of rows; of each four one has bundles besides, one jobs that may not
// start at once, one candidates that are not always open.
func Limited(seed uint64) uint64 {
	kind := []uint64{0, conformance.Windowed, conformance.Deferred, conformance.Partitioned}[seed/2%4]
	return conformance.Limited + kind + shallow(seed)
}

// Ending pools have slots that end; a third have bundles besides, a third jobs that may not start at
// once, a quarter candidates that are not always open, a fifth jobs that take of rows.
func Ending(seed uint64) uint64 {
	kind := []uint64{0, conformance.Deferred, conformance.Partitioned}[seed/2%3]
	if seed%4 == 3 {
		kind += conformance.Windowed
	}
	if seed%5 == 4 {
		kind += conformance.Limited
	}
	return conformance.Ending + kind + shallow(seed)
}

// Sparing pools have candidates on which a job may begin only while more is free than it takes; a third
// have candidates that are not always open besides, a third jobs that may not start at once, a quarter
// slots that end, a fifth jobs that take of rows.
func Sparing(seed uint64) uint64 {
	kind := []uint64{0, conformance.Deferred, conformance.Windowed}[seed/2%3]
	if seed%4 == 3 {
		kind += conformance.Ending
	}
	if seed%5 == 4 {
		kind += conformance.Limited
	}
	return conformance.Sparing + kind + shallow(seed)
}

// shallow makes every other plan shallow.
func shallow(seed uint64) uint64 { return seed % 2 * conformance.Shallow }

// conform drives a policy through a pool. What is broken fails the test unless the callback spares it.
func conform(t *testing.T, seed uint64, rounds int, decider func(t *testing.T) backfill.Decider,
	promises []conformance.Promise, spares func(conformance.Rule) bool,
) {
	t.Helper()
	t.Run(fmt.Sprintf("pool-%d", seed), func(t *testing.T) {
		findings, err := conformance.Conform(t.Context(), seed, rounds, decider(t), promises...)
		require.NoError(t, err)
		for _, f := range findings {
			if spares(f.Rule) {
				t.Logf("advice: %s; %s", f, f.Remedy())
				continue
			}
			t.Errorf("%s: %s; %s", f.Rule, f, f.Remedy())
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
