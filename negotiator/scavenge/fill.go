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
	idle map[backfill.SlotID]backfill.Vector // of slots where a cpu is idle
	rows backfill.Vector                     // nil: nobody takes of any yet
	// reserved is when somebody else is to have some of a slot, as far as was asked.
	reserved map[backfill.SlotID]backfill.Time
}

// Fill starts waiting scavengers on what is idle beside the others and beside the scavengers that run, also
// those that leave. Next is always the user with the fewest cpus in the hands of scavengers, and of his jobs
// the oldest that can start. Of its candidates a job prefers those that it ranks higher, then those that are
// reserved latest, then those with the fewest idle cpus.
func (b *Book) Fill(in Idle) (started []Run) {
	if len(b.queues) == 0 {
		return nil
	}
	f := &filling{b: b, in: in, idle: map[backfill.SlotID]backfill.Vector{}, reserved: map[backfill.SlotID]backfill.Time{}}
	for _, id := range in.Slots {
		left := slices.Clone(in.Free(id))
		for _, e := range b.onSlot[id] {
			e.useOn(id, left, -1)
		}
		if left[0] > 0 {
			f.idle[id] = left
		}
	}
	if len(f.idle) == 0 {
		return nil
	}
	turns := &turns{cpus: b.cpus}
	for k := range b.queues {
		if head := f.head(k, 0); head != nil {
			turns.all = append(turns.all, head)
		}
	}
	heap.Init(turns)
	for turns.Len() > 0 {
		t := turns.all[0]
		at := f.place(t.next)
		if at == nil { // nor can any of this queue, unless it may outlast the slots' ends
			if t = f.following(t); t == nil {
				heap.Pop(turns)
			} else {
				turns.all[0] = t
				heap.Fix(turns, 0)
			}
			continue
		}
		started = append(started, f.start(t.next, at))
		if next := f.head(t.queue, t.passed); next != nil {
			*t = *next
			heap.Init(turns) // the user has more cpus now, in all of his queues
		} else {
			heap.Pop(turns)
			heap.Init(turns)
		}
	}
	return started
}

// turn is a queue whose next job is to be placed.
type turn struct {
	queue  queueKey
	next   *entry
	passed int // so many of the queue may not start yet, or have ended up nowhere
}

// turns are a heap of queues.
type turns struct {
	all  []*turn
	cpus map[string]int64
}

func (t *turns) Len() int { return len(t.all) }
func (t *turns) Less(i, j int) bool {
	a, b := t.all[i], t.all[j]
	return cmp.Or(cmp.Compare(t.cpus[a.next.User], t.cpus[b.next.User]), compare(a.next, b.next)) < 0
}
func (t *turns) Swap(i, j int) { t.all[i], t.all[j] = t.all[j], t.all[i] }
func (t *turns) Push(x any)    { t.all = append(t.all, x.(*turn)) } //nolint:forcetypeassert // nothing else is pushed
func (t *turns) Pop() any {
	last := t.all[len(t.all)-1]
	t.all = t.all[:len(t.all)-1]
	return last
}

// head returns the first job of a queue that may start now, of those behind some that were passed over.
func (f *filling) head(k queueKey, passed int) *turn {
	for i, e := range f.b.queues[k][min(passed, len(f.b.queues[k])):] {
		if e.Release == 0 || e.Release <= f.in.Now {
			return &turn{queue: k, next: e, passed: passed + i}
		}
	}
	return nil
}

// following returns the queue with the first job behind one that found no place and could find one where that
// could not: it has a shorter estimate, which counts on slots that end.
func (f *filling) following(t *turn) *turn {
	c := f.in.Candidates(t.queue.cluster)
	if c == nil || !slices.ContainsFunc(c.Slots, func(id backfill.SlotID) bool { return f.idle[id] != nil && f.in.Ends(id) != 0 }) {
		return nil
	}
	for passed := t.passed + 1; ; passed++ {
		next := f.head(t.queue, passed)
		if next == nil || next.next.Estimate < t.next.Estimate {
			return next
		}
		passed = next.passed
	}
}

// place returns where a job can start now; nil: nowhere.
func (f *filling) place(e *entry) backfill.Placement {
	c := f.in.Candidates(e.Cluster)
	if c == nil || !f.hasRows(e) {
		return nil
	}
	var all []place
	for i, id := range c.Slots {
		idle := f.idle[id]
		if idle == nil || !e.Request.Within(idle) || !c.Open(i, f.in.Now) {
			continue
		}
		if least := c.LeastOn(id); least != nil && !least.Within(idle) {
			continue
		}
		if end := f.in.Ends(id); end != 0 && f.in.Now+e.Estimate > end {
			continue
		}
		p := place{slot: id, idle: idle[0]}
		if c.Rank != nil {
			p.rank = c.Rank[i]
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil
	}
	for i := range all {
		all[i].reserved = f.reservedFrom(all[i].slot)
	}
	slices.SortFunc(all, comparePlaces)
	return f.divide(e, c, all)
}

// place is a slot on which a chunk could start.
type place struct {
	slot     backfill.SlotID
	rank     int32
	reserved backfill.Time
	idle     int64
}

func comparePlaces(a, b place) int {
	return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(b.reserved, a.reserved), cmp.Compare(a.idle, b.idle),
		cmp.Compare(a.slot, b.slot))
}

// divide places a job's chunks on slots, as many as fit on each; nil: they do not fit.
func (f *filling) divide(e *entry, c *backfill.Candidates, all []place) (at backfill.Placement) {
	rest := e.Nodes
	for _, p := range all {
		n, left := 0, slices.Clone(f.idle[p.slot])
		for n < rest && e.Request.Within(left) {
			if least := c.LeastOn(p.slot); least != nil && !least.Within(left) {
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
func (f *filling) reservedFrom(id backfill.SlotID) backfill.Time {
	at, known := f.reserved[id]
	if !known {
		at = f.in.Reserved(id)
		f.reserved[id] = at
	}
	return at
}

// hasRows reports whether rows have room for a job.
func (f *filling) hasRows(e *entry) bool {
	if len(e.Takes) == 0 {
		return true
	}
	if f.rows == nil {
		f.rows = slices.Clone(f.in.Rows())
		for run := range f.b.Runs() {
			for _, t := range f.b.all[run.Job].Takes {
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
		f.idle[on.Slot].AddScaled(e.Request, -int64(on.Count))
		if f.idle[on.Slot][0] <= 0 {
			delete(f.idle, on.Slot)
		}
	}
	if f.rows != nil {
		for _, t := range e.Takes {
			f.rows[t.Row] -= t.Amount
		}
	}
	return r
}
