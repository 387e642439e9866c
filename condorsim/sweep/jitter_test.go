package sweep

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

const jittered = `name: jittered
baseline: easy
traces: [{name: a, file: a.swf}]
schedulers: [{policies: [easy, conservative]}, {policy: easy, order: sjf}]
`

// A jittered cell is another one, by its name and its inputs, and runs as its seed says. Of
// schedulers whose orders have no keys to jitter, cells are what they were without jitter.
func TestJitteredCells(t *testing.T) {
	dir := folder(t, 150)
	plain := prepared(t, dir, jittered+"seeds: [1, 2]\n")
	p := prepared(t, dir, jittered+"seeds: [1, 2]\njitter_keys: 0.9\n")
	require.Len(t, p.cells, 6)
	before, cells := collect(t, plain, 2), collect(t, p, 2)
	for i, key := range p.Manifest.Cells {
		unmoved := plain.Manifest.Cells[i]
		if key.Scheduler != "easy-sjf" {
			require.Equal(t, unmoved, key)
			require.Equal(t, before[key.ID], cells[key.ID])
			continue
		}
		require.Equal(t, unmoved.Trace+",easy-sjf,jitter-keys=0.9,seed="+map[uint64]string{1: "1", 2: "2"}[key.Seed], key.ID)
		require.NotEqual(t, unmoved.Inputs, key.Inputs)

		c := p.cells[i]
		trace, err := c.input.trace()
		require.NoError(t, err)
		w, err := c.input.workload(trace, 1, estimates{model: given}, key.Seed)
		require.NoError(t, err)
		config := negotiator.Config{}
		deciders, err := linked(t.Context(), "easy", nil, w.Schema.Resources)
		require.NoError(t, err)
		config.Policy, config.Fallback = deciders.Main, deciders.Fallback
		order, err := negotiator.OrderNamed("sjf")
		require.NoError(t, err)
		config.Order = condorsim.Jitter{Keys: 0.9, Seed: key.Seed}.Of(order)
		r, err := condorsim.Run(t.Context(), w, config, nil)
		require.NoError(t, err)
		require.InDelta(t, r.Metrics().MeanWait, cells[key.ID].Metrics["mean_wait"], 0)
	}
	require.Equal(t, before["a,easy-sjf,seed=1"].Metrics, before["a,easy-sjf,seed=2"].Metrics)
	require.NotEqual(t, cells["a,easy-sjf,jitter-keys=0.9,seed=1"].Metrics, cells["a,easy-sjf,jitter-keys=0.9,seed=2"].Metrics)
	require.Equal(t, "keys of the queue's order jittered by 90 % (easy, conservative: no keys to jitter)",
		p.Manifest.Cells.JitterText())

	all := make([]results.Cell, 0, len(p.cells))
	for _, key := range p.Manifest.Cells {
		all = append(all, cells[key.ID])
	}
	averaged := results.OverSeeds(all)
	require.Len(t, averaged, 3)
	require.InDelta(t, (all[2].Metrics["mean_wait"]+all[5].Metrics["mean_wait"])/2, averaged[2].Metrics["mean_wait"], 1e-9)
	require.Equal(t, all[0].Metrics, averaged[0].Metrics)
}

// What is no share of a key is said with its place.
func TestJitterIsAShare(t *testing.T) {
	for _, share := range []string{"-0.1", "1", ".nan", ".inf"} {
		_, err := Parse("x.yaml", []byte(jittered+"jitter_keys: "+share+"\n"))
		require.ErrorContains(t, err, "must be from 0 to less than 1")
		require.ErrorContains(t, err, "x.yaml: [5:14]")
	}
}
