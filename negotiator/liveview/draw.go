package liveview

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
)

// paint is a colour or weight of text (ECMA-48, SGR).
type paint string

const (
	bold   paint = "1"
	faint  paint = "2"
	red    paint = "31"
	yellow paint = "33"
	cyan   paint = "36"
)

// in paints a text.
func (v *View) in(p paint, s string) string {
	if !v.coloured || s == "" {
		return s
	}
	return "\x1b[" + string(p) + "m" + s + "\x1b[0m"
}

// draw returns the picture of the schedule. What is fixed comes first; the tables share the lines
// that are left.
func (v *View) draw(r *negotiator.Report) string {
	top := v.head(r) + "\n" + v.lastNews() + v.resources(r.State) + "\n"
	slots, columns := v.slots(r.State)
	held := v.heldJobs()
	_, height := v.room()
	waiting := r.State.Waiting()
	// Besides their rows the tables have headers, and empty lines between them.
	left := height - strings.Count(top, "\n") - len([]string{"slots", "", "waiting"})
	if len(held) > 0 {
		left--
	}
	rows := shares(max(left, 0), len(slots), waiting, len(held))
	b := top + v.table(rows[0], len(slots), slots, columns...) + "\n" +
		v.table(rows[1], waiting, v.queue(r, rows[1]), "waiting", "nodes", "cpus", "estimate", "expected start", "on")
	if len(held) > 0 {
		b += "\n" + v.lines(rows[2], held)
	}
	return b
}

// shares divides lines among lists that want so many. Whoever wants less than an equal share gets
// it all, and the others share the rest.
func shares(lines int, wanted ...int) []int {
	got := make([]int, len(wanted))
	var open []int
	for i := range wanted {
		open = append(open, i)
	}
	for len(open) > 0 {
		share := lines / len(open)
		modest := slices.IndexFunc(open, func(i int) bool { return wanted[i] <= share })
		if modest < 0 {
			for n, i := range open {
				got[i] = share
				if n < lines%len(open) {
					got[i]++
				}
			}
			return got
		}
		i := open[modest]
		got[i], lines = wanted[i], lines-wanted[i]
		open = slices.Delete(open, modest, modest+1)
	}
	return got
}

// visible returns how many of the wanted rows are drawn in so many lines, and a line about the
// others; "" if there are none.
func (v *View) visible(lines, wanted int) (rows int, more string) {
	if wanted <= lines {
		return wanted, ""
	}
	rows = max(lines-1, 0)
	return rows, v.in(faint, " and "+inwords.Whole(wanted-rows)+" more") + "\n"
}

// head says what is run, when it is, and how many jobs are where.
func (v *View) head(r *negotiator.Report) string {
	policy, _ := r.State.Policy()
	if fallback := v.FallbackInUse(); fallback != "" {
		policy = fallback + " (fallback of " + policy + ")"
	}
	width, _ := v.room()
	to := v.Jobs - v.ended - len(v.held) - r.State.Waiting() - r.State.RunningJobs()
	return inLines(
		width, "   ",
		fmt.Sprintf("%s under %s, %s s a second", v.Name, v.in(bold, cli.Line(policy)), v.Speed),
		v.Clock.Text(int64(r.Delta.Now)),
		fmt.Sprintf("cycle %s took %s", inwords.Whole(v.cycles), r.Took.Round(10*time.Microsecond)),
	) + inLines(
		width, ", ", "jobs: "+inwords.Whole(to)+" to come", inwords.Whole(r.State.Waiting())+" waiting",
		inwords.Whole(r.State.RunningJobs())+" running", inwords.Whole(v.ended)+" ended",
		inwords.Whole(len(v.held))+" held",
	)
}

// inLines writes parts with a separator between them, in as many lines as they need.
func inLines(width int, between string, parts ...string) string {
	var b strings.Builder
	used := 0
	for i, part := range parts {
		size := text.StringWidthWithoutEscSequences(part)
		switch {
		case i == 0:
		case used+len(between)+size > width:
			b.WriteString(strings.TrimRight(between, " ") + "\n")
			used = 0
		default:
			b.WriteString(between)
			used += len(between)
		}
		b.WriteString(part)
		used += size
	}
	return b.String() + "\n"
}

// lastNews is the last entry of the log, without its time, in at most two lines.
func (v *View) lastNews() string {
	_, entry, there := strings.Cut(v.News(), "[")
	if !there {
		return ""
	}
	width, _ := v.room()
	entry = strings.ReplaceAll("["+strings.Join(strings.Fields(entry), " "), " negotiator: ", " ")
	lines := strings.SplitN(text.WrapSoft(cli.Line(entry), width), "\n", 3)
	lines = lines[:min(2, len(lines))]
	for i := range lines {
		switch {
		case strings.HasPrefix(entry, "[ERROR]"):
			lines[i] = v.in(red, lines[i])
		case strings.HasPrefix(entry, "[WARN]"):
			lines[i] = v.in(yellow, lines[i])
		}
	}
	return strings.Join(lines, "\n") + "\n\n"
}

// resources draws how much of each resource is in use.
func (v *View) resources(s *backfill.State) string {
	var b strings.Builder
	width, _ := v.room()
	for i, name := range s.Resources() {
		if capacity := s.Capacity()[i]; capacity > 0 {
			share := float64(s.Use()[i]) / float64(capacity)
			_, _ = fmt.Fprintf(&b, "%-8s %s %5.1f %%\n", name, v.bar(share, min(40, max(1, width-18))), 100*share)
		}
	}
	return b.String()
}

// bar draws a share as a bar.
func (v *View) bar(share float64, width int) string {
	full := min(width, int(share*float64(width)+0.5))
	return v.in(cyan, strings.Repeat("█", full)) + v.in(faint, strings.Repeat("░", width-full))
}

// slots are the rows and the header of the table of slots, with their ends if some slot has one.
func (v *View) slots(s *backfill.State) (rows []table.Row, header []any) {
	all := s.Slots()
	ending := slices.ContainsFunc(all, func(slot backfill.Slot) bool { return slot.End != 0 && s.SlotUp(slot.ID) })
	for _, slot := range all {
		if slot.Capacity[0] == 0 && len(s.Bundles()) > 0 {
			continue // a wire between slots, which runs no jobs
		}
		use, end := v.in(red, "down"), ""
		if s.SlotUp(slot.ID) {
			use = fmt.Sprintf("%d/%d", slot.Capacity[0]-s.Free(slot.ID, s.Now())[0], slot.Capacity[0])
			if slot.End != 0 {
				end = v.Clock.Text(int64(slot.End))
			}
		}
		row := table.Row{cli.Line(slot.Name), use}
		if ending {
			row = append(row, end)
		}
		rows = append(rows, append(row, cli.Line(strings.Join(v.on[slot.Name], ", "))))
	}
	if ending {
		return rows, []any{"slot", "cpus", "ends", "runs"}
	}
	return rows, []any{"slot", "cpus", "runs"}
}

// queue is a row for each of the first n waiting jobs, with their expected starts, or their planned
// ones.
func (v *View) queue(r *negotiator.Report, n int) (rows []table.Row) {
	starts := v.Look(r)
	for _, j := range r.State.FirstWaiting(max(n, 1))[:min(n, r.State.Waiting())] {
		job := v.Job(j.ID)
		begins, known := starts[j.ID]
		if !known {
			begins.At, begins.Placement, known = r.State.Planned(j.ID)
		}
		start, where := "", ""
		if known {
			start, where = v.Clock.Beside(int64(begins.At), int64(r.Delta.Now)), cli.Line(r.State.DescribePlacement(begins.Placement))
		}
		rows = append(rows, table.Row{
			cli.Line(label(job.Job)), job.Nodes, job.Cpus, inwords.Duration(float64(j.Estimate), 0), start, where,
		})
	}
	return rows
}

// heldJobs says why jobs are held, a line each.
func (v *View) heldJobs() (lines []string) {
	for _, job := range slices.Sorted(maps.Keys(v.held)) {
		lines = append(lines, v.in(yellow, cli.Line(fmt.Sprintf("held: %s: %s", job, v.held[job]))))
	}
	return lines
}

// table draws a table of so many wanted rows in so many lines, without those of the header.
func (v *View) table(lines, wanted int, rows []table.Row, header ...any) string {
	visible, more := v.visible(lines, wanted)
	t := cli.Table(header...)
	t.AppendRows(rows[:visible])
	head, body, _ := strings.Cut(t.Render(), "\n")
	if body != "" {
		body += "\n"
	}
	return v.in(bold, head) + "\n" + body + more
}

// lines draws as many of the lines as there is room for.
func (v *View) lines(lines int, all []string) string {
	visible, more := v.visible(lines, len(all))
	return strings.Join(append(slices.Clone(all[:visible]), strings.TrimSuffix(more, "\n")), "\n")
}
