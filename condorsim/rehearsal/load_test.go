package rehearsal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/source"
)

// link is the policy easy, linked in.
func link(t *testing.T) negotiator.Config {
	t.Helper()
	spec, err := policies.Named("easy")
	require.NoError(t, err)
	easy, err := backfill.Link(spec, nil)
	require.NoError(t, err)
	return negotiator.Config{Policy: easy, Fallback: easy}
}

// fourNodes is the built-in workload.
func fourNodes(t *testing.T) *condorsim.Workload {
	t.Helper()
	w, err := load(config.Default(), new(source.Settings), nil, hclog.NewNullLogger())
	require.NoError(t, err)
	return w
}

// job is a job ad with QDate 0.
func job(cluster, proc, run string, more ...string) string {
	return "ClusterId = " + cluster + "\nProcId = " + proc +
		"\nQDate = 0\nEstimatedRunTime = 10\nRequirements = true\nRemoteWallClockTime = " + run + "\n" +
		strings.Join(more, "\n") + "\n\n"
}

// files writes a configuration with a pool and a workload of these ads.
func files(t *testing.T, pool string, jobs ...string) config.Config {
	t.Helper()
	dir := t.TempDir()
	c := config.Default()
	c.Pool, c.Workload = filepath.Join(dir, "pool.ads"), filepath.Join(dir, "jobs.ads")
	require.NoError(t, os.WriteFile(c.Pool, []byte(pool), 0o600))
	require.NoError(t, os.WriteFile(c.Workload, []byte(strings.Join(jobs, "")), 0o600))
	return c
}

const slotAd = "Name = \"s\"\nCpus = 2\nRequirements = true\n"

func TestLoadWorkload(t *testing.T) {
	w := fourNodes(t)
	require.Equal(t, "npb54", w.Name)
	require.Len(t, w.Jobs, 54)
	require.Len(t, w.Slots, 4)
	w, err := load(files(t, slotAd, job("1", "0", "5")), new(source.Settings), nil, hclog.NewNullLogger())
	require.NoError(t, err)
	require.Equal(t, "jobs", w.Name)

	for _, c := range []struct {
		name, pool, jobs, err string
	}{
		{"no slots", "", job("1", "0", "5"), "read the pool: DIR/pool.ads: there is no slot in it"},
		{"no slot ad", "Name =\n", job("1", "0", "5"), "DIR/pool.ads:1:"},
		{
			"a slot without cpus", "Name = \"s\"\n", job("1", "0", "5"),
			"read the pool: DIR/pool.ads:1: slot s has no Cpus",
		},
		{"no jobs", slotAd, "# none\n", "DIR/jobs.ads: there is no job in it"},
		{"no job ad", slotAd, job("1", "0", "5") + "ClusterId = (\n", "DIR/jobs.ads:9:"},
		{
			"a job without run time", slotAd, job("1", "0", `"long"`),
			"read the workload: DIR/jobs.ads: no job is left to be run of 1 that were read; left out: 1 run time unknown",
		},
		{
			"a job that has no number", slotAd, "\nQDate = 1\n",
			"1 ads that tell too little (DIR/jobs.ads:2: ClusterId is missing, or no number",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := files(t, c.pool, c.jobs)
			_, err := load(s, new(source.Settings), nil, hclog.NewNullLogger())
			require.ErrorContains(t, err, strings.ReplaceAll(c.err, "DIR", filepath.Dir(s.Pool)))
		})
	}
	for _, edit := range []func(*config.Config){
		func(c *config.Config) { c.Pool = "no/such/pool.ads" },
		func(c *config.Config) { c.Workload = "no/such/pool.ads" },
	} {
		s := config.Default()
		edit(&s)
		_, err := load(s, new(source.Settings), nil, hclog.NewNullLogger())
		require.ErrorIs(t, err, os.ErrNotExist)
		require.ErrorContains(t, err, "no/such/pool.ads")
	}
}

// TestChunksOfAPartitionedMachine: a job asks it for one partition.
func TestChunksOfAPartitionedMachine(t *testing.T) {
	s := config.Default()
	s.Pool = "tiny-bgp"
	_, err := load(s, new(source.Settings), nil, hclog.NewNullLogger())
	require.ErrorContains(t, err, "job 1.0: 2 chunks: on a partitioned machine a job has one")
}
