package ask

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// printed is an answer that is put into at most 80 columns.
type printed struct {
	strings.Builder
	a     *whatif.Answer
	clock instant.Clock
}

// shownMoves is how many jobs are listed that start at another time; --json has them all.
const shownMoves = 20

// Describe puts an answer into words, with instants as the clock writes them.
func Describe(a *whatif.Answer, clock instant.Clock) string {
	p := &printed{a: a, clock: clock}
	if a.Job != nil {
		p.job(a.Job)
	} else {
		p.change(a.Change)
	}
	for _, note := range a.Notes {
		p.say("Note: " + note + ".")
	}
	return p.String()
}

// say adds a sentence.
func (p *printed) say(sentence string) {
	for line := range strings.SplitSeq(text.WrapSoft(cli.Line(sentence), 79), "\n") {
		p.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// instant writes an instant, without the day if it is today's; nil: never.
func (p *printed) instant(t *int64) string {
	if t == nil {
		return "never"
	}
	return p.clock.Beside(*t, p.a.Now)
}

// brief is instant for a table.
func (p *printed) brief(t *int64) string {
	if t == nil {
		return "never"
	}
	return p.clock.Brief(*t, p.a.Now)
}

// begins says when a job starts: now, or at an instant and how long that is from now.
func (p *printed) begins(t *int64) string {
	if t != nil && *t <= p.a.Now {
		return "now"
	}
	if t == nil {
		return "never"
	}
	return fmt.Sprintf("%s, in %s", p.instant(t), lasting(*t-p.a.Now))
}

// kinds say by what a start is told.
var kinds = map[string]string{whatif.ByPlan: " (as planned)", whatif.ByMedian: " (median of futures)"}

// expected is begins, with what tells a start that is to come.
func (p *printed) expected(t *int64, toldBy string) string {
	if t == nil || *t <= p.a.Now {
		return p.begins(t)
	}
	return p.begins(t) + kinds[toldBy]
}

// lasting formats seconds, such as 1h30m.
func lasting(seconds int64) string {
	d := time.Duration(seconds) * time.Second
	if seconds > int64(1000*24*time.Hour/time.Second) {
		return fmt.Sprintf("%dd", seconds/86400)
	}
	out := d.String()
	if strings.HasSuffix(out, "m0s") {
		out = strings.TrimSuffix(out, "0s")
	}
	if strings.HasSuffix(out, "h0m") {
		out = strings.TrimSuffix(out, "0m")
	}
	return out
}

// size says what a job asks for.
func size(chunks int, request map[string]int64, seconds int64) string {
	var parts []string
	for _, name := range slices.SortedFunc(maps.Keys(request), func(a, b string) int {
		return cmp.Or(cmp.Compare(rankOf(a), rankOf(b)), cmp.Compare(a, b))
	}) {
		switch name {
		case "memory":
			parts = append(parts, inwords.Whole(request[name])+" MiB")
		case "disk":
			parts = append(parts, inwords.Whole(request[name])+" KiB of disk")
		default:
			parts = append(parts, counted(request[name], name))
		}
	}
	out := strings.Join(parts, ", ")
	if chunks > 1 {
		out = fmt.Sprintf("%d chunks of %s", chunks, out)
	}
	return out + " for " + lasting(seconds)
}

// counted is an amount of a resource in words, such as 1 cpu.
func counted(n int64, resource string) string {
	if n == 1 && !strings.HasSuffix(resource, "ss") {
		resource = strings.TrimSuffix(resource, "s")
	}
	return inwords.Whole(n) + " " + resource
}

func rankOf(resource string) int {
	if i := slices.Index([]string{"cpus", "memory", "disk"}, resource); i >= 0 {
		return i
	}
	return 3
}

// job says when a job would start.
func (p *printed) job(j *whatif.JobAnswer) {
	p.say(fmt.Sprintf("A job of %s (%s):", size(j.Chunks, j.Request, j.Seconds), p.a.Present))
	line := func(label, text string) {
		if text != "" {
			_, _ = fmt.Fprintf(p, "  %-14s %s\n", label, backfill.Printable(text, 60))
		}
	}
	if j.ToldBy == whatif.ByMedian {
		line("would start", p.begins(j.Mid)+kinds[j.ToldBy])
		line("80 % range", fmt.Sprintf("%s to %s", p.instant(j.Low), p.instant(j.High)))
		line("as planned", p.instant(j.Start)+", if all run as long as is planned")
	} else {
		line("would start", p.expected(j.Start, j.ToldBy))
	}
	if j.Promised != nil {
		line("promised by", p.instant(j.Promised))
	}
	line("on", j.Slots)
	if j.Planned != 0 {
		line("planned with", lasting(j.Planned))
	}
	switch j.Delayed {
	case 0:
		line("delays", "no job")
	case 1:
		line("delays", "1 job that waits"+kinds[whatif.ByPlan])
	default:
		line("delays", fmt.Sprintf("%s jobs that wait%s", inwords.Whole(j.Delayed), kinds[whatif.ByPlan]))
	}
	for _, s := range j.Sooner {
		told := s.Told()
		what := "it would start " + p.expected(&told, j.ToldBy)
		if s.Chunks == j.Chunks && maps.Equal(s.Request, j.Request) {
			p.say(fmt.Sprintf("If it asked for at most %s, %s.", lasting(s.Seconds), what))
		} else {
			p.say(fmt.Sprintf("With %s, %s.", size(s.Chunks, s.Request, s.Seconds), what))
		}
	}
	p.broken(j.Broken)
}

// change says what would differ.
func (p *printed) change(c *whatif.ChangeAnswer) {
	p.say("Present: " + p.a.Present)
	p.say("What if: " + p.a.Asked)
	for _, d := range c.Drained {
		p.say(fmt.Sprintf("%s is drained from %s to %s.", d.Slot, p.instant(&d.From), p.instant(new(d.From+d.For))))
	}
	p.say("Both are plans, in which all jobs run for as long as they are taken to.")
	_, _ = fmt.Fprintf(p, "\n%s jobs start earlier, %s later, %s at the same time", inwords.Whole(c.Earlier),
		inwords.Whole(c.Later), inwords.Whole(c.Same))
	if c.Never > 0 {
		_, _ = fmt.Fprintf(p, "; %s would not start", inwords.Whole(c.Never))
	}
	if c.Anew > 0 {
		_, _ = fmt.Fprintf(p, "; %s that cannot would", inwords.Whole(c.Anew))
	}
	p.WriteString("\n\n")
	p.WriteString(measures(c) + "\n")
	if zone := p.clock.ZoneName(p.a.Now); zone != "" && len(c.Moves)+len(c.Broken) > 0 {
		p.say("Now it is " + p.clock.Text(p.a.Now) + ", and times are of " + zone + ".")
	}
	p.moves(c)
	p.broken(c.Broken)
	if c.Lifted > 0 {
		p.say(fmt.Sprintf("Promises that would bind nobody any more: %s.", inwords.Whole(c.Lifted)))
	}
	if c.Cut != "" {
		p.say("The answer has gaps: " + c.Cut + ".")
	}
}

// measures is a table of what changes in all, with hours beside seconds.
func measures(c *whatif.ChangeAnswer) string {
	t := cli.Table(inwords.Whole(c.Present.Jobs)+" jobs", "present", "what if", "change", "present, h", "what if, h")
	for _, m := range []struct {
		name          string
		before, after float64
		seconds       bool
	}{
		{"mean wait", c.Present.MeanWait, c.Changed.MeanWait, true},
		{"worst 5 % of waits", c.Present.WorstWait, c.Changed.WorstWait, true},
		{"mean bounded slowdown", c.Present.Slowdown, c.Changed.Slowdown, false},
		{"makespan", float64(c.Present.Makespan), float64(c.Changed.Makespan), true},
	} {
		row := table.Row{m.name, inwords.Grouped(m.before, 2), inwords.Grouped(m.after, 2), percent(m.before, m.after), "", ""}
		if m.seconds {
			row[1], row[2] = inwords.Grouped(m.before, 0)+" s", inwords.Grouped(m.after, 0)+" s"
			row[4], row[5] = inwords.Hours(m.before), inwords.Hours(m.after)
		}
		t.AppendRow(row)
	}
	toTheRight(t, "present", "what if", "change", "present, h", "what if, h")
	return t.Render()
}

// percent is by how much a number changes.
func percent(before, after float64) string {
	if before == after || before == 0 {
		return ""
	}
	return fmt.Sprintf("%+.1f %%", 100*(after-before)/before)
}

// moves lists the jobs that start at another time, as a diff: + earlier, - later.
func (p *printed) moves(c *whatif.ChangeAnswer) {
	if len(c.Moves) == 0 {
		return
	}
	p.WriteString("\n")
	t := cli.Table("", "job", "owner", "present", "what if", "by")
	for _, m := range c.Moves[:min(len(c.Moves), shownMoves)] {
		sign, shift := "-", ""
		switch {
		case m.Before == nil:
			sign = "+"
		case m.After == nil:
		case *m.After < *m.Before:
			sign, shift = "+", lasting(*m.Before-*m.After)+" earlier"
		default:
			shift = lasting(*m.After-*m.Before) + " later"
		}
		t.AppendRow(table.Row{
			sign, short(m.Job), short(m.Owner), p.brief(m.Before), p.brief(m.After), shift,
		})
	}
	p.WriteString(t.Render() + "\n" + cli.More(len(c.Moves)+c.Unlisted-min(len(c.Moves), shownMoves)))
}

// short is a name in at most 14 letters.
func short(name string) string { return text.Trim(cli.Line(name), 14) }

// broken lists all promises that would be broken.
func (p *printed) broken(all []whatif.Broken) {
	if len(all) == 0 {
		if p.a.Change != nil && p.a.Change.Promises > 0 {
			_, _ = fmt.Fprintf(p, "\nOf %s promises none would be broken.\n", inwords.Whole(p.a.Change.Promises))
		}
		return
	}
	_, _ = fmt.Fprintf(p, "\nPROMISES THAT WOULD BE BROKEN: %s\n", inwords.Whole(len(all)))
	t := cli.Table("job", "owner", "promised by", "present", "what if", "late by")
	for _, b := range all {
		late := ""
		if b.After != nil {
			late = lasting(*b.After - b.Promised)
		}
		t.AppendRow(table.Row{
			short(b.Job), short(b.Owner), p.brief(&b.Promised), p.brief(b.Before), p.brief(b.After), late,
		})
	}
	p.WriteString(t.Render() + "\n")
}
