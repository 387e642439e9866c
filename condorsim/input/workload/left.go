package workload

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
)

// countLeft counts what is to be said of the jobs that are left.
func (t *Trace) countLeft() {
	count := &t.Cleaning
	count.EstimateUnknown, count.EstimateRaised, count.Dependent, count.PrecedingAbsent = 0, 0, 0, 0
	count.SubmittedLater = 0
	if t.holds {
		count.HeldBefore = 0
	}
	there := t.numbers()
	for i := range t.Jobs {
		j := &t.Jobs[i]
		if t.holds && j.Held {
			count.HeldBefore++
		}
		switch j.Origin {
		case Stated:
		case Assumed:
			count.EstimateUnknown++
		case Raised:
			count.EstimateRaised++
		}
		if j.After == nil {
			continue
		}
		if _, left := there[j.After.ID]; left {
			count.Dependent++
			if j.After.Later {
				count.SubmittedLater++
			}
		} else {
			count.PrecedingAbsent++
		}
	}
	count.JobsLeft = len(t.Jobs)
}

// numbers returns the index of each job by its number, of several the last one's; nil if no job is
// submitted after another.
func (t *Trace) numbers() map[int64]int {
	depend := false
	for i := range t.Jobs {
		depend = depend || t.Jobs[i].After != nil
	}
	if !depend {
		return nil
	}
	index := make(map[int64]int, len(t.Jobs))
	for i := range t.Jobs {
		index[t.Jobs[i].ID] = i
	}
	return index
}

// Predecessors returns for each job the index of the one that it is submitted after, or -1; nil if no
// job is submitted after another. What is not in the trace any more precedes nothing.
func (t *Trace) Predecessors() []int {
	index := t.numbers()
	if index == nil {
		return nil
	}
	all := make([]int, len(t.Jobs))
	for i := range t.Jobs {
		all[i] = -1
		if after := t.Jobs[i].After; after != nil {
			if k, there := index[after.ID]; there {
				all[i] = k
			}
		}
	}
	return all
}

// precedes returns the number with which a file is to name the job that job i is submitted after; 0 if
// there is none, or the file numbers jobs anew and it is not among them.
func (t *Trace) precedes(i int, predecessors []int, anew bool) int64 {
	switch after := t.Jobs[i].After; {
	case after == nil:
		return 0
	case anew:
		return int64(predecessors[i]) + 1
	default:
		return after.ID
	}
}

// many is the share of the jobs from which on a doubt is worth a warning.
const many = 0.05

// doubt returns a warning of a number of the jobs left, if they are many; text has a place for them.
func (count Cleaning) doubt(jobs int, text string) []string {
	if float64(jobs) <= many*float64(count.JobsLeft) {
		return nil
	}
	return []string{fmt.Sprintf(text, Part(jobs, count.JobsLeft))}
}

// PlanDoubts are warnings of what a negotiator plans jobs of ads with, if it is not what many of them
// take: its default, as they state nothing, or less than they run.
func (count Cleaning) PlanDoubts(byDefault time.Duration) []string {
	return append(
		count.doubt(count.EstimateDefault, "default_estimate, "+byDefault.String()+", stands in for the estimate of %s jobs, "+
			"which is not known: say which attribute of job ads has it (--estimate-attr)"),
		count.doubt(count.Overrunning, "%s jobs ran beyond their estimates; is the unit right? --estimate-attr NAME:min "+
			"reads minutes")...)
}

// Doubts are warnings of estimates that are not what users said, if many are not: the run time stands
// in, or was longer. Results of policies that plan with estimates mean something else then. So do
// run times that estimates stand in for.
func (count Cleaning) Doubts() (all []string) {
	doubt := func(jobs int, text string) { all = append(all, count.doubt(jobs, text)...) }
	attribute, unit := "", "to see what would be if such jobs were ended at their limits, choose overrun kill"
	if count.Ads {
		attribute = "say which attribute of job ads has it (estimate-attr), or "
		unit = "see whether it is in seconds (estimate-attr takes a unit, as in MaxWallTimeMins:min)"
	}
	doubt(count.EstimateUnknown, "the run time stands in for the estimate of %s jobs, which is not known: they are "+
		"planned in hindsight; "+attribute+"have estimates made up (estimate-model)")
	doubt(count.EstimateHindsight, "the estimate of %s jobs is an attribute that they have only after they ran "+
		"(estimate-attr): they are planned in hindsight")
	if n := count.RunAssumed; float64(n) > many*float64(count.JobsRead) {
		all = append(all, "the estimate stands in for the run time of "+Part(n, count.JobsRead)+" jobs read, which did not "+
			"finish (clean): they are played as if they ran for as long as estimated")
	}
	if n := count.SubmittedLater; n > 0 {
		all = append(all, Part(n, count.Dependent)+" of the jobs that are submitted after the end of another "+
			"(fields 17 and 18) were submitted later than the recorded end and the think time say: a run submits them at "+
			"that instant, what happened counts from their submissions; --dependencies ignore submits them when they were")
	}
	if count.EstimateScaled > 0 {
		doubt(count.EstimateRaised, "the estimate of %s jobs, as scaled, is shorter than the run time: such a job is "+
			"planned with its run time (overrun raise); to see what would be if it were ended at its limit, choose overrun kill")
		return all
	}
	doubt(count.EstimateRaised, "the estimate of %s jobs is shorter than the run time, and was raised to it; "+unit)
	return all
}

// Doubts are warnings: those of [Cleaning.Doubts] and [Trace.Misreadings].
func (t *Trace) Doubts() []string { return append(t.Cleaning.Doubts(), t.Misreadings()...) }

// Misreadings are the warnings of what the file says and is not heeded: those of its reader, and that of jobs
// whose preceding jobs are ignored.
func (t *Trace) Misreadings() []string {
	all := slices.Clone(t.Warnings)
	if n := len(t.Misplaced); n > 0 {
		const most = 20
		names := strings.Trim(fmt.Sprint(t.Misplaced[:min(most, n)]), "[]")
		if n > most {
			names += fmt.Sprintf(" and %d more", n-most)
		}
		all = append(all, "no line before has the preceding job (field 17) of the jobs "+names+
			", so it is ignored: they are submitted when they were")
	}
	return all
}

// Part writes a number of jobs as a part of all: "3 of 30 (10.0 %)".
func Part(jobs, all int) string {
	return fmt.Sprintf("%s of %s (%.1f %%)", inwords.Whole(jobs), inwords.Whole(all), 100*float64(jobs)/float64(max(all, 1)))
}
