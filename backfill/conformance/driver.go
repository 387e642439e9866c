package conformance

import (
	"math/rand/v2"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// Driver makes up the events of a pool, round by round. Jobs arrive, end early, on time or late,
// and are removed; expected ends move; starts fail; jobs are found running that nobody started;
// slots, candidate sets and the queue's order change. All of it follows from the seed and from the
// decisions.
type Driver struct {
	// Calm switches mishaps off: no slot or candidate set is lost or changed, no start fails, no
	// job is found, overruns or is removed.
	Calm bool
	// Exact is like Calm; besides, jobs end exactly when expected, and the order of the queue does
	// not change.
	Exact bool
	// Late makes the host wake too late now and then, so that planned starts are missed.
	Late bool
	// Predicted gives some jobs an expected run time that differs from their estimate. It cannot be
	// combined with Exact.
	Predicted bool

	deferred   bool // some jobs have an earliest start, see Deferred
	windowed   bool // some candidates have windows, see Windowed
	limited    bool // jobs take of rows, see Limited
	heights    int  // number of rows that rounds have added
	shared     []backfill.Take
	ending     bool // some slots end, see Ending
	sparing    bool // some need more free than a job takes, see Sparing
	preempting bool // jobs make way for others, see Preempting
	random     *rand.Rand
	resources  []string
	slots      []backfill.Slot
	up         []bool
	sets       []bool // by candidate set: whether it holds bundles
	bundles    []backfill.Bundle
	told       int // how many of the bundles the rounds have added so far
	nextJob    backfill.JobID
	started    bool
}

// Deferred is added to a seed to give some jobs an earliest start after their arrival.
const Deferred uint64 = 1 << 52

// NewDriver creates a pool of one to five slots with one to four resources. If the seed has
// [Partitioned], the pool also has bundles; if it has [Deferred], some jobs may not start at once; if
// it has [Windowed], some candidates have windows; if it has [Limited], jobs take of rows; if it has
// [Ending], some slots end; if it has [Sparing], some candidates need more free than a job takes; if it has
// [Preempting], jobs make way for others.
func NewDriver(seed uint64) *Driver {
	d := &Driver{
		random:   rand.New(rand.NewPCG(seed, 1)),
		deferred: seed&Deferred != 0, windowed: seed&Windowed != 0,
		limited: seed&Limited != 0, ending: seed&Ending != 0, sparing: seed&Sparing != 0,
		preempting: seed&Preempting != 0,
	}
	d.resources = []string{"cpus", "memory", "gpus", "disk"}[:1+d.random.IntN(4)]
	for i := range 1 + d.random.IntN(5) {
		d.slots = append(d.slots, backfill.Slot{
			ID: backfill.SlotID(i), Name: string(rune('a' + i)),
			Capacity: d.capacity(), End: d.end(0),
		})
	}
	if seed&Partitioned != 0 {
		d.partition()
	}
	d.up = make([]bool, len(d.slots))
	return d
}

// Branch returns a driver that continues from the pool as it is now, with other events, which
// follow from another seed.
func (d *Driver) Branch(seed uint64) *Driver {
	b := *d
	b.random = rand.New(rand.NewPCG(seed, 2))
	b.slots, b.up, b.sets = slices.Clone(d.slots), slices.Clone(d.up), slices.Clone(d.sets)
	return &b
}

// Resources returns the names of the pool's resources.
func (d *Driver) Resources() []string { return d.resources }

// Rule returns a random rule by which slots are chosen.
func (d *Driver) Rule() profile.Rule { return profile.Rule(d.random.IntN(3)) }

func (d *Driver) capacity() backfill.Vector {
	c := make(backfill.Vector, len(d.resources))
	for i := range c {
		c[i] = (1 + d.random.Int64N(8)) * units[i]
	}
	return c
}

// units are the smallest amounts of the resources, in their order; one of them does not fit into 32
// bits.
var units = [...]int64{1, 1 << 10, 1, 1 << 32}

// Round makes up the next round for a pool in the given state.
func (d *Driver) Round(s *backfill.State) backfill.Round {
	if !d.started {
		return d.first()
	}
	r := backfill.Round{Now: d.when(s)}
	snap := s.Snapshot()
	r.Rows = d.rows(snap)
	if !d.calm() && d.random.IntN(8) == 0 {
		for _, i := range d.random.Perm(len(d.slots))[:1+d.random.IntN(min(2, len(d.slots)))] {
			r.Events = append(r.Events, d.slotEvent(i, r.Now))
		}
	}
	r.Events = append(r.Events, d.ends(&r)...)
	for _, j := range snap.Jobs {
		e, happens := d.mishap(j, r.Now)
		if happens {
			r.Events = append(r.Events, e)
		}
		if j.Running && d.returns(j, e, happens) && d.random.IntN(3) == 0 {
			r.Events = append(r.Events, backfill.Event{Kind: backfill.Changed, Job: d.edited(j.Job)})
		}
	}
	r.Events = append(r.Events, d.preempts(snap, &r)...)
	if !d.calm() && d.random.IntN(25) == 0 && slices.Contains(d.up, true) {
		if e, happens := d.found(d.submission(r.Now).Job, r.Now); happens {
			r.Events = append(r.Events, e)
		}
	}
	if d.told < len(d.bundles) && !d.calm() && d.random.IntN(10) == 0 {
		r.Bundles = d.tell(1)
	}
	if d.random.IntN(12) == 0 {
		r.Candidates = append(r.Candidates, d.candidates(r.Now))
	} else if set, again := d.retold(snap, r.Now); again {
		r.Candidates = append(r.Candidates, set)
	}
	if !d.Exact && d.random.IntN(12) == 0 {
		r.Keys = d.keys(snap)
	}
	for d.random.IntN(3) > 0 {
		r.Events = append(r.Events, d.submission(r.Now))
	}
	return r
}

// calm reports whether mishaps are switched off, by Calm or Exact.
func (d *Driver) calm() bool { return d.Calm || d.Exact }

// candidates returns a candidate set with random slots or bundles, perhaps none. The set is new or,
// unless the pool is calm, may replace another.
func (d *Driver) candidates(now backfill.Time) backfill.CandidateSet {
	set := backfill.CandidateSet{ID: len(d.sets)}
	if !d.calm() {
		set.ID = d.random.IntN(len(d.sets) + 1)
	}
	if set.ID == len(d.sets) {
		d.sets = append(d.sets, d.bundles != nil && d.random.IntN(4) > 0)
	}
	ranked := d.random.IntN(2) == 0
	if d.sets[set.ID] {
		set.Candidates = d.someBundles(ranked)
		d.open(&set.Candidates, now)
		return set
	}
	for _, slot := range d.slots {
		if d.random.IntN(3) == 0 {
			continue
		}
		set.Candidates.Slots = append(set.Candidates.Slots, slot.ID)
		if ranked {
			set.Candidates.Rank = append(set.Candidates.Rank, d.random.Int32N(3))
		}
	}
	d.open(&set.Candidates, now)
	d.spare(&set.Candidates)
	return set
}

// keys returns new keys in the queue's order for a random half of the jobs.
func (d *Driver) keys(snap backfill.Snapshot) (keys []backfill.JobKey) {
	for _, j := range snap.Jobs {
		if d.random.IntN(2) == 0 {
			keys = append(keys, backfill.JobKey{Job: j.Job.ID, Key: float64(d.random.IntN(3))})
		}
	}
	return keys
}

// first returns the first round. It adds all slots and defines the candidate sets: each prefix of
// the slots without ranks, and all slots with ranks.
func (d *Driver) first() backfill.Round {
	d.started = true
	r := backfill.Round{Rows: d.rows(backfill.Snapshot{})}
	all := backfill.Candidates{}
	for i, slot := range d.slots {
		d.up[i] = true
		all.Slots = append(all.Slots, slot.ID)
		r.Events = append(r.Events, backfill.Event{Kind: backfill.SlotAdded, Slot: slot})
		r.Candidates = append(r.Candidates, backfill.CandidateSet{
			ID:         i,
			Candidates: backfill.Candidates{Slots: slices.Clone(all.Slots)},
		})
		all.Rank = append(all.Rank, d.random.Int32N(2))
	}
	r.Candidates = append(r.Candidates, backfill.CandidateSet{ID: len(d.slots), Candidates: all})
	d.sets = make([]bool, len(r.Candidates))
	if d.windowed || d.sparing {
		for i := range r.Candidates {
			d.open(&r.Candidates[i].Candidates, r.Now)
			d.spare(&r.Candidates[i].Candidates)
		}
	}
	if d.bundles != nil {
		r.Bundles = d.tell(len(d.bundles) - d.random.IntN(2))
		for _, ranked := range []bool{false, false, true} {
			r.Candidates = append(r.Candidates, backfill.CandidateSet{
				ID:         len(d.sets),
				Candidates: d.someBundles(ranked),
			})
			d.open(&r.Candidates[len(d.sets)].Candidates, r.Now)
			d.sets = append(d.sets, true)
		}
	}
	return r
}

// when returns the instant of the next round: mostly the one at which the host must wake, and never
// a later one unless Late is set.
func (d *Driver) when(s *backfill.State) backfill.Time {
	wake := s.NextWake()
	if d.Late && wake != backfill.Forever && d.random.IntN(20) == 0 {
		return wake + backfill.Time(d.random.IntN(6))
	}
	if soon := s.Now() + backfill.Time(d.random.IntN(6)); d.random.IntN(3) > 0 || wake == backfill.Forever {
		return min(wake, soon)
	}
	return wake
}

// mishap returns what happens to a job now; false if nothing does. That includes that the job ends.
func (d *Driver) mishap(j backfill.JobState, now backfill.Time) (backfill.Event, bool) {
	switch {
	case j.Pinned:
		return d.takesOver(j, now)
	case j.Running && d.calm() && now >= j.End:
		return backfill.Event{Kind: backfill.Completed, JobID: j.Job.ID}, true
	case d.Exact:
	case j.Running && (d.random.IntN(6) == 0 || now >= j.End && d.random.IntN(3) > 0):
		return backfill.Event{Kind: backfill.Completed, JobID: j.Job.ID}, true
	case d.Calm:
	case j.Running && now == j.Start && d.random.IntN(10) == 0, j.Yields && d.random.IntN(3) == 0:
		return backfill.Event{Kind: backfill.StartFailed, JobID: j.Job.ID}, true
	case j.Running && d.random.IntN(20) == 0:
		return backfill.Event{
			Kind: backfill.EstimateChanged, JobID: j.Job.ID,
			End: now + 1 + backfill.Time(d.random.IntN(20)),
		}, true
	case d.random.IntN(40) == 0:
		return backfill.Event{Kind: backfill.Removed, JobID: j.Job.ID}, true
	case !j.Running && d.random.IntN(40) == 0:
		return backfill.Event{Kind: backfill.Changed, Job: d.edited(j.Job)}, true
	case d.random.IntN(60) == 0 && slices.Contains(d.up, true):
		if d.random.IntN(3) == 0 {
			return d.found(d.edited(j.Job), now)
		}
		return d.found(j.Job, now)
	}
	return backfill.Event{}, false
}

// returns reports whether a running job comes back to the queue in this round: its start failed, or
// the round has no event for it and it loses a slot. The parameter told says whether e is the
// round's event for the job.
func (d *Driver) returns(j backfill.JobState, e backfill.Event, told bool) bool {
	return told && e.Kind == backfill.StartFailed ||
		!told && slices.ContainsFunc(j.Placement, func(c backfill.Chunks) bool { return !d.up[c.Slot] })
}

// edited returns another random job with the same ID and queue position.
func (d *Driver) edited(j *backfill.Job) *backfill.Job {
	if d.limited && d.random.IntN(2) == 0 {
		return d.takingMore(j)
	}
	spec := *d.submission(j.Submit).Job
	spec.ID, spec.Position = j.ID, j.Position
	return &spec
}

// found returns the event that a job is found running on random slots or a random bundle, whether
// it fits there or not; false if no bundle is up. The job's expected end may be in the past.
func (d *Driver) found(j *backfill.Job, now backfill.Time) (backfill.Event, bool) {
	e := backfill.Event{
		Kind: backfill.Found, Job: j, Start: now - backfill.Time(d.random.IntN(10)),
		End: now - 2 + backfill.Time(d.random.IntN(20)),
	}
	if j.Whole {
		e.Placement = d.someBundle()
		return e, e.Placement != nil
	}
	left := j.Nodes
	for _, i := range d.random.Perm(len(d.up)) {
		if d.up[i] && left > 0 {
			count := 1 + d.random.IntN(left)
			e.Placement = append(e.Placement, backfill.Chunks{Slot: backfill.SlotID(i), Count: count})
			left -= count
		}
	}
	e.Placement[0].Count += left
	return e, true
}

func (d *Driver) slotEvent(i int, now backfill.Time) backfill.Event {
	switch {
	case !d.up[i]:
		d.up[i], d.slots[i].End = true, d.end(now)
		return backfill.Event{Kind: backfill.SlotAdded, Slot: d.slots[i]}
	case d.random.IntN(2) == 0:
		d.up[i] = false
		return backfill.Event{Kind: backfill.SlotLost, Slot: d.slots[i]}
	default:
		if !d.bundled(i) { // the capacity of a slot in a bundle must not change
			d.slots[i].Capacity = d.capacity()
		}
		if d.ending && d.random.IntN(2) == 0 {
			d.slots[i].End = d.end(now)
		}
		return backfill.Event{Kind: backfill.SlotChanged, Slot: d.slots[i]}
	}
}

func (d *Driver) submission(now backfill.Time) backfill.Event {
	j := &backfill.Job{
		ID: d.nextJob, Submit: now, Position: backfill.QueuePosition{Cluster: int64(d.nextJob)},
		Nodes: 1 + d.random.IntN(3)*d.random.IntN(2), Request: make(backfill.Vector, len(d.resources)),
		Estimate: 1 + backfill.Time(d.random.IntN(20)), Candidates: d.random.IntN(len(d.sets)),
	}
	d.whole(j)
	for i := range j.Request {
		j.Request[i] = d.random.Int64N(6) * units[i]
	}
	if j.Request.Zero() {
		j.Request[0] = 1
	}
	if d.random.IntN(3) == 0 {
		j.Limit = 1 + backfill.Time(d.random.IntN(30))
	}
	if d.Predicted && j.ID%2 == 0 {
		j.Running, j.Correction = 1+backfill.Time(j.ID*13%30), backfill.Correction(j.ID%3) //nolint:gosec // 0 to 2
	}
	if d.deferred && d.random.IntN(3) == 0 {
		j.Release = max(0, now-5+backfill.Time(d.random.IntN(40)))
	}
	d.describe(j)
	d.takes(j)
	d.nextJob++
	return backfill.Event{Kind: backfill.Submitted, Job: j}
}

// describe sets attributes that most policies ignore. Unless the pool is calm, it also sets a queue
// whose name may put the job before earlier ones, and a submit time that may be earlier than the
// arrival.
func (d *Driver) describe(j *backfill.Job) {
	j.Unestimated = j.ID%5 == 0
	if j.ID%4 > 0 {
		j.Labels = map[string]string{"owner": string(rune('a' + j.ID%3)), "group": string(rune('p' + j.ID%2))}
	}
	if !d.calm() {
		j.Position.Queue = string(rune('z' - j.ID%3))
		j.Submit -= backfill.Time(j.ID % 7 / 4)
	}
}
