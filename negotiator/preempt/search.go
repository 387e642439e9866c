package preempt

import (
	"iter"
	"math"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// Search finds out, in each cycle anew, who could have whose place. What it finds out of ads it keeps
// for later cycles. It is not safe for concurrent use.
type Search struct {
	rules     Rules
	resources []string
	texts     texts
	ads       generations[*decorated] // of claims
	alone     alone

	pool    Pool
	follows bool // expressions see values that follow the cycle's matches
	claims  []claim
	byJob   map[backfill.JobID]int    // the claim of a job
	at      map[backfill.SlotID][]int // the claims on dynamic slots of each partitionable one
	hosts   map[backfill.SlotID]*host
	buckets []bucket
	shapes  map[shapeKey]*shape
	granted map[string]float64 // by submitter, in this cycle
	inUse   map[string]float64 // by submitter or group, since the cycle began
	stand   map[string]Standing
	epoch   int                // of inUse, where expressions see it
	total   int64              // steps of the cycle so far
	spent   map[string]int64   // steps, by submitter
	looked  int                // options of the cycle so far
	noRoom  map[string]float64 // by submitter, the least weight for which its share has no room
}

// Pool is a pool in one cycle, once the policy has decided.
type Pool struct {
	Now    backfill.Time
	Claims Claims
	// Memory is who changed places lately.
	Memory *Memory
	// Host supplies expressions with the clock and the like.
	Host *classad.Host
	// Running are the running jobs.
	Running iter.Seq[backfill.RunningJob]
	// Slot returns a slot of the plan: its ad, and what it has in all.
	Slot func(backfill.SlotID) (name string, ad *classad.ClassAd, capacity backfill.Vector)
}

// host is a slot of the plan, with what the running jobs leave of it.
type host struct {
	free   backfill.Vector // once those that make way have left; some may be below 0
	yields backfill.Vector // what those still hold that make way
	left   backfill.Time   // when all of these have left
}

// claim is a [Claim] as a candidate.
type claim struct {
	Claim
	job     backfill.JobID
	host    backfill.SlotID
	request backfill.Vector
	back    backfill.Vector // what its host has more once it is another's: request, or what its heir was to have
	heir    *backfill.JobID // the job that waits for it; nil: none does
	end     backfill.Time   // when it has left, if it makes way now
	soonest backfill.Time   // when it can have left
	until   backfill.Time   // when it has retired, if it is no candidate before; 0: it is one
	bucket  int
	rank    float64 // PREEMPTION_RANK, if that is the same for every job
	ranked  bool    // it is known
	taken   bool    // it makes way for another job
}

// Waiting is a job that waits.
type Waiting struct {
	Job        *backfill.Job
	Ad         *classad.ClassAd
	Candidates *backfill.Candidates
}

// NewSearch makes a search in pools with these resources, cpus first.
func NewSearch(rules Rules, resources []string) *Search {
	s := &Search{rules: rules, resources: resources}
	s.alone = s.rules.split()
	s.texts.forRules(&s.rules, s.alone)
	s.follows = s.rules.asksInUse()
	return s
}

// Rules returns the rules of the search.
func (s *Search) Rules() *Rules { return &s.rules }

// Open begins a cycle.
func (s *Search) Open(pool Pool) {
	s.pool, s.claims, s.buckets, s.epoch, s.total, s.looked = pool, s.claims[:0], s.buckets[:0], 0, 0, 0
	s.at, s.hosts, s.byJob = map[backfill.SlotID][]int{}, map[backfill.SlotID]*host{}, map[backfill.JobID]int{}
	s.shapes, s.granted, s.inUse = map[shapeKey]*shape{}, map[string]float64{}, map[string]float64{}
	s.stand, s.spent, s.noRoom = map[string]Standing{}, map[string]int64{}, map[string]float64{}
	s.texts.turn()
	s.ads.turn()
	waited, pinned := []backfill.RunningJob(nil), map[backfill.JobID]backfill.RunningJob{}
	for run := range pool.Running {
		switch s.add(&run); {
		case run.Pinned:
			pinned[run.Job.ID] = run
		case run.Yields && s.rules.Early:
			waited = append(waited, run)
		}
	}
	for i := range waited {
		s.addWaited(&waited[i], pinned)
	}
	s.divide()
}

// add takes in a running job.
func (s *Search) add(run *backfill.RunningJob) {
	for _, on := range run.Placement {
		h := s.host(on.Slot)
		if run.Yields {
			h.yields.AddScaled(run.Job.Request, int64(on.Count))
			h.left = max(h.left, run.End)
		} else {
			h.free.AddScaled(run.Job.Request, -int64(on.Count))
		}
	}
	if run.Yields || run.Pinned || !isSingle(run) {
		return
	}
	c, ok := s.pool.Claims.Claim(run.Job.ID)
	if !ok || c.Waited || c.Ad == nil {
		return
	}
	found := claim{Claim: c, back: run.Job.Request}
	if c.Retirement > 0 && !s.rules.Early {
		found.until = s.pool.Now + c.Retirement
	}
	found.end = s.pool.Now + max(c.Retirement, 0) + max(c.Vacate, 0)
	if run.End > s.pool.Now {
		found.end = min(found.end, run.End)
	}
	if c.Partial {
		id := run.Placement[0].Slot
		s.at[id] = append(s.at[id], len(s.claims))
	}
	s.enter(&found, run)
}

// isSingle reports whether a running job is one of those that preempt and are preempted.
func isSingle(run *backfill.RunningJob) bool {
	return run.Job.Nodes == 1 && !run.Job.Whole && len(run.Placement) == 1
}

// addWaited takes in a job that makes way for another, whose place there a third one may have: it leaves as it
// is to. Where several make way at once nobody waits for any of them, so it is not one of those.
func (s *Search) addWaited(run *backfill.RunningJob, pinned map[backfill.JobID]backfill.RunningJob) {
	if !isSingle(run) {
		return
	}
	c, ok := s.pool.Claims.Claim(run.Job.ID)
	if !ok || !c.Waited || c.Heir == nil || c.Ad == nil || c.Retirement <= 0 {
		return
	}
	heir, known := pinned[*c.Heir]
	if !known || !isSingle(&heir) || heir.Placement[0].Slot != run.Placement[0].Slot {
		return
	}
	s.enter(&claim{Claim: c, back: heir.Job.Request, heir: c.Heir, end: run.End}, run)
}

// enter lists the claim of a running job.
func (s *Search) enter(found *claim, run *backfill.RunningJob) {
	now := s.pool.Now
	found.job, found.host, found.request = run.Job.ID, run.Placement[0].Slot, run.Job.Request
	found.end = max(found.end, now+1)
	if found.soonest = found.end; found.Sooner {
		found.soonest = min(found.end, now+max(found.Retirement, 1))
	}
	if found.Weight == 0 {
		found.Weight, _ = numberOf(classad.Scope{My: found.Ad, MaxSteps: classad.FewSteps, Host: s.pool.Host}.Attr("Cpus"))
	}
	s.byJob[found.job] = len(s.claims)
	s.claims = append(s.claims, *found)
}

// host returns what is known of a slot of the plan.
func (s *Search) host(id backfill.SlotID) *host {
	h := s.hosts[id]
	if h == nil {
		_, _, capacity := s.pool.Slot(id)
		h = &host{free: append(backfill.Vector(nil), capacity...), yields: make(backfill.Vector, len(capacity))}
		s.hosts[id] = h
	}
	return h
}

// Started takes into account that the cycle started a job in a submitter's name: expressions and
// shares follow.
func (s *Search) Started(submitter string, weight float64) {
	s.granted[submitter] += weight
	s.uses(submitter, weight)
}

// uses changes what a submitter and its group use.
func (s *Search) uses(submitter string, weight float64) {
	s.inUse[submitter] += weight
	if g := s.standing(submitter).Group; g != "" && g != submitter {
		s.inUse[g] += weight
	}
	if s.follows {
		s.epoch++
	}
}

// standing returns what is known of a submitter, as the cycle began.
func (s *Search) standing(submitter string) Standing {
	st, known := s.stand[submitter]
	if !known {
		st = s.pool.Claims.Standing(submitter)
		s.stand[submitter] = st
	}
	return st
}

// Take says that a preemption is made: its victims are nobody else's, and its place is taken.
func (s *Search) Take(p *Preemption, job *backfill.Job) {
	h := s.host(p.Host)
	h.free.AddScaled(job.Request, -1)
	weight := 0.0
	for _, v := range p.Victims {
		c := &s.claims[s.byJob[v.Job]]
		c.taken = true
		h.free.AddScaled(c.back, 1)
		if c.heir == nil {
			h.yields.AddScaled(c.request, 1)
		}
		h.left = max(h.left, v.End)
		weight += c.Weight
		s.uses(c.User, -c.Weight)
	}
	s.Started(s.pool.Claims.Submitter(p.Job), weight)
}

// hasRoom reports whether a submitter's share has room for a further weight.
func (s *Search) hasRoom(submitter string, weight float64) bool {
	return s.pool.Claims.HasRoom(submitter, s.granted[submitter], weight)
}

// Steps that evaluations may take in a cycle: for jobs that are alike, for all of a submitter, and in
// all. Who needs more displaces nobody in that cycle.
const (
	shapeSteps     = 4_000_000
	submitterSteps = 16_000_000
	cycleSteps     = 100_000_000
)

// mostOptions is how many options a cycle looks at, for all jobs together: a fraction of a second.
const mostOptions = 300_000

// mayAsk reports whether a further expression may be evaluated for a shape.
func (s *Search) mayAsk(sh *shape) bool {
	return sh.meter.Steps() < shapeSteps && s.spent[sh.submitter] < submitterSteps && s.total < cycleSteps
}

// scope returns where an expression is evaluated, and what counts its steps.
func (s *Search) scope(sh *shape, my, target *classad.ClassAd) classad.Scope {
	return classad.Scope{My: my, Target: target, Host: s.pool.Host, MaxSteps: classad.FewSteps, Meter: &sh.meter}
}

// settle adds to the cycle's steps what evaluations took since the meter stood at before.
func (s *Search) settle(sh *shape, before int64) {
	took := sh.meter.Steps() - before
	s.spent[sh.submitter] += took
	s.total += took
}

// value returns the value of a rank of the pool's: whatever is no number counts less than any number.
func value(v classad.Value) float64 {
	if n, ok := numberOf(v); ok && !math.IsInf(n, 0) {
		return n
	}
	return least
}
