package sweep

import (
	"fmt"
	"math"
	"slices"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/metrics"
	"github.com/condor-backfill/condor-backfill/condorsim/workload"
)

// merge runs several traces on one machine, each from its first job on.
func merge(name string, machine workload.Machine, traces ...*workload.Trace) *workload.Trace {
	whole := &workload.Trace{Name: name, Machine: machine, Header: map[string]string{}}
	for n, t := range traces {
		sum(&whole.Cleaning, t.Cleaning)
		for _, j := range t.Jobs {
			j.Submit -= t.Jobs[0].Submit
			for _, label := range []*string{&j.User, &j.Group, &j.Executable, &j.Queue} {
				if *label != "" {
					*label = fmt.Sprintf("%d:%s", n+1, *label) // the number of someone else in another trace
				}
			}
			whole.Jobs = append(whole.Jobs, j)
		}
	}
	slices.SortStableFunc(whole.Jobs, func(a, b workload.Job) int { return int(a.Submit - b.Submit) })
	for i := range whole.Jobs {
		whole.Jobs[i].ID = int64(i + 1)
	}
	return whole
}

// sum adds up what the readings of two files did.
func sum(a *workload.Cleaning, b workload.Cleaning) {
	for _, pair := range [][2]*int{
		{&a.Lines, &b.Lines},
		{&a.JobsRead, &b.JobsRead},
		{&a.Partial, &b.Partial},
		{&a.Cancelled, &b.Cancelled},
		{&a.NegativeRun, &b.NegativeRun},
		{&a.NoProcessors, &b.NoProcessors},
		{&a.TooWide, &b.TooWide},
		{&a.TooMuchMemory, &b.TooMuchMemory},
		{&a.BeyondMax, &b.BeyondMax},
		{&a.EstimateUnknown, &b.EstimateUnknown},
		{&a.EstimateRaised, &b.EstimateRaised},
		{&a.RunCut, &b.RunCut},
		{&a.OutOfOrder, &b.OutOfOrder},
		{&a.JobsLeft, &b.JobsLeft},
	} {
		*pair[0] += *pair[1]
	}
}

// cut keeps the jobs that are submitted before a second of the trace, and of them
// the first so many; 0: all.
func cut(t *workload.Trace, until int64, most int) *workload.Trace {
	n := len(t.Jobs)
	if i := slices.IndexFunc(t.Jobs, func(j workload.Job) bool { return j.Submit >= until }); until > 0 && i >= 0 {
		n = i
	}
	if most > 0 {
		n = min(n, most)
	}
	short := *t
	short.Jobs = t.Jobs[:n:n]
	short.Cleaning.BeyondMax += len(t.Jobs) - n
	short.Cleaning.JobsLeft = n
	return &short
}

// transform is a copy of the trace at another load, under an estimate model.
func transform(t *workload.Trace, load float64, estimates string, _ uint64) (*workload.Trace, error) {
	other := *t
	other.Jobs = slices.Clone(t.Jobs)
	for i := range other.Jobs {
		j := &other.Jobs[i]
		first := t.Jobs[0].Submit
		if load != 1 {
			j.Submit = first + int64(math.Floor(float64(j.Submit-first)/load))
		}
		if estimates == "accurate" {
			j.Estimate = max(j.Run, 1)
		}
	}
	return &other, nil
}

// checkEstimates says what is wrong with the name of an estimate model.
func checkEstimates(model string) error {
	if model != given && model != "accurate" {
		return fmt.Errorf("unknown estimate model %q: must be given or accurate", model)
	}
	return nil
}

// unmeasured says what the file asks for and is not measured.
func unmeasured(f *File) []string {
	var all []string
	for _, kind := range f.FST {
		all = append(all, kind+" fair start times are not measured by this program")
	}
	if f.CountEvents {
		all = append(all, "the events of the profile are not counted by this program")
	}
	return all
}

// series are not drawn yet.
func series(*condorsim.Result) metrics.Series { return metrics.Series{} }
