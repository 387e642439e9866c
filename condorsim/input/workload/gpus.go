package workload

import (
	"bytes"
	"fmt"
	"strconv"
)

// keyGPUs is a key of this project: the GPUs of the whole machine. Job lines below it have a nineteenth
// field, the GPUs of the job, which readers of the format ignore.
const keyGPUs = "MachineGPUs"

// AnyGPUs is as many GPUs as no machine has, for a pool that itself says which jobs are too large.
const AnyGPUs = maxNumber

// machineGPUs returns the GPUs of the options, else of the header; 0 if neither has them.
func (c *cleaner) machineGPUs() int64 {
	if c.opts.GPUs > 0 {
		return c.opts.GPUs
	}
	return c.trace.Header.Number(keyGPUs)
}

// heedGPUs takes the GPUs away that jobs ask of a machine that has none, and says so.
func (c *cleaner) heedGPUs() {
	if c.trace.Machine.GPUs > 0 || c.opts.KeepRequests {
		return
	}
	asking := 0
	for i := range c.trace.Jobs {
		if j := &c.trace.Jobs[i]; j.GPUs > 0 {
			j.GPUs = 0
			asking++
		}
	}
	if asking > 0 {
		c.trace.Warnings = append(c.trace.Warnings, fmt.Sprintf("%s jobs ask for GPUs, which are not heeded, as there are "+
			"none: --gpus gives the machine some, and a pool has those of its slots", Part(asking, len(c.trace.Jobs))))
	}
}

// beyond returns what stands behind the eighteenth field of a job line that has so many.
func beyond(line []byte) []byte {
	for range numFields {
		line = bytes.TrimLeft(line, " \t")
		end := bytes.IndexAny(line, " \t")
		if end < 0 {
			return nil
		}
		line = line[end:]
	}
	return line
}

// gpusBehind returns the nineteenth field of a job line that has the GPUs there; 0: none, or unknown.
func gpusBehind(line []byte) (int64, *Error) {
	fields := bytes.Fields(beyond(line))
	if len(fields) == 0 {
		return 0, nil
	}
	gpus, _, problem := parseNumber(fields[0])
	if problem != "" {
		return 0, &Error{
			Text: string(fields[0]), Problem: "field 19 (GPUs): " + strconv.Quote(headOf(string(fields[0]))) + problem,
			Hint: "correct the line (-1: unknown) or delete it",
		}
	}
	return max(gpus, 0), nil
}

// withGPUs returns the line of a job of a machine with GPUs: its nineteenth field are those of the job.
func (j *Job) withGPUs(line []byte) []byte {
	behind := beyond(line)
	own, fault := gpusBehind(line)
	fields := bytes.Fields(behind)
	if fault == nil && own == j.GPUs && len(fields) > 0 {
		return line
	}
	line = strconv.AppendInt(append(bytes.Clone(line[:len(line)-len(behind)]), ' '), j.GPUs, 10)
	if len(fields) > 1 {
		line = append(append(line, ' '), bytes.Join(fields[1:], []byte(" "))...)
	}
	return line
}

// changedGPUs counts the lines of the file whose nineteenth field is to be another one.
func (t *Trace) changedGPUs() (changed int) {
	for i := range t.Jobs {
		recorded := t.Jobs[i].Recorded
		if t.Machine.GPUs == 0 || !recorded.hasLine() {
			continue
		}
		if line := []byte(recorded.Line); !bytes.Equal(t.Jobs[i].withGPUs(line), line) {
			changed++
		}
	}
	return changed
}
