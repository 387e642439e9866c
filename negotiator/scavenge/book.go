package scavenge

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Job is a scavenger.
type Job struct {
	ID backfill.JobID
	// User is who has it; the user who has fewest cpus in the hands of scavengers comes first.
	User     string
	Submit   backfill.Time
	Release  backfill.Time // the earliest start; 0: any
	Position backfill.QueuePosition
	// Nodes chunks request so much each, on candidates of an autocluster.
	Nodes   int
	Request backfill.Vector
	Cluster int
	// Takes are what it takes of rows while it runs.
	Takes []backfill.Take
	// Estimate counts on slots alone that end: a scavenger that would not have ended by then is not
	// started there.
	Estimate backfill.Time
}

// compare compares two scavengers of a user: the oldest comes first.
func compare(a, b *entry) int {
	return cmp.Or(
		cmp.Compare(a.Submit, b.Submit),
		strings.Compare(a.Position.Queue, b.Position.Queue),
		cmp.Compare(a.Position.Cluster, b.Position.Cluster),
		cmp.Compare(a.Position.Proc, b.Position.Proc),
		cmp.Compare(a.ID, b.ID),
	)
}

// Run is a scavenger that runs, or starts.
type Run struct {
	Job       backfill.JobID
	Placement backfill.Placement
	Start     backfill.Time
	Leaves    bool // it was told to make way
}

// entry is a scavenger that waits or runs.
type entry struct {
	Job
	run *Run // nil: it waits
}

// queueKey is what the waiting scavengers of a queue have in common: where one cannot start, the others
// cannot.
type queueKey struct {
	user    string
	cluster int
	nodes   int
	takes   *backfill.Take // the first one; jobs that are alike share them
}

func (e *entry) queue() queueKey {
	k := queueKey{user: e.User, cluster: e.Cluster, nodes: e.Nodes}
	if len(e.Takes) > 0 {
		k.takes = &e.Takes[0]
	}
	return k
}

// Book is who scavenges. The zero Book has no scavengers. It is not safe for concurrent use.
type Book struct {
	all     map[backfill.JobID]*entry
	queues  map[queueKey][]*entry
	onSlot  map[backfill.SlotID][]*entry // that run there, also those that leave; the youngest last
	cpus    map[string]int64             // of running ones, by user
	started int                          // how many runs there were, to tell which is younger
	age     map[backfill.JobID]int
}

// Len returns how many scavengers there are.
func (b *Book) Len() int { return len(b.all) }

// Has reports whether a job is in the book.
func (b *Book) Has(id backfill.JobID) bool { return b.all[id] != nil }

// Job returns a scavenger as it was put.
func (b *Book) Job(id backfill.JobID) (j Job, ok bool) {
	e := b.all[id]
	if e == nil {
		return j, false
	}
	return e.Job, true
}

// Run returns where a scavenger runs; ok is false if it does not.
func (b *Book) Run(id backfill.JobID) (r Run, ok bool) {
	e := b.all[id]
	if e == nil || e.run == nil {
		return r, false
	}
	return *e.run, true
}

// IDs lists the scavengers by ID.
func (b *Book) IDs() []backfill.JobID { return slices.Sorted(maps.Keys(b.all)) }

// Runs iterates over the running scavengers, by ID.
func (b *Book) Runs() iter.Seq[Run] {
	return func(yield func(Run) bool) {
		for _, id := range b.IDs() {
			if e := b.all[id]; e.run != nil && !yield(*e.run) {
				return
			}
		}
	}
}

// Running reports whether any scavenger runs.
func (b *Book) Running() bool { return len(b.onSlot) > 0 }

// Clusters iterates over the autoclusters of the scavengers that wait; some come more than once.
func (b *Book) Clusters() iter.Seq[int] {
	return func(yield func(int) bool) {
		for k := range b.queues {
			if !yield(k.cluster) {
				return
			}
		}
	}
}

// Waiting returns how many scavengers wait.
func (b *Book) Waiting() (n int) {
	for _, q := range b.queues {
		n += len(q)
	}
	return n
}

// Put adds a scavenger that waits, or replaces it. One that runs goes on with what it has.
func (b *Book) Put(j Job) {
	if b.all == nil {
		b.all, b.queues = map[backfill.JobID]*entry{}, map[queueKey][]*entry{}
		b.onSlot, b.cpus, b.age = map[backfill.SlotID][]*entry{}, map[string]int64{}, map[backfill.JobID]int{}
	}
	old := b.all[j.ID]
	switch {
	case old == nil:
		e := &entry{Job: j}
		b.all[j.ID] = e
		b.enqueue(e)
	case old.run != nil:
		j.Request, j.Nodes, j.User = old.Request, old.Nodes, old.User
		old.Job = j
	default:
		b.dequeue(old)
		old.Job = j
		b.enqueue(old)
	}
}

// Delete forgets a scavenger.
func (b *Book) Delete(id backfill.JobID) {
	e := b.all[id]
	switch {
	case e == nil:
		return
	case e.run != nil:
		b.vacate(e)
	default:
		b.dequeue(e)
	}
	delete(b.all, id)
}

// Start has a scavenger run somewhere: one that waits, or that runs elsewhere so far.
func (b *Book) Start(r Run) {
	e := b.all[r.Job]
	if e.run != nil {
		b.vacate(e)
	} else {
		b.dequeue(e)
	}
	e.run = &r
	b.started++
	b.age[e.ID] = b.started
	b.cpus[e.User] += e.width()
	for _, on := range r.Placement {
		b.onSlot[on.Slot] = append(b.onSlot[on.Slot], e)
		slices.SortFunc(b.onSlot[on.Slot], func(x, y *entry) int {
			return cmp.Or(cmp.Compare(x.run.Start, y.run.Start), cmp.Compare(b.age[x.ID], b.age[y.ID]))
		})
	}
}

// Return puts a scavenger that ran back into the queue.
func (b *Book) Return(id backfill.JobID) {
	e := b.all[id]
	if e == nil || e.run == nil {
		return
	}
	b.vacate(e)
	b.enqueue(e)
}

// OnSlot lists the scavengers that run on a slot, by ID.
func (b *Book) OnSlot(id backfill.SlotID) (all []backfill.JobID) {
	for _, e := range b.onSlot[id] {
		all = append(all, e.ID)
	}
	slices.Sort(all)
	return all
}

// NextRelease returns the first instant after now at which a waiting scavenger may start that may not yet.
func (b *Book) NextRelease(now backfill.Time) backfill.Time {
	next := backfill.Forever
	for _, q := range b.queues {
		for _, e := range q {
			if e.Release > now {
				next = min(next, e.Release)
			}
		}
	}
	return next
}

func (e *entry) width() int64 { return int64(e.Nodes) * e.Request[0] }

func (b *Book) enqueue(e *entry) {
	k := e.queue()
	i, _ := slices.BinarySearchFunc(b.queues[k], e, compare)
	b.queues[k] = slices.Insert(b.queues[k], i, e)
}

func (b *Book) dequeue(e *entry) {
	k := e.queue()
	i, _ := slices.BinarySearchFunc(b.queues[k], e, compare)
	if b.queues[k] = slices.Delete(b.queues[k], i, i+1); len(b.queues[k]) == 0 {
		delete(b.queues, k)
	}
}

// vacate gives back what a running scavenger has.
func (b *Book) vacate(e *entry) {
	for _, on := range e.run.Placement {
		if b.onSlot[on.Slot] = slices.DeleteFunc(b.onSlot[on.Slot], func(o *entry) bool { return o == e }); len(b.onSlot[on.Slot]) == 0 {
			delete(b.onSlot, on.Slot)
		}
	}
	if b.cpus[e.User] -= e.width(); b.cpus[e.User] == 0 {
		delete(b.cpus, e.User)
	}
	delete(b.age, e.ID)
	e.run = nil
}

// useOn adds to an amount what a running scavenger takes of a slot.
func (e *entry) useOn(id backfill.SlotID, use backfill.Vector, sign int64) {
	for _, on := range e.run.Placement {
		if on.Slot == id {
			use.AddScaled(e.Request, sign*int64(on.Count))
		}
	}
}
