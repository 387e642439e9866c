package cli

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
)

// PprofFlags are flags by which a command writes down where its time and its memory went, for go tool
// pprof. A command embeds them; they are hidden, as they are for whoever is asked for such a file.
type PprofFlags struct {
	CPUProfile string `name:"cpuprofile" hidden:"" placeholder:"FILE" help:"Write where the time went."`
	MemProfile string `name:"memprofile" hidden:"" placeholder:"FILE" help:"Write where the memory went."`
}

// AfterApply opens the files once the flags are parsed, so that a wrong path is found before the work.
func (f *PprofFlags) AfterApply(m *measuring) (err error) {
	if f.CPUProfile != "" {
		if m.cpu, err = os.Create(f.CPUProfile); err != nil {
			return fmt.Errorf("--cpuprofile: %w", err)
		}
		if err = pprof.StartCPUProfile(m.cpu); err != nil {
			return fmt.Errorf("--cpuprofile: %w", err)
		}
	}
	if f.MemProfile != "" {
		if m.memory, err = os.Create(f.MemProfile); err != nil {
			return fmt.Errorf("--memprofile: %w", err)
		}
	}
	return nil
}

// measuring is what [PprofFlags] write. It belongs to [Main] and not to the command, because Main
// ends in order even if the command is abandoned.
type measuring struct {
	cpu, memory *os.File // nil: not requested
}

// end writes the files to their end. What memory was in use is what the last garbage collection found:
// a collection now would find nothing, as the command has ended.
func (m *measuring) end() (err error) {
	if m.cpu != nil {
		pprof.StopCPUProfile()
		err = m.cpu.Close()
	}
	if m.memory != nil {
		err = errors.Join(err, pprof.WriteHeapProfile(m.memory), m.memory.Close())
	}
	return err
}
