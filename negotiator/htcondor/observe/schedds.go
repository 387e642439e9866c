package observe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
)

// schedd is what the observer keeps of a schedd between looks at the pool: what it saw, and the
// reading of the queue that is under way.
type schedd struct {
	Schedd
	at    string    // the address as it came
	since int       // the first look that saw it there
	look  int       // the last look that saw its ad or one of its submitters
	own   int       // the last look that saw its own ad; 0: none did
	seen  time.Time // when look was
	told  int64     // when the collector got the last of these ads, in Unix time
	heard int64     // when the collector got the capability, in Unix time

	keeper    keeper       // who sends its ads
	home      string       // the daemon's own address, as its ad has it
	genuine   bool         // ads came from there that are of the schedd at this address
	runs      int          // the slots that run its jobs, as they say
	rivals    []string     // the addresses of others that had its name when it was new
	answered  bool         // it has told its queue at this address
	failing   time.Time    // since when it does not, if the last reading failed
	elsewhere *scheddClaim // where an ad says that it is, if none says so of its address
	former    string       // the address before, and
	moved     time.Time    // when it changed

	turn     int                 // the last look whose turns it had, by their number
	read     int                 // the last look that read its queue
	asked    string              // the jobs that it is asked for
	groups   map[string]*Group   // by the lines of the answer
	answers  []Reading           // of the look under way
	earlier  int                 // bytes of memory of what only answers before the last have
	curbs    []string            // attributes to which its CurbMatchmaking refers
	records  bool                // it may limit the jobs of single users, and is asked about that
	shut     map[string]shutting // gates that were shut lately, by user; "": its curb
	uploads  int                 // jobs of one user that may transfer their input at once; 0: any number
	limits   limits              // of users and projects
	wrong    string              // what of the last answer was left out, and why
	leftOut  int                 // the jobs that were
	asleep   time.Time           // it is not asked before this time, since it cannot be reached
	rest     time.Duration       // for which it was left alone last, as its queue is long
	excesses int                 // how often in a row it said more than there is room for
	failures int                 // how often in a row it failed at once
	text     int                 // bytes of its answers in the look under way
	lags     bool                // no look waits for it until it answers in less than Hold
	doubts   int                 // how often looks waited for it without need
	quick    int                 // its answers in a row that took less than Hold
	reading  chan reading        // the reading under way; nil: none
	stop     func()              // ends the reading
}

// stopReading ends the reading of the schedd's queue that is under way, if there is one.
func (s *schedd) stopReading() {
	if s.reading != nil {
		s.stop()
	}
	s.reading, s.stop = nil, nil
}

// stoppedSince returns since when the jobs were stopped for which a schedd is asked: at first any
// time, as those that are on hold were submitted before others, too.
func (o *Observer) stoppedSince(s *schedd, began time.Time) time.Time {
	if s.Since.IsZero() {
		return time.Unix(0, 0)
	}
	return began.Add(-o.s.Interval - stopGrace)
}

// askCollector reads the ads that the collector has.
func (o *Observer) askCollector(ctx context.Context, l *look) error {
	types := []client.AdType{
		{Name: "Machine", Projection: o.slotAttributes.projection(), Requirements: o.s.SlotConstraint},
		{Name: "Scheduler", Projection: append(o.curbed(), ofSchedds...)},
		{Name: "Submitter", Projection: o.ofSubmitters()},
		{Name: "Negotiator", Projection: OtherAttributes},
	}
	l.submitted = o.submitted()
	err := o.s.Collector.Query(ctx, types, func(lines cedar.Lines) error {
		o.forgetKeepers()
		kind, _ := lines.Find("MyType")
		if string(kind) == `"Machine"` {
			o.takeSlot(lines, l)
			return nil
		}
		ad, err := lines.Said()
		if err != nil {
			name, _ := lines.Find("Name") // the error may show a capability
			o.log.Warn("an ad of the collector is left out: it cannot be read", "type", string(kind), "name",
				string(name))
			return nil
		}
		switch string(kind) {
		case `"Scheduler"`:
			o.claimSchedd(l, readClaim(ad, "Name"))
		case `"Submitter"`:
			o.settleSchedds(l) // they have all come
			o.readSubmitter(ad, l)
		case `"Negotiator"`:
			l.Negotiators = append(l.Negotiators, ReadOther(ad))
		}
		return nil
	})
	if err == nil {
		o.settleSchedds(l)
		o.settleSlots(l)
		o.dropStrangeParts(l)
	}
	return err
}

// admit sets the constraint of which the ad of a submitter must be true for its jobs to be planned.
// One that cannot be parsed counts as none.
func (o *Observer) admit(constraint string) {
	o.submitters = nil
	if e, err := classad.ParseExpr(constraint); err == nil {
		o.submitters = e
	}
}

// ofSubmitters returns the attributes that submitter ads are asked for: those that are read, and
// those to which the constraint refers.
func (o *Observer) ofSubmitters() []string {
	all := []string{
		"Name", "ScheddName", "ScheddIpAddr", "MyAddress", "SubmitterTag", "IdleJobs", "RunningJobs", "Capability",
		"LastHeardFrom", skipping, identityAttribute,
	}
	if o.submitters == nil {
		return all
	}
	internal, external, _ := o.submitters.Refs(nil) // a circular reference evaluates to error
	return slices.Concat(all, internal, external)
}

// skipping is the attribute of a submitter's ad that is true if none of its jobs is to be matched for
// now. HTCondor's negotiator heeds it since 25.11; whatever sends the ad may set it.
const skipping = "SkipMatchmaking"

// OtherAttributes are what [ReadOther] reads.
var OtherAttributes = []string{
	"Name", "MyAddress", "DaemonStartTime", "BackfillVersion", "BackfillSlotConstraint", "BackfillPrioritiesOf", "BackfillPage",
	"BackfillSlots", "BackfillCpus", "BackfillCpusInUse", "BackfillJobsRunning", "BackfillJobsWaiting",
}

// ReadOther reads a Negotiator ad.
func ReadOther(ad *classad.ClassAd) Other {
	var o Other
	o.Name, _ = ad.Literal("Name").Text()
	o.Address, _ = ad.Literal("MyAddress").Text()
	_, o.Ours = ad.Literal("BackfillVersion").Text()
	o.SlotConstraint, _ = ad.Literal("BackfillSlotConstraint").Text()
	o.PrioritiesOf, _ = ad.Literal("BackfillPrioritiesOf").Text()
	o.Page, _ = ad.Literal("BackfillPage").Text()
	for name, n := range map[string]*int64{
		"BackfillSlots": &o.Has.Slots, "BackfillCpus": &o.Has.Cpus, "BackfillCpusInUse": &o.Has.InUse,
		"BackfillJobsRunning": &o.Has.Running, "BackfillJobsWaiting": &o.Has.Waiting,
	} {
		*n, _ = ad.Literal(name).Int()
	}
	if started, ok := ad.Literal("DaemonStartTime").Int(); ok {
		o.Started = time.Unix(started, 0)
	}
	return o
}

// readSubmitter takes in a submitter, and the capability, a secret that lets a negotiator negotiate
// for its jobs. A schedd of another pool that sends jobs here is known by its submitters alone.
func (o *Observer) readSubmitter(ad *classad.ClassAd, l *look) {
	c := readClaim(ad, "ScheddName")
	name, _ := ad.Literal("Name").Text()
	s := o.scheddOf(c, l)
	if s == nil {
		o.keepSubmitter(l, c, name)
		return
	}
	if err := accountant.CheckName(name); err != nil { // the stock negotiator ignores it, too
		l.leaveOut("submitters", err)
		return
	}
	if _, known := s.Submitters[name]; !known && len(s.Submitters) >= mostSubmitters {
		l.leaveOut("submitters", fmt.Errorf("schedd %s has more than %d", s.Name, mostSubmitters))
		return
	}
	tag, _ := ad.Literal("SubmitterTag").Text()
	idle, _ := ad.Literal("IdleJobs").Int()
	excluded := o.submitters != nil && !o.submitters.Eval(classad.Scope{
		My: ad.Values(longestPlain), MaxSteps: classad.FewSteps, Host: o.s.host(l.Began),
	}).IsTrue()
	s.Submitters[name] = Submitter{
		Tag: tag, Idle: idle, Excluded: excluded, Skipped: ad.Literal(skipping).IsTrue(), User: c.sender.own(name),
		look: l.Number,
	}
	heard, _ := ad.Literal("LastHeardFrom").Int()
	heard = min(heard, l.Began.Unix())
	// An older capability ends with the schedd that gave it.
	if capability, ok := ad.Literal("Capability").Text(); ok && heard >= s.heard {
		s.Capability, s.heard = capability, heard
	}
	l.Submitters++
}

// mostSubmitters bounds the submitters of a schedd; those that are known keep their places.
const mostSubmitters = 20_000

// keepSubmitter keeps a submitter as it is whose ad another's has replaced in the collector.
func (o *Observer) keepSubmitter(l *look, c scheddClaim, name string) {
	s := o.schedds[c.name]
	if s == nil || !sameDaemon(c.at, s.at) {
		return
	}
	if known, advertised := s.Submitters[name]; advertised {
		known.look = l.Number
		s.Submitters[name] = known
	}
}

// scheddGrace is how long a schedd may neither be advertised nor answer before its jobs count as
// gone.
const scheddGrace = 15 * time.Minute

// putSchedds puts the schedds into the look's snapshot, and drops those that are lost: that have
// not been heard of for long, or were renamed and are not advertised any more under the old name,
// or are not advertised any more and never told a queue.
func (o *Observer) putSchedds(l *look) {
	l.Schedds = make(map[string]*Schedd, len(o.schedds))
	l.Kept, l.LeftOut = o.stock.total(), 0
	for name, s := range o.schedds {
		silent := s.Failed != nil && l.Began.Sub(s.seen) > scheddGrace
		unknown := s.Since.IsZero() && !s.answered // a name costs nothing
		if (s.Moved || unknown) && s.look != l.Number || silent && !s.Moved {
			s.stopReading()
			o.stock.keep(name, portion{})
			delete(o.schedds, name)
			continue
		}
		maps.DeleteFunc(s.Submitters, func(_ string, a Submitter) bool { return a.look != l.Number })
		l.LeftOut += s.leftOut
		s.charge(l.Ended)
		c := s.Schedd
		c.Own = s.own > 0
		c.Submitters, c.Read = maps.Clone(s.Submitters), s.read == l.Number
		c.Users, c.Uploads = s.gate(l)
		c.Projects = s.limits.projects
		c.Earlier, s.answers = s.answers, nil
		if c.Read {
			c.Earlier = c.Earlier[:len(c.Earlier)-1] // the last is Groups and Stopped
		}
		l.Schedds[name] = &c
	}
}
