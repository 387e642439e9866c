package condorsim_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

func describe(tb testing.TB, text string) *pools.Description {
	tb.Helper()
	p, err := pools.Read(strings.NewReader(text), "test.yaml")
	require.NoError(tb, err)
	return p
}

func TestOnPool(t *testing.T) {
	for _, c := range []struct {
		name, pool string
		jobs       []workload.Job
		want       []string
	}{
		{
			"chunks of several cpus", "classes: [{name: n, count: 3, cpus: 4, memory: 100}]\npack: {chunk_cpus: 4}",
			[]workload.Job{{Run: 5, Procs: 10, Memory: 90}, {Run: 5, Procs: 1}},
			[]string{"0-5 n1×1 n2×1 n3×1", "5-10"},
		},
		{
			"whole slots, of whatever size",
			"classes: [{name: n, count: 2, cpus: 4}, {name: m, count: 1, cpus: 8}]\npack: {whole_slots: true}",
			[]workload.Job{{Run: 5, Procs: 1}, {Run: 5, Procs: 8}, {Run: 5, Procs: 1}},
			[]string{"0-5", "0-5", "5-10"},
		},
		{
			"memory per chunk", "classes: [{name: n, count: 2, cpus: 4, memory: 100}]\npack: {chunk_cpus: 2}",
			[]workload.Job{{Run: 5, Procs: 4, Memory: 200}, {Run: 5, Procs: 2, Memory: 101}},
			[]string{"0-5", "held"},
		},
		{
			"slots that ask whose a job is",
			"classes: [{name: n, cpus: 4, start: TARGET.Owner != \"7\" && TARGET.AcctGroup == \"1\"}]",
			[]workload.Job{
				{Run: 5, User: "6", Group: "1"},
				{Run: 5, User: "7", Group: "1"},
				{Run: 5, User: "6", Group: "2"},
				{Run: 5},
			},
			[]string{"0-5", "held", "held", "held"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := condorsim.OnPool(trace(c.jobs...), describe(t, c.pool))
			require.NoError(t, err)
			result, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil, newModel(t, w))
			require.NoError(t, err)
			for i, got := range spans(result) {
				require.True(t, strings.HasPrefix(got, c.want[i]), "job %d: %s", i+1, got)
			}
		})
	}
}

func TestJobsShareAnAdUnlessSlotsAskWhoseTheyAre(t *testing.T) {
	jobs := []workload.Job{{Run: 5, User: "6"}, {Run: 5, User: "7"}}
	w, err := condorsim.OnPool(trace(jobs...), describe(t, "classes: [{name: n, cpus: 4}]"))
	require.NoError(t, err)
	require.Same(t, w.Jobs[0].Ad, w.Jobs[1].Ad)
	w, err = condorsim.OnPool(trace(jobs...), describe(t, "classes: [{name: n, cpus: 4, start: Owner == \"6\"}]"))
	require.NoError(t, err)
	require.NotSame(t, w.Jobs[0].Ad, w.Jobs[1].Ad)
}

func TestFromHistory(t *testing.T) {
	text := `ClusterId = 7; ProcId = 1; QDate = 50; RemoteWallClockTime = 9; JobStartDate = 50; Owner = "eve"; ` +
		`JobUniverse = 11; MinHosts = 2; RequestCpus = 2; RequestMemory = 10; Requirements = TARGET.Site == "north"; ` +
		`Rank = TARGET.Speed;;` +
		`ClusterId = 7; ProcId = 2; QDate = 52; RemoteWallClockTime = 0; JobStartDate = 52; Requirements = true;;`
	pool := describe(t, "classes: [{name: n, count: 2, cpus: 4, memory: 50, attributes: {Site: '\"north\"'}}, {name: "+
		"m, cpus: 64}]\nfailures: [{slots: [n1], at: 3, for: 4}]\ngive_up_after: 9")
	h, err := history.Read(strings.NewReader(strings.ReplaceAll(text, ";", "\n")), "h.ads",
		history.Options{Schema: pool.Schema, Asked: pool.Asked(), WithAds: true})
	require.NoError(t, err)
	in, err := h.Trace(workload.Options{CPUs: 1000, Memory: 1000})
	require.NoError(t, err)

	w, err := condorsim.FromHistory(h, in, pool)
	require.NoError(t, err)
	require.Equal(t, "h", w.Name)
	require.Equal(t, 9, w.GiveUpAfter)
	require.Equal(t, pool.Outages, w.Outages)
	j := w.Jobs[0]
	require.Equal(t, []any{"7.1", 2, "eve", "eve", int64(4), int64(20)},
		[]any{j.Name, j.Nodes, j.User, j.Labels["owner"], j.Cpus, j.Memory})
	result, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil, newModel(t, w))
	require.NoError(t, err)
	require.Equal(t, 1, result.Requeues, "it ran in the north alone, where a slot failed")
	require.True(t, result.Outcomes[0].Ended && result.Outcomes[1].Ended)

	w, err = condorsim.FromHistory(h, in, nil)
	require.NoError(t, err)
	require.Equal(t, []any{"7.1", 1, "machine"}, []any{w.Jobs[0].Name, w.Jobs[0].Nodes, w.Slots[0].Name})
	result, err = condorsim.Run(t.Context(), w, link(t, "easy", nil), nil)
	require.NoError(t, err)
	require.EqualValues(t, 2, result.Outcomes[1].End)
}

// If no slot has memory, no job requests any, whatever the trace says.
func TestAPoolWithoutMemory(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"ads that do not speak of it", "Name = \"a\"\nPartitionableSlot = true\nCpus = 8\nRequirements = true\n"},
		{"ads that say 0", "Name = \"a\"\nPartitionableSlot = true\nCpus = 8\nMemory = 0\nRequirements = MY.Memory >= TARGET.RequestMemory\n"},
		{"a class without", "classes: [{name: a, cpus: 8}]\n"},
		{"a class whose memory is not planned with", "classes: [{name: a, cpus: 8, memory: 1}]\nresources: [cpus]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pool, err := pools.Read(strings.NewReader(c.text), "pool")
			require.NoError(t, err)
			w, err := condorsim.OnPool(trace(workload.Job{Run: 5, Procs: 2, Memory: 700}), pool)
			require.NoError(t, err)
			result, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil)
			require.NoError(t, err)
			require.Empty(t, result.Outcomes[0].Held)
			require.True(t, result.Outcomes[0].Ended)
		})
	}
}
