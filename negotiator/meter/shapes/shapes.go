package shapes

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Counts are what the jobs of a queue want of slots, and what of the slots is idle.
type Counts struct {
	Now backfill.Time
	// Wanted has the shapes, those of which the most slots are wanted first: [MostShapes] at most,
	// and in a last row with [Wanted].Other all others. Jobs that may not start yet and those for
	// which a limit of the pool has no room want no slots; Early and Limited count them.
	Wanted         []Wanted
	Early, Limited int
	Idle           Idle
	// QueueEnd is when the last of the waiting jobs that are told a start is expected to end, by
	// its planned run time; 0: none is told one. Unforeseen counts those that wait and are told
	// none.
	QueueEnd   backfill.Time
	Unforeseen int
}

// MostShapes bounds how many shapes are told apart.
const MostShapes = 100

// Wanted is what waiting jobs of one shape want: also those that are held as no slot of the pool
// would do.
type Wanted struct {
	Shape
	Other bool // the row sums up all other shapes, and Shape is empty
	Jobs  int
	// Slots is how many slots of the shape the jobs want in all: one for each chunk; and Chunks how
	// many one of them wants at most.
	Slots  int64
	Chunks int
	// Unmatched counts the jobs that no slot of the pool would do for, were it idle.
	Unmatched int
	// Places is how many more chunks of the shape would fit now, beside what runs and all
	// reservations: the most that a kind of its jobs finds, by its exact request, on the slots that
	// it may use.
	Places int64
	// First is the first expected start of the jobs; it counts only if Foreseen.
	First    backfill.Time
	Foreseen bool
}

// Idle is what is idle of the slots that are up, in cpus if nothing else is said.
type Idle struct {
	CPUs int64
	// Reserved is how much of that reservations will take; see [backfill.State.ReservedIdle].
	Reserved int64
	// Usable is how much of it the waiting jobs could use, on each slot those of the kind that
	// could use the most: the rest of what the slot has is enough for them, no reservation is in
	// the way, and the slot does not end too early. If no job wants slots, it is what some job may
	// use for any time.
	Usable int64
	// Largest is the most that is idle on one slot.
	Largest int64
	// Slots counts those that are idle as a whole, have no end, and are reserved for nobody.
	Slots int
}

// mostKinds bounds for how many kinds of jobs places are counted: those that want the most slots.
const mostKinds = 256

// Of counts what a state's jobs want and what is idle. The state must not change meanwhile. The
// function starts returns the expected start of a waiting job, false if nobody knows it; nil:
// reservations tell all that is known.
func Of(s *backfill.State, starts func(backfill.JobID) (backfill.Time, bool)) Counts {
	at := columnsOf(s.Resources())
	q, f := readQueue(s, starts), readSlots(s, at)
	places := map[*kind]int64{}
	for _, k := range q.frequent(mostKinds) {
		places[k] = f.places(k)
	}
	return Counts{
		Now: s.Now(), Wanted: byShape(q, at, places), Early: q.early, Limited: q.limited,
		Idle: f.idle(len(q.kinds) > 0), QueueEnd: q.end, Unforeseen: q.unforeseen,
	}
}

// byShape sums up the kinds of each shape.
func byShape(q *queue, at columns, places map[*kind]int64) (all []Wanted) {
	known := map[Shape]int{}
	for _, k := range q.kinds {
		shape := at.shape(k.one.Request)
		i, found := known[shape]
		if !found {
			i = len(all)
			known[shape] = i
			all = append(all, Wanted{Shape: shape, First: backfill.Forever})
		}
		w := &all[i]
		one := Wanted{Jobs: k.jobs, Slots: k.chunks, Chunks: k.most, Places: places[k], First: k.first}
		if !k.matched {
			one.Unmatched = k.jobs
		}
		w.add(one)
	}
	slices.SortFunc(all, func(a, b Wanted) int {
		return cmp.Or(cmp.Compare(b.Slots, a.Slots), cmp.Compare(a.CPUs, b.CPUs), cmp.Compare(a.Memory, b.Memory),
			cmp.Compare(a.GPUs, b.GPUs))
	})
	if len(all) > MostShapes {
		rest := Wanted{Other: true, First: backfill.Forever}
		for _, w := range all[MostShapes:] {
			rest.add(w)
		}
		all = append(all[:MostShapes], rest)
	}
	for i := range all {
		w := &all[i]
		if w.Foreseen = w.First < backfill.Forever; !w.Foreseen {
			w.First = 0
		}
	}
	return all
}

// add adds what other jobs want.
func (w *Wanted) add(more Wanted) {
	w.Jobs += more.Jobs
	w.Slots += more.Slots
	w.Chunks = max(w.Chunks, more.Chunks)
	w.Unmatched += more.Unmatched
	w.Places = max(w.Places, more.Places)
	w.First = min(w.First, more.First)
}
