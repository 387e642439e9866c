package page

import (
	"compress/gzip"
	"encoding/base64"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/chart"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/condorsim/output/page/pagetest"
	"github.com/condor-backfill/condor-backfill/condorsim/output/papers"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// The classes are those of the metrics, as in results.
func TestClassesAreInTheirOrder(t *testing.T) {
	set := func(classes ...string) map[string]bool {
		all := map[string]bool{}
		for _, c := range classes {
			all[c] = true
		}
		return all
	}
	for _, want := range [][]string{
		{"<1m", "1-10m", "10m-1h", "1-6h", "6-24h", ">24h"},
		{"1", "2-4", "5-8", "9-16", "65-128", "513-1024"},
		{"<10m", "10m-1h", "1h-4h", ">4h"},
	} {
		require.Equal(t, want, ascending(set(want...)))
	}
}

func TestAPackedPart(t *testing.T) {
	plain, err := part("group", groupView{Group: Group{Label: "a <trace>"}}, false)
	require.NoError(t, err)
	require.Contains(t, plain, "No cell of a &lt;trace&gt; is finished")
	packed, err := part("group", groupView{Group: Group{Label: "a <trace>"}}, true)
	require.NoError(t, err)
	text, found := strings.CutPrefix(string(packed), `<script type="text/plain">`)
	require.True(t, found)
	unpacker, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding,
		strings.NewReader(strings.TrimSuffix(text, "</script>"))))
	require.NoError(t, err)
	got, err := io.ReadAll(unpacker)
	require.NoError(t, err)
	require.Equal(t, string(plain), string(got))
}

func TestVerdicts(t *testing.T) {
	var rows []papers.Row
	for _, v := range []papers.Verdict{papers.Differs, papers.Agrees, papers.Untested, papers.Partly, papers.Agrees} {
		rows = append(rows, papers.Row{
			Statement: "c", Paper: "by 5 %", Ours: "-3.1 % on a-1, +2 %",
			Verdict: v, Why: "w",
		})
	}
	table := paperTable(rows, false)
	require.Equal(t, "5 statements. ✓ agrees: 2, ≈ partly: 1, ✗ differs: 1, ○ not tested: 1", table.Caption)
	marks := map[string]bool{}
	for _, row := range table.Rows {
		require.NotEmpty(t, row[3].Mark, row[3].Text)
		marks[row[3].Mark] = true
	}
	require.Len(t, marks, 4, "each kind looks different")
	require.Equal(t, "-3.1 % on a-1, +2 %", table.Rows[0][2].Text, "as it is in the CSV")
	require.Equal(t, "−3.1\u00a0% on a-1, +2\u00a0%", table.Rows[0][2].Cell(), "a number is not torn from its unit")
}

// No measure of a run is guessed, and its unit is that of the run.
func TestEveryMeasureIsKnown(t *testing.T) {
	r, err := pagetest.Simulate(pagetest.Trace("one", 50, 32, 1), "conservative")
	require.NoError(t, err)
	units := map[metrics.Unit]chart.Unit{
		metrics.Seconds: chart.Seconds, metrics.WholeSeconds: chart.Seconds,
		metrics.Share: chart.Percent,
	}
	for _, m := range r.Measured() {
		at := slices.IndexFunc(known, func(k Measure) bool { return k.Name == m.Name })
		require.GreaterOrEqual(t, at, 0, m.Name)
		require.Equal(t, units[m.Unit], known[at].Unit, m.Name)
	}
	require.Equal(t, Measure{"prediction_error_order", "Mean error of predictions (order)", chart.Seconds, "", Lower},
		measures(map[string]bool{"prediction_error_order": true})[0])
	names := map[string]bool{"requeues": true, "gpu_hours": true, "utilisation_gpus": true}
	require.Len(t, measures(names), len(names), "others are shown as well")
}

func TestChartsOverLoads(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, pagetest.Folder(dir, pagetest.Matrix{
		Traces: []*workload.Trace{pagetest.Trace("a-very-long-name", 50, 32, 1)}, Schedulers: []string{"easy", "fcfs"},
		Loads: []float64{0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2}, Quantiles: 4, Bins: 4,
	}))
	f, err := results.Read(dir)
	require.NoError(t, err)
	s, err := NewStudy(f, "")
	require.NoError(t, err)
	figures := s.Figures(chart.Page)
	for _, load := range []string{"0.6", "0.7", "1", "1.1"} {
		require.Contains(t, figures.Load[0].SVG(), `text-anchor="middle">`+load+"</text>")
		require.Contains(t, figures.Improvement[0].SVG(), ">load "+load+"</text>", "each bar says its load")
	}
	require.Equal(t, 1, strings.Count(figures.Improvement[0].SVG(), ">a-very-long-name</text>"),
		"and all of them their trace")
}

func TestNamesThatAreFormulas(t *testing.T) {
	table := Table{
		Columns: []Column{{Title: "Trace"}, {Title: "@easy", Unit: "%"}},
		Rows:    [][]Value{{Text("=1+1"), Number(-25)}},
	}
	var out strings.Builder
	require.NoError(t, table.CSV(&out))
	require.Equal(t, "Trace,'@easy [%]\n'=1+1,-25\n", out.String())
}
