package observe

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// Settings say how a pool is looked at. All but the constraints are required.
type Settings struct {
	Collector *client.Collector
	Security  *security.Client
	// Schema says how ads are read. Its last resource is [Claims].
	Schema negotiator.Schema
	Scope
	// Patience is how long a schedd may take to send its whole queue.
	Patience time.Duration
	// CountSubmits says that schedds are asked how many jobs were submitted, too.
	CountSubmits bool
	// Extra are expressions over jobs, such as the queue's order. The attributes that they refer to
	// are asked for.
	Extra []*classad.Expr
	// Zone is the local time zone of expressions; nil means UTC.
	Zone   *time.Location
	Logger hclog.Logger
	Clock  func() time.Time
}

// host returns what expressions see besides the ads in a look that began at an instant.
func (s *Settings) host(began time.Time) *classad.Host {
	return &classad.Host{Now: began.Unix, Zone: s.Zone}
}

// Scope is what a look asks for, and how long it waits; it can change between two looks.
type Scope struct {
	config.Look
	// ShutdownThreshold closes the slots whose startds will have ended in that time; 0: only when they
	// have.
	ShutdownThreshold time.Duration
	// Timeout is how long a schedd may take to send its whole queue, if that is longer than Patience.
	Timeout time.Duration
	// Hold is how long a look waits for schedds after the collector has answered. A later answer
	// serves the next look.
	Hold time.Duration
}

// Observer looks at a pool. It keeps what it has read, so that a look parses only what has changed.
// One goroutine at a time may use it.
type Observer struct {
	s      Settings
	log    hclog.Logger
	now    func() time.Time
	most   int             // see maxQueue
	stock  *stock          // what is kept of all queues
	run    map[string]bool // see question
	number int             // of the last look
	looked time.Time
	clock  backfill.Time

	slots     map[string]*Slot // replaced, never changed, once a look has returned
	read      map[string]*slotText
	schedds   map[string]*schedd
	homes     Homes // of those that were not seen yet
	told      int   // the collector that answered last
	newcomers newcomers
	turns     turns

	slotAttributes, jobAttributes wanted
	ranks                         ranks
	weights                       weights
	claiming                      claiming
	scavengers                    scavengers
	submitters                    *classad.Expr // the submitter constraint; nil for none
	parser                        classad.Parser
	meter                         classad.Meter // of attributes of jobs
	again                         int           // what was parsed again, in names, constants and signs
	reads                         reads
	slotReads                     slotReads
	specs                         map[string]*Spec // by the text of the job's ad
	limits                        map[string][]accountant.Limit
	refersOf                      map[string]map[string]bool // by user: the slots' attributes that its jobs refer to
	referSteps                    map[string]int             // by user: what it took to follow what its jobs refer to
	referStepsOfAll               int                        // and for all users
	swept                         time.Time                  // when shrink last looked for names that nothing refers to
	rounding                      rounding
	beyond                        map[string]string // resources that are not planned with, by the slot that listed each last
	ends                          map[string]bool   // see noteEnds
	systemRemove                  *classad.Expr     // by which schedds remove jobs; nil for none
}

// New makes an observer that has not looked at the pool yet.
func New(s Settings) *Observer {
	o := &Observer{
		s: s, log: s.Logger, now: s.Clock, most: maxQueue, stock: newStock(maxStock), slots: map[string]*Slot{}, read: map[string]*slotText{},
		schedds: map[string]*schedd{}, specs: map[string]*Spec{},
		refersOf:   map[string]map[string]bool{},
		limits:     map[string][]accountant.Limit{},
		referSteps: map[string]int{},
		ends:       map[string]bool{},
		rounding:   rounding{resources: s.Schema.Resources},
		beyond:     map[string]string{},
	}
	o.systemRemove, _ = classad.ParseExpr(s.SystemRemove) // one that cannot be parsed removes nothing
	o.scavengers = newScavengers(s.Scavenging)
	o.want()
	return o
}

// Ask changes what is asked for, from the next look at the pool on.
func (o *Observer) Ask(scope Scope) {
	if scope.Ranks != o.s.Ranks || scope.Weights != o.s.Weights || scope.Preemption != o.s.Preemption ||
		scope.ShutdownThreshold != o.s.ShutdownThreshold {
		o.discardSlots()
	}
	if scope.IgnoreJob != o.s.IgnoreJob || scope.Scavenging != o.s.Scavenging {
		o.discardSpecs()
	}
	o.s.Scope, o.scavengers = scope, newScavengers(scope.Scavenging)
	o.referTo(scope.JobConstraint)
	o.rankBy(scope.Ranks)
	o.weighBy(scope.Weights)
	o.preempt(scope.Preemption)
	o.admit(scope.SubmitterConstraint)
}

// Forget drops slots that are gone for good. If one comes back, it counts as new.
func (o *Observer) Forget(slots []string) {
	for _, name := range slots {
		delete(o.slots, name)
		delete(o.read, name)
		o.rounding.stale = true
	}
}

// Homes are where schedds and slots were when a former observer looked, by their names.
type Homes struct{ Schedds, Slots map[string]string }

// Remember tells the observer, before its first look, whose names are whose.
func (o *Observer) Remember(h Homes) { o.homes = h }

// look is a look at the pool under way, and what it has seen so far.
type look struct {
	Snapshot
	grew    bool                // ads refer to attributes that were not asked for
	omitted map[string]omission // ads that are left out, by kind
	odd     map[string]string   // see noteOdd
	// slotClaims and scheddClaims are ads whose names others may have; conflicts are those that are
	// left out, for people.
	slotClaims   []slotClaim
	scheddClaims []scheddClaim
	conflicts    map[string]bool
	submitted    int // schedds that are known by their submitters alone
}

func (l *look) problem(format string, arguments ...any) {
	l.Problems = append(l.Problems, backfill.AsReason(fmt.Sprintf(format, arguments...)))
}

// mostProblems is how many of the problems of schedds are told.
const mostProblems = 100

// cutProblems leaves out problems beyond the first, and says how many.
func (l *look) cutProblems() {
	if more := len(l.Problems) - mostProblems; more > 0 {
		l.Problems = l.Problems[:mostProblems]
		l.problem("and %d more problems with schedds", more)
	}
}

// A look asks at most so often. The first one learns what all slots refer to.
const (
	firstRounds = 5
	rounds      = 3
)

// Look asks the collector for the pool's ads and the schedds for their queues, in parallel but as
// [turns] say. If the answers refer to attributes that were not asked for, it asks again; what the
// last answers lack counts as undefined until the next look. An error is the collector's or the
// context's; whatever else fails is listed in the snapshot's Problems.
func (o *Observer) Look(ctx context.Context) (*Snapshot, error) {
	l := &look{}
	l.Began = o.now()
	o.looked = l.Began
	o.reads, o.slotReads.news, o.slotReads.long, o.slotReads.follow = reads{}, reads{}, reads{}, reads{}
	o.slotReads.count(o.read)
	o.rounding.anew = 0
	o.restrip()
	o.beginTurns()
	last := o.number + rounds
	if o.number == 0 {
		last = firstRounds
	}
	for l.grew = true; l.grew && o.number < last; {
		o.number++
		l.Number, l.grew, l.Problems, l.Negotiators, l.Submitters = o.number, false, nil, nil, 0
		l.omitted, l.conflicts = nil, map[string]bool{}
		o.askAll(ctx)
		if err := o.askCollector(ctx, l); err != nil {
			for _, s := range o.schedds { // until the next look their answers would grow old
				s.stopReading()
			}
			return nil, err
		}
		o.countWays()
		o.findMoved(l)
		o.askAll(ctx) // those that are new
		o.hear(ctx, l)
		o.giveWay(l)
		l.cutProblems()
		if l.grew {
			o.restrip()
		}
	}
	l.tellOmitted()
	o.tellEnds(l)
	if o.slotAttributes.full() || o.jobAttributes.full() {
		l.problem("slots and jobs refer to more than %d attributes: further ones count as undefined", maxReferred)
	}
	l.tellConflicts()
	o.tellResources(l)
	o.clock = max(o.clock, backfill.Time(o.now().Unix()))
	l.Ended = o.now()
	l.Now, l.Took, l.Constrained = o.clock, l.Ended.Sub(l.Began), o.submitters != nil
	o.noteMissing(l)
	o.putSchedds(l)
	o.dropSpecs()
	o.shrink()
	l.Slots, l.Preempts, l.Scavenges = maps.Clone(o.slots), o.claiming.asked, o.claiming.scavengers
	return &l.Snapshot, ctx.Err()
}

// restrip discards what was read from ads if they have too little or too much state now, which
// changes all the time and is removed where nothing refers to it.
func (o *Observer) restrip() {
	if o.slotAttributes.restrip() {
		o.discardSlots()
	}
	if o.jobAttributes.restrip() {
		o.discardSpecs()
	}
}

// discardSlots has all slots made anew from their ads.
func (o *Observer) discardSlots() {
	for _, t := range o.read {
		t.lines = t.lines[:0]
	}
}

// discardSpecs discards the Specs of all jobs, by which they are planned; the next reading of the
// queues makes them anew.
func (o *Observer) discardSpecs() {
	o.specs = map[string]*Spec{}
	for _, s := range o.schedds {
		s.groups = map[string]*Group{}
	}
}
