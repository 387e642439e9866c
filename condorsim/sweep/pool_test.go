package sweep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

const onPool = "name: x\ntraces: [{name: a, file: a.swf, pool: pool.yaml}]\n" +
	"schedulers: [{policy: easy}, {policy: bb, options: {resources: 'cpus,licenses'}}]\n"

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

// A pool sets the resources, also how much memory jobs may request, and when its slots fail, as for
// condorsim run.
func TestPoolOfASweep(t *testing.T) {
	dir := folder(t, 150)
	write(t, dir, "pool.yaml", "classes: [{name: n, count: 5, cpus: 4, memory: 128, resources: {licenses: 2}}]\n"+
		"failures: [{mtbf: 1000, mttr: 100}]\n")
	p := prepared(t, dir, onPool+"seeds: [0, 3]\n")
	cells := collect(t, p, 2)
	pool, err := pools.Open(filepath.Join(dir, "pool.yaml"))
	require.NoError(t, err)
	for id, seed := range map[string]uint64{"a,easy": 0, "a,easy,seed=3": 3} {
		trace, err := workload.Open(filepath.Join(dir, "a.swf"), workload.Options{CPUs: 1 << 20, Memory: 1e12})
		require.NoError(t, err)
		w, err := condorsim.OnPool(trace, pool)
		require.NoError(t, err)
		w.Seed = seed
		d, err := linked(t.Context(), "easy", nil, w.Schema.Resources)
		require.NoError(t, err)
		r, err := condorsim.Run(t.Context(), w, negotiator.Config{Policy: d.Main, Fallback: d.Fallback}, nil)
		require.NoError(t, err)
		require.Equal(t, r.Measures(), cells[id].Metrics)
		require.Positive(t, cells[id].Metrics["utilisation_memory"])
		require.Positive(t, cells[id].Metrics["requeues"])
	}
	require.NotEqual(t, cells["a,easy"].Metrics, cells["a,easy,seed=3"].Metrics)
	require.Len(t, p.Manifest.Traces, 2)
}

// A pool's files are inputs, with those that its description refers to; faults in them are known
// before anything runs.
func TestFilesOfAPool(t *testing.T) {
	dir := folder(t, 20)
	digest := func(description, slots string) string {
		write(t, dir, "pool.yaml", description)
		write(t, dir, "slots.ads", slots)
		p := prepared(t, dir, "name: x\ntraces: [{name: a, file: a.swf, pool: pool.yaml}]\n"+
			"schedulers: [{policy: easy}]\n")
		return p.Manifest.Cells[0].Inputs
	}
	const ads, slots = "ads: slots.ads\n", "Name = \"a\"\nCpus = 16\n"
	base := digest(ads, slots)
	require.Equal(t, base, digest(ads, slots))
	require.NotEqual(t, base, digest(ads+"give_up_after: 3\n", slots))
	require.NotEqual(t, base, digest(ads, slots+"Memory = 4\n"))

	write(t, dir, "pool.yaml", "classes: [{name: n, cpus: none}]\n")
	_, err := prepare(t, dir, onPool)
	require.ErrorContains(t, err, "trace a: read the pool: ")
	require.ErrorContains(t, err, "cpus: none")
}

// The needs of a cell are estimated by its jobs, from files or generated; slots do not count.
func TestGuessedJobs(t *testing.T) {
	dir := folder(t, 20)
	write(t, dir, "pool.yaml", "classes: [{name: n, cpus: 16}]\n# "+strings.Repeat("x", 1<<16)+"\n")
	p := prepared(t, dir, `name: x
traces:
  - {name: a, file: a.swf}
  - {name: p, file: a.swf, pool: pool.yaml}
  - {name: g, generate: {model: lublin, jobs: 5000, cpus: 64}}
schedulers: [{policy: easy}]
`)
	guessed := map[string]int64{}
	for _, t := range p.tasks(whole(p)) {
		guessed[t.home.key.Trace] = t.guessedJobs()
	}
	require.Equal(t, guessed["a"], guessed["p"])
	require.InDelta(t, 20, guessed["a"], 20)
	require.EqualValues(t, 5001, guessed["g"])
	few := p.tasks(whole(p))[0].need()
	p.fair = condorsim.Fair{Relaxed: true}
	require.Greater(t, p.tasks(whole(p))[0].need(), few, "copies of simulations need memory, too")
}
