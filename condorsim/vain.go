package condorsim

import (
	"fmt"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// vain are the displacements since a job last completed or a checkpoint last saved work.
type vain struct {
	count int
	times map[backfill.JobID]int            // by job that made way
	last  map[backfill.JobID]backfill.JobID // for which job each was told last to make way
}

// by notes that a job is told to make way for another.
func (v *vain) by(job, other backfill.JobID) {
	if v.last == nil {
		v.last = map[backfill.JobID]backfill.JobID{}
	}
	v.last[job] = other
}

// circle counts the jobs that leave now. It is an error if jobs have made way for too long without an end: at
// least so often that this is no rush of jobs that are preferred, and one of them again and again.
func (m *making) circle(evicted []backfill.JobID, completed bool) error {
	const (
		many  = 10_000
		again = 100
	)
	v := &m.vain
	for _, id := range evicted {
		completed = completed || !m.w.Jobs[id].Scavenger && m.w.saves(id, m.now-m.runs[id].start) > 0
	}
	if completed {
		v.count = 0
		clear(v.times)
		return nil
	}
	if v.times == nil {
		v.times = map[backfill.JobID]int{}
	}
	for _, id := range evicted {
		if m.w.Jobs[id].Scavenger { // it displaces nobody
			continue
		}
		v.count++
		v.times[id]++
		if v.count < many || v.times[id] < again {
			continue
		}
		return fmt.Errorf("jobs %s and %s displace each other for ever: by %s, %d runs have made way since a job last "+
			"completed or saved work; give preemption a pause in which one of them can end, or a checkpoint that "+
			"jobs reach before they make way", m.w.Jobs[id].Name, m.w.Jobs[v.last[id]].Name, m.w.text(m.now), v.count)
	}
	return nil
}
