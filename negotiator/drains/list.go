package drains

import (
	"github.com/condor-backfill/condor-backfill/backfill"
)

// Listed is what is told of a drain.
type Listed struct {
	Drain
	// Empty is when the last of the jobs that run on the slot now is expected to end; 0: none runs.
	Empty int64 `json:"empty_at,omitempty"`
	// Jobs is how many run there now, and Late are those that are not expected to end in time, those
	// that end first come first.
	Jobs int      `json:"jobs"`
	Late []string `json:"late,omitempty"`
}

// mostLate is how many jobs are listed of one slot that do not end in time.
const mostLate = 100

// List tells of the drains of a book, by time and slot. The callback returns a job's name.
func (b Book) List(s *backfill.State, name func(backfill.JobID) string) []Listed {
	all := make([]Listed, 0, len(b))
	index := make(map[string]int, len(b))
	for i, d := range b.All() {
		all, index[d.Slot] = append(all, Listed{Drain: d}), i
	}
	if s == nil || len(all) == 0 {
		return all
	}
	slots := s.Slots()
	for r := range s.Running() {
		for _, at := range r.Placement {
			i, drained := index[slots[at.Slot].Name]
			if !drained {
				continue
			}
			l := &all[i]
			l.Jobs++
			l.Empty = max(l.Empty, int64(r.End))
			if int64(r.End) > l.By && len(l.Late) < mostLate {
				l.Late = append(l.Late, name(r.Job.ID))
			}
		}
	}
	return all
}
