package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/chart"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// withFactors is a made-up folder: EASY, and slack with factors that are not in order.
func withFactors(factors ...string) *results.Folder {
	f := &results.Folder{Path: "tiny", Manifest: results.Manifest{Format: results.Format, Paper: "slack"}}
	add := func(label, policy string, options map[string]string, wait float64) {
		k := results.Key{ID: label, Trace: "t", Scheduler: label, Policy: policy, Order: "fcfs", Options: options, Load: 1}
		f.Manifest.Cells = append(f.Manifest.Cells, k)
		f.Cells = append(f.Cells, results.Cell{
			Key: k, Metrics: map[string]float64{"mean_wait": wait},
			Users: []results.User{{Name: "ann", Jobs: 3, MeanBoundedSlowdown: wait}},
		})
	}
	add("easy", "easy", nil, 40)
	for i, factor := range factors {
		add(fmt.Sprint("slack-", i), "slack", map[string]string{"factor": factor, "base": "5"}, 10*float64(i+1))
	}
	return f
}

func TestChartsOverAnOption(t *testing.T) {
	s, err := NewStudy(withFactors("4", "0.5", "2"), "")
	require.NoError(t, err)
	d := sketch{Study: s, option: s.varied()}
	p, ok := d.overOptions(s.Measures[0], 0)
	require.True(t, ok)
	require.Equal(t, "factor", p.AcrossIs)
	require.Equal(t, [][]chart.Point{
		{{Across: 0.5, Up: 20}, {Across: 2, Up: 30}, {Across: 4, Up: 10}}, {{Across: 0.5, Up: 40}, {Across: 4, Up: 40}},
	}, p.Curves, "in the order of the option, and EASY level")
	require.Contains(t, s.Figures(chart.Page).Option[0].SVG(), ">slack base=5</text>", "what all have is said")
	for _, factors := range [][]string{{"2"}, {"2", "2"}, {"few", "many"}} {
		s, err = NewStudy(withFactors(factors...), "")
		require.NoError(t, err)
		require.Nil(t, s.Figures(chart.Page).Option[0], factors)
	}
}

func TestGoalsAreNoPaper(t *testing.T) {
	f := withFactors("2")
	s, err := NewStudy(f, "")
	require.NoError(t, err)
	require.Equal(t, "Goal / we get", s.Extra[0].Title)
	require.Equal(t, "worst-users", s.Extra[1].Name)
	require.Equal(t, "ann", s.Extra[1].Rows[0][0].Text)
	require.Equal(t, "0.25", s.Extra[1].Rows[0][5].Text)
	var out strings.Builder
	require.NoError(t, s.HTML(&out, s.Figures(chart.Page)))
	require.NotContains(t, out.String(), "aper says")
	f.Manifest.Paper = "ibb"
	s, err = NewStudy(f, "")
	require.NoError(t, err)
	require.Equal(t, "Paper says / we get", s.Extra[0].Title)
	require.Len(t, s.Extra, 1)
}
