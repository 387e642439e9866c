package liveview

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/configs"
	"github.com/condor-backfill/condor-backfill/negotiator"
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
func fourNodes(t require.TestingT) *condorsim.Workload {
	texts := make([]string, 2)
	for i, name := range []string{configs.FourNodes, configs.NPB54} {
		text, err := fs.ReadFile(configs.Files(), name)
		require.NoError(t, err)
		texts[i] = string(text)
	}
	w := fromAds(t, texts[0], texts[1])
	w.Name = "npb54"
	return w
}

// fromAds is a workload of ads: those of a pool, and those of jobs.
func fromAds(t require.TestingT, pool string, jobs ...string) *condorsim.Workload {
	slots, err := pools.Read(strings.NewReader(pool), "pool")
	require.NoError(t, err)
	read, err := formats.Read(strings.NewReader(strings.Join(jobs, "")), "jobs",
		condorsim.ReadingFor(slots, formats.Options{Ads: history.Options{Whole: true}}))
	require.NoError(t, err)
	w, err := condorsim.Queued(read, slots, nil)
	require.NoError(t, err)
	return w
}

// shown shows a workload at a speed of 40.
func shown(w *condorsim.Workload) Show {
	return Show{
		Name: w.Name, Jobs: len(w.Jobs), Speed: "40",
		Job:           func(id backfill.JobID) Job { return Job{w.Jobs[id].Job, w.Jobs[id].Cpus} },
		FallbackInUse: func() string { return "" }, News: func() string { return "" },
		Look:   func(*negotiator.Report) map[backfill.JobID]ahead.Beginning { return nil },
		Policy: func(int) string { return "" },
	}
}

// job is a job ad with QDate 0.
func job(cluster, proc, run string, more ...string) string {
	return "ClusterId = " + cluster + "\nProcId = " + proc +
		"\nQDate = 0\nEstimatedRunTime = 10\nRequirements = true\nRemoteWallClockTime = " + run + "\n" +
		strings.Join(more, "\n") + "\n\n"
}
