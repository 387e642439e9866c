package workload

import (
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// AnyMemory is the memory of a machine, in MiB, that is large enough for all jobs, until
// [Transform.MemoryShare] says how large it is.
const AnyMemory = maxNumber

// MemorySample is what the jobs of a trace need of memory for each processor, by how wide they are.
type MemorySample struct {
	perCPU [64][]float64 // MiB, of jobs with at least 2^i processors and less than 2^(i+1), in order of jobs
}

// SampleMemory collects what the jobs of a trace need, which must have been read for a machine with
// memory, such as [AnyMemory]. It is an error if no job needs any.
func SampleMemory(t *Trace) (*MemorySample, error) {
	s, some := &MemorySample{}, false
	for _, j := range t.Jobs {
		if j.Memory > 0 {
			class := widthClass(j.Procs)
			s.perCPU[class], some = append(s.perCPU[class], float64(j.Memory)/float64(j.Procs)), true
		}
	}
	if !some {
		return nil, errors.New(t.Name + ": no job of it says how much memory it needs")
	}
	return s, nil
}

// widthClass returns the logarithm to base 2, rounded down.
func widthClass(procs int64) int { return bits.Len64(uint64(procs)) - 1 } //nolint:gosec // at least 1

// of returns the jobs of a width; if there are none, those of the next narrower one, else of the next
// wider one.
func (s *MemorySample) of(procs int64) []float64 {
	class := widthClass(procs)
	for i := class; i >= 0; i-- {
		if len(s.perCPU[i]) > 0 {
			return s.perCPU[i]
		}
	}
	for i := class; ; i++ { // there are some
		if len(s.perCPU[i]) > 0 {
			return s.perCPU[i]
		}
	}
}

// drawMemory has each job without memory need as much for each processor as a job of the sample, drawn
// by the seed and the job's number among those about as wide. It returns which jobs these are, by their
// places; nil without a sample.
func (t *Trace) drawMemory(s *MemorySample, seed uint64) (drawn []bool, err error) {
	if s == nil {
		return nil, nil
	}
	if t.Machine.Memory == 0 {
		return nil, MemoryModel("memory-from").without(t.Name)
	}
	drawn = make([]bool, len(t.Jobs))
	for i := range t.Jobs {
		if j := &t.Jobs[i]; j.Memory == 0 {
			jobs := s.of(j.Procs)
			random := rand.New(rand.NewPCG(seed, uint64(j.ID)<<2|drawnStream)) //nolint:gosec // any number will do
			j.Memory = wholeMiB(jobs[random.IntN(len(jobs))]*float64(j.Procs), t.Machine)
			drawn[i] = true
			t.Cleaning.MemoryDrawn++
		}
	}
	return drawn, nil
}

// shareMemory gives the machine a share of the memory that its processors would need if jobs such as
// these kept all of them busy: share × processors × Σ memory·run / Σ processors·run, over the jobs that
// need memory, rounded up to whole MiB. Jobs that need more are dropped; those whose memory was drawn
// need all of it instead. A share of 0 changes nothing.
func (t *Trace) shareMemory(share float64, drawn []bool) error {
	if share == 0 {
		return nil
	}
	memory, work := 0.0, 0.0
	for _, j := range t.Jobs {
		if j.Memory > 0 {
			memory += float64(float64(j.Memory) * float64(j.Run))
			work += float64(float64(j.Procs) * float64(j.Run))
		}
	}
	if work == 0 {
		return errors.New("memory-share: no job of " + t.Name + " needs memory while it runs, so there is no share of it; " +
			"have it drawn from a trace that says what jobs need (memory-from), or made up (memory-model)")
	}
	mean := memory / work
	t.Machine.Memory = int64(min(math.Ceil(float64(share*mean)*float64(t.Machine.Processors)), float64(maxNumber)))
	for i := range drawn {
		if drawn[i] {
			t.Jobs[i].Memory = min(t.Jobs[i].Memory, t.Machine.Memory)
		}
	}
	t.Jobs = slices.DeleteFunc(t.Jobs, t.neverFits)
	t.Cleaning.JobsLeft = len(t.Jobs)
	return nil
}
