package survey

import (
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
)

const accuracyFile = "accuracy.svg"

// chart is a bar chart.
type chart struct {
	file, title, x string
	bins           []Bin
}

func (s *Survey) charts() []chart {
	return []chart{
		{"widths.svg", s.Trace + ": processors of a job", "processors", s.Widths.Bins},
		{"run-times.svg", s.Trace + ": run time of a job", "run time", s.RunTimes.Bins},
		{accuracyFile, s.Trace + ": accuracy of estimates", "R = run time / estimate", s.Estimates.R.Bins},
		{"memory.svg", s.Trace + ": memory per processor", "memory per processor", s.Memory.PerCPU.Bins},
		{"arrivals.svg", s.Trace + ": submissions by the hour of the day", "hour" + s.zone(), s.Arrivals},
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
	for _, c := range s.charts() {
		if len(c.bins) == 0 || s.Jobs == 0 || c.file == accuracyFile && !s.Estimates.known(s.Cleaning) {
			continue
		}
		path := filepath.Join(folder, c.file)
		if err := c.draw(path); err != nil {
			return files, fmt.Errorf("draw the survey: %w", err)
		}
		files = append(files, path)
	}
	return files, nil
}

// draw writes the chart.
func (c chart) draw(path string) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.title, c.x, "%"
	p.Title.Padding, p.Legend.Top = vg.Points(6), true
	jobs, work := make(plotter.Values, len(c.bins)), make(plotter.Values, len(c.bins))
	labels := make([]string, len(c.bins))
	allJobs, allWork := 0.0, 0.0
	for i, b := range c.bins {
		jobs[i], work[i], labels[i] = float64(b.Jobs), b.Work, b.Label
		allJobs, allWork = allJobs+jobs[i], allWork+work[i]
	}
	const width, height = 18 * vg.Centimeter, 9 * vg.Centimeter
	thick := width * 0.75 / vg.Length(2*len(c.bins))
	for i, series := range []struct {
		name   string
		values plotter.Values
		sum    float64
		color  color.Color
	}{
		{"jobs", jobs, allJobs, color.RGBA{0x3b, 0x6e, 0xa5, 0xff}},
		{"work", work, allWork, color.RGBA{0xe0, 0x8e, 0x45, 0xff}},
	} {
		for k := range series.values {
			series.values[k] *= 100 / max(series.sum, 1)
		}
		bars, err := plotter.NewBarChart(series.values, thick)
		if err != nil {
			return err
		}
		bars.Color, bars.LineStyle.Width, bars.Offset = series.color, 0, thick*vg.Length(2*i-1)/2
		p.Add(bars)
		p.Legend.Add(series.name, bars)
	}
	p.NominalX(labels...)
	canvas := vgsvg.New(width, height)
	p.Draw(draw.New(canvas))
	return wholefile.Write("the chart", path, func(out io.Writer) error {
		_, err := canvas.WriteTo(out)
		return err
	})
}
