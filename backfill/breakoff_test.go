package backfill_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
)

// TestABrokenRoundLeavesNoTrace breaks rounds off after ever more looks at their context. The state
// is then as it was, and the round is decided in the end as if it had never been broken off.
func TestABrokenRoundLeavesNoTrace(t *testing.T) {
	for _, spec := range policies.All() {
		t.Run(spec.Name, func(t *testing.T) {
			broken := 0
			rapid.Check(t, func(rt *rapid.T) {
				seed := rapid.Uint64Range(0, 1000).Draw(rt, "seed")
				seed += rapid.SampledFrom([]uint64{
					0, conformance.Partitioned, conformance.Deferred, conformance.Windowed, conformance.Ending,
				}).Draw(rt, "kind")
				drv := conformance.NewDriver(seed)
				rule := drv.Rule()
				queue := order(t, rapid.SampledFrom([]string{"fcfs", "wfp"}).Draw(rt, "order"))
				host := func() *backfill.Host {
					fallback := link(t, policies.FallbackFor(spec).Name, nil)
					s := backfill.NewState(drv.Resources(), rule)
					h, err := backfill.NewHost(s, queue, link(t, spec.Name, nil), fallback, nil)
					require.NoError(rt, err)
					return h
				}
				whole, parts := host(), host()
				parts.BreakOff(0)
				for range rapid.IntRange(1, 8).Draw(rt, "rounds") {
					round := drv.Round(whole.State)
					want, err := whole.Decide(context.Background(), round)
					require.NoError(rt, err)
					before := factsOf(parts.State, round.Now)
					for looks := 0; ; looks += 1 + looks/4 {
						got, err := parts.Decide(&ending{context.Background(), looks}, round)
						if err == nil {
							require.Equal(rt, want.Started, got.Started)
							require.Equal(rt, factsOf(whole.State, round.Now), factsOf(parts.State, round.Now))
							break
						}
						broken++
						require.ErrorIs(rt, err, errEnding)
						require.Equal(rt, before, factsOf(parts.State, round.Now), "after %d looks", looks)
					}
				}
			})
			require.NotZero(t, broken)
		})
	}
}
