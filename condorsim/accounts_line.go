package condorsim

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// waitingLine is the fair order of the jobs that wait.
type waitingLine interface {
	// open begins a cycle.
	open()
	// join adds a job, and leave takes it out; they report whether that was to do.
	join(id backfill.JobID) bool
	leave(id backfill.JobID) bool
	// key returns a job's key in this cycle.
	key(j *backfill.Job) float64
}

// plainLine is the order in a pool without groups, which is kept from cycle to cycle.
type plainLine struct {
	a      *accounts
	line   *accountant.Line
	places []*accountant.Place // by job; nil: it does not wait
}

func newPlainLine(a *accounts) *plainLine {
	return &plainLine{a, accountant.NewLine(a.accountant, a.compare), make([]*accountant.Place, len(a.w.Jobs))}
}

func (l *plainLine) open() { l.line.Open() }

func (l *plainLine) join(id backfill.JobID) bool {
	if l.places[id] != nil {
		return false
	}
	l.places[id] = l.line.Join(l.a.waiting(id))
	return true
}

func (l *plainLine) leave(id backfill.JobID) bool {
	p := l.places[id]
	if p == nil {
		return false
	}
	p.Leave()
	l.places[id] = nil
	return true
}

func (l *plainLine) key(j *backfill.Job) float64 { return l.places[j.ID].Key() }

// groupedLine is the order in a pool with groups, as that of a real pool: each job's place follows from
// those of other users, so that it is made anew in each cycle.
type groupedLine struct {
	a     *accounts
	order *accountant.Order
	there []bool // by job
	line  []backfill.JobID
	fresh []backfill.JobID // have joined, and are not in line yet
}

func newGroupedLine(a *accounts) *groupedLine {
	entry := func(j *backfill.Job) accountant.Waiting { return a.waiting(j.ID) }
	return &groupedLine{a: a, order: accountant.NewOrder(a.accountant, entry), there: make([]bool, len(a.w.Jobs))}
}

func (l *groupedLine) open() {
	l.order.Open(func() []accountant.Waiting {
		l.line = append(l.line, l.fresh...)
		l.fresh = l.fresh[:0]
		l.line = slices.DeleteFunc(l.line, func(id backfill.JobID) bool { return !l.there[id] })
		slices.SortFunc(l.line, l.a.compare)
		l.line = slices.Compact(l.line) // who has left and come again
		wait := make([]accountant.Waiting, 0, len(l.line))
		for _, id := range l.line {
			wait = append(wait, l.a.waiting(id))
		}
		return wait
	})
}

func (l *groupedLine) join(id backfill.JobID) bool {
	if l.there[id] {
		return false
	}
	l.there[id], l.fresh = true, append(l.fresh, id)
	return true
}

func (l *groupedLine) leave(id backfill.JobID) bool {
	waited := l.there[id]
	l.there[id] = false
	return waited
}

func (l *groupedLine) key(j *backfill.Job) float64 {
	key, _ := l.order.Key(j, backfill.Moment{})
	return key
}
