package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// baseName is a file's name without folder and extension.
func baseName(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// command is what a job runs, as its ad says.
func command(j *negotiator.Job) string {
	cmd, _ := j.Ad.Text("Cmd")
	return cmd
}

func placement(at []negotiator.Place) string {
	parts := make([]string, len(at))
	for i, p := range at {
		parts[i] = fmt.Sprintf("%s×%d", p.Slot.Name, p.Chunks)
	}
	return strings.Join(parts, " ")
}

// logLines writes what happens as log lines.
type logLines struct {
	logger hclog.Logger
	w      *condorsim.Workload
}

// Cycle logs what a cycle saw and did.
func (l *logLines) Cycle(r negotiator.Report) error {
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
			"wait", r.Delta.Now-m.Job.Submit, "how", r.Decision.Started[i].How, "slots", placement(m.Placement),
			"waiting", r.State.Waiting(), "running", r.State.RunningJobs())
	}
	return nil
}

// view is the live picture on a terminal: it is drawn over itself each cycle.
type view struct {
	out    io.Writer
	w      *condorsim.Workload
	title  string
	on     map[string][]string // what runs on each slot
	ended  int
	held   int
	cycles int
	lines  int // of the last picture
}

func newView(out io.Writer, w *condorsim.Workload, policy, speed string) *view {
	return &view{out: out, w: w, title: w.Name + " under " + policy + ", " + speed + " s a second", on: map[string][]string{}}
}

// Cycle draws the pool as a cycle left it.
func (v *view) Cycle(r negotiator.Report) error {
	v.cycles++
	v.held += len(r.Held)
	for _, id := range r.Delta.Completed {
		v.ended++
		for slot, jobs := range v.on {
			v.on[slot] = slices.DeleteFunc(jobs, func(j string) bool { return j == label(v.w.Jobs[id].Job) })
		}
	}
	for _, m := range r.Matches {
		for _, p := range m.Placement {
			v.on[p.Slot.Name] = append(v.on[p.Slot.Name], label(m.Job))
		}
	}
	picture := v.draw(r)
	_, err := io.WriteString(v.out, v.erase()+picture)
	v.lines = strings.Count(picture, "\n")
	return err
}

func label(j *negotiator.Job) string { return j.Name + " " + command(j) }

// erase goes back to where the last picture began and clears it.
func (v *view) erase() string {
	if v.lines == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\x1b[J", v.lines)
}

// close takes the picture away.
func (v *view) close() {
	_, _ = io.WriteString(v.out, v.erase())
	v.lines = 0
}

func (v *view) draw(r negotiator.Report) string {
	var b strings.Builder
	now := r.Delta.Now
	_, _ = fmt.Fprintf(&b, "%s   t = %d s   cycle %d took %s\n", v.title, now, v.cycles, r.Took.Round(10*time.Microsecond))
	_, _ = fmt.Fprintf(&b, "jobs: %d to come, %d waiting, %d running, %d ended, %d held\n\n",
		len(v.w.Jobs)-v.ended-v.held-r.State.Waiting()-r.State.RunningJobs(), r.State.Waiting(), r.State.RunningJobs(), v.ended, v.held)
	for i, name := range r.State.Resources() {
		if of := r.State.Capacity()[i]; of > 0 {
			share := float64(r.State.Use()[i]) / float64(of)
			_, _ = fmt.Fprintf(&b, "%-8s %s %5.1f %%\n", name, bar(share, 40), 100*share)
		}
	}
	b.WriteString("\n" + v.slots(r.State) + "\n" + v.queue(r) + "\n")
	return b.String()
}

// bar draws a share as a bar.
func bar(share float64, width int) string {
	full := min(width, int(share*float64(width)+0.5))
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}

func (v *view) slots(s *backfill.State) string {
	t := plainTable("slot", "cpus", "runs")
	for _, slot := range s.Slots() {
		used := slot.Capacity[0] - s.Free(slot.ID, s.Now())[0]
		t.AppendRow(table.Row{slot.Name, fmt.Sprintf("%d/%d", used, slot.Capacity[0]), text.Trim(strings.Join(v.on[slot.Name], ", "), 70)})
	}
	return t.Render() + "\n"
}

// queue lists the first waiting jobs and when they are planned to start.
func (v *view) queue(r negotiator.Report) string {
	const shown = 8
	t := plainTable("waiting", "nodes", "cpus", "estimate", "planned for", "on")
	for _, j := range r.State.FirstWaiting(shown) {
		job := v.w.Jobs[j.ID]
		start, where := "", ""
		if at, place, ok := r.State.Planned(j.ID); ok {
			start, where = fmt.Sprintf("t = %d s", at), r.State.DescribePlacement(place)
		}
		t.AppendRow(table.Row{label(job.Job), job.Nodes, job.Cpus, fmt.Sprintf("%d s", j.Estimate), start, text.Trim(where, 60)})
	}
	for range max(0, shown-r.State.Waiting()) { // the picture keeps its height
		t.AppendRow(table.Row{""})
	}
	return t.Render() + "\n"
}

func plainTable(header ...any) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(header)
	return t
}
