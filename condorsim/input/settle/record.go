package settle

import (
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// Status is what became of a job, by the numbers of the Standard Workload Format.
type Status int

// The values of Status. Those between Completed and Cancelled are parts of a job that was run in parts.
const (
	Unknown   Status = -1
	Failed    Status = 0
	Completed Status = 1
	Cancelled Status = 5
)

// partial reports whether the record is of a part of a job.
func (s Status) partial() bool { return Completed < s && s < Cancelled }

// End is what a file leaves open of a job.
type End uint8

// The values of End.
const (
	Ended      End = iota // the file says how the job ended
	Unfinished            // the file ends before the job
	Removed               // it was removed while it ran, and the file does not say more of its end
)

// Record is what a file says of a job. Times are whole seconds, Unix times or those of the file; below 0
// they are unknown. Amounts are of the whole job; what is not above 0 is unknown.
type Record struct {
	Number int64 // of the job in the file
	Part   int64 // of the job among those with its number, such as the index in an array
	Line   int   // of the file, where the record ends

	Submit int64 // when it could first run
	Held   bool  // that was later than its submission
	Start  int64 // of the run that counts
	Run    int64 // how long that lasted
	Status Status
	End    End

	Allocated, Asked int64 // processors
	Estimate         int64 // seconds
	Used, Requested  int64 // memory in MiB
	GPUs             int64

	User, Group, Executable, Queue string
}

// Processors returns the processors by the field that the options ask for, else by the other one.
func (r *Record) Processors(field workload.ProcsField) int64 {
	if field == workload.ProcsRequested {
		return positive(r.Asked, r.Allocated)
	}
	return positive(r.Allocated, r.Asked)
}

// memory returns the memory by the field that comes first.
func (r *Record) memory(usedFirst bool) int64 {
	if usedFirst {
		return positive(r.Used, r.Requested)
	}
	return positive(r.Requested, r.Used)
}

// positive returns the first of two numbers that is above 0, else 0.
func positive(a, b int64) int64 {
	if a > 0 {
		return a
	}
	return max(b, 0)
}

// Texts keeps each text once, apart from the line in which it stood.
type Texts map[string]string

// Keep returns the same text.
func (t Texts) Keep(text string) string {
	kept, known := t[text]
	if !known {
		kept = strings.Clone(text)
		t[kept] = kept
	}
	return kept
}
