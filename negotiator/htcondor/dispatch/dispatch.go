package dispatch

import (
	"context"
	"maps"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/claims"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// Settings say how schedds are told. All but Notes are required.
type Settings struct {
	// Name is the negotiator's name in the pool.
	Name      string
	Collector *client.Collector
	Security  *security.Client
	Schema    negotiator.Schema
	// Patience is how long the collector or a schedd may take.
	Patience time.Duration
	Tuning
	Logger hclog.Logger
	Notes  Notes
	Clock  func() time.Time
}

// Tuning is what can change while matches are handed over.
type Tuning struct {
	config.Handover
	// Timeout is how long a schedd may take, if that is longer than Patience.
	Timeout time.Duration
	// Hold is how long a cycle waits for schedds that are slow.
	Hold time.Duration
}

// Dispatcher carries what a [claims.State] gives it to the daemons, and returns to it what came of
// that. One goroutine at a time may use a Dispatcher.
type Dispatcher struct {
	s       Settings
	log     hclog.Logger
	now     func() time.Time
	claims  *claims.State
	schedds map[string]*observe.Schedd // as the last look at the pool saw them
	lines   map[string]*line           // by schedd
	added   *classad.ClassAd           // to the ad of each matched slot
	roused  map[string]time.Time       // when the collector was last told that a slot is wanted whose machine sleeps

	limited map[claims.Reason]time.Time // when NoteLimits last noted it

	rejected int // reasons for waiting that schedds were told since the start
}

// line is the state of the exchange with one schedd.
type line struct {
	// telling receives the result once the schedd has been told of matches; nil if it is not being
	// told of any. No cycle waits for a slow schedd: telling it took longer than Hold, and has not
	// been faster since.
	telling chan matched
	address cedar.Address // of the schedd that is being told
	slow    bool
	refused bool // the last time, it could not be told of all matches
	// releasing receives the result once the schedd has been told which claims of gangs, jobs of
	// several chunks, have ended; nil if it is not being told.
	releasing chan released
	// vacating receive the results once the schedd has been told to vacate scavengers.
	vacating []chan vacated
	// recounting receives the result once the schedd has been told to count its queue; nil if it is
	// not being told.
	recounting chan error
	// mute is the time until which the schedd is told no reasons why its jobs wait, since telling
	// it failed or took too long.
	mute time.Time
}

// New makes a dispatcher that has told nobody anything.
func New(s Settings, state *claims.State) *Dispatcher {
	return &Dispatcher{
		s: s, log: s.Logger, now: s.Clock, claims: state, lines: map[string]*line{}, added: classad.New(),
		roused: map[string]time.Time{},
	}
}

// Rejected counts the reasons for waiting that schedds were told since the start.
func (d *Dispatcher) Rejected() int { return d.rejected }

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

// Look takes in a look at the pool: which schedds there are. First it hears what they were told
// meanwhile.
func (d *Dispatcher) Look(s *observe.Snapshot) {
	d.hearMatched(nil)
	d.schedds = s.Schedds
	maps.DeleteFunc(d.lines, func(name string, _ *line) bool { return s.Schedds[name] == nil })
}

// HandOver tells schedds of the matches of the jobs under way, as far as their slots are free now.
// The next call tries the rest again.
func (d *Dispatcher) HandOver(ctx context.Context) {
	d.release(ctx)
	d.vacate(ctx)
	d.hearMatched(nil)
	ready := d.claims.Ready(d.now())
	d.recount(ctx)
	if len(ready) == 0 {
		return
	}
	offers, err := d.offers(ctx, ready.Slots())
	if err != nil {
		d.log.Warn("the slots to be matched cannot be looked at; this is tried again", "error", err)
		ready.Fail(err)
		return
	}
	d.hearReleased()
	d.negotiate(ctx, d.claims.Grant(d.now(), ready, offers))
}
