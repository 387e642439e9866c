package sweep

import (
	"fmt"
	"slices"
	"sync"

	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// find looks for the files of the trace, its pool and its history, and returns the names of those
// that are not there.
func (in *input) find(places Places) (absent []string) {
	names := in.Trace.files()
	if in.Pool != "" {
		names = append(names, places.pool(in.Pool))
	}
	for _, name := range names {
		file, found := places.find(name)
		if !found {
			absent = append(absent, name)
			continue
		}
		in.files = append(in.files, file)
	}
	if in.MemoryFrom != "" {
		var found bool
		if in.memory, found = places.find(in.MemoryFrom); !found {
			absent = append(absent, in.MemoryFrom)
		}
		in.sample = sync.OnceValues(in.readMemory)
	}
	if in.History != "" {
		var found bool
		if in.history, found = places.find(in.History); !found {
			absent = append(absent, in.History)
		}
		in.ended = sync.OnceValues(in.readHistory)
	}
	return absent
}

// sumUp computes the digests of all files of the input; last those of the trace that memory is drawn from and of the
// history.
func (in *input) sumUp() error {
	files := in.files
	if in.MemoryFrom != "" {
		files = append(slices.Clip(files), in.memory)
	}
	if in.History != "" {
		files = append(slices.Clip(files), in.history)
	}
	for _, file := range files {
		sum, err := file.digest()
		if err != nil {
			return err
		}
		in.sums = append(in.sums, sum)
	}
	return nil
}

// readMemory reads what the jobs of another trace need of memory.
func (in *input) readMemory() (*workload.MemorySample, error) {
	file, err := in.memory.open()
	if err != nil {
		return nil, fmt.Errorf("read the trace that memory is drawn from: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	return formats.ReadMemory(file, in.memory.path)
}
