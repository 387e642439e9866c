package check

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Text formats the report for people, a hundred columns wide. again returns the command line that
// reproduces a finding; the seed is nil if the finding has none of its own.
func (r *Report) Text(again func(seed *uint64) string) string {
	var b strings.Builder
	if r.Policy != "" {
		_, _ = fmt.Fprintf(&b, "%s: policy %s: %s\n\n", filepath.Base(r.Plugin), r.Policy, r.Doc)
	}
	t := plainTable("", "check", "verdict", "what was seen")
	var columns []table.ColumnConfig
	for i, width := range []int{2, 11, 12, 62} {
		columns = append(columns, table.ColumnConfig{Number: i + 1, WidthMax: width, WidthMaxEnforcer: text.WrapSoft})
	}
	t.SetColumnConfigs(columns)
	for _, k := range r.Checks {
		t.AppendRow(table.Row{k.Number, k.Name, k.Verdict, k.Seen})
	}
	b.WriteString(t.Render() + "\n")
	if len(r.Latency) > 0 {
		b.WriteString("\n" + latencies(r) + "\n")
	}
	for _, k := range r.Checks {
		if k.Do == "" {
			continue
		}
		_, _ = fmt.Fprintf(&b, "\n%d %s, %s\n", k.Number, k.Name, k.Verdict)
		_, _ = fmt.Fprintf(&b, "  to do: %s\n", k.Do)
		_, _ = fmt.Fprintf(&b, "  again: %s\n", again(k.Seed))
		if len(k.Log) > 0 {
			b.WriteString("  the plugin's last words:\n")
		}
		for _, line := range k.Log {
			b.WriteString("    " + line + "\n")
		}
	}
	return b.String() + "\n" + sum(r) + "\n"
}

// latencies is a table of how long decisions took, by the size of the pool.
func latencies(r *Report) string {
	t := plainTable("slots", "waiting", "decisions", "median", "90 %", "99 %", "longest", "bytes")
	var columns []table.ColumnConfig
	for i := range 8 {
		columns = append(columns, table.ColumnConfig{
			Number: i + 1, Align: text.AlignRight,
			AlignHeader: text.AlignRight,
		})
	}
	t.SetColumnConfigs(columns)
	for _, l := range r.Latency {
		t.AppendRow(table.Row{
			l.Slots, l.Jobs, l.Decisions, millis(l.P50), millis(l.P90), millis(l.P99),
			millis(l.Max), l.Bytes,
		})
	}
	s := t.Render()
	if r.Resync != nil {
		s += fmt.Sprintf("\nThe whole state of %d slots and %d jobs: %d bytes, handed over and decided on in %s.",
			r.Resync.Slots, r.Resync.Jobs, r.Resync.Bytes, millis(r.Resync.Took))
	}
	return s
}

func plainTable(header ...any) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(header)
	return t
}

// millis formats microseconds as milliseconds.
func millis(us float64) string { return fmt.Sprintf("%.2f ms", us/1000) }

// sum returns the result of all checks in one line.
func sum(r *Report) string {
	counts := map[Verdict]int{}
	for _, k := range r.Checks {
		counts[k.Verdict]++
	}
	name := filepath.Base(r.Plugin)
	warnings := ""
	if n := counts[Warning]; n > 0 {
		warnings = fmt.Sprintf(", %d with a warning", n)
	}
	if r.Passed {
		return fmt.Sprintf("%s: all %d checks passed%s", name, len(r.Checks), warnings)
	}
	if n := counts[Inconclusive]; n > 0 {
		warnings += fmt.Sprintf(", %d were inconclusive", n)
	}
	if n := counts[Skipped]; n > 0 {
		warnings += fmt.Sprintf(", %d were skipped", n)
	}
	return fmt.Sprintf("%s: %d of %d checks failed%s", name, counts[Failed], len(r.Checks), warnings)
}
