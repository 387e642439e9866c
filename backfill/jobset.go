package backfill

import "slices"

// JobSet is a set of jobs, fast while it has at most eight. The zero value is empty.
type JobSet struct {
	few  [8]JobID
	n    int // in few
	many map[JobID]bool
}

// Has reports whether the job is in the set.
func (s *JobSet) Has(id JobID) bool {
	return slices.Contains(s.few[:s.n], id) || len(s.many) > 0 && s.many[id]
}

// Add adds a job to the set, and reports whether it was not in the set before.
func (s *JobSet) Add(id JobID) bool {
	switch {
	case s.Has(id):
		return false
	case s.n < len(s.few):
		s.few[s.n] = id
		s.n++
		return true
	case s.many == nil:
		s.many = map[JobID]bool{}
	}
	s.many[id] = true
	return true
}

// Clear empties the set.
func (s *JobSet) Clear() {
	s.n = 0
	if len(s.many) > maxSpare { // a map never shrinks, and takes as long to clear as when it was full
		s.many = nil
	}
	clear(s.many)
}
