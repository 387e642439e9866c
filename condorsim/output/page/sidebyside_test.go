package page_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/page"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// outcome is a simulation with these waits in hours, of which user ann has the mean.
func outcome(jobs, held int, mean, longest float64) *results.Cell {
	return &results.Cell{
		Jobs: jobs, Held: held, Metrics: map[string]float64{
			"mean_wait": 3600 * mean, "median_wait": 1800, "p99_wait": 7200, "area_weighted_response": 5400, "processor_bounded_slowdown": 1.5, "longest_wait": 3600 * longest,
			"mean_bounded_slowdown": 2.5, "utilisation": 0.670812,
		},
		Users: []results.User{
			{Name: "ann", Jobs: 3, CPUSeconds: 7200, MeanWait: 3600 * mean}, {Name: "<bob>", Jobs: 1, CPUSeconds: 36000, MeanWait: 60},
		},
	}
}

func compared() *page.SideBySide {
	return &page.SideBySide{
		Title: "t", Lead: "4 jobs.", Happened: outcome(4, 0, 8, 20), Policies: []string{"slack", "easy"}, Notes: []string{"heed <this>"},
		Variants: []page.Variant{
			{Name: "as it is", Cells: []*results.Cell{outcome(4, 0, 2, 20), outcome(4, 1, 8.004, 30)}},
			{Name: "with cpus=4", Cells: []*results.Cell{outcome(4, 0, 0, 1), nil}},
		},
		Command: "condorsim study", Version: "v",
	}
}

// What happened is said first, then what would have been against it, then what a change brings against
// the pool as it is.
func TestSideBySideInWords(t *testing.T) {
	s := compared()
	require.Equal(t, []page.Part{
		{Title: "What happened", Sentences: []string{"4 jobs waited 8.00 h in the mean; half of them waited at most 0.50 h, 99 % at " +
			"most 2.00 h, and the longest wait was 20.00 h."}},
		{Title: "What would have been", Sentences: []string{
			"Under slack the mean wait would have been 2.00 h instead of 8.00 h (75 % less), and the longest 20.00 h, as before.",
			"Under easy the mean wait would have been 8.00 h, as before, and the longest 30.00 h instead of 20.00 h (50 % more). " +
				"These are 3 jobs instead of 4: the others could not run.",
		}},
		{Title: "What it brings: with cpus=4", Sentences: []string{
			"Under slack the mean wait would have been 0.00 h instead of 2.00 h (100 % less), and the longest 1.00 h instead of " +
				"20.00 h (95 % less).",
			"Under easy the simulation failed.",
		}},
	}, s.Parts())
	s.Happened = nil
	s.Variants[0].Cells[1] = outcome(4, 4, 0, 0)
	require.Equal(t, []string{
		"Under slack the mean wait would have been 2.00 h, and the longest 20.00 h.", "Under easy no job would have run.",
	}, s.Parts()[0].Sentences)
}

// Tables are in hours, and have a row for what happened and for each simulation, also one that failed.
func TestSideBySideTables(t *testing.T) {
	s := compared()
	var rows []string
	for _, row := range s.Compared().Rows {
		var cells []string
		for _, v := range row {
			cells = append(cells, v.Cell())
		}
		rows = append(rows, strings.Join(cells, " | "))
	}
	require.Equal(t, []string{
		"what happened |  | 4 | 8.00 | 0.50 | 2.00 | – | 20.00 | 1.50 | 2.50 | 1.50 | 67.08",
		"as it is | slack | 4 | 2.00 | 0.50 | 2.00 | – | 20.00 | 1.50 | 2.50 | 1.50 | 67.08",
		"as it is | easy | 3 | 8.00 | 0.50 | 2.00 | – | 30.00 | 1.50 | 2.50 | 1.50 | 67.08",
		"with cpus=4 | slack | 4 | 0.00 | 0.50 | 2.00 | – | 1.00 | 1.50 | 2.50 | 1.50 | 67.08",
		"with cpus=4 | easy | – | – | – | – | – | – | – | – | – | –",
	}, rows)
	users := s.Users()
	require.Len(t, users, 2)
	require.Equal(t, "<bob>", users[0].Rows[0][0].Text, "who used most comes first")
	require.Equal(t, "8.00", users[0].Rows[1][3].Cell())
	require.Equal(t, "–", users[1].Rows[1][6].Cell())
}

// The page stands alone, and names are text.
func TestSideBySidePage(t *testing.T) {
	s := compared()
	var out strings.Builder
	require.NoError(t, s.HTML(&out))
	html := out.String()
	for _, text := range []string{"&lt;bob&gt;", "heed &lt;this&gt;", "Under slack the mean wait would have been 2.00 h instead of 8.00 h"} {
		require.Contains(t, html, text)
	}
	require.NotContains(t, html, "<bob>")
	require.NotContains(t, html, "http://")
	text, err := json.Marshal(s.JSON())
	require.NoError(t, err)
	var read struct {
		Rows []struct {
			Policy  string
			Failed  bool
			Metrics map[string]float64
		}
	}
	require.NoError(t, json.Unmarshal(text, &read))
	require.Len(t, read.Rows, 5)
	require.InDelta(t, 28800, read.Rows[0].Metrics["mean_wait"], 0)
	require.True(t, read.Rows[4].Failed)
	s = &page.SideBySide{Variants: []page.Variant{{Name: "as it is"}}}
	require.Empty(t, s.Users(), "nothing is known of users")
}
