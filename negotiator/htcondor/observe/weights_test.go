package observe

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

// static4 is the ad of a static slot.
func static4(more string) string {
	return "MyType = \"Machine\"\nName = \"slot2@n\"\nState = \"Unclaimed\"\n" +
		"Cpus = 4\nMemory = 4096\nRequirements = true\n" + more
}

// TestWeights says what slots weigh: what their startds say, unless the pool's own expression is
// forced or that is no number; nothing is noted of those that weigh their cpus.
func TestWeights(t *testing.T) {
	const byCpus = -1
	for name, c := range map[string]struct {
		weights config.Weights
		slot    string
		want    float64
	}{
		"none":                 {config.Weights{}, "", byCpus},
		"cpus":                 {config.Weights{SlotWeight: "Cpus"}, "SlotWeight = Cpus", byCpus},
		"my cpus":              {config.Weights{SlotWeight: "Cpus"}, "SlotWeight = MY.cpus", byCpus},
		"the startd's":         {config.Weights{SlotWeight: "Cpus"}, "SlotWeight = Cpus + Speed\nSpeed = 2.5", 6.5},
		"the pool's":           {config.Weights{SlotWeight: "2 * Cpus"}, "", 8},
		"the startd's first":   {config.Weights{SlotWeight: "2 * Cpus"}, "SlotWeight = Cpus", byCpus},
		"forced":               {config.Weights{SlotWeight: "2 * Cpus", Forced: true}, "SlotWeight = Cpus", 8},
		"forced to cpus":       {config.Weights{SlotWeight: "Cpus", Forced: true}, "SlotWeight = 9", byCpus},
		"of what is asked for": {config.Weights{SlotWeight: "Speed * 2", Forced: true}, "Speed = 7", 14},
		"no number":            {config.Weights{SlotWeight: "Cpus"}, `SlotWeight = "many"`, byCpus},
		"none at all":          {config.Weights{SlotWeight: "NoSuch"}, "SlotWeight = undefined", 1},
		"negative":             {config.Weights{SlotWeight: "Cpus"}, "SlotWeight = -2", 1},
		"nothing":              {config.Weights{SlotWeight: "Cpus"}, "SlotWeight = 0", 0},
		"too much":             {config.Weights{SlotWeight: "Cpus"}, "SlotWeight = 1e300", 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := newSite(t, "s@test")
			p.slots = []string{static4(c.slot)}
			scope := p.s.Scope
			scope.Weights = c.weights
			p.Ask(scope)
			weight := p.see().Slots["slot2@n"].Weight
			if c.want == byCpus {
				require.Nil(t, weight)
				return
			}
			require.NotNil(t, weight)
			require.InDelta(t, c.want, *weight, 0)
		})
	}
}

// Other weights, and another constraint on the slots that count, are those of all slots from the
// next look on.
func TestWeightsChange(t *testing.T) {
	p := newSite(t, "s@test")
	p.slots = []string{partitionable("SlotWeight = Cpus\nKind = 1\n"), part("SlotWeight = Cpus * 1.5")}
	s := p.see()
	require.InDelta(t, 1.5, *s.Slots["slot1_1@n"].Weight, 0, "a dynamic slot's own")
	require.False(t, s.Slots["slot1@n"].Uncounted)

	scope := p.s.Scope
	scope.Weights = config.Weights{
		SlotWeight: "Memory / 64.0", Forced: true, PoolSize: `Kind is 2 || State == "Claimed"`,
	}
	p.Ask(scope)
	s = p.see()
	require.InDelta(t, 2, *s.Slots["slot1_1@n"].Weight, 0)
	require.True(t, s.Slots["slot1@n"].Uncounted)
	require.False(t, s.Slots["slot1_1@n"].Uncounted)
	require.InDelta(t, 64, WeightOf(s.Slots["slot1@n"].Ad.Ad, nil, nil), 0, "for what jobs would have of it")
}
