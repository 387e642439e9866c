package preempt

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Memory remembers who changed places, for the pause. It forgets what is older.
type Memory struct {
	pairs   map[pair]backfill.Time
	victims map[backfill.JobID]backfill.Time // displaced for user priority
}

// pair is two jobs, the one with the lower ID first.
type pair struct{ a, b backfill.JobID }

func pairOf(a, b backfill.JobID) pair { return pair{min(a, b), max(a, b)} }

// Exchange is an entry of a [Memory] as a checkpoint has it: two jobs that changed places, or a job
// that was displaced for user priority, if By is the job itself.
type Exchange struct {
	Job, By backfill.JobID
	At      backfill.Time
}

// Note notes a preemption that was made.
func (m *Memory) Note(p *Preemption, now backfill.Time) {
	if m.pairs == nil {
		m.pairs, m.victims = map[pair]backfill.Time{}, map[backfill.JobID]backfill.Time{}
	}
	for _, id := range p.Yielding() {
		m.pairs[pairOf(p.Job, id)] = now
		if p.Reason == UserPriority {
			m.victims[id] = now
		}
	}
}

// Pauses reports whether a victim must be left to itself for now, where a job would displace it for
// user priority.
func (m *Memory) Pauses(job, victim backfill.JobID, now, pause backfill.Time) bool {
	recent := func(at backfill.Time, known bool) bool { return known && now < at+pause }
	last, known := m.victims[victim]
	if recent(last, known) {
		return true
	}
	last, known = m.pairs[pairOf(job, victim)]
	return recent(last, known)
}

// Forget drops what is no longer within the pause.
func (m *Memory) Forget(now, pause backfill.Time) {
	for p, at := range m.pairs {
		if at+pause <= now {
			delete(m.pairs, p)
		}
	}
	for id, at := range m.victims {
		if at+pause <= now {
			delete(m.victims, id)
		}
	}
}

// Save lists the entries, by job.
func (m *Memory) Save() (all []Exchange) {
	for p, at := range m.pairs {
		all = append(all, Exchange{p.a, p.b, at})
	}
	for id, at := range m.victims {
		all = append(all, Exchange{id, id, at})
	}
	slices.SortFunc(all, func(a, b Exchange) int { return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.By, b.By)) })
	return all
}

// Restored returns the memory with these entries.
func Restored(all []Exchange) (m Memory) {
	if len(all) == 0 {
		return m
	}
	m.pairs, m.victims = map[pair]backfill.Time{}, map[backfill.JobID]backfill.Time{}
	for _, e := range all {
		if e.Job == e.By {
			m.victims[e.Job] = e.At
		} else {
			m.pairs[pairOf(e.Job, e.By)] = e.At
		}
	}
	return m
}
