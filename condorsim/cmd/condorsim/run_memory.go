package main

import (
	"errors"
	"fmt"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// memoryFlags say how much memory jobs and machine have where the trace does not.
type memoryFlags struct {
	MemoryShare float64 `group:"Pool" nonzero:"" placeholder:"F" help:"${run_memory_share}"`
	MemoryFrom  string  `group:"Workload" placeholder:"FILE" help:"${run_memory_from}"`
}

// checkMemory returns an error for flags that have no meaning beside these.
func (f memoryFlags) checkMemory(memory int64, pool string) error {
	switch {
	case f.MemoryShare == 0:
		return nil
	case memory != 0:
		return errors.New("--memory and --memory-share both say how much memory the machine has; leave one of them out")
	case pool != "":
		return errors.New("--memory-share is of one machine, and --pool says what there is instead; leave one of them out")
	}
	return nil
}

// reading returns the memory of the machine that the trace is read for.
func (f memoryFlags) reading(memory int64) int64 {
	if f.MemoryShare != 0 {
		return workload.AnyMemory
	}
	return memory
}

// complete has a change give memory to jobs and machine.
func (f memoryFlags) complete(p *process, x *change) error {
	x.MemoryShare = f.MemoryShare
	if f.MemoryFrom == "" {
		return nil
	}
	file, err := p.files.Open(f.MemoryFrom)
	if err != nil {
		return fmt.Errorf("--memory-from: %w; check the path", err)
	}
	defer file.Close() //nolint:errcheck // only read
	x.MemoryFrom, err = formats.ReadMemory(file, f.MemoryFrom)
	return err
}

// machineText describes the machine or pool.
func machineText(w *condorsim.Workload) string {
	text := fmt.Sprintf("%d cpus", w.Capacity()[0])
	switch n := len(w.Slots); {
	case len(w.Bundles) > 0:
		text += fmt.Sprintf(" in %d partitions", len(w.Bundles))
	case n > 1:
		text += fmt.Sprintf(" of %d slots", n)
	}
	if m := w.Memory(); m > 0 {
		text += fmt.Sprintf(" with %d MiB", m)
	}
	return text
}
