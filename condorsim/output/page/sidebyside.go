package page

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/condorsim/output/intervals"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// SideBySide compares what happened to the jobs of a pool with what would have been: under some policies,
// as the pool is and with changes, each alone.
type SideBySide struct {
	Title, Lead string
	// Happened is what really happened; nil: nothing is known of it.
	Happened *results.Cell
	Policies []string
	// Variants are the pool as it is, and then with each change.
	Variants []Variant
	// Notes say what cannot be compared, and why.
	Notes []string
	// SimulatorError is what JSON is to say of the simulator's own error; nil: nothing. Notes say it in words.
	SimulatorError any
	// Command is the command line that repeats it, and Version the program's.
	Command, Version string
}

// Variant is a pool with the users' estimates, as they are or changed.
type Variant struct {
	Name  string          // such as with cpus=64,count=4
	Cells []*results.Cell // by policy; nil: it failed
	// Halves are, by policy, half the widths of the 95 % intervals of the measures that are
	// compared, over seeds; nil: none are known.
	Halves []map[string]float64
}

// Part is a part of what there is to say, in sentences.
type Part struct {
	Title     string   `json:"title"`
	Sentences []string `json:"sentences"`
}

// Parts puts the comparison into sentences: what happened, what would have been, what each change brings.
func (s *SideBySide) Parts() []Part {
	var parts []Part
	if h := s.Happened; h != nil {
		m := h.Metrics
		parts = append(parts, Part{"What happened", []string{fmt.Sprintf("%s jobs waited %s in the mean; half of them "+
			"waited at most %s, 99 %% at most %s, and the longest wait was %s.", inwords.Whole(h.Jobs-h.Held),
			hours(m["mean_wait"]), hours(m["median_wait"]), hours(m["p99_wait"]), hours(m["longest_wait"]))}})
	}
	for i, v := range s.Variants {
		part := Part{Title: "What would have been"}
		if i > 0 {
			part.Title = "What it brings: " + v.Name
		}
		for k, c := range v.Cells {
			before := s.Happened
			if i > 0 {
				before = s.Variants[0].Cells[k]
			}
			part.Sentences = append(part.Sentences, s.sentence(k, c, before))
		}
		parts = append(parts, part)
	}
	return parts
}

// sentence says what a policy makes of the waits, against what there was before; nil: that is not known.
func (s *SideBySide) sentence(policy int, c, before *results.Cell) string {
	subject := "Under " + s.Policies[policy]
	if c == nil {
		return subject + " the simulation failed."
	}
	if c.Jobs == c.Held {
		return subject + " no job would have run."
	}
	wait, longest := c.Metrics["mean_wait"], c.Metrics["longest_wait"]
	if before == nil || before.Jobs == before.Held {
		return fmt.Sprintf("%s the mean wait would have been %s, and the longest %s.", subject, hours(wait), hours(longest))
	}
	text := fmt.Sprintf("%s the mean wait would have been %s%s, and the longest %s%s.", subject,
		hours(wait), against(wait, before.Metrics["mean_wait"]),
		hours(longest), against(longest, before.Metrics["longest_wait"]))
	if more := (c.Jobs - c.Held) - (before.Jobs - before.Held); more != 0 {
		text += fmt.Sprintf(" These are %s jobs instead of %s: the others could not run.",
			inwords.Whole(c.Jobs-c.Held), inwords.Whole(before.Jobs-before.Held))
	}
	return text
}

// hours writes seconds in hours, with the unit.
func hours(seconds float64) string { return inwords.Hours(seconds) + " h" }

// against says what a time was before, and by how much it changes.
func against(now, before float64) string {
	switch {
	case inwords.Hours(now) == inwords.Hours(before):
		return ", as before"
	case before == 0:
		return " instead of " + hours(before)
	}
	change, word := 100*(before-now)/before, "less"
	if change < 0 {
		change, word = -change, "more"
	}
	decimals := 0
	if change < 10 {
		decimals = 1
	}
	return fmt.Sprintf(" instead of %s (%s %% %s)", hours(before), inwords.Grouped(change, decimals), word)
}

// compared are the measures of the table, in hours where they are times.
//
//nolint:gochecknoglobals // a table
var compared = []struct{ title, unit, metric string }{
	{"Mean wait", "h", "mean_wait"},
	{"Median", "h", "median_wait"},
	{"99 %", "h", "p99_wait"},
	{"99.9 %", "h", "p999_wait"},
	{"Longest", "h", "longest_wait"},
	{"Response by area", "h", "area_weighted_response"},
	{"Bounded slowdown", "", "mean_bounded_slowdown"},
	{"By processor", "", "processor_bounded_slowdown"},
	{"Utilisation", "%", "utilisation"},
}

// Compared returns the table of what happened and of all simulations, side by side.
func (s *SideBySide) Compared() Table {
	t := Table{
		Name: "side-by-side", Title: "Side by side", Caption: "Waits of all jobs that ran",
		Columns: []Column{{Title: "Pool"}, {Title: "Policy"}, {Title: "Jobs", Number: true}},
	}
	for _, c := range compared {
		t.Columns = append(t.Columns, Column{Title: c.title, Unit: c.unit, Number: true})
	}
	if s.Happened != nil {
		t.Rows = append(t.Rows, row("what happened", "", s.Happened, nil))
	}
	for _, v := range s.Variants {
		for i, c := range v.Cells {
			t.Rows = append(t.Rows, row(v.Name, s.Policies[i], c, v.half(i)))
		}
	}
	return t
}

// half returns the half widths of a policy's measures.
func (v *Variant) half(policy int) map[string]float64 {
	if policy < len(v.Halves) {
		return v.Halves[policy]
	}
	return nil
}

// HalfWidths returns half the widths of the 95 % intervals of the measures of a comparison, over
// the seeds of cells that differ in these alone; nil if the seeds are too few or make no
// difference.
func HalfWidths(seeds []results.Cell) map[string]float64 {
	var halves map[string]float64
	for _, c := range compared {
		var values []float64
		for _, cell := range seeds {
			if v, known := cell.Metrics[c.metric]; known {
				values = append(values, v)
			}
		}
		half, known := intervals.OfValues(values)
		if known && half > 0 {
			if halves == nil {
				halves = map[string]float64{}
			}
			halves[c.metric] = half
		}
	}
	return halves
}

// row returns the row of a simulation, or of what happened.
func row(pool, policy string, c *results.Cell, halves map[string]float64) []Value {
	values := []Value{Text(pool), Text(policy), missing()}
	if c != nil {
		values[2] = Number(float64(c.Jobs - c.Held))
	}
	for _, column := range compared {
		v, known := 0.0, false
		if c != nil {
			v, known = c.Metrics[column.metric]
		}
		value := Number(v)
		half, within := halves[column.metric]
		if column.unit == "%" {
			value, half = Number(100*v), 100*half
		}
		if within {
			value = value.within(half)
		}
		switch {
		case !known:
			value = missing()
		case column.unit == "h":
			value = value.inHours()
		}
		values = append(values, value)
	}
	return values
}

// mostUsers bounds the users of a table.
const mostUsers = 10

// Users returns the tables of the mean waits of those who used most: as the pool is and, for each change,
// beside that; none if no job names its user.
func (s *SideBySide) Users() []Table {
	most := s.most()
	if len(most) == 0 {
		return nil
	}
	var all []Table
	for i, v := range s.Variants {
		t := Table{
			Name: fmt.Sprintf("users-%d", i+1), Title: "Mean waits, " + v.Name,
			Caption: "Those who used most", Columns: []Column{
				{Title: "User"}, {Title: "Jobs", Number: true}, {Title: "Use", Unit: "cpu h", Number: true},
			},
		}
		var cells []*results.Cell
		add := func(title string, c *results.Cell) {
			t.Columns, cells = append(t.Columns, Column{Title: title, Unit: "h", Number: true}), append(cells, c)
		}
		if s.Happened != nil && i == 0 {
			add("What happened", s.Happened)
		}
		for k, policy := range s.Policies {
			if i > 0 {
				add(policy+", "+s.Variants[0].Name, s.Variants[0].Cells[k])
				policy += ", changed"
			}
			add(policy, v.Cells[k])
		}
		for _, u := range most {
			line := []Value{Text(u.Name), Number(float64(u.Jobs)), Number(math.Round(u.CPUSeconds / 3600))}
			for _, c := range cells {
				line = append(line, wait(c, u.Name))
			}
			t.Rows = append(t.Rows, line)
		}
		all = append(all, t)
	}
	return all
}

// most returns the users with most use in what happened or, if that is not known, under the first policy
// that did not fail.
func (s *SideBySide) most() []results.User {
	from := s.Happened
	for _, v := range s.Variants {
		for _, c := range v.Cells {
			if from == nil {
				from = c
			}
		}
	}
	if from == nil {
		return nil
	}
	users := slices.Clone(from.Users)
	slices.SortStableFunc(users, func(a, b results.User) int { return cmp.Compare(b.CPUSeconds, a.CPUSeconds) })
	return users[:min(mostUsers, len(users))]
}

// wait returns a user's mean wait; missing if no job of theirs ran.
func wait(c *results.Cell, user string) Value {
	if c != nil {
		for _, u := range c.Users {
			if u.Name == user {
				return Number(u.MeanWait).inHours()
			}
		}
	}
	return missing()
}

// HTML writes the comparison as one page, which can be printed.
func (s *SideBySide) HTML(out io.Writer) error {
	text, err := filled("sidebyside", s)
	if err != nil {
		return err
	}
	return Shell{
		Title: s.Title, Style: asset("report.css"), Script: asset("choose.js") + asset("tables.js"), Body: text,
	}.Write(out)
}

// sideBySide is a comparison as JSON.
type sideBySide struct {
	Title   string    `json:"title"`
	About   string    `json:"about"`
	Parts   []Part    `json:"in_words"`
	Notes   []string  `json:"notes"`
	Rows    []sideRow `json:"rows"`
	Error   any       `json:"simulator_error,omitempty"`
	Command string    `json:"command"`
	Version string    `json:"version"`
}

// sideRow is what happened (policy history), or a simulation.
type sideRow struct {
	Pool    string             `json:"pool"`
	Policy  string             `json:"policy"`
	Failed  bool               `json:"failed,omitempty"`
	Jobs    int                `json:"jobs"`
	Held    int                `json:"held"`
	Metrics map[string]float64 `json:"metrics"` // seconds
	// HalfWidths are of the 95 % intervals over seeds.
	HalfWidths map[string]float64 `json:"half_widths,omitempty"`
	Users      []results.User     `json:"users"`
}

// JSON returns the comparison as it is printed for programs: all measures, with times in seconds.
func (s *SideBySide) JSON() any {
	out := sideBySide{
		Title: s.Title, About: strings.TrimSpace(s.Lead), Parts: s.Parts(), Notes: s.Notes, Command: s.Command, Version: s.Version,
		Error: s.SimulatorError,
	}
	add := func(pool, policy string, c *results.Cell, halves map[string]float64) {
		r := sideRow{Pool: pool, Policy: policy, Failed: c == nil, HalfWidths: halves}
		if c != nil {
			r.Jobs, r.Held, r.Metrics, r.Users = c.Jobs, c.Held, c.Metrics, c.Users
		}
		out.Rows = append(out.Rows, r)
	}
	if s.Happened != nil {
		add(s.Variants[0].Name, s.Happened.Policy, s.Happened, nil)
	}
	for _, v := range s.Variants {
		for i, c := range v.Cells {
			add(v.Name, s.Policies[i], c, v.half(i))
		}
	}
	return out
}
