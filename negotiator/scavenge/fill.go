package scavenge

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Idle is where scavengers may start.
type Idle struct {
	Others
	// Slots are all slots that are up and have no bundles, and Ends says when one ends; 0: it does not.
	Slots []backfill.SlotID
	Ends  func(backfill.SlotID) backfill.Time
	// Candidates are those of an autocluster; nil: there are none, or they are not known yet.
	Candidates func(cluster int) *backfill.Candidates
	// Reserved is from when on a waiting job is to have some of a slot; [backfill.Forever]: nobody is.
	Reserved func(backfill.SlotID) backfill.Time
}

// filling is the state of one Fill.
type filling struct {
	b    *Book
	in   Idle
	idle []spare         // by slot
	most []*spare        // of slots where a cpu was idle, those with the most idle cpus first
	rows backfill.Vector // nil: nobody takes of any yet
	left int             // on so many slots a cpu is still idle
}

// outlook is what is known of those of a kind, once one of them has found no place.
type outlook struct {
	failed bool
	below  backfill.Time // only those with a shorter estimate may still find one; 0: nobody
}

func (o *outlook) allows(estimate backfill.Time) bool { return !o.failed || estimate < o.below }

// spare is what is idle on a slot.
type spare struct {
	slot     backfill.SlotID
	now      backfill.Vector // nil: nothing
	before   int64           // cpus, when the filling began
	end      backfill.Time
	reserved backfill.Time // when somebody else is to have some of it; if isAsked
	isAsked  bool
}

// Fill starts waiting scavengers on what is idle beside the others and beside the scavengers that run, also
// those that leave. Next is always the user with the fewest cpus in the hands of scavengers, and of his jobs
// the oldest that can start. Of its candidates a job prefers those that it ranks higher, then those that are
// reserved latest, then those with the fewest idle cpus.
//
// Where little is idle it takes little time, however many wait: it is looked once for each kind of scavengers
// whether one of them could start.
func (b *Book) Fill(in Idle) (started []Run) {
	b.release(in.Now)
	if len(b.queues) == 0 {
		return nil
	}
	f := &filling{b: b, in: in}
	f.measure()
	for turns := f.turns(); len(turns.all) > 0 && f.left > 0; {
		user := turns.all[0]
		t := user.all[0]
		e := t.next()
		if at := f.place(e, e.Estimate, t.outlook); at != nil {
			started = append(started, f.start(e, at)) // it leaves the queue
		}
		switch {
		case t.follow():
			heap.Fix(user, 0)
		case t.passed == t.queue.len():
			heap.Pop(user)
		default: // others will not find a place, either
			user.all = slices.DeleteFunc(user.all, func(t *turn) bool { return !t.follow() })
			heap.Init(user)
		}
		if len(user.all) > 0 {
			heap.Fix(turns, 0)
		} else {
			heap.Pop(turns)
		}
	}
	return started
}

// measure finds what is idle.
func (f *filling) measure() {
	if len(f.in.Slots) == 0 {
		return
	}
	f.idle = make([]spare, slices.Max(f.in.Slots)+1)
	for _, id := range f.in.Slots {
		left := slices.Clone(f.in.Free(id))
		for _, e := range f.b.onSlot[id] {
			e.useOn(id, left, -1)
		}
		if left[0] > 0 {
			f.idle[id] = spare{slot: id, now: left, before: left[0], end: f.in.Ends(id)}
			f.most = append(f.most, &f.idle[id])
		}
	}
	f.left = len(f.most)
	slices.SortFunc(f.most, func(a, b *spare) int {
		return cmp.Or(cmp.Compare(b.before, a.before), cmp.Compare(a.slot, b.slot))
	})
}

// turns lists whose turn it may be: the queues of kinds of which one could start, if it took no time.
func (f *filling) turns() *users {
	found := map[string]*user{}
	for _, queues := range f.b.queues {
		if f.left == 0 || !f.mayStart(queues) {
			continue
		}
		known, turns := &outlook{}, make([]turn, 0, len(queues))
		for name, q := range queues {
			u := found[name]
			if u == nil {
				u = &user{name: name}
				found[name] = u
			}
			turns = append(turns, turn{queue: q, outlook: known})
			u.all = append(u.all, &turns[len(turns)-1])
		}
	}
	all := &users{cpus: f.b.cpus}
	for _, u := range found {
		heap.Init(u)
		all.all = append(all.all, u)
	}
	heap.Init(all)
	return all
}

// mayStart reports whether one of a kind could start, if it took no time.
func (f *filling) mayStart(queues map[string]*queue) bool {
	for _, q := range queues {
		return f.place(q.at(0), 0, &outlook{}) != nil
	}
	return false
}

// turn is a queue with a job that is to be placed.
type turn struct {
	queue   *queue
	passed  int      // so many of the queue have ended up nowhere
	outlook *outlook // of the kind
}

func (t *turn) next() *entry { return t.queue.at(t.passed) }

// user is a user with his queues: a heap, the one with the oldest job first.
type user struct {
	name string
	all  []*turn
}

func (u *user) Len() int           { return len(u.all) }
func (u *user) Less(i, j int) bool { return compare(u.all[i].next(), u.all[j].next()) < 0 }
func (u *user) Swap(i, j int)      { u.all[i], u.all[j] = u.all[j], u.all[i] }
func (u *user) Push(x any)         { u.all = append(u.all, x.(*turn)) } //nolint:forcetypeassert // nothing else is
func (u *user) Pop() any {
	last := u.all[len(u.all)-1]
	u.all = u.all[:len(u.all)-1]
	return last
}

// users are a heap, the one with the fewest cpus first.
type users struct {
	all  []*user
	cpus map[string]int64
}

func (u *users) Len() int { return len(u.all) }
func (u *users) Less(i, j int) bool {
	a, b := u.all[i], u.all[j]
	return cmp.Or(cmp.Compare(u.cpus[a.name], u.cpus[b.name]), compare(a.all[0].next(), b.all[0].next())) < 0
}
func (u *users) Swap(i, j int) { u.all[i], u.all[j] = u.all[j], u.all[i] }
func (u *users) Push(x any)    { u.all = append(u.all, x.(*user)) } //nolint:forcetypeassert // nothing else is pushed
func (u *users) Pop() any {
	last := u.all[len(u.all)-1]
	u.all = u.all[:len(u.all)-1]
	return last
}

// follow has the turn be that of the queue's first job that may find a place; false: there is none.
func (t *turn) follow() bool {
	if t.outlook.failed && t.outlook.below == 0 {
		return false
	}
	for ; t.passed < t.queue.len(); t.passed++ {
		if t.outlook.allows(t.next().Estimate) {
			return true
		}
	}
	return false
}

// place returns where a job can start now that takes so long; nil: nowhere. Then it notes for how long others
// of its kind could.
func (f *filling) place(e *entry, estimate backfill.Time, known *outlook) backfill.Placement {
	if !known.allows(estimate) {
		return nil
	}
	c := f.in.Candidates(e.Candidates)
	if c == nil || !f.hasRows(e) {
		*known = outlook{failed: true}
		return nil
	}
	all, outlasts := f.places(e, c, estimate)
	if at := f.divide(e, c, all); at != nil {
		return at
	}
	if *known = (outlook{failed: true}); outlasts {
		known.below = estimate
	}
	return nil
}

// holds reports whether a chunk can start on the i-th of the candidates now. outlasts says that it could, but
// for the slot's end.
func (f *filling) holds(e *entry, c *backfill.Candidates, i int, s *spare, estimate backfill.Time) (fits, outlasts bool) {
	if s.now == nil || !e.Request.Within(s.now) || !c.Open(i, f.in.Now) {
		return false, false
	}
	if least := f.least(c, s.slot); least != nil && !least.Within(s.now) {
		return false, false
	}
	if s.end != 0 && f.in.Now+estimate > s.end {
		return false, f.in.Now < s.end
	}
	return true, false
}

// places lists where a chunk can start now. outlasts says that the job takes too long for some other places.
func (f *filling) places(e *entry, c *backfill.Candidates, estimate backfill.Time) (all []place, outlasts bool) {
	look := func(i int, s *spare) {
		fits, late := f.holds(e, c, i, s, estimate)
		if outlasts = outlasts || late; !fits {
			return
		}
		p := place{spare: s}
		if c.Rank != nil {
			p.rank = c.Rank[i]
		}
		if e.Nodes > 1 || len(all) == 0 {
			all = append(all, p)
		} else if f.compare(p, all[0]) < 0 { // it needs no more than the best one
			all[0] = p
		}
	}
	enough, _ := slices.BinarySearchFunc(f.most, e.Request[0], func(s *spare, cpus int64) int {
		if s.before >= cpus {
			return -1
		}
		return 1
	})
	const steps = 8 // of a search
	if enough < len(c.Slots)/steps {
		for _, s := range f.most[:enough] {
			if i, found := slices.BinarySearch(c.Slots, s.slot); found {
				look(i, s)
			}
		}
		return all, outlasts
	}
	for i, id := range c.Slots {
		if int(id) < len(f.idle) {
			look(i, &f.idle[id])
		}
	}
	return all, outlasts
}

// least returns what must be idle on a slot when a job starts; nil: no more than it requests.
func (*filling) least(c *backfill.Candidates, id backfill.SlotID) backfill.Vector {
	if c.Least == nil {
		return nil
	}
	return c.LeastOn(id)
}

// place is a slot on which a chunk could start.
type place struct {
	*spare
	rank int32
}

// compare compares two places: the better one comes first.
func (f *filling) compare(a, b place) int {
	if n := cmp.Compare(b.rank, a.rank); n != 0 {
		return n
	}
	return cmp.Or(
		cmp.Compare(f.reservedFrom(b), f.reservedFrom(a)),
		cmp.Compare(a.now[0], b.now[0]),
		cmp.Compare(a.slot, b.slot),
	)
}

// divide places a job's chunks on slots, as many as fit on each; nil: they do not fit.
func (f *filling) divide(e *entry, c *backfill.Candidates, all []place) (at backfill.Placement) {
	slices.SortFunc(all, f.compare)
	rest := e.Nodes
	for _, p := range all {
		n, left := 0, slices.Clone(p.now)
		for n < rest && e.Request.Within(left) {
			if least := f.least(c, p.slot); least != nil && !least.Within(left) {
				break
			}
			left.AddScaled(e.Request, -1)
			n++
		}
		if n > 0 {
			at = append(at, backfill.Chunks{Slot: p.slot, Count: n})
		}
		if rest -= n; rest == 0 {
			slices.SortFunc(at, func(a, b backfill.Chunks) int { return cmp.Compare(a.Slot, b.Slot) })
			return at
		}
	}
	return nil
}

// reservedFrom is Idle.Reserved, asked once for each slot.
func (f *filling) reservedFrom(p place) backfill.Time {
	if !p.isAsked {
		p.reserved, p.isAsked = f.in.Reserved(p.slot), true
	}
	return p.reserved
}

// hasRows reports whether rows have room for a job.
func (f *filling) hasRows(e *entry) bool {
	if len(e.Takes) == 0 {
		return true
	}
	if f.rows == nil {
		f.rows = slices.Clone(f.in.Rows())
		for _, running := range f.b.runs {
			for _, t := range running.Takes {
				f.rows[t.Row] -= t.Amount
			}
		}
	}
	return !slices.ContainsFunc(e.Takes, func(t backfill.Take) bool { return f.rows[t.Row] < t.Amount })
}

// start starts a job.
func (f *filling) start(e *entry, at backfill.Placement) Run {
	r := Run{Job: e.ID, Placement: at, Start: f.in.Now}
	f.b.Start(r)
	for _, on := range at {
		s := &f.idle[on.Slot]
		if s.now.AddScaled(e.Request, -int64(on.Count)); s.now[0] <= 0 {
			s.now = nil
			f.left--
		}
	}
	if f.rows != nil {
		for _, t := range e.Takes {
			f.rows[t.Row] -= t.Amount
		}
	}
	return r
}
