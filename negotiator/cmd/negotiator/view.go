package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
)

// view is the live picture on a terminal. Each cycle draws it over the last one, on the terminal's
// alternate screen, so that nothing of it stays. It is as high as the terminal, and says how many
// rows have no room.
type view struct {
	out   io.Writer
	size  func() (width, height int)
	w     *condorsim.Workload
	speed string
	// coloured says that the terminal has colours, and its user wants them.
	coloured bool
	// fallbackInUse names the fallback of a policy that was given up; "": it was not.
	fallbackInUse func() string
	news          func() string // the last entry of the log; "": none
	look          func(*negotiator.Report) told
	policy        func() string       // describes the active policy; called between cycles
	on            map[string][]string // the jobs that run on each slot
	held          map[string]string   // why jobs are held, by label
	ended         int
	cycles        int

	mu      sync.Mutex // what is below, and writing; keys come between cycles
	screens map[screen]string
	showing screen
	away    bool   // on the main screen, where nothing is drawn
	again   func() // called instead: it may be time to come back
	hint    string // what the keys do; "": there are none
}

// screen is one of the pictures between which the user chooses.
type screen int

const (
	theSchedule screen = iota
	thePolicy
	theKeys
)

// Control sequences of terminals (ECMA-48 and xterm).
const (
	otherScreen = "\x1b[?1049h\x1b[?25l" // and no cursor
	backAgain   = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearLine   = "\x1b[K"
	clearRest   = "\x1b[J"
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

func newView(out *os.File, w *condorsim.Workload, speed string) *view {
	v := makeView(out, w, speed)
	v.away = true
	v.coloured = cli.HasColours(out)
	v.size = func() (int, int) {
		width, height, err := term.GetSize(int(out.Fd()))
		if err != nil {
			return 80, 24
		}
		return width, height
	}
	v.leave(false)
	return v
}

// makeView makes a view for any writer, 80 columns by 24 lines.
func makeView(out io.Writer, w *condorsim.Workload, speed string) *view {
	return &view{
		out: out, w: w, speed: speed, fallbackInUse: func() string { return "" }, news: func() string { return "" },
		look: func(*negotiator.Report) told { return nil }, policy: func() string { return "" },
		on: map[string][]string{}, held: map[string]string{}, size: func() (int, int) { return 80, 24 },
		screens: map[screen]string{theKeys: keysHelp}, again: func() {},
	}
}

// leave goes to the main screen, and draws nothing there; or back to the alternate one, and draws.
// If the terminal is gone, Cycle returns the error.
func (v *view) leave(away bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.away == away {
		return
	}
	v.away = away
	if away {
		_, _ = io.WriteString(v.out, backAgain)
		return
	}
	_, _ = io.WriteString(v.out, otherScreen)
	_ = v.refresh()
}

// close returns to the main screen.
func (v *view) close() { v.leave(true) }

// Cycle draws the pool as a cycle left it.
func (v *view) Cycle(r *negotiator.Report) error {
	v.follow(r)
	schedule, policy := v.draw(r), v.policy()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.screens[theSchedule], v.screens[thePolicy] = schedule, policy
	return v.refresh()
}

// show draws a screen; if it is shown already, the schedule again.
func (v *view) show(s screen) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.showing == s {
		s = theSchedule
	}
	v.showing = s
	_ = v.refresh() // the next cycle returns the error
}

// refresh writes the screen that is shown. The lock must be held.
func (v *view) refresh() error {
	if v.away {
		v.again()
		return nil
	}
	_, err := io.WriteString(v.out, v.fit(v.screens[v.showing]))
	return err
}

// follow updates the counts, which jobs run on each slot, and which are held.
func (v *view) follow(r *negotiator.Report) {
	v.cycles++
	v.ended += len(r.Delta.Completed) + len(r.Delta.Removed)
	for _, h := range r.Held {
		v.held[label(h.Job)] = h.Reason
	}
	for _, m := range r.Matches {
		delete(v.held, label(m.Job))
	}
	clear(v.on)
	jobs, all := r.State.Snapshot().Jobs, r.State.Slots()
	slices.SortStableFunc(jobs, func(a, b backfill.JobState) int { return cmp.Compare(a.Start, b.Start) })
	for _, j := range jobs {
		for _, c := range j.Placement {
			if name := all[c.Slot].Name; j.Running {
				v.on[name] = append(v.on[name], label(v.w.Jobs[j.Job.ID].Job))
			}
		}
	}
}

func label(j *negotiator.Job) string { return strings.TrimSpace(j.Name + " " + command(j)) }

// room returns the columns and lines that there are for a picture. The last column stays free, as
// some terminals go to the next line behind it; so does the line of the cursor, or of the hint.
func (v *view) room() (width, height int) {
	width, height = v.size()
	return max(1, width-1), max(1, height-1)
}

// fit cuts a picture to the terminal's size and adds the hint and the control sequences.
func (v *view) fit(picture string) string {
	width, height := v.room()
	lines := strings.Split(strings.TrimRight(picture, "\n"), "\n")
	lines = lines[:min(len(lines), height)]
	var b strings.Builder
	b.WriteString(home)
	for _, line := range lines {
		b.WriteString(text.Snip(line, width, "…") + clearLine + "\n")
	}
	b.WriteString(clearRest)
	if v.hint != "" && height > 1 {
		b.WriteString(strings.Repeat("\n", height-len(lines)) + text.Snip(v.hint, width, "…"))
	}
	return b.String()
}

// in paints a text.
func (v *view) in(p paint, s string) string {
	if !v.coloured || s == "" {
		return s
	}
	return "\x1b[" + string(p) + "m" + s + "\x1b[0m"
}

// draw returns the picture of the schedule. What is fixed comes first; the tables share the lines
// that are left.
func (v *view) draw(r *negotiator.Report) string {
	top := v.head(r) + "\n" + v.lastNews() + v.resources(r.State) + "\n"
	slots := v.slots(r.State)
	held := v.heldJobs()
	_, height := v.room()
	waiting := r.State.Waiting()
	// Besides their rows the tables have headers, and empty lines between them.
	left := height - strings.Count(top, "\n") - len([]string{"slots", "", "waiting"})
	if len(held) > 0 {
		left--
	}
	rows := shares(max(left, 0), len(slots), waiting, len(held))
	b := top + v.table(rows[0], len(slots), slots, "slot", "cpus", "runs") + "\n" +
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
func (v *view) visible(lines, wanted int) (rows int, more string) {
	if wanted <= lines {
		return wanted, ""
	}
	rows = max(lines-1, 0)
	return rows, v.in(faint, fmt.Sprintf(" and %d more", wanted-rows)) + "\n"
}

// head says what is run, when it is, and how many jobs are where.
func (v *view) head(r *negotiator.Report) string {
	under, _ := r.State.Policy()
	if fallback := v.fallbackInUse(); fallback != "" {
		under = fallback + " (fallback of " + under + ")"
	}
	width, _ := v.room()
	to := len(v.w.Jobs) - v.ended - len(v.held) - r.State.Waiting() - r.State.RunningJobs()
	return inLines(
		width, "   ",
		fmt.Sprintf("%s under %s, %s s a second", v.w.Name, v.in(bold, backfill.Printable(under, longest)), v.speed),
		fmt.Sprintf("t = %d s", r.Delta.Now),
		fmt.Sprintf("cycle %d took %s", v.cycles, r.Took.Round(10*time.Microsecond)),
	) + inLines(
		width, ", ", fmt.Sprintf("jobs: %d to come", to), fmt.Sprintf("%d waiting", r.State.Waiting()),
		fmt.Sprintf("%d running", r.State.RunningJobs()), fmt.Sprintf("%d ended", v.ended),
		fmt.Sprintf("%d held", len(v.held)),
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
func (v *view) lastNews() string {
	_, entry, there := strings.Cut(v.news(), "[")
	if !there {
		return ""
	}
	width, _ := v.room()
	entry = strings.ReplaceAll("["+strings.Join(strings.Fields(entry), " "), " negotiator: ", " ")
	lines := strings.SplitN(text.WrapSoft(backfill.Printable(entry, longest), width), "\n", 3)
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
func (v *view) resources(s *backfill.State) string {
	var b strings.Builder
	width, _ := v.room()
	for i, name := range s.Resources() {
		if of := s.Capacity()[i]; of > 0 {
			share := float64(s.Use()[i]) / float64(of)
			_, _ = fmt.Fprintf(&b, "%-8s %s %5.1f %%\n", name, v.bar(share, min(40, max(1, width-18))), 100*share)
		}
	}
	return b.String()
}

// bar draws a share as a bar.
func (v *view) bar(share float64, width int) string {
	full := min(width, int(share*float64(width)+0.5))
	return v.in(cyan, strings.Repeat("█", full)) + v.in(faint, strings.Repeat("░", width-full))
}

// slots are the rows of the table of slots.
func (v *view) slots(s *backfill.State) (rows []table.Row) {
	for _, slot := range s.Slots() {
		if slot.Capacity[0] == 0 && len(s.Bundles()) > 0 {
			continue // a wire between slots, which runs no jobs
		}
		use := v.in(red, "down")
		if s.SlotUp(slot.ID) {
			use = fmt.Sprintf("%d/%d", slot.Capacity[0]-s.Free(slot.ID, s.Now())[0], slot.Capacity[0])
		}
		rows = append(rows, table.Row{slot.Name, use, strings.Join(v.on[slot.Name], ", ")})
	}
	return rows
}

// queue is a row for each of the first n waiting jobs, with their expected starts, or their planned
// ones.
func (v *view) queue(r *negotiator.Report, n int) (rows []table.Row) {
	starts := v.look(r)
	for _, j := range r.State.FirstWaiting(max(n, 1))[:min(n, r.State.Waiting())] {
		job := v.w.Jobs[j.ID]
		begins, known := starts[j.ID]
		if !known {
			begins.At, begins.Placement, known = r.State.Planned(j.ID)
		}
		start, where := "", ""
		if known {
			start, where = fmt.Sprintf("t = %d s", begins.At), r.State.DescribePlacement(begins.Placement)
		}
		rows = append(rows, table.Row{
			label(job.Job), job.Nodes, job.Cpus, fmt.Sprintf("%d s", j.Estimate), start, where,
		})
	}
	return rows
}

// heldJobs says why jobs are held, a line each.
func (v *view) heldJobs() (lines []string) {
	for _, job := range slices.Sorted(maps.Keys(v.held)) {
		lines = append(lines, v.in(yellow, fmt.Sprintf("held: %s: %s", job, v.held[job])))
	}
	return lines
}

// table draws a table of so many wanted rows in so many lines, without those of the header.
func (v *view) table(lines, wanted int, rows []table.Row, header ...any) string {
	visible, more := v.visible(lines, wanted)
	t := plainTable(header...)
	t.AppendRows(rows[:visible])
	head, body, _ := strings.Cut(t.Render(), "\n")
	if body != "" {
		body += "\n"
	}
	return v.in(bold, head) + "\n" + body + more
}

// lines draws as many of the lines as there is room for.
func (v *view) lines(lines int, all []string) string {
	visible, more := v.visible(lines, len(all))
	return strings.Join(append(slices.Clone(all[:visible]), strings.TrimSuffix(more, "\n")), "\n")
}

func plainTable(header ...any) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Format.Header = text.FormatDefault
	t.SuppressTrailingSpaces()
	t.AppendHeader(header)
	return t
}
