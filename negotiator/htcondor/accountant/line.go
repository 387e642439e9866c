package accountant

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Line is the fair order of waiting jobs in a pool without accounting groups, kept from cycle to cycle:
// the keys are those of [Share], but a job that comes or goes costs no more than a look at the other
// jobs of its submitter. Call Open at the start of each cycle. It is not safe for concurrent use.
type Line struct {
	a       *Accountant
	compare func(x, y backfill.JobID) int
	rows    map[string]*row
	cycle   int
}

// row holds the waiting jobs of a submitter, next first.
type row struct {
	queue

	line   *Line
	name   string
	places []*Place
	summed int // of so many places the sums are known
	cycle  int // of which use and priority are
}

// Place is a job's place in a [Line].
type Place struct {
	row    *row
	id     backfill.JobID
	prio   int64
	weight float64
	sum    float64 // of the weights up to and including this one
}

// NewLine returns a line without jobs. The callback orders jobs as [backfill.Compare] does. Groups of the
// accountant are not heeded.
func NewLine(a *Accountant, compare func(x, y backfill.JobID) int) *Line {
	return &Line{a: a, compare: compare, rows: map[string]*row{}}
}

// Open begins a cycle: keys follow from what submitters use by the accountant's last Update. Jobs join
// and leave between the cycles, or before the first key is asked for.
func (l *Line) Open() { l.cycle++ }

// Join adds a waiting job. What [Waiting] says of jobs that are passed over has no meaning without groups.
func (l *Line) Join(w Waiting) *Place {
	r := l.rows[w.Submitter]
	if r == nil {
		r = &row{line: l, name: w.Submitter, cycle: l.cycle - 1}
		l.rows[w.Submitter] = r
	}
	p := &Place{row: r, id: w.ID, prio: w.Prio, weight: max(w.Weight, least)}
	at, _ := r.find(p)
	r.places = slices.Insert(r.places, at, p)
	r.summed = min(r.summed, at)
	return p
}

// Leave takes a job out of the line, once.
func (p *Place) Leave() {
	if at, found := p.row.find(p); found {
		p.row.places = slices.Delete(p.row.places, at, at+1)
		p.row.summed = min(p.row.summed, at)
	}
}

// find returns where a job stands among those of its submitter, or would.
func (r *row) find(p *Place) (at int, found bool) {
	return slices.BinarySearchFunc(r.places, p, func(other, p *Place) int {
		return cmp.Or(cmp.Compare(p.prio, other.prio), r.line.compare(other.id, p.id))
	})
}

// Key returns the job's key in this cycle.
func (p *Place) Key() float64 {
	r := p.row
	if r.cycle != r.line.cycle {
		r.cycle = r.line.cycle
		r.line.a.bring(&r.queue, r.name)
	}
	if r.summed < len(r.places) {
		r.sumUp()
	}
	return r.key(p.sum)
}

// sumUp adds up the weights from the first place on whose sum is not known.
func (r *row) sumUp() {
	sum := 0.0
	if r.summed > 0 {
		sum = r.places[r.summed-1].sum
	}
	for _, p := range r.places[r.summed:] {
		sum += p.weight
		p.sum = sum
	}
	r.summed = len(r.places)
}

// bring brings a submitter's queue up to date with what it uses, its priority and its floor.
func (a *Accountant) bring(q *queue, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fill(q, name)
}

// fill is bring for those who hold the lock.
func (a *Accountant) fill(q *queue, name string) {
	q.priority, q.used, q.most, q.inTurn = a.effective(name), 0, 0, a.settings.InTurn
	if r := a.accounts[name]; r != nil {
		q.used, q.most = r.Use.Weight, float64(r.Floor)
	}
}
