package page_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// spread gives a cell's mean wait an interval: its weeks' waits are off the mean by so much.
func spread(c *results.Cell, off float64) {
	for i := range int64(4) {
		c.Weeks = append(c.Weeks, metrics.Week{Week: i, Jobs: 1, Wait: c.Metrics["mean_wait"] + off*float64(2*(i%2)-1)})
	}
}

// The best is marked if its paired differences from all others are on one side of 0, though the
// intervals of the means may overlap. Here those reach 18.37 s from the mean for each 10 s, and those
// of differences as far for each 10 s that two differ in: 3.182446 times 10·√(4/3)/√4.
func TestTheBestIsApart(t *testing.T) {
	for _, c := range []struct {
		off  [3]float64
		best bool
	}{
		{[3]float64{10, 10, 10}, true},
		{[3]float64{40, 40, 40}, true}, // 50 ± 73 and 100 ± 73
		{[3]float64{10, 10, 37}, true}, // 50 ± 49.6 below the other one
		{[3]float64{10, 10, 38}, false},
	} {
		f := tiny()
		for i := range f.Cells {
			spread(&f.Cells[i], c.off[i])
		}
		tables := named(ofTiny(t, f))
		table := tables["mean_wait"]
		require.Contains(t, table.Caption, "★ is the lowest of the row, if the 95 % interval of its paired difference")
		require.Equal(t, c.best, table.Rows[0][3].Best, "%v", c)
		require.False(t, table.Rows[0][1].Best || table.Rows[0][2].Best)
		var out bytes.Buffer
		require.NoError(t, tables["mean_wait-paired"].CSV(&out))
		require.Regexp(t, `^Trace,Scheduler,Against,Difference \[s\],Pairs of,Difference half width \[s\]
t,fcfs,easy,300,4 weeks,.*
t,dc,easy,-50,4 weeks,.*
$`, out.String())
		require.Contains(t, html(t, ofTiny(t, f)), "Mean wait: paired differences")
	}
	f := tiny()
	spread(&f.Cells[1], 1)
	spread(&f.Cells[2], 1)
	table := named(ofTiny(t, f))["mean_wait"]
	require.False(t, table.Rows[0][3].Best, "one of the others has no interval")
	require.Equal(t, "50\u202f±\u202f1.84", table.Rows[0][3].Cell())
	var out bytes.Buffer
	require.NoError(t, table.CSV(&out))
	require.Regexp(t, `^Trace,easy \[s\],fcfs \[s\],dc \[s\],fcfs half width \[s\],dc half width \[s\]
t,100,400,50,1\.8373\d*,1\.8373\d*
$`, out.String())
}
