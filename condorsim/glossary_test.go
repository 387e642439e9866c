package condorsim_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/jobtable"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

// Each name of a measure and of a column is explained.
func TestNamesAreExplained(t *testing.T) {
	text, err := os.ReadFile("MEASURES.md")
	require.NoError(t, err)
	w := onNodes(t, []pools.Outage{fails(10, all, 2)},
		workload.Job{Run: 20, Procs: 8, User: "ann"}, workload.Job{Submit: 1, Run: 20, Procs: 12, User: "bob"})
	r, err := condorsim.RunFair(t.Context(), w, link(t, "conservative", nil), condorsim.Fair{Strict: true, Relaxed: true})
	if err != nil { // fair start times are those of a steady pool
		r, err = condorsim.Run(t.Context(), w, link(t, "conservative", nil), nil)
	}
	require.NoError(t, err)
	var names []string
	for _, m := range append(metrics.Metrics{}.List(), r.Measured()...) {
		names = append(names, m.Name)
	}
	var table bytes.Buffer
	require.NoError(t, jobtable.Write(&table, r))
	header, _, _ := strings.Cut(table.String(), "\n")
	names = append(names, strings.Split(header, ",")...)
	for _, m := range displacedMeasures(t) {
		names = append(names, m.Name)
	}
	scavenged := scavengedResult(t)
	for _, m := range scavenged.Measured() {
		names = append(names, m.Name)
	}
	table.Reset()
	require.NoError(t, jobtable.Write(&table, scavenged))
	header, _, _ = strings.Cut(table.String(), "\n")
	require.Contains(t, header, "scavenger,delay")
	names = append(names, strings.Split(header, ",")...)
	require.Greater(t, len(names), 50)
	for _, name := range names {
		require.Contains(t, string(text), "`"+name+"`", "MEASURES.md explains the names of JSON and CSV")
	}
}
