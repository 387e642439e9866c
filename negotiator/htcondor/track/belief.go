package track

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/drains"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// Settings say how differences are judged.
type Settings struct {
	Schema negotiator.Schema
	// Patience is how long a match may take until its job runs.
	Patience time.Duration
	// StartSlack is what the negotiator adds to each estimate, and DefaultEstimate what it takes
	// for one where a job brings none; both in seconds.
	StartSlack, DefaultEstimate backfill.Time
	// Observe says that nothing is matched: what the negotiator starts does not come about.
	Observe    bool
	World      *World // nil: one without maps
	Accounting Accounting
	// Drains returns, for each look, which slots are to be empty and when, in a book that is not changed
	// any more; nil: none are.
	Drains func() *drains.Book
	Logger hclog.Logger
}

// Belief is the negotiator's record of a real pool: which jobs there are, which of them wait or run
// and where, and which slots are up. Only [Belief.Diff] compares it with the pool.
// One goroutine at a time may use it.
type Belief struct {
	s   Settings
	log hclog.Logger
	now *observe.Snapshot // the last that was taken in
	// begun says that the negotiator was told of a snapshot, by [Belief.Diff]; met are the schedds
	// whose queues it was told of.
	begun bool
	met   map[string]bool

	jobs    map[observe.JobKey]*Job
	all     []*Job // the same jobs, in no order: to walk a map of a million takes ten times as long
	byID    map[backfill.JobID]*Job
	lastID  backfill.JobID
	members map[*observe.Group]*members
	seats   seats
	gangs   map[observe.JobKey]joined // those of several procs, by the key of proc 0
	// ended holds the jobs that ran, or were started and never ran, and when a look at the pool
	// first saw that they do not run any more.
	ended map[observe.JobKey]time.Time
	// departed are runs that are over by their queues, while slots name them still.
	departed map[observe.JobKey]*departed
	// seen are the highest clusters of the schedds at some instants, by ascending cluster.
	seen map[string][]SavedSeen
	// goneEnded and goneRemoved are jobs that went while there was no negotiator. The next delta
	// reports them.
	goneEnded, goneRemoved []backfill.JobID

	slots  map[string]*slot
	drains drains.Book
	// lost are slots of an earlier negotiator's saved state that no look at the pool has seen yet,
	// or only with an ad that cannot be used.
	lost      map[string]*observe.Slot
	lending   lending   // which claims are lent
	takeovers takeovers // who has the place of whom
	way       makingWay // which scavengers make way
	sizes     sizes     // of the slots that are up
	// charging is what jobs are charged with since the last look.
	charging accountant.Charging
	promises Promises
	// inPlan are the jobs of the last plan, see TakePlan.
	inPlan []*Job
	// dropped are slots of the last snapshot that [Belief.Diff] has given up as gone.
	dropped map[string]bool

	// limiting is what the negotiator was told of limits, and limits what the last look found of
	// them; nil: nothing.
	limiting limiting
	limits   *Limits
	// unused are the users who let places go unused that were kept for their jobs.
	unused map[string]unused
	// started are the jobs of the last cycle. See notePassed: passed are users; starts are kinds of
	// jobs, and when one last started; vain are kinds before which others start.
	started []*Job
	passed  map[string]*passing
	starts  map[*observe.Spec]backfill.Time
	vain    map[*observe.Spec]futility
	view    *View
	order   *accountant.Order
	line    []*Job // those that waited when the order was last asked for keys, sorted
}

// slot is the negotiator's record of a slot.
type slot struct {
	up       bool             // the negotiator knows it
	reported *negotiator.Slot // as the negotiator knows it
	closed   bool             // it is gone, its jobs may come back, and it was reported as taking no others
	// foreign is the ID of the job that stands in the plan for a claim of no known job; 0 if there
	// is none. strangeSince is when the slot was first seen with such a claim; zero if it has none,
	// or if the claim was reported at once.
	foreign      backfill.JobID
	strangeSince time.Time
	// masked is the slot as it is reported while it is left out as maskedFor says. It was made from
	// unmasked.
	masked, unmasked *negotiator.Slot
	maskedFor        LeftOut
	drained          draining
}

// members are the jobs of an [observe.Group], which are looked up only once for as long as the
// group stays the same.
type members struct {
	jobs []*Job
	look int // the last look at the pool that saw the group
	most int // how many of its jobs had a seat, of those that need not keep it
}

// New makes a Belief without jobs and slots.
func New(s Settings) *Belief {
	return &Belief{
		s: s, log: s.Logger, now: &observe.Snapshot{}, jobs: map[observe.JobKey]*Job{}, byID: map[backfill.JobID]*Job{},
		members: map[*observe.Group]*members{}, gangs: map[observe.JobKey]joined{}, ended: map[observe.JobKey]time.Time{},
		slots: map[string]*slot{}, lost: map[string]*observe.Slot{}, dropped: map[string]bool{},
		lending: newLending(), takeovers: newTakeovers(), way: newMakingWay(), seen: map[string][]SavedSeen{}, met: map[string]bool{}, limiting: newLimiting(),
		unused: map[string]unused{},
		passed: map[string]*passing{}, starts: map[*observe.Spec]backfill.Time{}, vain: map[*observe.Spec]futility{},
		departed: map[observe.JobKey]*departed{},
		view:     &View{Due: backfill.Forever},
	}
}

// endedKept is for how long it is remembered that a job has ended: collectors keep the ads of its
// slots for so long.
const endedKept = 15 * time.Minute

// See takes in which jobs and slots a snapshot shows. What the negotiator was told of them, such as
// that a job runs, stays as it is until [Belief.Diff] compares the two.
func (b *Belief) See(s *observe.Snapshot) {
	if b.now == s {
		return
	}
	b.now = s
	b.seeDrains()
	clear(b.dropped)
	b.seeLost()
	b.firstLook()
	groups := 0
	names := slices.Sorted(maps.Keys(s.Schedds))
	b.shareSeats(names)
	for _, name := range names {
		for _, r := range s.Schedds[name].Earlier {
			b.seeReading(name, r, b.metOf)
		}
	}
	for _, name := range names {
		if q := s.Schedds[name]; q.Read {
			b.seeReading(name, observe.Reading{Number: s.Number, Groups: q.Groups, Stopped: q.Stopped}, b.membersOf)
			groups += len(q.Groups)
		}
	}
	b.noteClusters()
	if len(b.members) > 2*groups+100 {
		maps.DeleteFunc(b.members, func(_ *observe.Group, m *members) bool { return m.look != s.Number })
	}
	maps.DeleteFunc(b.ended, func(_ observe.JobKey, at time.Time) bool { return s.Began.Sub(at) > endedKept })
}

// seeLost removes the slots that the snapshot shows from lost, the saved slots that had not been
// seen. A slot whose ad cannot be used stays there with the ad that was made for it, under which
// the negotiator knows it.
func (b *Belief) seeLost() {
	for name, saved := range b.lost {
		o := b.now.Slots[name]
		switch {
		case o == nil:
		case o.Ad == nil && !o.Dynamic:
			c := *o
			c.Ad = saved.Ad
			b.lost[name] = &c
		default:
			delete(b.lost, name)
		}
	}
}

// seeReading takes in one reading of a schedd's queue.
func (b *Belief) seeReading(schedd string, r observe.Reading, known func(*observe.Group) *members) {
	for _, g := range r.Groups {
		if g.OnHold() {
			continue
		}
		m := known(g)
		m.look = r.Number
		for _, j := range m.jobs {
			j.Group, j.look, j.leader = g, r.Number, nil
		}
	}
	b.joinGangs(schedd, r)
	for _, key := range r.Stopped {
		if j := b.jobs[key]; j != nil {
			j.stopped = r.Number
		}
	}
}

// membersOf returns the jobs of a group that have a seat, which a reading shows that counts.
func (b *Belief) membersOf(g *observe.Group) *members {
	most, few := b.seats[g]
	if !few {
		most = len(g.Jobs)
	}
	m := b.members[g]
	if m == nil || m.most != most {
		m = &members{jobs: b.seated(g, most), most: most}
		b.members[g] = m
	}
	return m
}

// metOf returns the jobs of a group which an earlier reading of a look shows: of those that wait the
// ones that are known, since the others have left, or come with the last reading.
func (b *Belief) metOf(g *observe.Group) *members {
	if m := b.members[g]; m != nil || g.Runs() {
		return cmp.Or(m, b.membersOf(g))
	}
	m := &members{}
	for _, key := range g.Jobs {
		if j := b.jobs[key]; j != nil {
			m.jobs = append(m.jobs, j)
		}
	}
	return m
}

// find returns the job of a key, and makes it if there is none; the negotiator does not know a new
// one yet.
func (b *Belief) find(key observe.JobKey) *Job {
	j := b.jobs[key]
	if j == nil {
		j = &Job{Key: key, ID: b.nextID(), notBefore: b.notBefore(key)}
		b.jobs[key], b.byID[j.ID] = j, j
		j.at, b.all = int32(len(b.all)), append(b.all, j)
	}
	return j
}

func (b *Belief) nextID() backfill.JobID {
	b.lastID++
	return b.lastID
}

// drop forgets a job.
func (b *Belief) drop(j *Job) {
	delete(b.byID, j.ID)
	delete(b.jobs, j.Key)
	last := b.all[len(b.all)-1] // takes its place
	b.all[j.at], last.at = last, j.at
	b.all = slices.Delete(b.all, len(b.all)-1, len(b.all))
}

// slot returns the record of a slot, to be changed, and makes it if there is none.
func (b *Belief) slot(name string) *slot {
	s := b.slots[name]
	if s == nil {
		s = &slot{}
		b.slots[name] = s
	}
	return s
}

// observed iterates over the slots of the last snapshot, missing ones too, and over the saved slots
// that no look at the pool has seen yet.
func (b *Belief) observed(yield func(string, *observe.Slot) bool) {
	for name, o := range b.now.Slots {
		if b.lost[name] == nil && !b.dropped[name] && !yield(name, o) {
			return
		}
	}
	for name, o := range b.lost {
		if !yield(name, o) {
			return
		}
	}
}

// Slot returns a slot as the last look at the pool saw it; nil if there is none, or it was given up
// as gone.
func (b *Belief) Slot(name string) *observe.Slot {
	if b.dropped[name] {
		return nil
	}
	return cmp.Or(b.lost[name], b.now.Slots[name])
}

// Slots counts the slots of the last snapshot, missing ones too, and the saved slots that no look
// at the pool has seen yet.
func (b *Belief) Slots() int {
	n := len(b.now.Slots) + len(b.lost)
	for name := range b.lost {
		if b.now.Slots[name] != nil {
			n--
		}
	}
	for name := range b.dropped {
		if b.now.Slots[name] != nil {
			n--
		}
	}
	return n
}

// isUp tells whether the negotiator plans with a slot.
func (b *Belief) isUp(name string) bool {
	s := b.slots[name]
	return s != nil && s.up
}

// SlotsUp iterates over the slots that the negotiator plans with, in no order.
func (b *Belief) SlotsUp() iter.Seq[string] {
	return func(yield func(string) bool) {
		for name, s := range b.slots {
			if s.up && !yield(name) {
				return
			}
		}
	}
}

// Snapshot returns the snapshot that was taken in last.
func (b *Belief) Snapshot() *observe.Snapshot { return b.now }

// Schedd returns a schedd as the last look at the pool saw it; nil if it is gone.
func (b *Belief) Schedd(name string) *observe.Schedd { return b.now.Schedds[name] }

// Job returns the job of an ID; nil if there is none.
func (b *Belief) Job(id backfill.JobID) *Job { return b.byID[id] }

// JobOf returns the job of a key; nil if there is none in the queues, as last read.
func (b *Belief) JobOf(key observe.JobKey) *Job { return b.jobs[key] }

// Find returns the jobs that users mean by a name: 12.0, of whatever schedd, or 12.0@schedd.
func (b *Belief) Find(name string) (ids []backfill.JobID) {
	id, schedd, one := strings.Cut(name, "@")
	cluster, proc, ok := observe.ParseJobID(id)
	key := observe.JobKey{Cluster: cluster, Proc: proc}
	if !ok || key.String() != id { // +1.00 names no job
		return nil
	}
	schedds := slices.Collect(maps.Keys(b.now.Schedds))
	if one {
		schedds = []string{schedd}
	}
	for _, key.Schedd = range schedds {
		if j := b.jobs[key]; j != nil {
			ids = append(ids, j.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// Waits tells whether a job waits for something to become free. While the negotiator only observes,
// whatever it starts goes on waiting, too.
func (b *Belief) Waits() bool {
	for j := range b.Jobs() {
		if j.Phase == Waiting || j.AwaitsLease() || b.s.Observe && !j.Group.Runs() {
			return true
		}
	}
	return false
}

// Jobs iterates over all jobs, in no order. Of a gang's procs it gives the first.
func (b *Belief) Jobs() iter.Seq[*Job] {
	return func(yield func(*Job) bool) {
		for _, j := range b.all {
			if j.leader == nil && !yield(j) {
				return
			}
		}
	}
}

// Start notes that the negotiator starts a job, and where. It returns the job; nil if there is
// none.
func (b *Belief) Start(m negotiator.Match) *Job {
	j := b.byID[m.Job.ID]
	if j == nil {
		b.log.Error("a job was started that is not there", "job", m.Job.Name)
		return nil
	}
	for _, id := range m.Ousts {
		b.waitsAgain(id)
	}
	b.limits.starts(j)
	j.Phase, j.Start, j.Places = Running, b.now.Now, placesOf(m.Placement)
	if others := b.makeRoom(j, m); len(others) > 0 {
		m.Displaces = others
		b.takeOverFrom(j, m)
	}
	if !j.scavenges {
		b.started = append(b.started, j)
	}
	return j
}
