package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
	"github.com/condor-backfill/condor-backfill/condorsim/sweep"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
)

// sweepView shows the progress of a sweep: a bar on a terminal, else a line for each finished cell.
type sweepView struct {
	out         io.Writer
	bar         *cli.Progress
	began       time.Time
	done, cells int
	where       string // the cells are that are not done
}

func (v *sweepView) line(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); v.bar == nil || !v.bar.Line(text) {
		_, _ = fmt.Fprintln(v.out, text) // errors do not matter to the sweep
	}
}

func (v *sweepView) skipped(list []string) {
	for _, s := range list {
		v.line("SKIPPED: %s", s)
	}
}

// state prints how many cells (simulations of the sweep) there are, are finished and are to be run,
// and which finished ones do not count.
func (v *sweepView) state(plan *sweep.Sweep, s sweep.State, todo int) {
	v.line("%s: %s, %d finished before, %d to be run now", plan.Manifest.Name,
		count(len(plan.Manifest.Cells), "cell"), s.Kept, todo)
	if s.Outdated > 0 {
		v.line("%s finished before count no longer: the sweep's file, a trace or the program has changed",
			count(s.Outdated, "cell"))
	}
	if s.Foreign > 0 {
		v.line("%s finished before stay there unused: the sweep has no such cells", count(s.Foreign, "cell"))
	}
	for _, err := range s.Damaged {
		v.line("damaged, to be run again: %v", err)
	}
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

func (v *sweepView) begin(cells int, now time.Time) {
	v.cells, v.began = cells, now
	v.bar = cli.NewProgress("simulating")
}

func (v *sweepView) end() { v.bar.Done() }

// finished counts a finished cell and, if there is no bar, prints a line for it.
func (v *sweepView) finished(key results.Key, cell results.Cell, err error) {
	v.done++
	if cli.IsTerminal(os.Stderr) {
		return
	}
	wait, ran := cell.Metrics["mean_wait"]
	what := fmt.Sprintf("mean wait %s, mean bounded slowdown %.2f", inwords.Duration(wait, 1),
		cell.Metrics["mean_bounded_slowdown"])
	switch {
	case err != nil:
		what = "FAILED"
	case !ran:
		what = "no job ran"
	}
	v.line("%*d/%d %s: %s", len(strconv.Itoa(v.cells)), v.done, v.cells, key.ID, what)
}

// progress moves the bar.
func (v *sweepView) progress(share float64) {
	const parts = 1000
	what := fmt.Sprintf("%d/%d cells", v.done, v.cells) + v.where
	if left := eta(time.Since(v.began), share); left > 0 {
		what += fmt.Sprintf(", %v left", left)
	}
	v.bar.Say(what)
	v.bar.Update(int64(parts*share), parts)
}

// eta returns how long the rest takes at the speed so far; 0: unknown.
func eta(passed time.Duration, share float64) time.Duration {
	if share <= 0 || share > 1 {
		return 0
	}
	return time.Duration(float64(passed) * (1 - share) / share).Round(time.Second)
}

func (v *sweepView) givenUp(out string) {
	v.line("%d of %s are finished and kept in %s; the same command goes on from there", v.done,
		count(v.cells, "cell"), out)
}

// failed prints the cells (simulations of the sweep) that failed, and why. It returns nil if none
// failed; else an error, which is one of bad input if that was the reason for some cell.
func (v *sweepView) failed(failures []sweep.Failure) error {
	if len(failures) == 0 {
		return nil
	}
	told := map[string]bool{}
	bad := false
	for _, f := range failures {
		v.line("FAILED: %s", f.Key.ID)
		if why := f.Err.Error(); !told[why] { // the cells of a trace often fail for one reason
			told[why] = true
			again := runCommand{
				Policy: f.Policy, PolicyOpt: f.Key.Options, Order: f.Key.Order,
				Placement: "rank", DumpDir: ".",
			}
			v.line("  %v", again.saved(f.Err))
		}
		_, isBad := errors.AsType[*sweep.BadInput](f.Err)
		bad = bad || isBad
	}
	err := fmt.Errorf("%s failed, see above; the others are finished", count(len(failures), "cell"))
	if bad {
		return cli.Bad(err)
	}
	return err
}

// results prints where the results are, and whether they are complete.
func (v *sweepView) results(f *results.Folder) {
	if missing := len(f.Missing()); missing > 0 {
		v.line("INCOMPLETE: %d of %s are not finished", missing, count(len(f.Manifest.Cells), "cell"))
	}
	v.line("the results are in %s", f.Path)
}
