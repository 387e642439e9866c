package workload

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Transform says how to change a trace, in the order of the fields. The zero value changes nothing.
type Transform struct {
	// From and Until keep the jobs submitted at From or later and before Until, in seconds of the
	// trace; nil: no bound.
	From, Until *int64
	// Max keeps the first Max jobs; 0: all.
	Max int
	// Widths multiplies the processors of each job, rounded, to at least one and at most those of
	// the machine; memory and GPUs are multiplied as well. 0 or 1: unchanged.
	Widths float64
	// Memory and Estimates replace those of the trace; "": unchanged.
	Memory    MemoryModel
	Estimates EstimateModel
	// MemoryFrom, if not nil, is what the jobs that need no memory by then are given. The machine must have
	// memory.
	MemoryFrom *MemorySample
	// MemoryShare is the memory of the machine, as a share of what its processors would need if jobs such
	// as these kept all of them busy: at the mean of memory over processors, weighted by work. Jobs that
	// need more are dropped. 0: unchanged.
	MemoryShare float64
	// EstimateScale multiplies what users stated, rounded, to at least a second. Estimates that are not
	// known stay unknown. Where the product is below the run time, the rule counts by which the trace was
	// read ([Trace.Overrun]): the estimate is the run time, or the run is cut. 0 or 1: unchanged.
	EstimateScale float64
	// Load divides the times between submissions: submit' = first + floor((submit − first) / Load).
	// 0 or 1: unchanged.
	Load float64
	// Seed is for the random models. The same seed gives the same trace.
	Seed uint64
}

// The factors are bounded so that scaled numbers cannot overflow.
const minFactor, maxFactor = 0.001, 1000

// Streams of random numbers: each model has its own, so that the other model does not change what
// it draws.
const (
	estimateStream = 1 + iota
	memoryStream
	drawnStream // besides each job's number
)

// IsZero reports whether nothing changes.
func (x Transform) IsZero() bool { x.Seed = 0; return x == Transform{} }

// ForgetsWaits reports whether what really happened did not happen to the changed trace.
func (x Transform) ForgetsWaits() bool {
	return x.Load != 0 && x.Load != 1 || x.Widths != 0 && x.Widths != 1
}

// Validate returns an error with setting (as on the command line), value and rule of everything
// that is wrong, or nil.
func (x Transform) Validate() error {
	var errs []error
	check := func(ok bool, field string, value any, rule string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s: %v: must be %s", field, value, rule))
		}
	}
	factor := func(f float64) bool { return f == 0 || minFactor <= f && f <= maxFactor }
	if x.From != nil && x.Until != nil {
		check(*x.Until > *x.From, "until", *x.Until, fmt.Sprintf("later than from, %d", *x.From))
	}
	check(x.Max >= 0, "jobs", x.Max, "0 (all jobs) or a number of jobs")
	check(factor(x.Widths), "scale-widths", x.Widths, "0 (as they are) or from 0.001 to 1000")
	check(factor(x.MemoryShare), "memory-share", x.MemoryShare, "0 (as it is) or from 0.001 to 1000")
	check(factor(x.EstimateScale), "scale-estimates", x.EstimateScale, "0 (as they are) or from 0.001 to 1000")
	check(factor(x.Load), "load", x.Load, "0 (as it is) or from 0.001 to 1000")
	return errors.Join(append(errs, x.Memory.validate(), x.Estimates.validate())...)
}

// String lists the changes.
func (x Transform) String() string {
	var parts []string
	say := func(ok bool, format string, args ...any) {
		if ok {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	if x.From != nil {
		say(true, "from %d s", *x.From)
	}
	if x.Until != nil {
		say(true, "until %d s", *x.Until)
	}
	say(x.Max > 0, "first %d jobs", x.Max)
	say(x.Widths != 0 && x.Widths != 1, "widths × %v", x.Widths)
	say(!x.Memory.given(), "memory %s", x.Memory)
	say(x.MemoryFrom != nil, "memory drawn where it is unknown")
	say(x.MemoryShare != 0, "memory of the machine %v of what its processors would need", x.MemoryShare)
	say(!x.Estimates.given(), "estimates %s", x.Estimates)
	say(x.EstimateScale != 0 && x.EstimateScale != 1, "estimates × %v", x.EstimateScale)
	say(x.Load != 0 && x.Load != 1, "load × %v", x.Load)
	say(x.Memory.random() || x.MemoryFrom != nil || x.Estimates.random(), "seed %d", x.Seed)
	return strings.Join(parts, ", ")
}

// Transform returns a changed copy, whose header notes the changes. Jobs that are cut off are
// counted in its Cleaning. Errors are those of [Transform.Validate], and of a model that cannot be
// applied to this trace.
func (t *Trace) Transform(x Transform) (*Trace, error) {
	if err := x.Validate(); err != nil {
		return nil, err
	}
	changed := *t
	changed.Jobs = slices.Clone(t.Jobs)
	changed.Header = maps.Clone(t.Header)
	changed.Statuses = maps.Clone(t.Statuses)
	changed.Drops = slices.Clone(t.Drops)
	if note := x.String(); note != "" {
		if changed.Header == nil {
			changed.Header = Header{}
		}
		changed.Header.add("Note", "transformed: "+note)
	}
	changed.cut(x.From, x.Until, x.Max)
	if x.ForgetsWaits() {
		changed.forgetWaits()
	}
	changed.scaleWidths(x.Widths)
	if err := changed.remodelMemory(x.Memory, rand.New(rand.NewPCG(x.Seed, memoryStream))); err != nil {
		return nil, err
	}
	drawn, err := changed.drawMemory(x.MemoryFrom, x.Seed)
	if err == nil {
		err = changed.shareMemory(x.MemoryShare, drawn)
	}
	if err != nil {
		return nil, err
	}
	if err := changed.remodelEstimates(x.Estimates, rand.New(rand.NewPCG(x.Seed, estimateStream))); err != nil {
		return nil, err
	}
	if err := changed.scaleEstimates(x.EstimateScale); err != nil {
		return nil, err
	}
	changed.scaleLoad(x.Load)
	changed.countLeft()
	return &changed, nil
}

// cut keeps the jobs submitted at from or later and before until, and of these the first limit; nil
// and 0 mean no bound.
func (t *Trace) cut(from, until *int64, limit int) {
	count := &t.Cleaning
	if from != nil || until != nil {
		t.Jobs = slices.DeleteFunc(t.Jobs, func(j Job) bool {
			out := from != nil && j.Submit < *from || until != nil && j.Submit >= *until
			if out {
				t.drop(&count.CutOut, j.ID, WhyCutOut)
			}
			return out
		})
	}
	if limit > 0 && limit < len(t.Jobs) {
		for _, j := range t.Jobs[limit:] {
			t.drop(&count.BeyondMax, j.ID, WhyBeyondMax)
		}
		t.Jobs = t.Jobs[:limit:limit]
	}
	if count.JobsLeft = len(t.Jobs); count.CutOut+count.BeyondMax > 0 {
		delete(t.Header, keyEnd) // it is that of others
	}
}

// scaleWidths multiplies the processors of each job, and its memory and GPUs with them.
func (t *Trace) scaleWidths(factor float64) {
	if factor == 0 || factor == 1 {
		return
	}
	for i := range t.Jobs {
		j := &t.Jobs[i]
		wide := math.Round(float64(j.Procs) * factor)
		procs := int64(min(max(wide, 1), float64(t.Machine.Processors)))
		if j.Memory > 0 {
			j.Memory = wholeMiB(float64(j.Memory)*(float64(procs)/float64(j.Procs)), t.Machine)
		}
		if j.GPUs > 0 {
			j.GPUs = wholeOf(float64(j.GPUs)*(float64(procs)/float64(j.Procs)), t.Machine.GPUs)
		}
		j.Procs = procs
	}
}

// forgetWaits forgets how long jobs waited: that happened under another load.
func (t *Trace) forgetWaits() {
	t.waitless = true
	for i := range t.Jobs {
		t.Jobs[i].forgetWait()
	}
}

func (j *Job) forgetWait() { j.Wait, j.Waited, j.HasWaited, j.WrongStart = 0, 0, false, false }

// scaleLoad divides the times from the first submission to the others by the load.
func (t *Trace) scaleLoad(load float64) {
	if load == 0 || load == 1 || len(t.Jobs) == 0 {
		return
	}
	t.forgetWaits()
	delete(t.Header, keyEnd)
	first := t.Jobs[0].Submit
	for i := range t.Jobs {
		j := &t.Jobs[i]
		j.move(first + int64(math.Floor(float64(j.Submit-first)/load)))
	}
}
