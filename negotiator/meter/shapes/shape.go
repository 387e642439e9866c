package shapes

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Shape is what a job requests of one slot, rounded up so that there are few: cpus and GPUs to
// powers of two, and memory to a power of two from 128 MiB on.
type Shape struct {
	CPUs   int64
	Memory int64 // MiB; 0: the pool has no such resource, or none is requested
	GPUs   int64
}

// leastMemory is what a shape has at least of memory in MiB, if any is requested, and what some job
// needs for each cpu: HTCondor's default for jobs that do not say.
const leastMemory = 128

// columns say where the resources of shapes are in vectors; -1: there is no such resource.
type columns struct{ memory, gpus int }

func columnsOf(resources []string) columns {
	return columns{
		memory: slices.Index(resources, "memory"),
		gpus:   slices.IndexFunc(resources, func(name string) bool { return strings.EqualFold(name, "gpus") }),
	}
}

// shape returns the shape of a request.
func (c columns) shape(request backfill.Vector) Shape {
	s := Shape{CPUs: roundUp(request[0])}
	if c.memory > 0 && request[c.memory] > 0 {
		s.Memory = max(roundUp(request[c.memory]), leastMemory)
	}
	if c.gpus > 0 {
		s.GPUs = roundUp(request[c.gpus])
	}
	return s
}

// roundUp returns the least power of two that is no less; 0 of 0.
func roundUp(amount int64) int64 {
	if amount <= 0 {
		return 0
	}
	return 1 << bits.Len64(uint64(amount-1))
}
