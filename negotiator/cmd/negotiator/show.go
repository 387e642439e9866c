package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// command is what a job runs, by its ad.
func command(j *negotiator.Job) string {
	cmd, _ := j.Ad.Text("Cmd")
	return backfill.Printable(cmd, longest)
}

// longest is the largest number of letters of a text that are shown.
const longest = 1000

// logLines logs what happens.
type logLines struct {
	logger hclog.Logger
	w      *condorsim.Workload
}

// Cycle logs what a cycle saw and did.
func (l *logLines) Cycle(r *negotiator.Report) error {
	for _, slot := range r.Delta.SlotsDown {
		l.logger.Warn("a slot is down", "t", r.Delta.Now, "slot", slot)
	}
	for _, id := range r.Delta.Removed {
		l.logger.Warn("given up", "t", r.Delta.Now, "job", l.w.Jobs[id].Name, "cmd", command(l.w.Jobs[id].Job))
	}
	for _, id := range r.Delta.Completed {
		l.logger.Info("ended", "t", r.Delta.Now, "job", l.w.Jobs[id].Name, "cmd", command(l.w.Jobs[id].Job))
	}
	for _, j := range r.Delta.Submitted {
		l.logger.Debug("submitted", "t", r.Delta.Now, "job", j.Name, "cmd", command(j))
	}
	for _, h := range r.Held {
		l.logger.Warn("held", "t", r.Delta.Now, "job", h.Job.Name, "cmd", command(h.Job), "reason", h.Reason)
	}
	for i, m := range r.Matches {
		l.logger.Info("started", "t", r.Delta.Now, "job", m.Job.Name, "cmd", command(m.Job),
			"wait", r.Delta.Now-m.Job.Submit, "how", r.Decision.Started[i].How, "slots", m.Placement.String(),
			"waiting", r.State.Waiting(), "running", r.State.RunningJobs())
	}
	return nil
}

// view is the live picture on a terminal. Each cycle draws it over the last one, on the terminal's
// alternate screen, so that nothing of it stays.
type view struct {
	out   io.Writer
	size  func() (width, height int)
	w     *condorsim.Workload
	speed string
	// fallbackInUse names the fallback of a policy that was given up; "": it was not.
	fallbackInUse func() string
	news          func() string // the last entry of the log; "": none
	look          func(*negotiator.Report) told
	on            map[string][]string // the jobs that run on each slot
	held          map[string]string   // why jobs are held, by label
	ended         int
	cycles        int
}

// Control sequences of terminals (ECMA-48 and xterm).
const (
	otherScreen = "\x1b[?1049h\x1b[?25l" // and no cursor
	backAgain   = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearLine   = "\x1b[K"
	clearRest   = "\x1b[J"
)

func newView(out *os.File, w *condorsim.Workload, speed string) *view {
	v := makeView(out, w, speed)
	v.size = func() (int, int) {
		width, height, err := term.GetSize(int(out.Fd()))
		if err != nil {
			return 80, 24
		}
		return width, height
	}
	_, _ = io.WriteString(out, otherScreen) // if the terminal is gone, Cycle returns the error
	return v
}

// makeView makes a view for any writer, 80 columns by 24 lines.
func makeView(out io.Writer, w *condorsim.Workload, speed string) *view {
	return &view{
		out: out, w: w, speed: speed, fallbackInUse: func() string { return "" }, news: func() string { return "" },
		look: func(*negotiator.Report) told { return nil },
		on:   map[string][]string{}, held: map[string]string{}, size: func() (int, int) { return 80, 24 },
	}
}

// Cycle draws the pool as a cycle left it.
func (v *view) Cycle(r *negotiator.Report) error {
	v.follow(r)
	_, err := io.WriteString(v.out, v.fit(v.draw(r)))
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

// fit cuts a picture to the terminal's size and adds the control sequences.
func (v *view) fit(picture string) string {
	width, height := v.size()
	lines := strings.Split(strings.TrimRight(picture, "\n"), "\n")
	lines = lines[:min(len(lines), max(1, height-1))]
	var b strings.Builder
	b.WriteString(home)
	for _, line := range lines {
		b.WriteString(text.Trim(line, max(1, width-1)) + clearLine + "\n")
	}
	b.WriteString(clearRest)
	return b.String()
}

// close returns to the main screen.
func (v *view) close() { _, _ = io.WriteString(v.out, backAgain) }

func (v *view) draw(r *negotiator.Report) string {
	var b strings.Builder
	now := r.Delta.Now
	under, _ := r.State.Policy()
	if fallback := v.fallbackInUse(); fallback != "" {
		under = fallback + " (fallback of " + under + ")"
	}
	_, _ = fmt.Fprintf(&b, "%s under %s, %s s a second   t = %d s   cycle %d took %s\n", v.w.Name,
		backfill.Printable(under, longest), v.speed, now, v.cycles, r.Took.Round(10*time.Microsecond))
	_, _ = fmt.Fprintf(&b, "jobs: %d to come, %d waiting, %d running, %d ended, %d held\n\n",
		len(v.w.Jobs)-v.ended-len(v.held)-r.State.Waiting()-r.State.RunningJobs(), r.State.Waiting(),
		r.State.RunningJobs(), v.ended, len(v.held))
	b.WriteString(v.lastNews())
	for i, name := range r.State.Resources() {
		if of := r.State.Capacity()[i]; of > 0 {
			share := float64(r.State.Use()[i]) / float64(of)
			_, _ = fmt.Fprintf(&b, "%-8s %s %5.1f %%\n", name, bar(share, 40), 100*share)
		}
	}
	b.WriteString("\n" + v.slots(r.State) + "\n" + v.queue(r))
	for _, job := range slices.Sorted(maps.Keys(v.held)) {
		_, _ = fmt.Fprintf(&b, "\nheld: %s: %s", job, v.held[job])
	}
	return b.String()
}

// lastNews is the last entry of the log, without its time, in at most two lines.
func (v *view) lastNews() string {
	_, entry, there := strings.Cut(v.news(), "[")
	if !there {
		return ""
	}
	width, _ := v.size()
	entry = strings.ReplaceAll("["+strings.Join(strings.Fields(entry), " "), " negotiator: ", " ")
	lines := strings.SplitN(text.WrapSoft(backfill.Printable(entry, longest), max(1, width-1)), "\n", 3)
	return strings.Join(lines[:min(2, len(lines))], "\n") + "\n\n"
}

// bar draws a share as a bar.
func bar(share float64, width int) string {
	full := min(width, int(share*float64(width)+0.5))
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}

func (v *view) slots(s *backfill.State) string {
	t := plainTable("slot", "cpus", "runs")
	for _, slot := range s.Slots() {
		if slot.Capacity[0] == 0 && len(s.Bundles()) > 0 {
			continue // a wire between slots, which runs no jobs
		}
		use := "down"
		if s.SlotUp(slot.ID) {
			use = fmt.Sprintf("%d/%d", slot.Capacity[0]-s.Free(slot.ID, s.Now())[0], slot.Capacity[0])
		}
		t.AppendRow(table.Row{slot.Name, use, strings.Join(v.on[slot.Name], ", ")})
	}
	return t.Render() + "\n"
}

// queue lists the first waiting jobs with their expected starts, or their planned ones.
func (v *view) queue(r *negotiator.Report) string {
	const shown = 8
	t := plainTable("waiting", "nodes", "cpus", "estimate", "expected start", "on")
	starts := v.look(r)
	for _, j := range r.State.FirstWaiting(shown) {
		job := v.w.Jobs[j.ID]
		begins, known := starts[j.ID]
		if !known {
			begins.At, begins.Placement, known = r.State.Planned(j.ID)
		}
		start, where := "", ""
		if known {
			start, where = fmt.Sprintf("t = %d s", begins.At), r.State.DescribePlacement(begins.Placement)
		}
		t.AppendRow(table.Row{label(job.Job), job.Nodes, job.Cpus, fmt.Sprintf("%d s", j.Estimate), start, where})
	}
	return t.Render() + "\n"
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
