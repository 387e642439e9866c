package dispatch

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// Settings say how matches are handed over. All are required.
type Settings struct {
	Collector *client.Collector
	Security  *security.Client
	Schema    negotiator.Schema
	// Observe hands nothing over, and tells users nothing.
	Observe bool
	// Patience is how long a match may take until its job runs, and Hold how long a cycle waits for
	// schedds that are slow.
	Patience, Hold time.Duration
	Logger         hclog.Logger
	Clock          func() time.Time
}

// Dispatcher hands the matches of a negotiator over to schedds. It reads what the negotiator
// believes, and changes nothing of it. One goroutine at a time may use it.
type Dispatcher struct {
	s      Settings
	log    hclog.Logger
	now    func() time.Time
	belief *track.Belief
	lines  map[string]*line // by schedd

	flights  map[backfill.JobID]*flight
	used     map[string]use                 // by claim ids that were handed out
	running  map[backfill.JobID][]string    // the claims of gangs that run; secrets
	leftover []*leftover                    // claims of gangs that have ended
	suspects map[string]map[string]*suspect // by slot and schedd
	blamed   map[string]blame               // the last, by schedd and submitter
	reasons  map[backfill.JobID]reason      // why jobs wait, as their schedds were told

	counts Counts
}

// Counts count what was done since the start.
type Counts struct {
	// Granted are claims that were handed over; Matched are jobs that all their claims were handed
	// over for, Rejected jobs that were told why they wait, and Unstarted jobs that were not
	// started in time.
	Granted, Matched, Rejected, Unstarted int
}

// line is what goes on between us and a schedd.
type line struct {
	// telling is where the schedd's answer to matches will be, if it is being told of them. A slow
	// schedd is not waited for until telling it takes less than Hold.
	telling chan matched
	matches []match
	slow    bool
	refused bool // the last time it was not told of all
	// releasing is where the answer will be to which claims of gangs have ended, if it is being
	// told.
	releasing chan released
	// mute is until when it is told no reasons, since that took too long.
	mute time.Time
	// gang is when the last of its gangs began, by its own clock.
	gang backfill.Time
}

// New makes a dispatcher with nothing under way.
func New(s Settings, belief *track.Belief) *Dispatcher {
	return &Dispatcher{
		s: s, log: s.Logger, now: s.Clock, belief: belief, lines: map[string]*line{},
		flights: map[backfill.JobID]*flight{},
		used:    map[string]use{}, running: map[backfill.JobID][]string{}, suspects: map[string]map[string]*suspect{},
		blamed: map[string]blame{}, reasons: map[backfill.JobID]reason{},
	}
}

// Counts are the counts so far.
func (d *Dispatcher) Counts() Counts { return d.counts }

// line is what goes on with a schedd.
func (d *Dispatcher) line(schedd string) *line {
	l := d.lines[schedd]
	if l == nil {
		l = &line{}
		d.lines[schedd] = l
	}
	return l
}

// Hold changes how long a cycle waits for schedds that are slow.
func (d *Dispatcher) Hold(hold time.Duration) { d.s.Hold = hold }

// Status is how far the conversation with a schedd is.
type Status struct {
	// Telling says that the schedd is being told of matches, Releasing that it is being told which
	// claims have ended. Answered says that the answers to both, where there are any, have come.
	Telling, Releasing, Answered bool
	// Slow says that nobody waits for it.
	Slow bool
}

// Status is how far the conversation with a schedd is.
func (d *Dispatcher) Status(schedd string) Status {
	l := d.line(schedd)
	s := Status{Telling: l.telling != nil, Releasing: l.releasing != nil, Slow: l.slow}
	s.Answered = (!s.Telling || len(l.telling) > 0) && (!s.Releasing || len(l.releasing) > 0)
	return s
}

// Judge is called between [track.Belief.See] and [track.Diff]. It takes in what schedds were told
// meanwhile, forgets what is out of date, leaves slots out on which starts have failed, and says
// what is under way.
func (d *Dispatcher) Judge() track.Dispatched {
	s := d.belief.Snapshot()
	maps.DeleteFunc(d.used, func(_ string, u use) bool { return s.Began.Sub(u.at) > 2*d.s.Patience })
	d.hearMatched(nil)
	maps.DeleteFunc(d.lines, func(name string, _ *line) bool { return s.Schedds[name] == nil })
	d.blameSlots()
	under := track.Dispatched{Flights: d.Flights(), LeftOut: map[string]string{}}
	for name := range d.suspects {
		if of := d.leftOut(name, s.Began); of != nil {
			under.LeftOut[name] = *of
		}
	}
	return under
}

// Flights are the jobs on their way.
func (d *Dispatcher) Flights() map[backfill.JobID]track.Flight {
	flights := map[backfill.JobID]track.Flight{}
	for id, f := range d.flights {
		flights[id] = track.Flight{
			Handed: f.handed(), Sent: f.sent(), Claims: len(f.claims), Full: f.full, Overdue: d.overdue(f), Why: f.why,
		}
	}
	return flights
}

// Settle takes in what became of the matches, as the comparison found it.
func (d *Dispatcher) Settle(o track.Outcome) {
	for _, id := range o.Arrived {
		if f := d.flights[id]; f.job.Spec.Parallel {
			d.running[id] = f.claims
		}
		delete(d.flights, id)
	}
	for _, id := range o.Failed {
		d.giveUp(id)
	}
	for _, id := range o.Over {
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
	for name, s := range d.belief.Snapshot().Schedds {
		for _, g := range s.Groups {
			if s.Read && g.Spec.Parallel && g.Runs() {
				l := d.line(name)
				l.gang = max(l.gang, g.Started)
			}
		}
	}
}

// Restart begins anew with jobs that a negotiator before may have handed over. Handing them over
// again does no harm.
func (d *Dispatcher) Restart(flying []*track.Job) {
	clear(d.flights)
	for _, j := range flying {
		d.takeOff(j, "it was on its way when the negotiator ended")
	}
}

// Start sets out to start a job where the belief has it.
func (d *Dispatcher) Start(j *track.Job) { d.takeOff(j, "nothing was tried yet") }

func (d *Dispatcher) takeOff(j *track.Job, why string) {
	now := d.now()
	d.flights[j.ID] = &flight{job: j, rest: slices.Clone(j.Places), since: now, moved: now, why: why}
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

// Deadline is when the next flight will have stood still for too long, or a slot is no longer left
// out; zero if neither will be. Flights that had stood still for too long when the pool was last
// looked at do not count: their schedds do not answer, and another look would not help.
func (d *Dispatcher) Deadline() (first time.Time) {
	looked := d.belief.Snapshot().Began
	consider := func(at time.Time) {
		if at.After(looked) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for _, f := range d.flights {
		consider(f.moved.Add(d.patience(f)))
	}
	for _, bySchedd := range d.suspects {
		for _, s := range bySchedd {
			consider(s.until)
		}
	}
	return first
}

// HandOver gives the jobs on their way to their schedds, as far as their slots can take them now.
// What cannot be handed over stays for another try.
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
