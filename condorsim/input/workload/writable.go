package workload

import (
	"fmt"
	"slices"
)

// Writable returns an error if a file cannot say what the jobs are: that they run beyond what their users
// state, or are submitted before second 0.
func (t *Trace) Writable() error {
	if slices.ContainsFunc(t.Jobs, func(j Job) bool { return j.Lies }) {
		return fmt.Errorf("write trace %s: %w", t.Name, ErrLies)
	}
	if len(t.Jobs) > 0 && t.Jobs[0].Submit < 0 {
		return fmt.Errorf("write trace %s: job %d is submitted at %d: in a file a time below 0 is unknown; add to all times",
			t.Name, t.Jobs[0].ID, t.Jobs[0].Submit)
	}
	return nil
}

// Numbered returns, by job, the number that a file names it by: its own, unless several jobs have one number,
// when all are numbered from 1. After is the number of the job that it is submitted after; 0: none.
func (t *Trace) Numbered() (ids, after []int64) {
	anew, predecessors := t.numberedTwice(), t.Predecessors()
	ids, after = make([]int64, len(t.Jobs)), make([]int64, len(t.Jobs))
	for i := range t.Jobs {
		if ids[i] = t.Jobs[i].ID; anew {
			ids[i] = int64(i) + 1
		}
		if predecessors != nil {
			after[i] = t.precedes(i, predecessors, anew)
		}
	}
	return ids, after
}

// HeaderToWrite returns the header without what is said of the jobs and the machine elsewhere in a file that is
// not SWF.
func (t *Trace) HeaderToWrite() Header {
	kept := Header{}
	for key, value := range t.Header {
		if !slices.Contains(keysOfJobs(), key) && !slices.Contains(nameKeys[:], key) {
			kept[key] = value
		}
	}
	return kept
}

// Unreadable returns the error for a file whose text is cut off or cannot be read.
func Unreadable(name string, err error) error { return unreadable(name, 0, err) }
