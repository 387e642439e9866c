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
// logged. In each pool the policy decides twice, and again with a memory that it loses, see
// [conformance.Repeat]. What is left to plugin check is the process: that it starts, ends and answers in
// time. The callback decider creates the policy under test; it is called several times for each pool.
func Conform(t *testing.T, pools, rounds int, decider func(t *testing.T) backfill.Decider,
	promises ...conformance.Promise,
) {
	t.Helper()
	all := conformance.Kinds{
		Partitioned: true, Deferred: true, Shallow: true, Windowed: true, Limited: true, Ending: true, Sparing: true,
		Preempting: true,
	}
	c := trial{rounds: rounds, decider: decider, promises: promises, spares: conformance.Rule.Advice, repeats: true}
	for n := range pools {
		c.on(t, conformance.Pool(n, 0, all))
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
	c := trial{
		rounds: rounds, decider: decider, promises: promises, spares: func(conformance.Rule) bool { return false },
	}
	for seed := range uint64(pools) {
		c.on(t, kind(seed)+seed)
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

// Preempting pools have jobs that make way for others; a third have bundles besides, a third candidates that
// are not always open, a quarter slots that end, a fifth jobs that take of rows.
func Preempting(seed uint64) uint64 {
	kind := []uint64{0, conformance.Partitioned, conformance.Windowed}[seed/2%3]
	if seed%4 == 3 {
		kind += conformance.Ending
	}
	if seed%5 == 4 {
		kind += conformance.Limited
	}
	return conformance.Preempting + kind + shallow(seed)
}

// shallow makes every other plan shallow.
func shallow(seed uint64) uint64 { return seed % 2 * conformance.Shallow }

// trial is how a policy is tried.
type trial struct {
	rounds   int
	decider  func(t *testing.T) backfill.Decider
	promises []conformance.Promise
	spares   func(conformance.Rule) bool // what is not to fail the test
	repeats  bool                        // see [conformance.Repeat]
}

// on drives the policy through the pool of a seed.
func (c trial) on(t *testing.T, seed uint64) {
	t.Helper()
	t.Run(fmt.Sprintf("pool-%d", seed), func(t *testing.T) {
		findings, err := conformance.Conform(t.Context(), seed, c.rounds, c.decider(t), c.promises...)
		require.NoError(t, err)
		c.report(t, findings)
		if t.Failed() || !c.repeats {
			return
		}
		differs, err := conformance.Repeat(t.Context(), seed, c.rounds, func() backfill.Decider { return c.decider(t) })
		require.NoError(t, err)
		if differs != nil {
			c.report(t, []conformance.Finding{*differs})
		}
	})
}

// report fails the test for each finding that is not to be spared, and logs the others.
func (c trial) report(t *testing.T, findings []conformance.Finding) {
	t.Helper()
	for _, f := range findings {
		if c.spares(f.Rule) {
			t.Logf("advice: %s; %s", f, f.Remedy())
			continue
		}
		t.Errorf("%s: %s; %s", f.Rule, f, f.Remedy())
		if f.Stack != "" {
			t.Logf("the panic:\n%s", f.Stack)
		}
	}
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
