package page_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/chart"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/condorsim/output/page"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// estimators is a made-up folder: two orders, and a scheduler without an estimator to compare with.
func estimators() *results.Folder {
	f := &results.Folder{Path: "tiny", Manifest: results.Manifest{Format: results.Format, Name: "tiny", Version: "v1"}}
	accuracy := make([]int, 10)
	accuracy[0], accuracy[4], accuracy[9] = 2, 1, 1
	add := func(label, policy, order string, e *results.Estimates, wait float64) {
		k := results.Key{
			ID: label, Trace: "t", Scheduler: label, Policy: policy, Order: order, Estimates: e, Load: 1,
			EstimateModel: "given",
		}
		f.Manifest.Cells = append(f.Manifest.Cells, k)
		f.Cells = append(f.Cells, results.Cell{
			Key: k, Jobs: 4, Metrics: map[string]float64{
				"mean_wait": wait, "cycles": 7, "share_from_top": 0.5,
				"share_not_from_top": 0.125, "share_backfilled": 0.375,
			},
			Series: metrics.Series{Accuracy: accuracy, Categories: []metrics.Category{
				{Width: "1", Length: "<1m", Jobs: 3, MeanWait: wait, MeanUwait: 1, MeanBoundedSlowdown: 2},
				{Width: "1", Length: "1-10m", Jobs: 1, MeanWait: 5 * wait, MeanUwait: 5, MeanBoundedSlowdown: 6},
				{Width: "2-4", Length: "1-10m", Jobs: 4, MeanWait: wait, MeanUwait: 7, MeanBoundedSlowdown: 8},
			}},
		})
	}
	add("none", "fcfs", "fcfs", nil, 900)
	add("easy", "easy", "fcfs", nil, 100)
	add("easy-user", "easy", "fcfs", &results.Estimates{All: "user"}, 80)
	add("wfp", "easy", "wfp", nil, 200)
	add("wfp-half", "easy", "wfp", &results.Estimates{All: "mix:0.5"}, 140)
	add("wfp-user", "easy", "wfp", &results.Estimates{All: "user"}, 250)
	add("wfp-S100", "easy", "wfp", &results.Estimates{Order: "accurate"}, 150)
	add("wfp-accurate", "easy", "wfp", &results.Estimates{All: "accurate"}, 120)
	return f
}

func figure(t *testing.T, s *page.Study, name string) string {
	t.Helper()
	for _, f := range s.Figures(chart.Page).All() {
		if f.Name == name {
			return f.SVG()
		}
	}
	require.Fail(t, "no figure "+name)
	return ""
}

func TestFiguresOfEstimators(t *testing.T) {
	s := ofTiny(t, estimators())
	bars := figure(t, s, "estimates-mean_wait")
	has(t, bars, "easy, user on t\n20 %\n1.33 min instead of 1.67 min")
	has(t, bars, "wfp, user on t\n−25 %\n4.17 min instead of 3.33 min")
	has(t, bars, "wfp, S100 on t\n25 %")
	has(t, bars, "wfp, accurate on t\n40 %")
	lacks(t, bars, "mix:0.5")
	lacks(t, bars, "fcfs")
	lacks(t, bars, `data-s="1"`) // these are not schedulers: a click in their legend hides none
	has(t, bars, `data-s="estimator1"`)

	lines := figure(t, s, "accuracy-mean_wait")
	// 200, 140 and 120 of 240 s
	has(t, lines, `data-name="wfp" transform="scale(0.1)" d="M800 1333l5350 575 5350 192 "`)
	figures := s.Figures(chart.Page)
	for i, m := range s.Measures {
		require.Equal(t, m.Better != page.Neither, figures.Adjusted[i] != nil, m.Name)
		require.NotNil(t, figures.Mixed[i], m.Name)
	}

	curve := figure(t, s, "accuracy")
	has(t, curve, `data-s="trace0"`)
	has(t, curve, `d="M800 3450l1070 -1250 `) // half the jobs are in the first of ten bins

	starts := figure(t, s, "starts-t")
	has(t, starts, "wfp, S100\n37.5 % by backfilling")
	has(t, starts, "easy, user\n12.5 % past a waiting job, not by backfilling")

	has(t, figure(t, s, "width-uwait-t"), "wfp, user\n4 jobs of 1\n2") // (3 · 1 + 5) / 4
	has(t, figure(t, s, "length-slowdown-t"), "easy, user\n5 jobs of 1-10m\n7.6")
	has(t, figure(t, s, "length-wait-t"), "easy, requested\n3 jobs of &lt;1m\n1.67 min")
	text := body(t, html(t, s))
	has(t, text, `<section id="accuracy">`)
	lacks(t, text, "NaN")
	require.Equal(t, 1, strings.Count(text, `aria-label="How jobs came to start: t.`))
}

// Without estimators to compare there are no such figures, and missing results leave a gap.
func TestFiguresWithoutEstimators(t *testing.T) {
	f := estimators()
	f.Cells = f.Cells[:3]
	f.Manifest.Cells = f.Manifest.Cells[:2]
	f.Cells = f.Cells[:2]
	s := ofTiny(t, f)
	figures := s.Figures(chart.Page)
	require.Nil(t, figures.Accuracy)
	require.Nil(t, figures.Adjusted[0])
	require.Nil(t, figures.Mixed[0])
	lacks(t, html(t, s), `id="accuracy"`)

	f = estimators()
	f.Cells = f.Cells[:4] // of wfp only requested times
	s = ofTiny(t, f)
	lacks(t, body(t, html(t, s)), "NaN")
	has(t, figure(t, s, "estimates-mean_wait"), "easy, user on t")
	lacks(t, figure(t, s, "estimates-mean_wait"), "wfp, user on t\n−")
	for i := range f.Cells {
		f.Cells[i].Series = metrics.Series{}
	}
	require.Nil(t, ofTiny(t, f).Figures(chart.Page).Accuracy)
}

// A measure that requested times do not have cannot be compared with theirs.
func TestNoFigureOfNothing(t *testing.T) {
	f := estimators()
	f.Cells[2].Metrics["prediction_accuracy"] = 0.5
	s := ofTiny(t, f)
	figures := s.Figures(chart.Page)
	for i, m := range s.Measures {
		if m.Name == "prediction_accuracy" {
			require.Nil(t, figures.Adjusted[i])
			require.Nil(t, figures.Improvement[i])
			return
		}
	}
	require.Fail(t, "the measure is not there")
}

// If there are too many schedulers to tell apart, only those with requested, accurate or combined
// times are drawn one by one.
func TestManyEstimators(t *testing.T) {
	f := estimators()
	for _, e := range []string{"combined", "project", "tsafrir", "mix:0.2", "mix:0.4", "mix:0.6"} {
		k := f.Cells[2].Key
		k.ID, k.Scheduler, k.Estimates = "easy-"+e, "easy-"+e, &results.Estimates{All: e}
		c := f.Cells[2]
		c.Key = k
		c.Series.WaitQuantiles = []float64{1, 2}
		f.Manifest.Cells, f.Cells = append(f.Manifest.Cells, k), append(f.Cells, c)
	}
	s := ofTiny(t, f)
	for _, name := range []string{"improvement-mean_wait", "waits-t"} {
		svg := figure(t, s, name)
		has(t, svg, "easy-combined")
		has(t, svg, "wfp-accurate")
		lacks(t, svg, "easy-project")
		lacks(t, svg, "S100")
		lacks(t, svg, `data-s="1"`) // these are not the first of all schedulers
	}
	has(t, figure(t, s, "estimates-mean_wait"), "easy, project on t")
}

// In an unfinished sweep some traces may have no results, even the first one.
func TestTheFirstTraceThatIsThereIsShown(t *testing.T) {
	f := estimators()
	missing := f.Manifest.Cells[0]
	missing.ID, missing.Trace = "missing", "missing"
	f.Manifest.Cells = append([]results.Key{missing}, f.Manifest.Cells...)
	s := ofTiny(t, f)
	var out strings.Builder
	require.NoError(t, s.HTML(&out, s.Figures(chart.Page)))
	has(t, out.String(), `<option value="missing">missing</option><option value="t" selected>t</option>`)
}
