package backfill

import (
	"cmp"
	"slices"
)

// leaders lists jobs of which the keys move along lines, by length, in packs. Each pack knows its
// leader, the first of its jobs by key, and until when no other job can have come before it. So the
// first job that is shorter than a limit is found by a look at the leaders. Each pack has an owner, as
// the nodes of a [jobTree] have.
type leaders struct {
	packs []*pack // none is empty
	size  int
}

// all returns the packs; there are none of a nil list.
func (l *leaders) all() []*pack {
	if l == nil {
		return nil
	}
	return l.packs
}

// packMost is the largest number of jobs in a pack.
const packMost = 64

type pack struct {
	owner       *owner
	jobs        []mover // by length, then in the order of jobs
	leader      int
	from, until Time // the leader is the first from then on and until then, exclusively
}

// mover is an entry of [leaders]; see [listed] for its length. It has the job's submit time with it, by
// which jobs of a length are mostly compared: the jobs themselves lie anywhere in memory.
type mover struct {
	job            *Job
	line           *line
	length, submit Time
}

func newMover(j *Job, l *line, length Time) mover { return mover{j, l, length, j.Submit} }

func (m *mover) compare(o *mover) int {
	switch {
	case m.length < o.length:
		return -1
	case m.length > o.length:
		return 1
	case m.submit != o.submit:
		return cmp.Compare(m.submit, o.submit)
	case m.job == o.job:
		return 0
	default:
		return Compare(m.job, o.job)
	}
}

// listed returns the entry with its key at an instant.
func (m *mover) listed(now Time) listed { return listed{queued{m.line.Key(now), m.job}, m.length} }

// least returns the least length, or Forever if there is no job.
func (l *leaders) least() Time {
	packs := l.all()
	if len(packs) == 0 {
		return Forever
	}
	return packs[0].jobs[0].length
}

// pack returns the index of the pack that lists an entry, or would.
func (l *leaders) pack(m *mover) int {
	i, found := slices.BinarySearchFunc(l.packs, m, func(p *pack, m *mover) int { return p.jobs[0].compare(m) })
	if !found && i > 0 {
		i--
	}
	return i
}

// own returns the pack with an index, which may be changed then.
func (l *leaders) own(o *owner, i int) *pack {
	if p := l.packs[i]; p.owner != o {
		l.packs[i] = &pack{owner: o, jobs: slices.Clone(p.jobs), leader: p.leader, from: p.from, until: p.until}
	}
	return l.packs[i]
}

// set lists a job, or gives it another line.
func (l *leaders) set(o *owner, m mover, now Time) {
	if len(l.packs) == 0 {
		l.packs, l.size = append(l.packs, &pack{owner: o, jobs: []mover{m}}), 1
		return
	}
	i := l.pack(&m)
	p := l.own(o, i)
	at, known := slices.BinarySearchFunc(p.jobs, &m, compareMovers)
	if known {
		p.jobs[at] = m
		p.note(at, now)
		return
	}
	l.size++
	if len(p.jobs) == packMost {
		half := packMost / 2
		right := &pack{owner: o, jobs: slices.Clone(p.jobs[half:])}
		p.jobs, p.until = slices.Delete(p.jobs, half, packMost), p.from
		if l.packs = slices.Insert(l.packs, i+1, right); at > half {
			p, at = right, at-half
		}
	}
	p.jobs = slices.Insert(p.jobs, at, m)
	if at <= p.leader {
		p.leader++
	}
	p.note(at, now)
}

// note takes into account that an entry is new or has another line: mostly the leader still leads.
func (p *pack) note(i int, now Time) {
	if !p.led(now) { // nor is it once time, which went back, comes to when it was known
		p.until = p.from
		return
	}
	leader, m := &p.jobs[p.leader], &p.jobs[i]
	e, first := m.listed(now), leader.listed(now)
	if p.from = now; i == p.leader || e.compare(&first.queued) < 0 {
		p.until = now
	} else {
		p.until = min(p.until, leader.line.ahead(m.line, now))
	}
}

// led reports whether it is known who leads at an instant.
func (p *pack) led(now Time) bool { return p.from <= now && now < p.until }

func compareMovers(m mover, o *mover) int { return m.compare(o) }

// remove takes a job of the given length off the list, and reports whether it was there.
func (l *leaders) remove(o *owner, j *Job, length Time) bool {
	if len(l.all()) == 0 {
		return false
	}
	m := newMover(j, nil, length)
	i := l.pack(&m)
	at, found := slices.BinarySearchFunc(l.packs[i].jobs, &m, compareMovers)
	if !found {
		return false
	}
	l.size--
	p := l.own(o, i)
	switch p.jobs = slices.Delete(p.jobs, at, at+1); {
	case len(p.jobs) == 0:
		l.packs = slices.Delete(l.packs, i, i+1)
		return true
	case at == p.leader:
		p.until = p.from
	case at < p.leader:
		p.leader--
	}
	if i+1 < len(l.packs) && len(p.jobs)+len(l.packs[i+1].jobs) <= packMost/2 {
		p.jobs, p.until = append(p.jobs, l.packs[i+1].jobs...), p.from
		l.packs = slices.Delete(l.packs, i+1, i+2)
	}
	return true
}

// next returns the first entry by key at an instant that is behind a place, or the first of all if
// that is nil, and shorter than the limit; false if there is none.
func (l *leaders) next(o *owner, now Time, behind *queued, limit Time) (first listed, found bool) {
	take := func(m *mover) bool {
		e := m.listed(now)
		if behind != nil && e.compare(behind) <= 0 {
			return false
		}
		if !found || e.compare(&first.queued) < 0 {
			first, found = e, true
		}
		return true
	}
	for i, p := range l.all() {
		if p.jobs[0].length >= limit {
			break
		}
		if p.jobs[len(p.jobs)-1].length < limit {
			if !p.led(now) {
				p = l.own(o, i)
				p.lead(now)
			}
			if take(&p.jobs[p.leader]) {
				continue
			}
		}
		for k := range p.jobs {
			if m := &p.jobs[k]; m.length < limit {
				take(m)
			}
		}
	}
	return first, found
}

// lead finds the pack's leader at an instant, and until when it surely leads.
func (p *pack) lead(now Time) {
	p.leader = 0
	first := p.jobs[0].listed(now)
	for i := range p.jobs[1:] {
		if e := p.jobs[i+1].listed(now); e.compare(&first.queued) < 0 {
			first, p.leader = e, i+1
		}
	}
	p.from, p.until = now, Forever
	for i := range p.jobs {
		if i != p.leader {
			p.until = min(p.until, p.jobs[p.leader].line.ahead(p.jobs[i].line, now))
		}
	}
}
