package formats

import (
	"io"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// ReadMemory reads what the jobs of a file need of memory, to be drawn for others. The file is in any
// format that is read.
func ReadMemory(r io.Reader, name string) (*workload.MemorySample, error) {
	jobs, err := Read(r, name, Options{Options: workload.Options{CPUs: anyMachine, Memory: workload.AnyMemory}})
	if err != nil {
		return nil, err
	}
	return workload.SampleMemory(jobs.Trace)
}
