package survey

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

// printer prints until the first error, which it keeps.
type printer struct {
	out io.Writer
	err error
}

func (p *printer) print(s string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.out, s)
	}
}

// Table prints the survey for people.
func (s *Survey) Table(out io.Writer) error {
	p := &printer{out: out}
	p.print(s.Trace + "\n\n")
	s.printHeader(p)
	s.printSummary(p)
	if s.Jobs > 0 {
		p.bars("Processors of a job", s.Widths.Bins)
		p.bars("Run time of a job", s.RunTimes.Bins)
		if s.Estimates.known(s.Cleaning) {
			p.bars("Accuracy of estimates: R = run time / estimate", s.Estimates.R.Bins)
		}
		p.bars("Memory per processor", s.Memory.PerCPU.Bins)
		p.bars("Submissions by the hour of the day"+s.zone(), s.Arrivals)
		if s.Estimates.known(s.Cleaning) {
			s.printPopular(p)
		}
		p.names("Users with most jobs", s.Users.Top, s)
		p.names("Queues", s.Queues, s)
	}
	if p.err != nil {
		return fmt.Errorf("print the survey: %w", p.err)
	}
	return nil
}

// zone says which time zone the hours are in.
func (s *Survey) zone() string {
	switch {
	case s.Zone != "":
		return ", time of " + s.Zone
	case s.LocalTime:
		return ", local standard time"
	case s.Starts != "":
		return ", UTC"
	default:
		return " from the start of the trace"
	}
}

// newTable returns a table whose given columns, from 1, are aligned to the right.
func newTable(right ...int) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	var columns []table.ColumnConfig
	for _, n := range right {
		columns = append(columns, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	return t
}

func (s *Survey) printHeader(p *printer) {
	const widest, most = 90, 40
	if len(s.Header) == 0 {
		return
	}
	t := newTable()
	t.AppendHeader(table.Row{"header", ""})
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 2, WidthMax: widest}})
	for _, line := range s.Header[:min(most, len(s.Header))] {
		t.AppendRow(table.Row{backfill.Printable(line.Key, longest), backfill.Printable(line.Value, longest)})
	}
	p.print(t.Render() + "\n")
	if more := len(s.Header) - most; more > 0 {
		p.print(fmt.Sprintf("and %d lines more; --json has them all\n", more))
	}
	p.print("\n")
}

func (s *Survey) printSummary(p *printer) {
	t := newTable(2)
	t.AppendHeader(table.Row{"what it holds", ""})
	row := func(what, format string, args ...any) {
		t.AppendRow(table.Row{what, fmt.Sprintf(format, args...)})
	}
	row("processors of the machine", "%s", metrics.Whole(s.Machine.Processors))
	switch {
	case s.Machine.Memory > 0:
		row("memory of the machine", "%s MiB", metrics.Whole(s.Machine.Memory))
	case s.Memory.Used.Jobs+s.Memory.Requested.Jobs > 0:
		row("memory of the machine", "not given (--memory), so memory does not count")
	}
	row("job lines", "%s", metrics.Whole(s.Cleaning.JobsRead))
	for _, status := range s.Statuses {
		row("  of status "+strconv.FormatInt(status.Status, 10)+", "+status.Meaning, "%s", metrics.Whole(status.Jobs))
	}
	for _, o := range s.Cleaning.Dropped() {
		row("dropped: "+o.Why, "%s", metrics.Whole(o.Jobs))
	}
	row("jobs left", "%s", metrics.Whole(s.Jobs))
	for _, c := range []struct {
		what string
		jobs int
	}{
		{"run time unknown: the estimate stands in", s.Cleaning.RunAssumed},
		{"estimate unknown: the run time stands in", s.Cleaning.EstimateUnknown},
		{"estimate raised to the run time", s.Cleaning.EstimateRaised},
		{"run time cut to the estimate", s.Cleaning.RunCut},
		{"submitted after a preceding job", s.Cleaning.Dependent},
		{"preceding job left out", s.Cleaning.PrecedingAbsent},
		{"preceding job ignored: in no line before", s.Cleaning.PrecedingWrong},
		{"lines out of order", s.Cleaning.OutOfOrder},
	} {
		if c.jobs > 0 {
			row("  "+c.what, "%s", metrics.Whole(c.jobs))
		}
	}
	if s.Starts != "" {
		row("starts", "%s", s.Starts)
	}
	row("from first to last submission", "%s", metrics.Duration(float64(s.Span), 0))
	row("offered load", "%.3f", s.Load)
	s.summariseJobs(row)
	row("users", "%s", metrics.Whole(s.Users.Known))
	p.print(t.Render() + "\n")
}

// summariseJobs adds the rows about the jobs' numbers.
func (s *Survey) summariseJobs(row func(what, format string, args ...any)) {
	if s.Jobs > 0 {
		row("processors: median, mean, 90 %, 99 %, most", "%g, %.1f, %g, %g, %g", s.Widths.Median, s.Widths.Mean,
			s.Widths.P90, s.Widths.P99, s.Widths.Most)
		r := s.RunTimes
		for _, unit := range []struct {
			name  string
			write func(float64) string
		}{{"s", whole}, {"h", metrics.Hours}} {
			row("run time in "+unit.name+": median, mean, 90 %, 99 %, longest", "%s; %s; %s; %s; %s", unit.write(r.Median),
				unit.write(r.Mean), unit.write(r.P90), unit.write(r.P99), unit.write(r.Most))
		}
		if s.Estimates.known(s.Cleaning) {
			row("accuracy of estimates R: median, mean", "%.3f, %.3f", s.Estimates.R.Median, s.Estimates.R.Mean)
			row("estimates: distinct, exact", "%s, %s", metrics.Whole(s.Estimates.Distinct), percent(s.Estimates.Exact, s.Jobs))
		}
	}
	for _, field := range []struct {
		name string
		Recorded
	}{{"used", s.Memory.Used}, {"requested", s.Memory.Requested}} {
		if field.Jobs > 0 {
			m := field.PerCPU
			row("jobs with "+field.name+" memory", "%s, %s", metrics.Whole(field.Jobs), percent(field.Jobs, s.Jobs))
			row("  MiB per processor: median, mean, 90 %, 99 %, most", "%s; %s; %s; %s; %s",
				whole(m.Median), whole(m.Mean), whole(m.P90), whole(m.P99), whole(m.Most))
		}
	}
	if s.Memory.Jobs > 0 {
		row("jobs with memory", "%s", metrics.Whole(s.Memory.Jobs))
		row("memory per processor: median, most", "%s; %s MiB", whole(s.Memory.PerCPU.Median),
			whole(s.Memory.PerCPU.Most))
		row("offered load of memory", "%.3f", s.Memory.Load)
	}
	s.summariseResources(row)
}

// whole writes a number without decimals.
func whole(v float64) string { return metrics.Grouped(v, 0) }

// longest is how many letters are shown of a text from the trace's file.
const longest = 1000

func percent(part, total int) string {
	return strconv.FormatFloat(100*float64(part)/float64(max(total, 1)), 'f', 1, 64) + " %"
}

// bars prints a table of classes: their jobs, with a bar, and their share of the work.
func (p *printer) bars(title string, bins []Bin) {
	if len(bins) == 0 {
		return
	}
	jobs, work, most := 0, 0.0, 0
	for _, b := range bins {
		jobs, work, most = jobs+b.Jobs, work+b.Work, max(most, b.Jobs)
	}
	t := newTable(1, 2, 3, 5)
	t.AppendHeader(table.Row{"", "jobs", "%", "", "% of work"})
	for _, b := range bins {
		share := 0.0
		if work > 0 {
			share = 100 * b.Work / work
		}
		t.AppendRow(table.Row{
			b.Label, metrics.Whole(b.Jobs), fmt.Sprintf("%.1f", 100*float64(b.Jobs)/float64(max(jobs, 1))),
			bar(b.Jobs, most), fmt.Sprintf("%.1f", share),
		})
	}
	p.print("\n" + title + "\n" + t.Render() + "\n")
}

// bar returns a bar of 40 columns times part/most, in steps of an eighth of a column, and at least
// one step long unless part is 0.
func bar(part, most int) string {
	const columns = 40
	eighths := int(math.Round(float64(part) / float64(max(most, 1)) * columns * 8))
	if part > 0 {
		eighths = max(eighths, 1)
	}
	line := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		line += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return line
}

func (s *Survey) printPopular(p *printer) {
	t := newTable(1, 2, 3, 4)
	t.AppendHeader(table.Row{"estimate in s", "in h", "jobs", "%"})
	sum := 0
	for _, e := range s.Estimates.Popular {
		sum += e.Jobs
		t.AppendRow(table.Row{
			metrics.Whole(e.Seconds), metrics.Hours(float64(e.Seconds)), metrics.Whole(e.Jobs), percent(e.Jobs, s.Jobs),
		})
	}
	p.print("\nMost popular estimates, " + percent(sum, s.Jobs) + " of the jobs together\n" + t.Render() + "\n")
}

func (p *printer) names(title string, names []Name, s *Survey) {
	if len(names) == 0 {
		return
	}
	t := newTable(2, 3, 4)
	t.AppendHeader(table.Row{"", "jobs", "%", "% of work"})
	for _, n := range names {
		share := 0.0
		if s.Work > 0 {
			share = 100 * n.Work / s.Work
		}
		t.AppendRow(table.Row{
			strings.TrimSpace(backfill.Printable(n.Name+"  "+n.Says, longest)), metrics.Whole(n.Jobs),
			percent(n.Jobs, s.Jobs), fmt.Sprintf("%.1f", share),
		})
	}
	p.print("\n" + title + "\n" + t.Render() + "\n")
}
