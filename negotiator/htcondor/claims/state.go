package claims

import (
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// Settings say how matches are handed over. All are required.
type Settings struct {
	Schema negotiator.Schema
	// StartSlack is what the negotiator adds to each estimate, and DefaultEstimate what it takes for
	// one where a job brings none; both in seconds.
	StartSlack, DefaultEstimate backfill.Time
	// Observe says that the negotiator only watches: no match is handed over, and no user is told
	// anything.
	Observe bool
	// Patience is how long a match may take until its job runs.
	Patience time.Duration
	World    *track.World // that of the belief
	Logger   hclog.Logger
}

// State is what a negotiator has on its way. It keeps the [track.Belief], the negotiator's record
// of the pool, up to date with the snapshots that it sees. One goroutine at a time may use a State.
type State struct {
	s      Settings
	log    hclog.Logger
	now    time.Time // of the last event
	belief *track.Belief

	flights  map[backfill.JobID]*flight
	turns    int                           // flights so far
	telling  map[string][]Grant            // grants that are on their way, by schedd
	used     map[string]use                // by claim ids that were handed out
	running  map[backfill.JobID][]string   // the claims of gangs that run; secrets
	leftover []*Leftover                   // claims of gangs that have ended
	started  map[string]backfill.Time      // when each schedd's last gang started, by the schedd's clock
	suspects map[string]map[whose]*suspect // by slot, and whose starts failed
	refused  refusals                      // jobs that schedds did not start
	rivals   map[track.Owner]*rivalry      // gangs that others wait for
	blamed   map[track.Owner]blame         // the last failed start on a host that works
	hosts    hosts                         // and their slots
	limits   *track.Limits
	proven   map[string]time.Time         // when each host was last seen to work
	excused  map[string]time.Time         // what excuses each slot, by when it was
	shared   map[string]time.Time         // by schedd: when a job of it was last seen to start elsewhere
	failures map[observe.JobKey]time.Time // each job's last failed start
	handed   time.Time                    // when a match was last handed over
	reasons  map[backfill.JobID]reason    // why jobs wait, as their schedds were told

	vacating  map[backfill.JobID]*vacating // scavengers that have to leave
	unwilling map[string]time.Time         // until when schedds are not asked to vacate any
	recounted map[string]time.Time         // when each schedd was last told to count its queue

	lease   time.Duration            // for how long claims take up more jobs at most; 0: none does
	hidden  bool                     // queues have jobs that no look shows
	leases  []track.Lease            // granted, and the negotiator was not told yet
	planned map[string][]reservation // by slot
	ends    map[string]backfill.Time // of the slots that end, or are to be empty
	settled map[backfill.JobID]bool  // waiting jobs that have a reservation, or that no slot can run
	held    map[backfill.JobID]bool  // those of them that no slot can run
	limited map[backfill.JobID]bool  // those of these that take more of a limit than there is
	// distrusted are the users whose stated run times do not count in the plan.
	distrusted map[string]bool
	single     map[string]time.Time // until when schedds do not fill slots with the jobs of one match
	deaf       map[string]bool      // slots that are not lent, as their START does not heed leases
	// guarantees says that the plan is of a policy that gives guarantees.
	guarantees bool

	counts Counts
}

// hosts are the slots that each host has, as a look showed.
type hosts struct {
	look  int
	slots map[string][]string
}

// Counts count what was done since the start.
type Counts struct {
	// Granted counts the claims that were handed over, Matched the jobs whose claims were all
	// handed over, and Unstarted the jobs that did not start in time.
	Granted, Matched, Unstarted int
	// Vacated counts how often a schedd was told to vacate a scavenger.
	Vacated int
	// Deaf counts the slots as of now that would be lent for many short jobs if their START heeded
	// leases.
	Deaf int
}

// New makes a state with nothing on its way.
func New(s Settings, belief *track.Belief) *State {
	return &State{
		s: s, log: s.Logger, belief: belief, flights: map[backfill.JobID]*flight{}, telling: map[string][]Grant{},
		used: map[string]use{}, running: map[backfill.JobID][]string{}, started: map[string]backfill.Time{},
		suspects: map[string]map[whose]*suspect{}, blamed: map[track.Owner]blame{},
		proven: map[string]time.Time{}, excused: map[string]time.Time{},
		refused: refusals{
			byJob: map[observe.JobKey]*refusal{}, byKind: map[string]*refusal{}, gangs: map[track.Owner]*refusal{},
		},
		rivals: map[track.Owner]*rivalry{}, failures: map[observe.JobKey]time.Time{}, reasons: map[backfill.JobID]reason{},
		planned: map[string][]reservation{}, ends: map[string]backfill.Time{},
		settled: map[backfill.JobID]bool{}, held: map[backfill.JobID]bool{}, limited: map[backfill.JobID]bool{},
		single: map[string]time.Time{}, deaf: map[string]bool{},
		vacating: map[backfill.JobID]*vacating{}, unwilling: map[string]time.Time{},
		recounted: map[string]time.Time{}, shared: map[string]time.Time{},
	}
}

// Counts returns how many claims and jobs were handed over or not started so far.
func (c *State) Counts() Counts {
	counts := c.counts
	counts.Deaf = len(c.deaf)
	return counts
}

// Slots counts the slots of the pool, see [track.Belief.Slots].
func (c *State) Slots() int { return c.belief.Slots() }

// Observed returns a slot as the last look saw it; nil if it did not.
func (c *State) Observed(slot string) *observe.Slot { return c.belief.Snapshot().Slots[slot] }

// See takes in a look at the pool. It finds which starts have failed and which slots are left out
// for that, compares the look with what the negotiator was told, and learns from the outcome what
// became of the flights, the matches under way.
func (c *State) See(now time.Time, s *observe.Snapshot) track.Outcome {
	c.now = now
	c.belief.See(s)
	out := c.belief.Diff(c.judge(s))
	c.limits = out.Limits
	c.settle(out)
	return out
}

// judge returns the matches under way, for [track.Belief.Diff]. First it forgets what is out of
// date, and decides which slots are left out for a while because starts failed there.
func (c *State) judge(s *observe.Snapshot) track.Dispatched {
	maps.DeleteFunc(c.used, func(_ string, u use) bool { return s.Began.Sub(u.at) > 2*c.s.Patience })
	maps.DeleteFunc(c.started, func(name string, _ backfill.Time) bool { return s.Schedds[name] == nil })
	maps.DeleteFunc(c.telling, func(name string, _ []Grant) bool { return s.Schedds[name] == nil })
	maps.DeleteFunc(c.recounted, func(name string, _ time.Time) bool { return s.Schedds[name] == nil })
	c.judgeEarly()
	c.blameSlots()
	dispatched := track.Dispatched{Flights: c.Flights(), LeftOut: map[string]track.LeftOut{}, Refused: c.waiting()}
	for _, p := range c.Paused() {
		dispatched.LeftOut[p.Slot] = track.LeftOut{Of: p.Schedd, Users: p.Users, Until: p.Until}
	}
	return dispatched
}

// Flights returns the flights: the jobs that were started and that no look at the pool has seen to
// run.
func (c *State) Flights() map[backfill.JobID]track.Flight {
	flights := map[backfill.JobID]track.Flight{}
	for id, f := range c.flights {
		flights[id] = track.Flight{
			Handed: f.handed(), Sent: f.sent(), Claims: len(f.claims), Moved: f.moved, Full: f.full,
			Barred: f.barred, Overdue: f.failed == ignored || f.closed && !f.handed() || c.overdue(f),
			Refused: f.failed == refused, CameBack: f.failed == cameBack, Why: f.why,
		}
	}
	return flights
}

// settle takes in what became of the flights, the matches under way.
func (c *State) settle(o track.Outcome) {
	for _, id := range o.Arrived {
		f := c.flights[id]
		switch {
		case f.job.Spec.Parallel:
			c.running[id] = f.claims
		case f.lent: // it may run on another claim
			c.spare(f, unspared)
		}
		c.accept(f.job)
		delete(c.flights, id)
	}
	c.forgetFailures()
	for _, id := range o.Failed {
		c.giveUp(id)
	}
	c.share(o.Delta.Elsewhere)
	for _, id := range o.Over {
		if j := c.flights[id].job; j.Group.Runs() {
			c.accept(j)
		}
		c.spare(c.flights[id], c.flights[id].sparedAfter(slices.Contains(o.Delta.Elsewhere, id)))
		delete(c.flights, id)
	}
	for _, e := range o.Ended {
		c.gangEnded(e)
	}
	maps.DeleteFunc(c.running, func(id backfill.JobID, _ []string) bool { return c.belief.Job(id) == nil })
	for _, p := range o.Proven {
		c.clear(p)
	}
	c.counts.Unstarted += o.Unstarted
	c.stopRiding()
	c.forgetDeaf()
	for name, s := range c.belief.Snapshot().Schedds {
		for _, g := range s.Groups {
			if s.Read && g.Spec.Parallel && g.Runs() {
				c.started[name] = max(c.started[name], g.Started)
			}
		}
	}
}

// Restore makes the checkpoint from which a negotiator goes on, of what a former one left and what
// a snapshot still shows, see [track.Belief.Restore]. It replaces all flights, the jobs under way,
// by the jobs that the former negotiator started and may have handed over. To hand them over again
// does no harm.
func (c *State) Restore(now time.Time, saved *track.SavedState, s *observe.Snapshot) negotiator.Checkpoint {
	c.now = now
	checkpoint, flying := c.belief.Restore(saved, s)
	clear(c.flights)
	for _, j := range flying {
		c.takeOff(j, "it was on its way when the negotiator ended")
		if f := c.flights[j.ID]; f.over != nil && f.over.Waits(s) { // its claim was handed over
			f.rest, f.claims = nil, []string{""}
		}
	}
	return checkpoint
}

// Start makes flights of the jobs that the negotiator has started: [State.Ready] will have them
// handed over for the slots in their places.
func (c *State) Start(now time.Time, matches []negotiator.Match) {
	c.now = now
	var bySlot []*track.Job // whose limits are found last, beside those of all others
	for _, m := range matches {
		for _, id := range m.Ousts { // their claims are used until the startd gives them up
			delete(c.flights, id)
		}
		if j := c.belief.Start(m); j != nil {
			c.cancel(m)
			c.takeOff(j, "nothing was tried yet")
			if j.LimitedBySlot() {
				bySlot = append(bySlot, j)
			}
		}
	}
	for _, j := range bySlot {
		if why := c.limits.Admit(j); why != "" {
			f := c.flights[j.ID]
			f.barred, f.why = true, why
		}
	}
}

func (c *State) takeOff(j *track.Job, why string) {
	c.turns++
	until := time.Time{}
	if at, waits := track.WaitOf(c.belief, j.ID); waits {
		until = time.Unix(int64(at), 0)
	}
	c.flights[j.ID] = &flight{
		until: until, job: j, rest: slices.Clone(j.Places), shadows: j.Group.Shadows, turn: c.turns, since: c.now, moved: c.now, why: why,
		over: track.TakeoverOf(c.belief, j.ID),
	}
}

// Unsent tells whether matches are still to be handed over, or scavengers have yet to leave.
func (c *State) Unsent() bool {
	if c.s.Observe {
		return false
	}
	for _, f := range c.flights {
		if !f.sent() {
			return true
		}
	}
	return len(track.Leaving(c.belief)) > 0
}

// Deadline returns the next time at which a flight, a job under way, will have stood still for too
// long, a slot will no longer be left out, or a look at the pool is to show what became of the
// matches that were handed over last; zero if there is none. Flights that had already stood
// still for too long at the last look at the pool do not count: their schedds do not answer, and
// another look would not help.
func (c *State) Deadline() (first time.Time) {
	looked := c.belief.Snapshot().Began
	consider := func(at time.Time) {
		if at.After(looked) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for _, f := range c.flights {
		consider(later(f.due(), f.waited).Add(c.patience(f)))
		if f.barred {
			consider(looked.Add(time.Second))
		}
		if !f.rides.IsZero() {
			consider(f.rides.Add(riding))
		}
	}
	for i, after := range looksAfter {
		if i < 2 || len(c.flights) > 0 {
			consider(c.handed.Add(after))
		}
	}
	for _, all := range c.suspects {
		for _, s := range all {
			consider(s.until)
		}
	}
	for _, r := range c.refused.byJob {
		consider(r.until)
	}
	for _, r := range c.refused.gangs {
		consider(r.until)
	}
	for _, r := range c.refused.byKind {
		consider(r.until)
	}
	return first
}

// Told takes in which of its grants a schedd was told, and what went wrong.
func (c *State) Told(now time.Time, schedd string, sent []Grant, err error) {
	c.now = now
	all := c.telling[schedd]
	delete(c.telling, schedd)
	for _, g := range all {
		for _, id := range g.ids() {
			delete(c.used, id)
		}
		g.flight.telling = false
	}
	for _, g := range sent {
		c.wasSent(g)
	}
	if err == nil {
		return
	}
	for _, g := range all {
		if !g.flight.sent() {
			g.flight.why = err.Error()
		}
	}
}

// wasSent notes that a schedd was told of a grant.
func (c *State) wasSent(g Grant) {
	f := g.flight
	c.noteUsed(g)
	f.moved, f.claims, c.handed = c.now, append(f.claims, g.Claim), c.now
	for i := range f.rest {
		if f.rest[i].Slot == g.Slot || f.over != nil {
			if f.rest[i].Chunks--; f.rest[i].Chunks == 0 {
				f.rest = slices.Delete(f.rest, i, i+1)
			}
			break
		}
	}
	c.counts.Granted++
	if f.sent() {
		f.why = "its schedd was told, and did not start it"
		c.counts.Matched++
	}
}
