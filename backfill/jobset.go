package backfill

import "slices"

// jobSet is a set of jobs that mostly are few.
type jobSet struct {
	few  [8]JobID
	n    int // in few
	many map[JobID]bool
}

// Has reports whether the job is in the set.
func (s *jobSet) Has(id JobID) bool {
	return slices.Contains(s.few[:s.n], id) || s.many[id]
}

// Add puts a job in, and reports whether it was not there.
func (s *jobSet) Add(id JobID) bool {
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
