package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// MemoryModel says how much memory jobs need. It is one of
//
//	given                    the trace's memory; so is ""
//	used, requested          the trace's memory; [Options] say which field comes first
//	per-cpu:MIB              the same for each processor
//	lognormal:MEDIAN:SIGMA   drawn for each job: MiB per processor, log-normal with
//	                         this median and this standard deviation of the logarithm
//
// There is no published model. This project uses a log-normal one, as memory per processor has a
// long tail in the logs that record it. A job needs whole MiB, at least one and at most what the
// machine has. The machine must have memory, unless the model is given.
type MemoryModel string

// The fields of a trace as models. The other field is used where the first is not positive.
const (
	MemoryUsed      MemoryModel = "used"      // field 7
	MemoryRequested MemoryModel = "requested" // field 10
)

// memoryModel is a parsed MemoryModel.
type memoryModel struct {
	perCPU float64 // MiB; the median, if sigma is not 0
	sigma  float64
}

// IsField reports whether the model is a field of the trace.
func (m MemoryModel) IsField() bool { return m == MemoryUsed || m == MemoryRequested }

func (m MemoryModel) given() bool  { return m == "" || m == "given" || m.IsField() }
func (m MemoryModel) random() bool { return strings.HasPrefix(string(m), "lognormal") }

func (m MemoryModel) validate() error {
	_, err := m.parse()
	return err
}

func (m MemoryModel) parse() (memoryModel, error) {
	kind, args, _ := strings.Cut(string(m), ":")
	switch {
	case m.given():
		return memoryModel{}, nil
	case kind == "per-cpu":
		if mib, ok := numberWithin(args, 1, 1e9); ok {
			return memoryModel{perCPU: mib}, nil
		}
	case kind == "lognormal":
		median, sigma, _ := strings.Cut(args, ":")
		mib, ok := numberWithin(median, 1, 1e9)
		s, fine := numberWithin(sigma, 0, 10)
		if ok && fine {
			return memoryModel{perCPU: mib, sigma: s}, nil
		}
	}
	return memoryModel{}, fmt.Errorf("memory model %q: must be used, requested, given (as used), "+
		"per-cpu:MIB (from 1 to 1e9) or lognormal:MEDIAN:SIGMA (SIGMA from 0 to 10)", string(m))
}

// numberWithin parses a number from low to high; it returns false for any other text.
func numberWithin(text string, low, high float64) (float64, bool) {
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && low <= f && f <= high
}

// remodelMemory replaces the memory of all jobs by that of the model; the model given changes
// nothing. For any other it is an error if the machine has no memory.
func (t *Trace) remodelMemory(m MemoryModel, random *rand.Rand) error {
	model, err := m.parse()
	if err != nil || m.given() {
		return err
	}
	if t.Machine.Memory == 0 {
		return m.without(t.Name)
	}
	for i := range t.Jobs {
		j := &t.Jobs[i]
		perCPU := model.perCPU
		if m.random() {
			perCPU *= math.Exp(model.sigma * random.NormFloat64())
		}
		j.Memory = wholeMiB(perCPU*float64(j.Procs), t.Machine)
	}
	return nil
}

// without returns the error for a model of memory where the trace's machine has none.
func (m MemoryModel) without(trace string) error {
	return fmt.Errorf("memory model %q: the machine of %s has no memory, so no job would need any; "+
		"say how much it has with --memory MIB", string(m), trace)
}

// wholeMiB rounds an amount to whole MiB, at least 1 and at most what the machine has, if it has any.
func wholeMiB(mib float64, m Machine) int64 { return wholeOf(mib, m.Memory) }

// wholeOf rounds an amount up, to at least 1 and at most what there is; 0: nobody knows.
func wholeOf(amount float64, most int64) int64 {
	if most == 0 {
		most = maxNumber
	}
	return int64(min(max(math.Ceil(amount), 1), float64(most)))
}
