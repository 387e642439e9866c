package batsim

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// Write writes a trace as a workload of Batsim, a line for each job and each profile. [Read] reads the same jobs
// back. A job whose user stated less than it ran has its run time as the walltime, so that Batsim does not end
// it; one whose estimate is not known has no walltime, and one that ran for no time runs a thousandth of a
// second. If several jobs have one number, all are numbered anew from 1.
//
// Errors are those of w, and [workload.ErrLies] and a submission before second 0, which have no place there.
func Write(t *workload.Trace, w io.Writer) error {
	if err := t.Writable(); err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	_, _ = fmt.Fprintf(out, "{\n \"nb_res\": %d,\n", t.Machine.Processors) // Flush returns the errors of w
	m := machine{Memory: t.Machine.Memory, GPUs: t.Machine.GPUs, Filled: t.Filled, Header: t.HeaderToWrite()}
	about, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("write workload %s: %w", t.Name, err)
	}
	_, _ = fmt.Fprintf(out, " %q: %s,\n \"jobs\": [", keyTrace, about)
	runs, between := map[int64]bool{}, "\n"
	ids, after := t.Numbered()
	for i := range t.Jobs {
		var line string
		if line, err = lineOf(t, i, ids[i], after[i]); err != nil {
			return fmt.Errorf("write workload %s: job %d: %w", t.Name, t.Jobs[i].ID, err)
		}
		_, _ = fmt.Fprintf(out, "%s  %s", between, line)
		between = ",\n"
		runs[t.Jobs[i].Run] = true
	}
	_, _ = out.WriteString("\n ],\n \"profiles\": {")
	between = "\n"
	for _, run := range slices.Sorted(maps.Keys(runs)) {
		delay := strconv.FormatInt(run, 10)
		if run == 0 {
			delay = shortest
		}
		_, _ = fmt.Fprintf(out, `%s  %q: {"type": "delay", "delay": %s}`, between, profileOf(run), delay)
		between = ",\n"
	}
	_, _ = out.WriteString("\n }\n}\n")
	if err = out.Flush(); err != nil {
		return fmt.Errorf("write workload %s: %w", t.Name, err)
	}
	return nil
}

// profileOf names the profile of jobs that run for so many seconds.
func profileOf(run int64) string { return fmt.Sprintf("delay%d", run) }

// lineOf returns the JSON of a job, under the number that it is written with; after is the number of the job that
// it is submitted after, 0: none.
func lineOf(t *workload.Trace, i int, id, after int64) (string, error) {
	j := &t.Jobs[i]
	x := extra{
		User: j.User, Group: j.Group, Executable: j.Executable, Queue: j.Queue, Memory: j.Memory, GPUs: j.GPUs,
		WrongStart: j.WrongStart, Release: j.Release, Scavenger: t.Scavengers[j.ID],
	}
	switch {
	case j.Ran() > j.Run: // a reader would take the wait to have happened with these times
	case j.HasWaited:
		x.Wait = &j.Waited
	case j.Wait > 0:
		x.Wait = &j.Wait
	}
	if j.Run == 0 {
		x.Run = &j.Run
	}
	if after > 0 {
		x.After, x.Think = &after, &j.After.Think
	}
	walltime := fmt.Sprintf(`"walltime": %d, `, j.Estimate)
	switch j.Origin {
	case workload.Assumed:
		walltime = ""
	case workload.Raised:
		x.Stated = int64(j.Beside)
	case workload.Stated:
	}
	line := fmt.Sprintf(`{"id": "%d", "subtime": %d, %s"res": %d, "profile": %q`, id, j.Submit, walltime, j.Procs,
		profileOf(j.Run))
	more, err := json.Marshal(x)
	if err != nil || string(more) == "{}" {
		return line + "}", err
	}
	quoted, err := json.Marshal(string(more))
	return line + `, "extra_data": ` + string(quoted) + "}", err
}
