package report

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/condorsim"
)

// compared returns the table of a comparison with what really happened, and what there is to say of
// it; "" for nil.
func compared(c *condorsim.Comparison, policy string) string {
	if c == nil {
		return ""
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	var right []table.ColumnConfig
	for n := 2; n <= 5; n++ {
		right = append(right, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(right)
	t.AppendHeader(table.Row{
		"the same " + inwords.Whole(c.Jobs) + " jobs", "what happened", policy, "happened, hours", policy + ", hours",
	})
	for i, happened := range c.Happened {
		if happened.Label == "" || happened.Name == "utilisation_memory" && happened.Value+c.Simulated[i].Value == 0 {
			continue
		}
		a, b := rowOf(happened), rowOf(c.Simulated[i])
		t.AppendRow(table.Row{a[0], a[1], b[1], a[2], b[2]})
	}
	if !hasUse(c) {
		t.AppendRow(table.Row{"utilisation, idle while jobs waited", "-", "-"})
	}
	var out strings.Builder
	out.WriteString(t.Render() + "\n")
	for _, left := range []struct {
		jobs int
		why  string
	}{
		{c.NoStart, condorsim.NoRecordedStart},
		{c.Wrong, condorsim.WrongStart},
		{c.NotRun, "they did not run in the simulation"},
	} {
		if left.jobs > 0 {
			_, _ = fmt.Fprintf(&out, "left out of the comparison: %s of the jobs, as %s\n", inwords.Whole(left.jobs), left.why)
		}
	}
	if c.Impossible != "" {
		out.WriteString(c.Impossible + "\n")
	}
	return out.String()
}

// hasUse reports whether the comparison says how the pool was used.
func hasUse(c *condorsim.Comparison) bool {
	for _, m := range c.Happened {
		if m.Name == "utilisation" {
			return true
		}
	}
	return false
}
