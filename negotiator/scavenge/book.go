package scavenge

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Job is a scavenger, as the core would have it. Its estimate counts on slots alone that end: a scavenger that
// would not have ended by then is not started there.
type Job struct {
	backfill.Job
	// User is who has it; the user who has fewest cpus in the hands of scavengers comes first.
	User string
}

// compare compares two scavengers of a user: the oldest comes first.
func compare(a, b *entry) int { return backfill.Compare(&a.Job.Job, &b.Job.Job) }

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
	// has is what each chunk has while it runs, and payer and cpus are whose cpus how many are, whatever else
	// becomes of the job.
	has   backfill.Vector
	payer string
	cpus  int64
	place int // among the early ones, from 1; 0: it is none
}

// kind is what scavengers have in common that can start in the same places, if they take equally long.
type kind struct {
	cluster int
	nodes   int
	takes   *backfill.Take // the first one; jobs that are alike share them
}

func (e *entry) kind() kind {
	k := kind{cluster: e.Candidates, nodes: e.Nodes}
	if len(e.Takes) > 0 {
		k.takes = &e.Takes[0]
	}
	return k
}

// Book is who scavenges. The zero Book has no scavengers. It is not safe for concurrent use.
type Book struct {
	all    map[backfill.JobID]*entry
	queues map[kind]map[string]*queue   // by user; of those that may start by now, as far as was asked
	early  early                        // who waits and may not
	runs   map[backfill.JobID]*entry    // who runs
	onSlot map[backfill.SlotID][]*entry // that run there, also those that leave; the youngest last
	cpus   map[string]int64             // of running ones, by user
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
		for _, id := range slices.Sorted(maps.Keys(b.runs)) {
			if !yield(*b.runs[id].run) {
				return
			}
		}
	}
}

// Running reports whether any scavenger runs.
func (b *Book) Running() bool { return len(b.runs) > 0 }

// Clusters iterates over the autoclusters of the scavengers that wait and may start; some come more than once.
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
func (b *Book) Waiting() int { return len(b.all) - len(b.runs) }

// Put adds a scavenger that waits, or replaces it. One that runs goes on with what it has.
func (b *Book) Put(j Job) {
	if b.all == nil {
		b.all, b.queues = map[backfill.JobID]*entry{}, map[kind]map[string]*queue{}
		b.runs, b.onSlot = map[backfill.JobID]*entry{}, map[backfill.SlotID][]*entry{}
		b.cpus = map[string]int64{}
	}
	old := b.all[j.ID]
	switch {
	case old == nil:
		e := &entry{Job: j}
		b.all[j.ID] = e
		b.enqueue(e)
	case old.run != nil:
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

// Start has a scavenger run somewhere: one that waits, or that runs elsewhere so far. It has what it requests
// now.
func (b *Book) Start(r Run) {
	e := b.all[r.Job]
	if e.run != nil {
		b.vacate(e)
	} else {
		b.dequeue(e)
	}
	e.run, e.has, e.payer, e.cpus = &r, e.Request, e.User, e.Width()
	b.runs[e.ID] = e
	b.cpus[e.payer] += e.cpus
	for _, on := range r.Placement {
		b.onSlot[on.Slot] = append(b.onSlot[on.Slot], e)
		slices.SortFunc(b.onSlot[on.Slot], compareRuns)
	}
}

// compareRuns compares two running scavengers: the youngest comes last. Of those that started at the same
// instant it is the one that was submitted last.
func compareRuns(a, b *entry) int {
	return cmp.Or(cmp.Compare(a.run.Start, b.run.Start), compare(a, b))
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
	b.release(now)
	if len(b.early) == 0 {
		return backfill.Forever
	}
	return b.early[0].Release
}

// release has those wait for a place who may start by now.
func (b *Book) release(now backfill.Time) {
	for len(b.early) > 0 && b.early[0].Release <= now {
		b.join(b.early.take(b.early[0]))
	}
}

func (b *Book) enqueue(e *entry) {
	if e.Release != 0 {
		b.early.add(e)
		return
	}
	b.join(e)
}

// join adds a scavenger to its queue.
func (b *Book) join(e *entry) {
	k := e.kind()
	users := b.queues[k]
	if users == nil {
		users = map[string]*queue{}
		b.queues[k] = users
	}
	q := users[e.User]
	if q == nil {
		q = &queue{kind: k}
		users[e.User] = q
	}
	q.add(e)
}

func (b *Book) dequeue(e *entry) {
	if e.place > 0 {
		b.early.take(e)
		return
	}
	k := e.kind()
	q := b.queues[k][e.User]
	if q.remove(e); q.len() > 0 {
		return
	}
	if delete(b.queues[k], e.User); len(b.queues[k]) == 0 {
		delete(b.queues, k)
	}
}

// vacate gives back what a running scavenger has.
func (b *Book) vacate(e *entry) {
	isIt := func(o *entry) bool { return o == e }
	for _, on := range e.run.Placement {
		if b.onSlot[on.Slot] = slices.DeleteFunc(b.onSlot[on.Slot], isIt); len(b.onSlot[on.Slot]) == 0 {
			delete(b.onSlot, on.Slot)
		}
	}
	if b.cpus[e.payer] -= e.cpus; b.cpus[e.payer] == 0 {
		delete(b.cpus, e.payer)
	}
	delete(b.runs, e.ID)
	e.run, e.has = nil, nil
}

// useOn adds to an amount what a running scavenger takes of a slot.
func (e *entry) useOn(id backfill.SlotID, use backfill.Vector, sign int64) {
	for _, on := range e.run.Placement {
		if on.Slot == id {
			use.AddScaled(e.has, sign*int64(on.Count))
		}
	}
}
