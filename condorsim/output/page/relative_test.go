package page

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/chart"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// payers is a made-up folder: two traces, with the area-weighted responses of two schedulers by seed.
// Narrow jobs wait half as long under the second one.
func payers(easy, slack [2][]float64) *results.Folder {
	f := &results.Folder{Path: "made-up", Manifest: results.Manifest{Format: results.Format, Baseline: "easy"}}
	for trace := range easy {
		for i, values := range [][]float64{easy[trace], slack[trace]} {
			for seed, area := range values {
				name := []string{"easy", "slack"}[i]
				k := results.Key{
					ID: fmt.Sprint(trace, name, seed), Trace: fmt.Sprint("t", trace), Scheduler: name, Policy: name, Load: 1,
					Seed: uint64(seed),
				}
				f.Manifest.Cells = append(f.Manifest.Cells, k)
				f.Cells = append(f.Cells, results.Cell{Key: k, Jobs: 1, Metrics: map[string]float64{
					"area_weighted_response": area, "narrowest50_wait": 200 / float64(1+i), "longest_wait": 0, "p999_wait": float64(8 * trace),
				}})
			}
		}
	}
	return f
}

// entries returns the texts of a table's row as the page shows them.
func entries(row []Value) string {
	var all []string
	for _, v := range row {
		all = append(all, v.Cell())
	}
	return strings.Join(all, " | ")
}

func TestWhoPays(t *testing.T) {
	s, err := NewStudy(payers([2][]float64{{100}, {400}}, [2][]float64{{104}, {600}}), "")
	require.NoError(t, err)
	all := s.relatives()
	require.Len(t, all, 2)
	require.Equal(t, "Relative to easy: below 1 is better for those in the first column. Geometric means over 2 workloads. "+
		"A row leaves out workloads in which easy has 0",
		all[0].Caption)
	require.Len(t, all[0].Rows, 4, "what no cell has is left out")
	require.Equal(t, "narrowest 50 % | wait | 1.00 | 0.50", entries(all[0].Rows[0]))
	require.Equal(t, "by area | response | 1.00 | 1.25", entries(all[0].Rows[1]), "the root of 1.04 · 1.5")
	require.InDelta(t, math.Sqrt(1.04*1.5), all[0].Rows[1][3].number, 1e-12)
	require.Equal(t, "99.9th percentile | wait | 1.00 | 1.00", entries(all[0].Rows[2]), "of one trace: on the other nobody waited")
	require.Equal(t, "longest | wait | – | –", entries(all[0].Rows[3]), "nobody waited at all")
	require.Equal(t, "good", all[0].Rows[0][3].Mark)
	require.Equal(t, "bad", all[0].Rows[1][3].Mark)
	require.Equal(t, "t0 | slack | – | – | 0.50 | – | – | – | – | – | 1.04 | – | – | –", entries(all[1].Rows[0]))
	require.Empty(t, all[1].Rows[0][10].Mark, "neither clearly better nor worse")
	require.Equal(t, "t1 | slack | – | – | 0.50 | – | – | – | – | – | 1.50 | – | 1.00 | –", entries(all[1].Rows[1]))

	var text strings.Builder
	require.NoError(t, all[0].Markdown(&text))
	require.Equal(t, `| Who | Mean of | easy | slack |
| --- | --- | ---: | ---: |
| narrowest 50 % | wait | 1.00 | 0.50 |
| by area | response | 1.00 | **1.25** |
| 99.9th percentile | wait | 1.00 | 1.00 |
| longest | wait | – | – |
`, text.String())
	text.Reset()
	require.NoError(t, s.HTML(&text, s.Figures(chart.Page)))
	require.Contains(t, text.String(), `<a href="#relative">Who pays</a>`)
	require.Contains(t, text.String(), `<span class="mark bad">1.25</span>`)
}

// A value is the mean over the seeds that are finished on each trace, and has an interval from four on.
func TestWhoPaysOverSeeds(t *testing.T) {
	s, err := NewStudy(payers([2][]float64{{100, 100, 100, 100, 100}, {100, 100, 100, 100}},
		[2][]float64{{110, 120, 130, 140, 900}, {110, 120, 130, 140}}), "")
	require.NoError(t, err)
	table := s.overGroups()
	require.Equal(t, "by area | response | 1.00 | 1.25\u202f±\u202f0.21", entries(table.Rows[1]))
	require.Contains(t, table.Caption, ", mean over 5 seeds, ± half the 95 % interval")
}

func TestNobodyIsCompared(t *testing.T) {
	f := payers([2][]float64{{100}, {400}}, [2][]float64{{0}, {0}})
	s, err := NewStudy(f, "")
	require.NoError(t, err)
	require.Equal(t, "by area | response | 1.00 | 0.00", entries(s.overGroups().Rows[1]))
	s, err = NewStudy(f, "slack")
	require.NoError(t, err)
	require.Equal(t, "by area | response | – | –", entries(s.overGroups().Rows[1]), "nothing is a multiple of 0")
	for i := range f.Cells {
		delete(f.Cells[i].Metrics, "area_weighted_response")
	}
	s, err = NewStudy(f, "")
	require.NoError(t, err)
	require.Empty(t, s.relatives(), "older results have no measures by area")
	s, err = NewStudy(payers([2][]float64{{100}, {400}}, [2][]float64{}), "")
	require.NoError(t, err)
	require.Empty(t, s.relatives(), "there is one scheduler")
}

func TestMarkdownIsEscaped(t *testing.T) {
	table := Table{
		Columns: []Column{{Title: "a|b", Unit: "s"}},
		Rows:    [][]Value{{Text("<i>*x*\n`y`_z_")}},
	}
	var text strings.Builder
	require.NoError(t, table.Markdown(&text))
	require.Equal(t, "| a\\|b (s) |\n| --- |\n| &lt;i>\\*x\\* \\`y\\`\\_z\\_ |\n", text.String())
}

// Schedulers are compared over the same traces, so a cell that is missing leaves no mean.
func TestWhoPaysIfACellIsMissing(t *testing.T) {
	f := payers([2][]float64{{100, 100}, {400, 400}}, [2][]float64{{110, 120}, {440, 484}})
	f.Cells = f.Cells[:len(f.Cells)-1]
	s, err := NewStudy(f, "")
	require.NoError(t, err)
	require.Equal(t, "by area | response | 1.00 | 1.10", entries(s.overGroups().Rows[1]), "of the first seed")
	f = payers([2][]float64{{100}, {400}}, [2][]float64{{110}, {440}})
	f.Cells = f.Cells[:3]
	s, err = NewStudy(f, "")
	require.NoError(t, err)
	require.Equal(t, "by area | response | 1.00 | –", entries(s.overGroups().Rows[1]))
	require.Equal(t, "t0 | slack | – | – | 0.50 | – | – | – | – | – | 1.10 | – | – | –", entries(s.byGroup().Rows[0]))
}
