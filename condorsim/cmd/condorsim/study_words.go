package main

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/page"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
	"github.com/condor-backfill/condor-backfill/condorsim/sweep"
)

// withStarts counts the jobs whose file records a start.
func withStarts(w *condorsim.Workload) (n int) {
	for _, j := range w.Jobs {
		if j.HasWaited {
			n++
		}
	}
	return n
}

// compared puts the finished simulations side by side.
func (c *studyCommand) compared(plan *sweep.Sweep, w *condorsim.Workload, done map[string]*results.Cell) *page.SideBySide {
	s := &page.SideBySide{
		Title: "What would have been: " + c.workloadName(), Lead: c.about(w),
		Command: plan.Manifest.Command, Version: plan.Manifest.Version,
	}
	at := map[string]int{}
	for _, keys := range bySeed(plan.Manifest.Cells) {
		key, cell, half := keys[0], (*results.Cell)(nil), map[string]float64(nil)
		if finished := those(keys, done); len(finished) > 0 {
			one := results.Averaged(finished)
			cell, half = &one, page.HalfWidths(finished)
		}
		if key.Policy == condorsim.HistoryPolicy {
			if key.Trace == asItIs {
				s.Happened = cell
			}
			continue
		}
		i, known := at[key.Trace]
		if !known {
			i = len(s.Variants)
			at[key.Trace] = i
			s.Variants = append(s.Variants, page.Variant{Name: c.variant(key.Trace)})
		}
		s.Variants[i].Cells, s.Variants[i].Halves = append(s.Variants[i].Cells, cell), append(s.Variants[i].Halves, half)
		if i == 0 {
			s.Policies = append(s.Policies, key.Scheduler)
		}
	}
	s.Notes = c.notes(w, s)
	if n := len(plan.Manifest.Cells) / max(1, len(bySeed(plan.Manifest.Cells))); n > 1 {
		note := fmt.Sprintf("each figure of a policy is a mean over %d seeds", n)
		if slices.ContainsFunc(s.Variants, func(v page.Variant) bool {
			return slices.ContainsFunc(v.Halves, func(half map[string]float64) bool { return half != nil })
		}) {
			note += "; ± is half its 95 % interval"
		}
		s.Notes = append(s.Notes, note)
	}
	if text := plan.Manifest.Cells.JitterText(); text != "" {
		s.Notes = append(s.Notes, "with "+text)
	}
	return s
}

// bySeed puts the keys together that differ in their seed alone, in the order of the first of each.
func bySeed(keys []results.Key) (all [][]results.Key) {
	for _, key := range keys {
		n := slices.IndexFunc(all, func(those []results.Key) bool {
			return those[0].Trace == key.Trace && those[0].Scheduler == key.Scheduler
		})
		if n < 0 {
			n, all = len(all), append(all, nil)
		}
		all[n] = append(all[n], key)
	}
	return all
}

// those returns the finished cells of keys.
func those(keys []results.Key, done map[string]*results.Cell) (finished []results.Cell) {
	for _, key := range keys {
		if cell := done[key.ID]; cell != nil {
			finished = append(finished, *cell)
		}
	}
	return finished
}

// variant is what people call a trace of the study.
func (c *studyCommand) variant(trace string) string {
	switch trace {
	case withMore:
		return "with " + strings.Join(c.With, " and ")
	case withFewer:
		return "without " + strings.Join(c.Without, ", ")
	case withScaled:
		return fmt.Sprintf("estimates × %v", c.ScaleEstimates)
	case together:
		return "all changes together"
	default:
		return "as it is"
	}
}

// about says what is studied.
func (c *studyCommand) about(w *condorsim.Workload) string {
	clock := w.Clock()
	on := "one machine of " + count(int(w.Capacity()[0]), "cpu")
	pool := filepath.Base(c.Pool)
	if c.Pool == "" && w.Recorded != nil {
		pool = "the record"
	}
	if c.Pool != "" || w.Recorded != nil {
		on = fmt.Sprintf("the pool of %s (%s, %s cpus)", pool, count(len(w.Slots), "slot"), inwords.Whole(w.Capacity()[0]))
	}
	jobs := " jobs"
	if len(w.Jobs) == 1 {
		jobs = " job"
	}
	first, last := w.Jobs[0].Submit, w.Jobs[len(w.Jobs)-1].Submit
	return fmt.Sprintf("%s of %s, submitted from %s to %s, on %s.", inwords.Whole(len(w.Jobs))+jobs,
		c.workloadName(), clock.Text(int64(first)), clock.Text(int64(last)), on)
}

// notes say what cannot be compared, and how far to trust the rest.
func (c *studyCommand) notes(w *condorsim.Workload, s *page.SideBySide) []string {
	notes := c.aboutHistory(w)
	if text := w.Cleaning.LeftOut(); text != "" {
		notes = append(notes, "job lines "+text)
	}
	notes = append(notes, w.Cleaning.Doubts()...)
	notes = append(notes, w.Unheeded...)
	for _, v := range s.Variants {
		for _, cell := range v.Cells {
			if cell == nil {
				continue
			}
			notes = append(notes, neverRun(v.Name, cell)...)
			if more := cell.Cleaning; more.EstimateScaled > 0 && v.Name != c.variant(together) { // it was said
				notes = append(notes, c.aboutScale(w, v.Name, more))
			}
			break // it is the same under all policies
		}
	}
	empty := "an empty pool"
	if w.Recorded != nil {
		empty = "what ran when the record began"
	}
	notes = append(notes, "simulations begin with "+empty+", and each job runs for as long as it did")
	if len(c.With) > 0 {
		notes = append(notes, c.aboutMore(w)...)
		notes = append(notes, "further slots are there from the beginning and never fail")
	}
	return notes
}

// aboutMore says of what kind further slots are.
func (c *studyCommand) aboutMore(w *condorsim.Workload) (notes []string) {
	pool, err := readPool(c.Pool, hclog.NewNullLogger())
	for _, text := range c.With {
		if err != nil {
			return append(notes, err.Error())
		}
		var more condorsim.More
		if more, err = w.More(pool, text); err == nil {
			notes = append(notes, "with "+text+": "+more.String())
		}
	}
	return notes
}

// neverRun says which jobs never run on a variant of the pool, most frequent reasons first.
func neverRun(variant string, cell *results.Cell) (notes []string) {
	why := maps.Clone(cell.Why)
	delete(why, condorsim.NoRecordedStart) // that is said once of all variants
	delete(why, condorsim.WrongStart)
	reasons := slices.SortedFunc(maps.Keys(why), func(a, b string) int {
		return cmp.Or(cmp.Compare(why[b], why[a]), cmp.Compare(a, b))
	})
	const most = 5
	for i, reason := range reasons {
		if i == most {
			return append(notes, fmt.Sprintf("%s: there are %d more reasons why jobs can never run", variant, len(reasons)-i))
		}
		left := "are"
		if why[reason] == 1 {
			left = "is"
		}
		notes = append(notes, fmt.Sprintf("%s: %s can never run there and %s left out of its rows: held: %s", variant,
			count(why[reason], "job"), left, backfill.Printable(reason, longestReason)))
	}
	return notes
}

// longestReason is how much is shown of a reason why a job is held.
const longestReason = 300

// aboutHistory says what is not known of what happened.
func (c *studyCommand) aboutHistory(w *condorsim.Workload) (notes []string) {
	happened, err := condorsim.Happened(w)
	if err != nil {
		return []string{err.Error()}
	}
	wrong := condorsim.WrongStarts(w)
	for _, left := range []struct {
		jobs int
		have string
	}{{happened.Held() - wrong, "no recorded start"}, {wrong, "a recorded start before their submission"}} {
		if left.jobs > 0 {
			notes = append(notes, fmt.Sprintf("%s jobs have %s: they are left out of all rows, also of "+
				"utilisation", workload.Part(left.jobs, len(w.Jobs)-w.Scavenging()), left.have))
		}
	}
	if text := happened.Impossible(); text != "" {
		notes = append(notes, text+"; so the pool was another one then, and waits are compared that are not of one pool")
	}
	return notes
}

// aboutScale says what scaling the estimates did.
func (c *studyCommand) aboutScale(w *condorsim.Workload, name string, count workload.Cleaning) string {
	text := fmt.Sprintf("%s: %s jobs state a run time, which is scaled", name,
		workload.Part(count.EstimateScaled, count.JobsLeft))
	if n := count.EstimateUnknown; n > 0 {
		text += fmt.Sprintf("; %s state nothing and are planned with their run times", inwords.Whole(n))
	}
	if n := count.EstimateRaised; n > 0 {
		text += fmt.Sprintf("; %s ran longer than that, and are planned with their run times (--overrun kill would end them)",
			inwords.Whole(n))
	}
	if n := count.RunCut - w.Cleaning.RunCut; n > 0 {
		text += fmt.Sprintf("; %s ran longer than that, and are ended there (--overrun kill)", inwords.Whole(n))
	}
	return text
}
