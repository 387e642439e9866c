package dispatch

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// Settings say how matches are handed over. All but Notes are required.
type Settings struct {
	// Name is the negotiator's name in the pool.
	Name      string
	Collector *client.Collector
	Security  *security.Client
	Schema    negotiator.Schema
	// StartSlack is what the negotiator adds to each estimate, in seconds.
	StartSlack backfill.Time
	// Observe says that the negotiator only watches: no match is handed over, and no user is told
	// anything.
	Observe bool
	// Patience is how long a match may take until its job runs.
	Patience time.Duration
	Tuning
	Logger hclog.Logger
	Notes  Notes
	Clock  func() time.Time
}

// Tuning is what can change while matches are handed over.
type Tuning struct {
	config.Handover
	// Hold is how long a cycle waits for schedds that are slow.
	Hold time.Duration
}

// Dispatcher hands the matches of a negotiator over to schedds. It reads the [track.Belief], the
// negotiator's record of the pool, and does not change it. One goroutine at a time may use a
// Dispatcher.
type Dispatcher struct {
	s      Settings
	log    hclog.Logger
	now    func() time.Time
	belief *track.Belief
	lines  map[string]*line // by schedd
	added  *classad.ClassAd // to the ad of each matched slot

	flights  map[backfill.JobID]*flight
	used     map[string]use                 // by claim ids that were handed out
	running  map[backfill.JobID][]string    // the claims of gangs that run; secrets
	leftover []*leftover                    // claims of gangs that have ended
	suspects map[string]map[string]*suspect // by slot and schedd
	blamed   map[string]blame               // the last failed start, by schedd and submitter
	failures map[observe.JobKey]time.Time   // each job's last failed start
	handed   time.Time                      // when a match was last handed over
	reasons  map[backfill.JobID]reason      // why jobs wait, as their schedds were told

	lease   time.Duration            // the longest; 0: none is granted
	leases  []track.Lease            // granted, and not taken yet
	planned map[string][]reservation // by slot
	settled map[backfill.JobID]bool  // waiting jobs that have a reservation, or that no slot can run
	single  map[string]bool          // slots that schedds do not fill with the jobs of one match
	deaf    map[string]bool          // slots that are not lent, as their START does not heed leases
	// guarantees says that the plan is of a policy that gives guarantees.
	guarantees bool

	counts Counts
}

// Counts count what was done since the start.
type Counts struct {
	// Granted counts the claims that were handed over, Matched the jobs whose claims were all
	// handed over, Rejected the reasons for waiting that schedds were told, and Unstarted the jobs
	// that did not start in time.
	Granted, Matched, Rejected, Unstarted int
	// Deaf counts the slots as of now that would be lent for many short jobs if their START heeded
	// leases.
	Deaf int
}

// line is the state of the exchange with one schedd.
type line struct {
	// telling receives the result once the schedd has been told of matches; nil if it is not being
	// told of any. No cycle waits for a slow schedd: telling it took longer than Hold, and has not
	// been faster since.
	telling chan matched
	matches []match
	address cedar.Address // of the schedd that is being told
	slow    bool
	refused bool // the last time, it could not be told of all matches
	// releasing receives the result once the schedd has been told which claims of gangs, jobs of
	// several chunks, have ended; nil if it is not being told.
	releasing chan released
	// mute is the time until which the schedd is told no reasons why its jobs wait, since telling
	// it failed or took too long.
	mute time.Time
	// gang is when the schedd's last gang started, by the schedd's clock; 0 if none has.
	gang backfill.Time
}

// New makes a dispatcher with nothing under way.
func New(s Settings, belief *track.Belief) *Dispatcher {
	return &Dispatcher{
		s: s, log: s.Logger, now: s.Clock, belief: belief, lines: map[string]*line{}, added: classad.New(),
		flights: map[backfill.JobID]*flight{},
		used:    map[string]use{}, running: map[backfill.JobID][]string{}, suspects: map[string]map[string]*suspect{},
		blamed: map[string]blame{}, failures: map[observe.JobKey]time.Time{}, reasons: map[backfill.JobID]reason{},
		planned: map[string][]reservation{}, settled: map[backfill.JobID]bool{}, single: map[string]bool{},
		deaf: map[string]bool{},
	}
}

// Counts returns how many claims and jobs were handed over, rejected or not started so far.
func (d *Dispatcher) Counts() Counts {
	counts := d.counts
	counts.Deaf = len(d.deaf)
	return counts
}

// line returns the state of the exchange with a schedd, and makes it if there is none.
func (d *Dispatcher) line(schedd string) *line {
	l := d.lines[schedd]
	if l == nil {
		l = &line{}
		d.lines[schedd] = l
	}
	return l
}

// Tune changes how matches are handed over, from the next one on.
func (d *Dispatcher) Tune(t Tuning) {
	d.s.Tuning = t
	d.AddToMatches(t.MatchExprs)
	d.Lend(t.Lease)
}

// AddToMatches sets the attributes that are added to the ad of each matched slot: lines of NAME =
// EXPRESSION, or "" for none. They count when the job's Requirements are evaluated for the match. A
// schedd keeps those that begin with NegotiatorMatchExpr for as long as it has the claim.
func (d *Dispatcher) AddToMatches(lines string) {
	ad, err := classad.ParseOld(lines)
	if err != nil {
		d.log.Error("nothing is added to matches: what is to be added cannot be read", "error", err)
		ad = classad.New()
	}
	d.added = ad
}

// Status is how far the conversation with a schedd is.
type Status struct {
	// Telling says that the schedd is being told of matches, Releasing that it is being told which
	// claims have ended. Answered says that neither still waits for the schedd.
	Telling, Releasing, Answered bool
	// Slow says that no cycle waits for the schedd.
	Slow bool
}

// Status is how far the conversation with a schedd is.
func (d *Dispatcher) Status(schedd string) Status {
	l := d.line(schedd)
	s := Status{Telling: l.telling != nil, Releasing: l.releasing != nil, Slow: l.slow}
	s.Answered = (!s.Telling || len(l.telling) > 0) && (!s.Releasing || len(l.releasing) > 0)
	return s
}

// Judge returns the matches under way, for [track.Diff]; call it after [track.Belief.See]. First it
// takes in what schedds were told meanwhile, forgets what is out of date, and decides which slots
// are left out for a while because starts failed there.
func (d *Dispatcher) Judge() track.Dispatched {
	s := d.belief.Snapshot()
	maps.DeleteFunc(d.used, func(_ string, u use) bool { return s.Began.Sub(u.at) > 2*d.s.Patience })
	d.hearMatched(nil)
	maps.DeleteFunc(d.lines, func(name string, _ *line) bool { return s.Schedds[name] == nil })
	d.judgeEarly()
	d.blameSlots()
	under := track.Dispatched{Flights: d.Flights(), LeftOut: map[string]track.LeftOut{}}
	for _, p := range d.Paused() {
		under.LeftOut[p.Slot] = track.LeftOut{Of: p.Schedd, Until: p.Until}
	}
	return under
}

// Flights returns the flights: the jobs that were started and that no look at the pool has seen to
// run.
func (d *Dispatcher) Flights() map[backfill.JobID]track.Flight {
	flights := map[backfill.JobID]track.Flight{}
	for id, f := range d.flights {
		flights[id] = track.Flight{
			Handed: f.handed(), Sent: f.sent(), Claims: len(f.claims), Full: f.full, Overdue: d.overdue(f),
			Refused: f.failed == refused, CameBack: f.failed == cameBack, Why: f.why,
		}
	}
	return flights
}

// Settle takes in what became of the flights, the matches under way, as [track.Diff] found it.
func (d *Dispatcher) Settle(o track.Outcome) {
	for _, id := range o.Arrived {
		if f := d.flights[id]; f.job.Spec.Parallel {
			d.running[id] = f.claims
		}
		delete(d.flights, id)
	}
	d.forgetFailures()
	for _, id := range o.Failed {
		d.giveUp(id)
	}
	for _, id := range o.Over {
		d.spare(d.flights[id])
		delete(d.flights, id)
	}
	for _, e := range o.Ended {
		d.gangEnded(e)
	}
	maps.DeleteFunc(d.running, func(id backfill.JobID, _ []string) bool { return d.belief.Job(id) == nil })
	for _, p := range o.Proven {
		d.clear(p)
	}
	d.counts.Unstarted += o.Unstarted
	d.stopRiding()
	d.forgetDeaf()
	for name, s := range d.belief.Snapshot().Schedds {
		for _, g := range s.Groups {
			if s.Read && g.Spec.Parallel && g.Runs() {
				l := d.line(name)
				l.gang = max(l.gang, g.Started)
			}
		}
	}
}

// Restart replaces all flights, the jobs under way, by these jobs, which the negotiator before this
// one started and may have handed over. To hand them over again does no harm.
func (d *Dispatcher) Restart(flying []*track.Job) {
	clear(d.flights)
	for _, j := range flying {
		d.takeOff(j, "it was on its way when the negotiator ended")
	}
}

// Start makes a flight of a job that the negotiator has started: [Dispatcher.HandOver] will hand it
// over for the slots in its Places.
func (d *Dispatcher) Start(j *track.Job) { d.takeOff(j, "nothing was tried yet") }

func (d *Dispatcher) takeOff(j *track.Job, why string) {
	now := d.now()
	d.flights[j.ID] = &flight{
		job: j, rest: slices.Clone(j.Places), shadows: j.Group.Shadows, since: now, moved: now, why: why,
	}
}

// Unsent tells whether matches are still to be handed over.
func (d *Dispatcher) Unsent() bool {
	if d.s.Observe {
		return false
	}
	for _, f := range d.flights {
		if !f.sent() {
			return true
		}
	}
	return false
}

// Deadline returns the next time at which a flight, a job under way, will have stood still for too
// long, a slot will no longer be left out, or a look at the pool is to show what became of the
// matches that were handed over last; zero if there is none. Flights that had already stood
// still for too long at the last look at the pool do not count: their schedds do not answer, and
// another look would not help.
func (d *Dispatcher) Deadline() (first time.Time) {
	looked := d.belief.Snapshot().Began
	consider := func(at time.Time) {
		if at.After(looked) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for _, f := range d.flights {
		consider(f.moved.Add(d.patience(f)))
		if !f.rides.IsZero() {
			consider(f.rides.Add(riding))
		}
	}
	for i, after := range looksAfter {
		if i < 2 || len(d.flights) > 0 {
			consider(d.handed.Add(after))
		}
	}
	for _, bySchedd := range d.suspects {
		for _, s := range bySchedd {
			consider(s.until)
		}
	}
	return first
}

// HandOver tells schedds of the matches of the jobs under way, as far as their slots are free now.
// The next call tries the rest again.
func (d *Dispatcher) HandOver(ctx context.Context) {
	d.release(ctx)
	d.hearMatched(nil)
	ready, submitters := d.ready()
	if len(ready) == 0 {
		return
	}
	offers, err := d.offers(ctx, ready)
	if err != nil {
		d.log.Warn("the slots to be matched cannot be looked at; this is tried again", "error", err)
		for _, f := range ready {
			f.why = err.Error()
		}
		return
	}
	d.hearReleased()
	d.negotiate(ctx, d.grantAll(ready, submitters, offers))
}
