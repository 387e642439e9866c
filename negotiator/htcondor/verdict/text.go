package verdict

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
)

// shownUsers is how many users the text lists, and pageUsers the page.
const shownUsers, pageUsers = 20, 200

// Text puts a verdict into words and tables for a terminal, with instants as the clock writes them.
func (v *Verdict) Text(clock instant.Clock) string {
	var b strings.Builder
	say := func(sentence string) {
		for line := range strings.SplitSeq(text.WrapSoft(cli.Line(sentence), 99), "\n") {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	part := func(title string) { b.WriteString("\n" + title + "\n") }
	say(v.Headline())
	say(v.span(clock))
	for _, damage := range v.Record.Damaged {
		say("A part of the record cannot be read: " + damage + ".")
	}
	b.WriteString("\n" + factTable(v.facts()))
	part("Widths:")
	b.WriteString(groupTable("cpus", v.Widths))
	if v.WideJobs.Jobs > 0 {
		part("Wide jobs:")
		b.WriteString(groupTable("cpus", []Group{v.WideJobs}))
	}
	part("Users:")
	b.WriteString(groupTable("user", v.Users[:min(len(v.Users), shownUsers)]))
	if n := len(v.Users) - shownUsers; n > 0 {
		fmt.Fprintf(&b, " … and %s more users\n", inwords.Whole(n))
	}
	part("Promises: " + inwords.Whole(v.Promises.Made))
	if p := v.promised(); p != nil {
		b.WriteString(factTable(p))
	} else {
		say(v.noPromises())
	}
	for _, list := range []struct {
		title string
		cases []Case
	}{{"Most earlier here:", v.Most.Earlier}, {"Most later here:", v.Most.Later}} {
		if len(list.cases) > 0 {
			part(list.title)
			b.WriteString(caseTable(list.cases, clock))
		}
	}
	part("What was measured:")
	for _, sentence := range v.meaning() {
		say(sentence)
	}
	return b.String()
}

func right(t table.Writer, numbers ...int) {
	var columns []table.ColumnConfig
	for _, n := range numbers {
		columns = append(columns, table.ColumnConfig{Number: n, Align: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
}

func factTable(all []fact) string {
	t := cli.Table("", "jobs", "")
	right(t, 2)
	for _, f := range all {
		t.AppendRow(table.Row{f.What, f.Jobs, cli.Line(f.More)})
	}
	return t.Render() + "\n"
}

// waits writes a wait under the live negotiator and here.
func waits(theirs, ours float64, jobs int) string {
	if jobs == 0 {
		return ""
	}
	return lasting(theirs) + " → " + lasting(ours)
}

func groupTable(head string, all []Group) string {
	t := cli.Table(head, "jobs", "earlier", "same", "later", "never",
		"median wait → here", "90 % → here", "mean → here")
	right(t, 2, 3, 4, 5, 6)
	whole := inwords.Whole[int]
	for _, g := range all {
		t.AppendRow(table.Row{
			cli.Line(name(g.Name)), whole(g.Jobs), whole(g.Earlier), whole(g.Same), whole(g.Later), whole(g.Never),
			waits(float64(g.Theirs.Median), float64(g.Ours.Median), g.Ours.Jobs),
			waits(float64(g.Theirs.P90), float64(g.Ours.P90), g.Ours.Jobs),
			waits(g.Theirs.Mean, g.Ours.Mean, g.Ours.Jobs),
		})
	}
	return t.Render() + "\n"
}

func caseTable(all []Case, clock instant.Clock) string {
	t := cli.Table("job", "user", "cpus", "submitted", "started", "here", "apart")
	right(t, 3)
	for _, c := range all {
		t.AppendRow(table.Row{
			cli.Line(c.Job), cli.Line(name(c.User)), inwords.Whole(c.Cpus), clock.Bare(c.Submit),
			clock.Brief(c.Start, c.Submit), clock.Brief(c.Would, c.Submit), lasting(float64(c.Off())),
		})
	}
	return t.Render() + "\n"
}
