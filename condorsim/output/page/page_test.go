package page_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/csv"
	"flag"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/chart"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/condorsim/output/page"
	"github.com/condor-backfill/condor-backfill/condorsim/output/page/pagetest"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
)

//nolint:gochecknoglobals // a flag of the test binary
var update = flag.Bool("update", false, "rewrite the expected files")

// folder has the results of real simulations: two traces, three schedulers.
func folder(tb testing.TB, loads ...float64) string {
	tb.Helper()
	dir := tb.TempDir()
	require.NoError(tb, pagetest.Folder(dir, pagetest.Matrix{
		Traces:     []*workload.Trace{pagetest.Trace("one", 200, 32, 1), pagetest.Trace("two <b>", 200, 64, 2)},
		Schedulers: []string{"conservative", "easy", "dc-sjf"}, Loads: loads, Baseline: "conservative",
		Quantiles: 40, Bins: 50,
	}))
	return dir
}

func study(tb testing.TB, dir, baseline string) *page.Study {
	tb.Helper()
	f, err := results.Read(dir)
	require.NoError(tb, err)
	s, err := page.NewStudy(f, baseline)
	require.NoError(tb, err)
	return s
}

func html(tb testing.TB, s *page.Study) string {
	tb.Helper()
	var out bytes.Buffer
	require.NoError(tb, s.HTML(&out, s.Figures(chart.Page)))
	return out.String()
}

// tiny is a made-up folder whose report is short enough to read.
func tiny() *results.Folder {
	cell := func(scheduler string, wait, use float64) results.Cell {
		return results.Cell{
			Key: results.Key{
				ID: "t-" + scheduler, Trace: "t", Scheduler: scheduler, Policy: scheduler, Order: "fcfs",
				Load: 1, EstimateModel: "given", Seed: 7,
			},
			Jobs: 4, Machine: results.Machine{Slots: 1, Cpus: 8},
			Metrics: map[string]float64{"mean_wait": wait, "utilisation": use, "cycles": 9},
			Series: metrics.Series{
				WaitQuantiles: []float64{0, 0, wait, 2 * wait}, Begin: 5, Step: 10, Utilisation: []float64{0.5, use},
				Queue: []float64{1, 0.25}, QueueMax: []float64{3, 1},
				Categories: []metrics.Category{{
					Width: "1", Length: "<10m", Jobs: 3, MeanWait: wait,
					MeanBoundedSlowdown: 1.5,
				}, {
					Width: "2-4", Length: ">1h", Jobs: 1, MeanWait: 2 * wait,
					MeanBoundedSlowdown: 3,
				}},
			},
		}
	}
	f := &results.Folder{Path: "tiny", Manifest: results.Manifest{
		Format: results.Format,
		Name:   "tiny", Title: "A tiny study", Description: "Made up.", Baseline: "easy", Version: "v1",
		Command: "condorsim sweep tiny.yaml", File: "name: tiny\n",
		Traces: []results.TraceFile{{Name: "t", File: "t.swf", SHA256: "abc"}},
	}}
	f.Cells = []results.Cell{cell("easy", 100, 0.5), cell("fcfs", 400, 0.4), cell("dc", 50, 0.5)}
	for _, c := range f.Cells {
		f.Manifest.Cells = append(f.Manifest.Cells, c.Key)
	}
	return f
}

func ofTiny(tb testing.TB, f *results.Folder) *page.Study {
	tb.Helper()
	s, err := page.NewStudy(f, "")
	require.NoError(tb, err)
	return s
}

// body returns a page without its style and scripts, with all parts unpacked.
func body(tb testing.TB, html string) string {
	tb.Helper()
	html = html[strings.Index(html, "<body>"):strings.LastIndex(html, "<script>")]
	return regexp.MustCompile(`<script type="text/plain">([^<]*)</script>`).ReplaceAllStringFunc(html,
		func(part string) string {
			encoded := strings.TrimSuffix(strings.TrimPrefix(part, `<script type="text/plain">`), "</script>")
			unpacker, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(encoded)))
			require.NoError(tb, err)
			text, err := io.ReadAll(unpacker)
			require.NoError(tb, err)
			return string(text)
		})
}

// has and lacks do not print the whole page when they fail.
func has(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		require.Fail(t, part+" is not there")
	}
}

func lacks(t *testing.T, text, part string) {
	t.Helper()
	if strings.Contains(text, part) {
		require.Fail(t, part+" is there")
	}
}

func TestTheReportOfATinyStudy(t *testing.T) {
	got := html(t, ofTiny(t, tiny()))
	path := filepath.Join("testdata", "tiny.html")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(body(t, got)), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), body(t, got))
	require.Equal(t, got, html(t, ofTiny(t, tiny())), "the same bytes twice")
}

func TestTheReportNeedsNothingElse(t *testing.T) {
	text := html(t, study(t, folder(t), ""))
	for _, foreign := range []string{"http:", "https:", "//cdn", "@import", "url(", `src="`} {
		lacks(t, strings.ReplaceAll(text, "http://www.w3.org/2000/svg", ""), foreign)
	}
	has(t, text, "default-src 'none'")
	lacks(t, text, "two <b>")
	has(t, text, "two &lt;b&gt;")
	has(t, text, "# &lt;as they are&gt;")
}

// named returns the tables by name.
func named(s *page.Study) map[string]page.Table {
	tables := map[string]page.Table{}
	for _, table := range s.Tables() {
		tables[table.Name] = table
	}
	return tables
}

// Four seeds that differ make an interval of every measure; seeds that change nothing do not.
func TestIntervalsOverSeeds(t *testing.T) {
	ofSeeds := func(step float64) page.Table {
		f := tiny()
		for seed := range uint64(4) {
			for i, c := range f.Cells[:3] {
				if seed == 0 {
					continue
				}
				c.ID, c.Seed = c.ID+strconv.FormatUint(seed, 10), 7+seed
				c.Metrics = map[string]float64{
					"mean_wait":   c.Metrics["mean_wait"] + step*float64(i+1),
					"utilisation": c.Metrics["utilisation"] + step/100*float64(seed),
				}
				c.Metrics["cycles"] = 9
				f.Cells, f.Manifest.Cells = append(f.Cells, c), append(f.Manifest.Cells, c.Key)
			}
		}
		return named(ofTiny(t, f))["utilisation"]
	}
	// The steps are 0 to 3 %; the squares are 5, and 3.182446·√(5/12) is 2.0542.
	require.Equal(t, "51.50\u202f±\u202f2.05", ofSeeds(1).Rows[0][1].Cell())
	require.Contains(t, ofSeeds(1).Caption, "mean over 4 seeds, ± half the 95 % interval; ★ is the highest")
	require.Equal(t, "50", ofSeeds(0).Rows[0][1].Cell())
	require.Contains(t, ofSeeds(0).Caption, "no value is marked as the best")
}

func TestValues(t *testing.T) {
	tables := named(ofTiny(t, tiny()))
	row := func(name string) (texts []string, best []bool) {
		for _, v := range tables[name].Rows[0] {
			texts, best = append(texts, v.Text), append(best, v.Best)
		}
		return texts, best
	}
	texts, best := row("mean_wait")
	require.Equal(t, []string{"t", "100", "400", "50"}, texts)
	require.Equal(t, []bool{false, false, false, false}, best, "older results have no intervals")
	texts, _ = row("utilisation")
	require.Equal(t, []string{"t", "50", "40", "50"}, texts, "in per cent")
	texts, _ = row("mean_wait-improvement")
	require.Equal(t, []string{"t", "0", "-300", "50"}, texts)
	texts, _ = row("utilisation-improvement")
	require.Equal(t, "-19.999999999999996", texts[2], "(0.4 - 0.5)/0.5")
	require.Len(t, tables["cells"].Rows, 3)
	require.NotContains(t, tables, "cycles-improvement", "neither is better")
}

func TestNoImprovementOverNothing(t *testing.T) {
	f := tiny()
	f.Cells[0].Metrics["mean_wait"], f.Cells[2].Metrics["mean_wait"] = 0, 0
	for _, table := range ofTiny(t, f).Tables() {
		if table.Name == "mean_wait-improvement" {
			require.Equal(t, "missing", table.Rows[0][2].Text)
			require.Equal(t, "0", table.Rows[0][3].Text, "nothing has changed")
		}
	}
	lacks(t, body(t, html(t, ofTiny(t, f))), "NaN")
}

func TestMeansOverSeeds(t *testing.T) {
	f := tiny()
	for i, more := range []float64{20, 100, 10} {
		c := f.Cells[i]
		c.ID, c.Seed, c.Metrics = c.ID+"-2", 8, map[string]float64{"mean_wait": more}
		f.Cells, f.Manifest.Cells = append(f.Cells, c), append(f.Manifest.Cells, c.Key)
	}
	s := ofTiny(t, f)
	tables := s.Tables()
	require.Equal(t, "60", tables[0].Rows[0][1].Text)
	require.Contains(t, tables[0].Caption, "mean over 2 seeds")
	require.Equal(t, "50", tables[1].Rows[0][3].Text)
	// The mean of one seed is not compared with that of two.
	f.Cells = append(f.Cells[:3:3], f.Cells[4:]...)
	require.Equal(t, "-300", ofTiny(t, f).Tables()[1].Rows[0][2].Text)
	has(t, body(t, html(t, ofTiny(t, f))), "first seed of 2")
}

func TestPartialResultsAreSaidEverywhere(t *testing.T) {
	dir := folder(t, 1, 1.2)
	require.NoError(t, os.Remove(results.CellPath(dir, "one-easy-1")))
	s := study(t, dir, "")
	s.Folder.Manifest.Skipped = []string{"trace three: not there"}
	const says = "Partial results: 11 of 12 cells are finished."
	text := body(t, html(t, s))
	has(t, text, `role="alert"`)
	has(t, text, "<strong>"+says+"</strong>")
	has(t, text, "<code>one-easy-1</code>")
	has(t, text, "trace three: not there")
	for _, f := range s.Figures(chart.Page).All() {
		has(t, f.SVG(), says)
	}
	missing := 0
	for _, table := range s.Tables() {
		var out bytes.Buffer
		require.NoError(t, table.CSV(&out))
		if strings.Contains(out.String(), "missing") {
			missing++
		}
	}
	require.Len(t, s.Tables(), missing, "every table has the cell, and says that it is missing")
	whole := html(t, study(t, folder(t), ""))
	lacks(t, whole, "Partial")
	lacks(t, whole, `role="alert"`)
}

func TestErrorsOfAStudy(t *testing.T) {
	dir := folder(t)
	read := func() *results.Folder {
		f, err := results.Read(dir)
		require.NoError(t, err)
		return f
	}
	_, err := page.NewStudy(read(), "eazy")
	require.ErrorContains(t, err, `the baseline "eazy" is no scheduler of `+dir+
		`; there are conservative, easy, dc-sjf`)
	f := read()
	f.Cells = nil
	_, err = page.NewStudy(f, "")
	require.ErrorContains(t, err, "has no finished cell of 6; run condorsim sweep")
	f = read()
	f.Cells[1].Seed = 99
	_, err = page.NewStudy(f, "")
	require.ErrorContains(t, err, "one-easy-1.json is not what the manifest says of it")
	f = read()
	f.Cells[1] = f.Cells[0]
	_, err = page.NewStudy(f, "")
	require.ErrorContains(t, err, "or are there twice")
}

func TestPaper(t *testing.T) {
	f := tiny()
	f.Manifest.Paper = "guarantees"
	s := ofTiny(t, f)
	text := html(t, s)
	has(t, text, "not tested")
	has(t, text, "49 of 150")
	require.Equal(t, "paper", s.Tables()[0].Name, "and it is written as CSV")
	f.Manifest.Paper = "guarantee"
	_, err := page.NewStudy(f, "")
	require.ErrorContains(t, err, "unknown paper")
}

// created returns a file to write, which is removed after the test if it was not written.
func created(tb testing.TB, path string) *wholefile.File {
	tb.Helper()
	file, err := wholefile.Create("the report", path)
	require.NoError(tb, err)
	tb.Cleanup(file.Discard)
	return file
}

func TestWrite(t *testing.T) {
	dir := folder(t)
	s := study(t, dir, "easy")
	var steps []int64
	path := filepath.Join(dir, "r.html")
	o := page.Output{
		Page: created(t, path), Charts: filepath.Join(dir, "charts"), Tables: filepath.Join(dir, "tables"),
		Formats: []string{"svg", "png"}, Progress: func(done, _ int64) { steps = append(steps, done) },
	}
	made, err := s.Write(o)
	require.NoError(t, err)
	require.IsIncreasing(t, steps)
	files := func(pattern string) []string {
		found, globErr := filepath.Glob(filepath.Join(dir, pattern))
		require.NoError(t, globErr)
		return found
	}
	require.Len(t, files("charts/*.svg"), made.Charts/2)
	require.Len(t, files("charts/*.png"), made.Charts/2)
	require.Len(t, files("tables/*.csv"), made.Tables)
	require.Len(t, s.Figures(chart.Page).All(), made.Charts/2, "no two have the same name")
	require.Len(t, s.Tables(), made.Tables)
	require.Empty(t, files(".*"))
	for _, path := range files("tables/*.csv") {
		file, openErr := os.Open(path)
		require.NoError(t, openErr)
		_, readErr := csv.NewReader(file).ReadAll()
		require.NoError(t, readErr, path)
		require.NoError(t, file.Close())
	}
	picture, err := os.Open(files("charts/improvement-mean_wait.png")[0])
	require.NoError(t, err)
	defer picture.Close() //nolint:errcheck // only read
	image, err := png.Decode(picture)
	require.NoError(t, err)
	require.Equal(t, 3*720, image.Bounds().Dx())

	before, err := os.ReadFile(path)
	require.NoError(t, err)
	o.Formats, o.Page = []string{"svg"}, created(t, path)
	_, err = s.Write(o)
	require.NoError(t, err)
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after)

	o.Page, o.Charts = created(t, path), filepath.Join(dir, "sweep.json")
	_, err = s.Write(o)
	require.ErrorContains(t, err, "make a folder for the charts")
}

// The chart of the queue tells how many jobs wait at once, and the mean; older results have only
// the mean.
func TestTheQueueAtOnceAndOnAverage(t *testing.T) {
	f := tiny()
	queue := func() string {
		for _, figure := range ofTiny(t, f).Figures(chart.Page).All() {
			if strings.HasPrefix(figure.Name, "queue-") {
				return figure.SVG()
			}
		}
		return ""
	}
	svg := queue()
	has(t, svg, ">At most, in each span of time<")
	has(t, svg, `data-up="linear number 0 3"`)
	has(t, svg, ">Mean of each span<")
	has(t, svg, `data-up="linear number 0 1"`)
	for i := range f.Cells {
		f.Cells[i].Series.QueueMax = nil
	}
	svg = queue()
	lacks(t, svg, "At most")
	has(t, svg, ">Mean of each span<")
}

// Parts that are not chosen are packed.
func TestTheSizeOfABigReport(t *testing.T) {
	f := tiny()
	model := f.Cells[0]
	f.Cells, f.Manifest.Cells = nil, nil
	for range 400 {
		model.Series.WaitQuantiles = append(model.Series.WaitQuantiles,
			math.Exp(float64(len(model.Series.WaitQuantiles))/40))
	}
	for i := range 500 {
		model.Series.Utilisation = append(model.Series.Utilisation, float64(i*i%97)/97)
		model.Series.Queue = append(model.Series.Queue, float64(i*i%89))
		model.Series.QueueMax = append(model.Series.QueueMax, float64(i*i%83))
	}
	for trace := range 11 {
		for scheduler := range 12 {
			c := model
			c.Trace, c.Scheduler = "trace-"+string(rune('a'+trace)), "scheduler-"+string(rune('a'+scheduler))
			c.ID = c.Trace + c.Scheduler
			f.Cells, f.Manifest.Cells = append(f.Cells, c), append(f.Manifest.Cells, c.Key)
		}
	}
	f.Manifest.Baseline = ""
	require.Less(t, len(html(t, ofTiny(t, f))), 1<<20)
}

func TestLoadsAreWrittenAsTheyAre(t *testing.T) {
	s := study(t, folder(t, 0.6, 1, 1.2), "")
	var got []string
	for _, table := range s.Tables() {
		if table.Name != "mean_wait" {
			continue
		}
		for _, row := range table.Rows {
			got = append(got, row[1].Cell())
		}
	}
	require.Equal(t, []string{"0.6", "1", "1.2", "0.6", "1", "1.2"}, got)
}
