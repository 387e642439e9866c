package console

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// mostSentences is how many comparisons of a measure are printed; files have all of them.
const mostSentences = 40

// sentences returns a line for each comparison of a measure, such as "slack beats easy by 16,745 ±
// 7,192 s (mean wait, 95 %, 12 weeks), 4.65 ± 2.00 h". The last line says where the rest is, if
// there are many.
func sentences(all []results.Comparison, measure, rest string) string {
	one := slices.DeleteFunc(slices.Clone(all), func(c results.Comparison) bool { return c.Measure != measure })
	differ := func(property func(results.Comparison) any) bool {
		return slices.ContainsFunc(all, func(c results.Comparison) bool { return property(c) != property(all[0]) })
	}
	traces := differ(func(c results.Comparison) any { return c.Trace })
	loads := differ(func(c results.Comparison) any { return c.Load })
	models := differ(func(c results.Comparison) any { return c.EstimateModel })
	var out strings.Builder
	for _, c := range one[:min(len(one), mostSentences)] {
		var workload []string
		if traces {
			workload = append(workload, c.Trace)
		}
		if loads {
			workload = append(workload, fmt.Sprintf("load %g", c.Load))
		}
		if models {
			workload = append(workload, c.EstimateModel)
		}
		if len(workload) > 0 {
			out.WriteString(strings.Join(workload, " ") + ": ")
		}
		out.WriteString(sentence(c) + "\n")
	}
	if more := len(one) - mostSentences; more > 0 {
		_, _ = fmt.Fprintf(&out, "and %s comparisons more; %s has them\n", inwords.Whole(more), rest)
	}
	return out.String()
}

// sentence says what a comparison found.
func sentence(c results.Comparison) string {
	label, seconds := labelOf(c.Measure)
	basis := fmt.Sprintf("(%s, 95 %%, %d %s)", label, c.Pairs, c.Sample)
	if c.Difference == 0 && c.HalfWidth == 0 {
		return fmt.Sprintf("%s equals %s %s", c.Scheduler, c.Against, basis)
	}
	size, unit, hours := c.Difference, "", ""
	write := func(v float64) string { return inwords.Grouped(v, 2) }
	if c.Sure() {
		size = math.Abs(size)
	}
	if seconds {
		decimals := 0
		if math.Abs(c.Difference) < 100 && c.HalfWidth < 100 {
			decimals = 1
		}
		write = func(v float64) string { return inwords.Grouped(v, decimals) }
		unit = " s"
		if math.Abs(c.Difference)+c.HalfWidth >= 60 { // less is nothing in hours
			hours = fmt.Sprintf(", %s ± %s h", inwords.Hours(size), inwords.Hours(c.HalfWidth))
		}
	}
	amount := fmt.Sprintf("%s ± %s%s %s%s", write(size), write(c.HalfWidth), unit, basis, hours)
	switch {
	case !c.Sure():
		return fmt.Sprintf("%s and %s may differ by chance alone, by %s", c.Scheduler, c.Against, amount)
	case c.Difference < 0:
		return fmt.Sprintf("%s beats %s by %s", c.Scheduler, c.Against, amount)
	default:
		return fmt.Sprintf("%s loses to %s by %s", c.Scheduler, c.Against, amount)
	}
}

// labelOf returns what a measure is called, and whether it is in seconds.
func labelOf(measure string) (label string, seconds bool) {
	for _, m := range (metrics.Metrics{}).List() {
		if m.Name == measure && m.Label != "" {
			return m.Label, m.Unit == metrics.Seconds || m.Unit == metrics.WholeSeconds
		}
	}
	return strings.ReplaceAll(measure, "_", " "), false
}

// printSentences prints the sentences of some measures, if there are any, below a blank line.
func printSentences(out io.Writer, all []results.Comparison, rest string, measures ...string) error {
	var text strings.Builder
	for _, measure := range measures {
		text.WriteString(sentences(all, measure, rest))
	}
	if text.Len() == 0 {
		return nil
	}
	if _, err := io.WriteString(out, "\n"+text.String()); err != nil {
		return fmt.Errorf("print the comparisons: %w", err)
	}
	return nil
}
