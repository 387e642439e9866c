package page

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/output/papers"
)

// verdicts are the verdicts in the order in which they are counted.
var verdicts = []struct { //nolint:gochecknoglobals // a table
	papers.Verdict
	sign, mark string
}{
	{papers.Agrees, "✓", "good"},
	{papers.Partly, "≈", "partly"},
	{papers.Differs, "✗", "bad"},
	{papers.Untested, "○", "open"},
}

// paperTable compares results with what a paper says, or with this project's own goals.
func paperTable(rows []papers.Row, own bool) Table {
	said := "Paper says"
	if own {
		said = "Goal"
	}
	t := Table{
		Name: "paper", Title: said + " / we get", Caption: tally(rows),
		Columns: []Column{
			{Title: "Statement"},
			{Title: said},
			{Title: "We get"},
			{Title: "Verdict"},
			{Title: "Why"},
		},
	}
	for _, r := range rows {
		t.Rows = append(t.Rows, []Value{
			words(r.Statement), words(r.Paper), words(r.Ours), verdict(r.Verdict),
			words(r.Why),
		})
	}
	return t
}

// usersTable lists the users to whom slack did the most harm.
func usersTable(users []papers.User) Table {
	t := Table{
		Name: "worst-users", Title: "The users worst off against EASY", Caption: "Mean bounded slowdowns of a user's jobs",
		Columns: []Column{
			{Title: "User"},
			{Title: "Trace"},
			{Title: "Jobs", Number: true},
			{Title: "Under EASY", Number: true},
			{Title: "Under slack", Number: true},
			{Title: "Times as large", Number: true},
		},
	}
	for _, u := range users {
		t.Rows = append(t.Rows, []Value{
			Text(u.Name), Text(u.Where), Number(float64(u.Jobs)), Number(u.EASY), Number(u.Slack),
			Number(u.Times()),
		})
	}
	return t
}

// Wordy reports whether the table is mostly sentences, which may be broken into lines.
func (t Table) Wordy() bool { return t.Name == "paper" }

// words returns a text in which lines are not broken before a %, with proper minus signs.
func words(text string) Value {
	v := Text(text)
	v.Show = minus.ReplaceAllString(strings.ReplaceAll(text, " %", "\u00a0%"), "${1}−$2")
	return v
}

var minus = regexp.MustCompile(`(^|\s)-(\d)`)

// verdict returns the entry for a verdict: a sign and the word.
func verdict(v papers.Verdict) Value {
	value := Text(string(v))
	for _, known := range verdicts {
		if known.Verdict == v {
			value.Show, value.Mark = known.sign+" "+string(v), known.mark
		}
	}
	return value
}

// tally returns, as text, how many statements there are and how many got each verdict.
func tally(rows []papers.Row) string {
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
	return fmt.Sprintf("%d %s. ", len(rows), plural(len(rows), "statement")) + strings.Join(counts, ", ")
}
