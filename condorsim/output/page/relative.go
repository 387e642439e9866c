package page

import (
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/output/intervals"
)

// whose are the measures that say who gains and who pays under a scheduler, by whom they are of. Lower
// is better in all of them.
//
//nolint:gochecknoglobals // a table
var whose = []whoseMeasure{
	{"all jobs", "wait", "mean_wait"},
	{"all jobs", "bounded slowdown", "mean_bounded_slowdown"},
	{"narrowest 50 %", "wait", "narrowest50_wait"},
	{"narrowest 50 %", "bounded slowdown", "narrowest50_bounded_slowdown"},
	{"widest 10 %", "wait", "widest10_wait"},
	{"widest 10 %", "bounded slowdown", "widest10_bounded_slowdown"},
	{"by processor", "bounded slowdown", "processor_bounded_slowdown"},
	{"by area", "wait", "area_weighted_wait"},
	{"by area", "response", "area_weighted_response"},
	{"greatest 5 %", "wait", "top5_wait"},
	{"99.9th percentile", "wait", "p999_wait"},
	{"longest", "wait", "longest_wait"},
}

type whoseMeasure struct{ who, what, metric string }

// marked is by what share a scheduler must be better or worse than the baseline to be marked so.
const marked = 0.05

// relatives returns the tables of who gains and who pays against the baseline: a row for each measure,
// over all groups together, and one for each group and scheduler. There are none if nothing can be
// compared, or if results are older than the measures by area.
func (s *Study) relatives() []Table {
	if len(s.Schedulers) < 2 || !s.has("area_weighted_response") {
		return nil
	}
	return []Table{s.overGroups(), s.byGroup()}
}

// has reports whether some cell has a metric.
func (s *Study) has(metric string) bool {
	return slices.ContainsFunc(s.Measures, func(m Measure) bool { return m.Name == metric })
}

// overGroups returns the table of the geometric means over the groups. A value is the mean over the
// seeds.
func (s *Study) overGroups() Table {
	base := s.Schedulers[s.Baseline]
	t := Table{
		Name: "relative", Title: "Who gains and who pays, against " + base,
		Columns: []Column{{Title: "Who"}, {Title: "Mean of"}},
	}
	for _, name := range s.Schedulers {
		t.Columns = append(t.Columns, Column{Title: name, Number: true})
	}
	with := false
	for _, m := range whose {
		row := []Value{Text(m.who), Text(m.what)}
		for scheduler := range s.Schedulers {
			v := s.geometric(m.metric, scheduler)
			with = with || v.half != nil
			row = append(row, v)
		}
		if s.has(m.metric) {
			t.Rows = append(t.Rows, row)
		}
	}
	t.Caption = "Relative to " + base + ": below 1 is better for those in the first column"
	if n := len(s.Groups); n > 1 {
		t.Caption += ". Geometric means over " + strconv.Itoa(n) + " workloads"
	}
	t.Caption += s.meanOverSeeds()
	if with {
		t.Caption += ", ± half the 95 % interval"
	}
	if slices.ContainsFunc(whose, func(m whoseMeasure) bool { return s.baselineHasNone(m.metric) }) {
		t.Caption += ". A row leaves out workloads in which " + base + " has 0"
	}
	return t
}

// geometric returns a scheduler's metric over the baseline's, as the geometric mean over the groups: the
// mean of that over the seeds, with its interval if they are enough and make a difference. So that all
// schedulers are compared over the same groups, seeds count that are finished in every group, and a
// group in which the baseline has 0 counts for nobody.
func (s *Study) geometric(metric string, scheduler int) Value {
	var means []float64
	for _, seed := range s.seeds() {
		logs, n, complete := 0.0, 0, true
		for group := range s.Groups {
			base, ok := s.metric(metric, place{group, s.Baseline}, seed)
			own, too := s.metric(metric, place{group, scheduler}, seed)
			if complete = complete && ok && too; complete && base != 0 {
				logs, n = logs+math.Log(own/base), n+1
			}
		}
		if complete && n > 0 {
			means = append(means, math.Exp(logs/float64(n)))
		}
	}
	v := times(mean(means))
	if half, ok := intervals.OfValues(means); ok && slices.Max(means) > slices.Min(means) {
		v.half = &half
		v.Show += "\u202f±\u202f" + twoDecimals(half)
	}
	return v
}

// baselineHasNone reports whether the baseline has 0 of a metric in some group.
func (s *Study) baselineHasNone(metric string) bool {
	for group := range s.Groups {
		for _, c := range s.cells[place{group, s.Baseline}] {
			if v, ok := c.Metrics[metric]; ok && v == 0 {
				return true
			}
		}
	}
	return false
}

// byGroup returns the table of each scheduler but the baseline in each group.
func (s *Study) byGroup() Table {
	t := Table{
		Name: "relative-by-trace", Title: "Who gains and who pays, trace by trace",
		Caption: "Relative to " + s.Schedulers[s.Baseline] + ": below 1 is better for those whom the column names" +
			s.meanOverSeeds(),
		Columns: []Column{{Title: "Trace"}, {Title: "Scheduler"}},
	}
	for _, m := range whose {
		t.Columns = append(t.Columns, Column{Title: m.what + ", " + m.who, Number: true})
	}
	for group, g := range s.Groups {
		for scheduler, name := range s.Schedulers {
			if scheduler == s.Baseline {
				continue
			}
			row := []Value{Text(g.Label), Text(name)}
			for _, m := range whose {
				row = append(row, times(s.ratio(m.metric, group, scheduler)))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// ratio returns a scheduler's metric over the baseline's in a group: the mean over the seeds that both
// have finished, without those where the baseline has 0; NaN if there are none.
func (s *Study) ratio(metric string, group, scheduler int) float64 {
	var all []float64
	for _, seed := range s.seeds() {
		base, ok := s.metric(metric, place{group, s.Baseline}, seed)
		own, too := s.metric(metric, place{group, scheduler}, seed)
		if ok && too && base != 0 {
			all = append(all, own/base)
		}
	}
	return mean(all)
}

// metric returns a metric of a finished cell; false if there is none.
func (s *Study) metric(name string, at place, seed uint64) (float64, bool) {
	for _, c := range s.cells[at] {
		if c.Seed == seed {
			v, ok := c.Metrics[name]
			return v, ok
		}
	}
	return 0, false
}

// mean returns the mean; NaN of nothing.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// times returns the entry for a ratio to the baseline, marked where it is clearly better or worse.
func times(ratio float64) Value {
	v := Number(ratio)
	switch {
	case math.IsNaN(ratio):
		return v
	case ratio <= 1-marked:
		v.Mark = "good"
	case ratio >= 1+marked:
		v.Mark = "bad"
	}
	v.Show = twoDecimals(ratio)
	return v
}

func twoDecimals(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// Markdown writes the table as a part of a page in Markdown. What is marked as worse is bold.
func (t Table) Markdown(out io.Writer) error {
	var text strings.Builder
	line := func(entries []string) { text.WriteString("| " + strings.Join(entries, " | ") + " |\n") }
	var titles, rules []string
	for _, c := range t.Columns {
		title, rule := escaped.Replace(c.Title), "---"
		if c.Unit != "" {
			title += " (" + c.Unit + ")"
		}
		if c.Number {
			rule = "---:"
		}
		titles, rules = append(titles, title), append(rules, rule)
	}
	line(titles)
	line(rules)
	for _, row := range t.Rows {
		var entries []string
		for _, v := range row {
			entry := escaped.Replace(v.Cell())
			if v.Mark == "bad" {
				entry = "**" + entry + "**"
			}
			entries = append(entries, entry)
		}
		line(entries)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// escaped takes the meaning in Markdown from letters.
//
//nolint:gochecknoglobals // a table
var escaped = strings.NewReplacer("|", `\|`, "*", `\*`, "_", `\_`, "<", "&lt;", "`", "\\`", "\n", " ", "\r", " ", "\u202f", " ")
