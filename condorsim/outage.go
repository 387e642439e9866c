package condorsim

import (
	"cmp"
	"container/heap"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/recorded"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// outages tracks which slots are out, and when, and which jobs run where. A slot is gone while any
// failure lasts, and takes no new work while any drain lasts.
type outages struct {
	slots   []slotState
	index   map[string]int // in slots, by name
	due     turns
	chances []chance
	back    int // number of future turns that give a slot back
	ends    int // and that end one
	reader  endReader
	idle    backfill.Time // since when nothing runs and no job is to come; [backfill.Forever]: it does
	placed  map[backfill.JobID]negotiator.Placement
	touched []int                 // slots that changed at this instant
	changes []recorded.SlotChange // that are to come, by time
}

// slotState is a slot with its outages and the jobs that run on it.
type slotState struct {
	slot     *negotiator.Slot // as advertised, with its next end
	ends     []told           // that are to come
	renewed  bool             // the next end is another one
	absent   bool             // by a record
	changed  bool             // so, too
	drained  *negotiator.Slot // the slot as advertised while drained; made when needed
	failures int              // that last now
	drains   int              // that last now
	coming   []backfill.Time  // when the drains begin that are announced
	known    standing         // as the negotiator was last told
	knownEnd backfill.Time    // the end, too; 0: none was told
	jobs     []backfill.JobID // that run on the slot
}

// standing says how a slot can be used: not at all, only by the jobs that run on it, or by all.
type standing uint8

const (
	gone standing = iota
	drained
	whole
)

func (s *slotState) standing() standing {
	switch {
	case s.failures > 0 || s.absent:
		return gone
	case s.drains > 0:
		return drained
	default:
		return whole
	}
}

// turn is an instant at which an outage of a slot begins or ends, or is announced.
type turn struct {
	at     backfill.Time
	begin  backfill.Time // of the drain that is announced; 0: it is no announcement
	slot   int32
	drain  bool
	begins bool
	told   bool          // the slot's ad tells when it begins,
	retire backfill.Time // and as the time of its retirement one that is so long before
	chance int32         // in outages.chances; -1: scheduled
	length backfill.Time // of a scheduled outage that begins; 0: for good
	// announced says that a drain that begins was announced.
	announced bool
}

// chance is a random outage of one slot, which fails again and again. Its failures and repairs
// depend only on the seed, the slot's name and the outage's number and parameters, not on what
// runs: they are the same under every policy and for every workload.
type chance struct {
	random *rand.Rand
	outage *pools.Outage
	scale  float64 // of the Weibull distribution
}

// newOutages makes the outages of a workload and their first turns. The times of outages count from
// origin. It returns nil if no slot of the workload ever fails or ends.
func newOutages(w *Workload, origin backfill.Time) *outages {
	reader := endReader{w, origin}
	all := slices.Concat(w.Outages, reader.inAds())
	if len(all)+len(w.Changes) == 0 {
		return nil
	}
	o := &outages{
		changes: w.Changes,
		slots:   make([]slotState, len(w.Slots)), index: make(map[string]int, len(w.Slots)),
		placed: map[backfill.JobID]negotiator.Placement{}, reader: reader, idle: backfill.Forever,
	}
	for i, s := range w.Slots {
		o.slots[i].slot, o.slots[i].absent = reader.read(s), len(w.Changes) > 0
		if len(w.Bundles) > 0 {
			o.slots[i].known = whole // the pool announced it with the bundles
		}
		o.index[s.Name] = i
	}
	for n := range all {
		for _, i := range all[n].Slots {
			o.schedule(w, n, &all[n], i, origin)
		}
	}
	heap.Init(&o.due)
	return o
}

// schedule adds the first turn of an outage of one slot.
func (o *outages) schedule(w *Workload, number int, outage *pools.Outage, slot int, origin backfill.Time) {
	t := turn{
		at: origin + outage.At, slot: int32(slot), drain: outage.Drain, begins: true, chance: -1, //nolint:gosec // there are fewer
		length: outage.For, told: outage.Told, retire: outage.Retire,
	}
	if outage.Random() {
		c := newChance(w.Seed, uint64(number), w.Slots[slot].Name, outage) //nolint:gosec // an index
		t.at, t.chance = origin+c.untilFirst(), int32(len(o.chances))      //nolint:gosec // there are fewer
		o.chances = append(o.chances, c)
	}
	t.announced = o.announce(t, outage, origin)
	o.due = append(o.due, t)
	o.tell(t)
}

func newChance(seed, number uint64, name string, outage *pools.Outage) chance {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // it never fails
	return chance{
		random: rand.New(rand.NewPCG(seed, h.Sum64()+number)),
		outage: outage, scale: float64(outage.MTBF) / math.Gamma(1+1/outage.Shape),
	}
}

// untilFirst draws the time to the first failure. Slots that end are of any age then.
func (c *chance) untilFirst() backfill.Time {
	first := c.untilFailure()
	if c.outage.Told {
		return seconds(float64(first) * (1 - c.random.Float64()))
	}
	return first
}

// untilFailure draws the time to the next failure (Weibull), by the inverse of the distribution, or how
// long a slot lasts that ends again and again.
func (c *chance) untilFailure() backfill.Time {
	if least, most := c.outage.Lasts[0], c.outage.Lasts[1]; c.outage.Told {
		return least + backfill.Time(c.random.Int64N(int64(most-least)+1))
	}
	return seconds(c.scale * math.Pow(-math.Log1p(-c.random.Float64()), 1/c.outage.Shape))
}

// untilRepair draws how long a failure lasts (exponential), or says when another slot comes for one
// that has ended.
func (c *chance) untilRepair() backfill.Time {
	if c.outage.Told {
		return c.outage.For
	}
	return seconds(-float64(c.outage.MTTR) * math.Log1p(-c.random.Float64()))
}

// seconds rounds a length of time to at least 1 s and at most [backfill.MaxTime].
func seconds(t float64) backfill.Time {
	return backfill.Time(math.Round(min(max(t, 1), backfill.MaxTime)))
}

// next returns when a slot changes next; [backfill.Forever] if never. idle says that nothing runs
// and no job is still to come, so that waiting jobs can only wait for slots to come back. Then
// random failures are skipped, and once all slots are back nothing changes any more. Ends are not:
// jobs may wait for a slot that lasts longer.
func (o *outages) next(idle bool) backfill.Time {
	return min(o.nextTurn(idle), o.nextChange())
}

func (o *outages) nextTurn(idle bool) backfill.Time {
	if !idle {
		o.idle = backfill.Forever
	}
	if idle && o.back == 0 && o.ends == 0 {
		return backfill.Forever
	}
	for len(o.due) > 0 {
		first := o.due[0]
		if !idle || first.chance < 0 || !first.begins || first.told {
			if idle {
				o.idle = min(o.idle, first.at)
			}
			return first.at
		}
		o.pass(first)
	}
	return backfill.Forever
}

// pass skips the random failure that is due first, and its repair: the slot's next failure takes
// its place.
func (o *outages) pass(first turn) {
	c := &o.chances[first.chance]
	first.at += c.untilRepair()
	first.at += c.untilFailure()
	o.due[0] = first
	heap.Fix(&o.due, 0)
}

// advance applies the turns up to now. It returns the slots that came back or changed, and the
// names of those that are gone since, in the order of the pool. If first is set, every slot counts
// as changed, except the whole ones of a partitioned machine, which the pool has announced.
func (o *outages) advance(now backfill.Time, first bool) (up []*negotiator.Slot, down []string) {
	o.touched = o.touched[:0]
	o.change(now)
	for len(o.due) > 0 && o.due[0].at <= now {
		o.take(o.due[0])
	}
	if first {
		for i := range o.slots {
			o.touched = append(o.touched, i)
		}
	}
	slices.Sort(o.touched)
	for _, i := range slices.Compact(o.touched) {
		s := &o.slots[i]
		standing, end := s.standing(), s.end()
		if standing == s.known && end == s.knownEnd && (standing == gone || !s.renewed && !s.changed) {
			continue
		}
		s.changed = s.changed && standing == gone
		if s.renewed && standing != gone {
			s.slot, s.drained, s.renewed = o.reader.ending(s.slot, s.nextEnd()), nil, false
		}
		switch standing {
		case gone:
			down = append(down, s.slot.Name)
		case drained:
			if s.drained == nil {
				s.drained = drainedSlot(s.slot)
			}
			up = append(up, s.drained)
		case whole:
			up = append(up, endingBy(s.slot, end))
		}
		s.known, s.knownEnd = standing, end
	}
	return up, down
}

// take applies the turn that is due first and replaces it by the one that follows from it: the end
// of the outage, or the next random failure. If none follows, it removes the turn.
func (o *outages) take(t turn) {
	s := &o.slots[t.slot]
	o.touched = append(o.touched, int(t.slot))
	if t.begin != 0 {
		s.coming = append(s.coming, t.begin)
		heap.Pop(&o.due)
		return
	}
	s.comes(t)
	step := -1
	if t.begins {
		step = 1
	}
	if t.drain {
		s.drains += step
	} else {
		s.failures += step
	}
	if t.told && t.begins {
		o.ends--
		s.renewed = true
		s.ends = slices.DeleteFunc(s.ends, func(e told) bool { return e.at == t.at })
	}
	follows := t
	follows.begins = !t.begins
	switch {
	case t.told && t.chance >= 0 && t.begins && o.givesUp(t):
		heap.Pop(&o.due)
		return
	case t.chance >= 0 && t.begins:
		follows.at += o.chances[t.chance].untilRepair()
	case t.chance >= 0:
		follows.at += o.chances[t.chance].untilFailure()
	case t.begins && t.length > 0:
		follows.at += t.length
	default: // it lasts for good, or is over
		heap.Pop(&o.due)
		if !t.begins {
			o.back--
		}
		return
	}
	o.back += step
	o.due[0] = follows
	heap.Fix(&o.due, 0)
	o.tell(follows)
}

// drainedSlot returns the slot as advertised while it takes no new work.
func drainedSlot(s *negotiator.Slot) *negotiator.Slot {
	ad := s.Ad.Clone()
	ad.SetBool("START", false)
	ad.SetBool("Requirements", false)
	ad.SetString(negotiator.WhyClosed, "drained")
	return &negotiator.Slot{Name: s.Name, Capacity: s.Capacity, End: s.End, Ad: ad}
}

// start records on which slots a job runs; end removes the record.
func (o *outages) start(job backfill.JobID, at negotiator.Placement) {
	o.placed[job] = at
	for _, place := range at {
		for _, name := range place.Slots() {
			s := &o.slots[o.index[name]]
			s.jobs = append(s.jobs, job)
		}
	}
}

func (o *outages) end(job backfill.JobID) {
	for _, place := range o.placed[job] {
		for _, name := range place.Slots() {
			s := &o.slots[o.index[name]]
			i := slices.Index(s.jobs, job)
			s.jobs[i] = s.jobs[len(s.jobs)-1]
			s.jobs = s.jobs[:len(s.jobs)-1]
		}
	}
	delete(o.placed, job)
}

// lost returns the jobs that ran on the slots that are now gone, by ID, and removes them from all
// slots.
func (o *outages) lost(down []string) (jobs []backfill.JobID) {
	for _, name := range down {
		for on := &o.slots[o.index[name]]; len(on.jobs) > 0; {
			job := on.jobs[0]
			o.end(job)
			jobs = append(jobs, job)
		}
	}
	slices.Sort(jobs)
	return jobs
}

// turns is a heap of the begins and ends of outages, by time; their order at one instant does not
// matter.
type turns []turn

func (h turns) Len() int           { return len(h) }
func (h turns) Less(i, j int) bool { return cmp.Less(h[i].at, h[j].at) }
func (h turns) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push appends a turn, for container/heap.
func (h *turns) Push(x any) {
	if t, ok := x.(turn); ok {
		*h = append(*h, t)
	}
}

// Pop takes the last turn off, for container/heap.
func (h *turns) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
