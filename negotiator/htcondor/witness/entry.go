package witness

import "cmp"

// Line is one line of a record: one of the two.
type Line struct {
	Look *Look `json:"look,omitempty"`
	Job  *Job  `json:"job,omitempty"`
}

// Look is what the observer saw of the pool as a frame began. Times are seconds since 1970.
type Look struct {
	At int64 `json:"at"`
	// Since is from when on the pool was watched without a gap, restarts aside.
	Since int64 `json:"since"`
	// Policy and Order were in charge of what the observer decided. Guarantees says whether the
	// policy promises starts.
	Policy     string `json:"policy"`
	Order      string `json:"order"`
	Guarantees bool   `json:"guarantees,omitempty"`
	// Waiting and Running count the jobs in the plan.
	Waiting int `json:"waiting"`
	Running int `json:"running"`
	// Slots counts the slots, and Largest is how many cpus the largest of them has.
	Slots   int   `json:"slots"`
	Largest int64 `json:"largest"`
}

// Job is what is known of a job by the time of its line. Times are seconds since 1970, 0: not
// known.
type Job struct {
	Job    string `json:"job"` // such as 12.0
	Schedd string `json:"schedd,omitempty"`
	User   string `json:"user,omitempty"`
	// Chunks is how many slots it takes, and Cpus how many cpus on all of them.
	Chunks int   `json:"chunks"`
	Cpus   int64 `json:"cpus"`
	Submit int64 `json:"submit"`
	// Since is from when on the observer watched without a gap, up to this line.
	Since int64 `json:"since"`
	// Would is when the observer first decided to start it.
	Would int64 `json:"would,omitempty"`
	// Promise is the latest start that the observer first promised, and Told when.
	Promise int64 `json:"promise,omitempty"`
	Told    int64 `json:"told,omitempty"`
	// Start is when it really began to run for the first time.
	Start int64 `json:"start,omitempty"`
	// Found says that the job was found running by a process that had just begun: what was planned for
	// it just before is not known.
	Found bool `json:"found,omitempty"`
	// Planned is the start that the observer had for it in the last cycle before it was seen to
	// run, if it had not decided to start it: that of its reservation, or where it is Foreseen, of
	// a play.
	Planned  int64 `json:"planned,omitempty"`
	Foreseen bool  `json:"foreseen,omitempty"`
	// Held is why the observer would not have started it at all, as of that cycle.
	Held string `json:"held,omitempty"`
	// Gone is when it had left the queue without being seen to run.
	Gone int64 `json:"gone,omitempty"`
	// Elsewhere is when it was first seen to run elsewhere: in another pool, or on slots that the
	// observer does not see.
	Elsewhere int64 `json:"elsewhere,omitempty"`
}

// longest bounds the bytes of a text: strangers choose names.
const longest = 120

// bound cuts a text off, between two letters.
func bound(text string) string {
	if len(text) <= longest {
		return text
	}
	cut := 0
	for i := range text {
		if i > longest {
			break
		}
		cut = i
	}
	return text[:cut]
}

// bounded returns the job with texts of bounded length.
func (j Job) bounded() Job {
	j.Job, j.Schedd, j.User, j.Held = bound(j.Job), bound(j.Schedd), bound(j.User), bound(j.Held)
	return j
}

// Key tells jobs apart.
type Key struct {
	Schedd, Job string
	Submit      int64
}

// Key returns the job's key.
func (j *Job) Key() Key { return Key{j.Schedd, j.Job, j.Submit} }

// Merge adds what another line says of the same job. Of what is first, such as the first start, the
// earlier one counts; of gaps, the later one.
func (j *Job) Merge(with Job) {
	j.Since = max(j.Since, with.Since)
	j.Would = first(j.Would, with.Would)
	if with.Promise != 0 && (j.Promise == 0 || with.Told < j.Told) {
		j.Promise, j.Told = with.Promise, with.Told
	}
	if with.begins(j) {
		j.Start, j.Found, j.Planned, j.Foreseen, j.Held = with.Start, with.Found, with.Planned, with.Foreseen, with.Held
	}
	j.Gone, j.Elsewhere = max(j.Gone, with.Gone), first(j.Elsewhere, with.Elsewhere)
}

// begins tells whether what the job says of its start is worth more than what another line does: one
// that saw it, and then the first.
func (j *Job) begins(other *Job) bool {
	switch {
	case j.Start == 0 || other.Start == 0:
		return j.Start != 0
	case j.Found != other.Found:
		return other.Found
	default:
		return j.Start < other.Start
	}
}

// first returns the earlier of two instants that are known.
func first(a, b int64) int64 { return min(cmp.Or(a, b), cmp.Or(b, a)) }
