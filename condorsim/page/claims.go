package page

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/claims"
)

// verdicts are the kinds, in the order in which they are counted.
var verdicts = []struct { //nolint:gochecknoglobals // a table
	claims.Verdict
	sign, mark string
}{
	{claims.Agrees, "✓", "good"},
	{claims.Partly, "≈", "partly"},
	{claims.Differs, "✗", "bad"},
	{claims.Untested, "○", "open"},
}

// claimsTable holds results against what a paper says.
func claimsTable(rows []claims.Row) Table {
	t := Table{Name: "claims", Title: "Paper says / we get", Caption: tally(rows), Columns: []Column{{Title: "Claim"}, {Title: "Paper says"}, {Title: "We get"}, {Title: "Verdict"}, {Title: "Why"}}}
	for _, r := range rows {
		t.Rows = append(t.Rows, []Value{words(r.Claim), words(r.Paper), words(r.Ours), verdict(r.Verdict), words(r.Why)})
	}
	return t
}

// Wordy tells whether the table is mostly sentences, which may be broken.
func (t Table) Wordy() bool { return t.Name == "claims" }

// words is a text in which lines are not broken before a %, and a minus is one.
func words(text string) Value {
	v := Text(text)
	v.Show = minus.ReplaceAllString(strings.ReplaceAll(text, " %", "\u00a0%"), "${1}−$2")
	return v
}

var minus = regexp.MustCompile(`(^|\s)-(\d)`)

// verdict is one at a glance.
func verdict(v claims.Verdict) Value {
	value := Text(string(v))
	for _, known := range verdicts {
		if known.Verdict == v {
			value.Show, value.Mark = known.sign+" "+string(v), known.mark
		}
	}
	return value
}

// tally counts the verdicts.
func tally(rows []claims.Row) string {
	var counts []string
	for _, v := range verdicts {
		n := 0
		for _, r := range rows {
			if r.Verdict == v.Verdict {
				n++
			}
		}
		if n > 0 {
			counts = append(counts, fmt.Sprintf("%s %s: %d", v.sign, v.Verdict, n))
		}
	}
	return fmt.Sprintf("%d %s. ", len(rows), plural(len(rows), "claim")) + strings.Join(counts, ", ")
}
