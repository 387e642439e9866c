package survey

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/condor-backfill/condor-backfill/condorsim/output/chart"
	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
)

const accuracy = "accuracy"

// histogram is what a chart shows.
type histogram struct {
	name, title string
	bins        []Bin
}

func (s *Survey) histograms() []histogram {
	return []histogram{
		{"widths", "processors of a job", s.Widths.Bins},
		{"run-times", "run time of a job", s.RunTimes.Bins},
		{accuracy, "accuracy of estimates (R = run time / estimate)", s.Estimates.R.Bins},
		{"memory", "memory per processor", s.Memory.PerCPU.Bins},
		{"arrivals", "submissions by the hour of the day" + s.zone(), s.Arrivals},
	}
}

// Plots draws bar charts as SVG into a folder, which is made if needed: widths, run times, accuracy
// of estimates, memory and submissions by the hour, each with the share of jobs and of work. It
// returns the files. What the trace does not say has no chart.
func (s *Survey) Plots(folder string) ([]string, error) {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, fmt.Errorf("draw the survey: %w", err)
	}
	var files []string
	for _, h := range s.histograms() {
		if len(h.bins) == 0 || s.Jobs == 0 || h.name == accuracy && !s.Estimates.known(s.Cleaning) {
			continue
		}
		path := filepath.Join(folder, h.name+".svg")
		if err := wholefile.Write("the chart", path, h.figure(s.Trace).WriteSVG); err != nil {
			return files, fmt.Errorf("draw the survey: %w", err)
		}
		files = append(files, path)
	}
	return files, nil
}

// figure draws the shares of jobs and of work in each bin.
func (h histogram) figure(trace string) *chart.Figure {
	g := chart.Grouped{
		Name: h.name, Title: trace + ": " + h.title, Alt: "The shares of jobs and of work in each group.",
		Series: []string{"jobs", "work"}, Unit: chart.Percent, Skip: -1, Low: -1, High: 1,
	}
	jobs, work := 0, 0.0
	for _, b := range h.bins {
		jobs, work = jobs+b.Jobs, work+b.Work
	}
	for _, b := range h.bins {
		g.Groups = append(g.Groups, b.Label)
		g.Values = append(g.Values, []float64{float64(b.Jobs) / float64(max(jobs, 1)), b.Work / max(work, 1)})
	}
	return chart.Bars(g)
}
