package htcondor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
)

// look is one look at the pool. What it saw stands in the slots, schedds and jobs
// that have its number.
type look struct {
	number     int
	began      time.Time
	took       time.Duration
	now        backfill.Time
	submitters int
	others     []Other
	problems   []string
	grace      time.Duration // how long a slot may be missing
	outside    []outside     // jobs that are not planned with
}

// hold is how long a look waits for schedds that are slower than the collector;
// what they answer later serves the next one.
const hold = 5 * time.Second

// look asks the collector and all schedds. Its error is the collector's.
func (p *Pool) look(ctx context.Context) (*look, error) {
	p.takeUp()
	l := &look{began: p.now()}
	p.looked = l.began
	for range 5 { // what is read may refer to what was not asked for
		p.number++
		l.number, l.problems, l.others, l.submitters = p.number, nil, nil, 0
		for _, s := range p.schedds {
			p.ask(ctx, s)
		}
		grew, err := p.askCollector(ctx, l)
		if err != nil {
			for _, s := range p.schedds { // by the next look their answers may be long ago
				s.done()
			}
			return nil, err
		}
		p.findMoved()
		for _, s := range p.schedds {
			p.ask(ctx, s) // those that are new
		}
		if !p.hear(ctx, l) && !grew {
			break
		}
		p.reread()
	}
	if p.slotAttributes.full() || p.jobAttributes.full() {
		l.problems = append(l.problems, fmt.Sprintf("slots and jobs refer to more than %d attributes: further ones count as undefined", maxReferred))
	}
	p.clock = max(p.clock, backfill.Time(p.now().Unix())) // a clock that was put back stands until it has caught up
	p.ended = p.now()
	l.now, l.took = p.clock, p.ended.Sub(l.began)
	p.miss(l)
	return l, ctx.Err()
}

// reread forgets how ads were read: they were without attributes that matter.
func (p *Pool) reread() {
	for _, s := range p.slots {
		s.lines = s.lines[:0]
	}
	p.replan()
}

// findMoved finds schedds at whose address another one answers: they have been renamed,
// and their jobs are the other one's. It is the ad that was made last that counts.
func (p *Pool) findMoved() {
	at := map[string]*schedd{}
	for _, name := range slices.Sorted(maps.Keys(p.schedds)) {
		s := p.schedds[name]
		o := at[s.at]
		if o == nil || cmp.Or(cmp.Compare(s.look, o.look), cmp.Compare(min(s.own, 1), min(o.own, 1)), cmp.Compare(s.counted, o.counted)) > 0 {
			at[s.at] = s
		}
	}
	for _, s := range p.schedds {
		moved := at[s.at] != s
		if moved && !s.moved {
			s.done()
			p.log.Info("a schedd has another name now", "schedd", s.name, "now", at[s.at].name)
		}
		s.moved = moved
	}
}

// ask begins to read a schedd's queue, unless that is under way.
func (p *Pool) ask(ctx context.Context, s *schedd) {
	if s.under != nil || s.read == p.number || s.moved || p.now().Before(s.asleep) {
		return
	}
	s.under = make(chan reading, 1)
	ctx, s.stop = context.WithCancel(ctx)
	projection := p.jobAttributes.projection()
	as, asked, began, since := *s, p.wantedJobs(), p.now(), time.Now()
	stoppedSince := began.Add(-p.s.Interval - stopGrace)
	go func(answer chan<- reading) {
		r := p.readQueue(ctx, &as, asked, projection, began, stoppedSince)
		r.took = time.Since(since)
		answer <- r
	}(s.under)
}

// done ends a reading, whether it has been heard or not.
func (s *schedd) done() {
	if s.under != nil {
		s.stop()
	}
	s.under, s.stop = nil, nil
}

// brokeredPause is how long a schedd is left alone that was never reached because it is
// behind a broker (CCB): another try would only cost a look more time.
const brokeredPause = 5 * time.Minute

// hear takes in what the schedds answer. It reports whether jobs refer to
// attributes that were not asked for.
func (p *Pool) hear(ctx context.Context, l *look) (grew bool) {
	wait, cancel := context.WithTimeout(ctx, p.hold)
	defer cancel()
	for _, name := range slices.Sorted(maps.Keys(p.schedds)) {
		s := p.schedds[name]
		if s.moved {
			continue
		}
		if s.under == nil { // it is not to be asked
			if s.failed != nil {
				l.problems = append(l.problems, s.failed.Error())
			}
			continue
		}
		r, answered := s.answer(wait.Done(), p.hold)
		if !answered {
			l.problems = append(l.problems, fmt.Sprintf("schedd %s has not told its queue yet", name))
			continue
		}
		s.done()
		if p.heard(s, r) {
			grew = p.digest(s, r, l.number) || grew
		}
		if s.failed != nil {
			l.problems = append(l.problems, s.failed.Error())
		} else if s.wrong != "" {
			l.problems = append(l.problems, s.wrong)
		}
	}
	return grew
}

// answer waits for what the schedd answers until time is up. One that let it be up once is
// not waited for until it has answered in less time.
func (s *schedd) answer(up <-chan struct{}, hold time.Duration) (r reading, answered bool) {
	select {
	case r = <-s.under:
	default:
		if s.lags {
			s.late = true
			return r, false
		}
		select {
		case r = <-s.under:
		case <-up:
			s.late, s.lags = true, true
			return r, false
		}
	}
	s.late, s.lags = false, s.lags && r.took >= hold
	return r, true
}

// heard judges what a schedd answered.
func (p *Pool) heard(s *schedd, r reading) bool {
	switch {
	case r.err != nil && s.failed == nil:
		p.log.Warn("a schedd does not tell its queue; what is known of its jobs stands", "schedd", s.name, "error", r.err)
	case r.err == nil && s.failed != nil:
		p.log.Info("a schedd tells its queue again", "schedd", s.name)
	}
	s.failed = r.err
	if errors.Is(r.err, cedar.ErrBrokered) && s.since.IsZero() {
		s.asleep = p.now().Add(brokeredPause)
	}
	return r.err == nil && r.asked == p.wantedJobs() && r.attributes == len(p.jobAttributes.projection())
}

// askCollector reads the ads that the collector has. It reports whether slots refer
// to attributes that were not asked for.
func (p *Pool) askCollector(ctx context.Context, l *look) (grew bool, err error) {
	types := []client.AdType{
		{Name: "Machine", Projection: p.slotAttributes.projection(), Requirements: p.s.SlotConstraint},
		{Name: "Scheduler", Projection: []string{"Name", "MyAddress", "ScheddIpAddr", "MyCurrentTime", "MaxJobsRunning", "TotalRunningJobs"}},
		{Name: "Submitter", Projection: []string{"Name", "ScheddName", "ScheddIpAddr", "MyAddress", "SubmitterTag", "IdleJobs", "RunningJobs", "Capability", "LastHeardFrom"}},
		{Name: "Negotiator", Projection: OtherAttributes},
	}
	err = p.s.Collector.Query(ctx, types, func(lines cedar.Lines) error {
		kind, _ := lines.Find("MyType")
		if string(kind) == `"Machine"` {
			more, wrong := p.readSlot(lines, l.number)
			if wrong != nil {
				p.log.Warn("a slot ad is left out", "error", wrong)
			}
			grew = grew || more
			return nil
		}
		ad, wrong := classad.ParseOld(string(lines))
		if wrong != nil {
			name, _ := lines.Find("Name") // the error may show a capability
			p.log.Warn("an ad of the collector is left out: it cannot be read", "type", string(kind), "name", string(name))
			return nil
		}
		switch string(kind) {
		case `"Scheduler"`:
			if s := p.readSchedd(ad, "Name", true, l); s != nil {
				counted, _ := ad.Int("MyCurrentTime")
				s.counted = backfill.Time(counted)
				s.readRoom(ad)
			}
		case `"Submitter"`:
			p.readSubmitter(ad, l)
		case `"Negotiator"`:
			l.others = append(l.others, ReadOther(ad))
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	return grew, nil
}

// ReadOther reads a Negotiator ad.
func ReadOther(ad *classad.ClassAd) Other {
	var o Other
	o.Name, _ = ad.Text("Name")
	o.Address, _ = ad.Text("MyAddress")
	_, o.Ours = ad.Text("BackfillVersion")
	if started, ok := ad.Int("DaemonStartTime"); ok {
		o.Started = time.Unix(started, 0)
	}
	return o
}

// readSchedd takes in where a schedd is, by its own ad or a submitter's.
func (p *Pool) readSchedd(ad *classad.ClassAd, nameAttribute string, own bool, l *look) *schedd {
	name, _ := ad.Text(nameAttribute)
	at, ok := ad.Text("ScheddIpAddr")
	if !ok {
		at, _ = ad.Text("MyAddress")
	}
	if name == "" {
		return nil
	}
	s := p.schedds[name]
	switch {
	case s == nil:
	case own && s.own == l.number && s.at != at:
		l.problems = append(l.problems, fmt.Sprintf("two schedds are called %s, at %s and %s: give each a SCHEDD_NAME of its own", name, s.at, at))
		if at > s.at {
			return nil // one of them, and always the same
		}
	case s.at == at || !own && s.own != 0: // a submitter's ad may be older than the daemon
		if s.look, s.seen = l.number, l.began; own {
			s.own = l.number
		}
		return s
	}
	address, err := cedar.ParseAddress(at)
	if err != nil {
		p.log.Warn("a schedd is left out", "schedd", name, "error", err)
		return nil
	}
	if s == nil {
		s = &schedd{name: name, groups: map[string]*group{}, submitters: map[string]submitter{}}
		p.schedds[name] = s
	}
	s.asleep = time.Time{} // it is elsewhere
	if s.address, s.at, s.look, s.seen = address, at, l.number, l.began; own {
		s.own = l.number
	}
	return s
}

// readSubmitter takes in a submitter and what it takes to talk about its jobs. A
// schedd of another pool that sends jobs here shows in its submitters alone.
func (p *Pool) readSubmitter(ad *classad.ClassAd, l *look) {
	s := p.readSchedd(ad, "ScheddName", false, l)
	name, _ := ad.Text("Name")
	if s == nil || name == "" {
		return
	}
	tag, _ := ad.Text("SubmitterTag")
	idle, _ := ad.Int("IdleJobs")
	s.submitters[name] = submitter{tag: tag, idle: idle, look: l.number}
	heard, _ := ad.Int("LastHeardFrom")
	if capability, ok := ad.Text("Capability"); ok && heard >= s.heard { // older ones end with the schedd that gave them
		s.capability, s.heard = capability, heard
	}
	l.submitters++
}

// grace is how long a slot may be missing before it is gone. If most are missing at
// once, it is the collector that has forgotten: startds tell it again in time.
const (
	grace       = 20 * time.Second
	longGrace   = 15 * time.Minute
	settling    = 10 * time.Second // a startd tells of its slots in (UPDATE_SPREAD_TIME, 8 s)
	scheddGrace = 15 * time.Minute
)

// miss notes what the look did not see.
// Slots that a startd does not tell of any more since it has begun anew are missing too,
// though the collector may have their ads for a quarter of an hour; and so are dynamic ones that
// it has deleted.
func (p *Pool) miss(l *look) {
	newest := map[string]int64{}
	for _, s := range p.slots {
		if s.look == l.number {
			newest[s.startd()] = max(newest[s.startd()], s.started)
		}
	}
	for _, s := range p.slots {
		outlived := s.started != 0 && s.started < newest[s.startd()]
		if !outlived {
			s.outlived = time.Time{}
		} else if s.outlived.IsZero() {
			s.outlived = l.began
		}
		if (s.look != l.number || outlived || p.deleted(s)) && s.gone.IsZero() {
			s.gone = l.began
		}
	}
	for _, s := range p.schedds {
		maps.DeleteFunc(s.submitters, func(_ string, a submitter) bool { return a.look != l.number })
	}
	maps.DeleteFunc(p.left, func(_ jobKey, at time.Time) bool { return l.began.Sub(at) > longGrace })
	maps.DeleteFunc(p.used, func(_ string, u use) bool { return l.began.Sub(u.at) > 2*p.s.Patience })
}

// Open looks at the pool for the first time, and says what of it a negotiator is to
// begin with that takes over what a former one left. Without that it begins with
// nothing, and Fetch tells all. It waits until the collector answers. Should the memory be
// refused, another Open begins anew.
func (p *Pool) Open(ctx context.Context, left *Left) (negotiator.Memory, error) {
	l, err := p.lookPatiently(ctx)
	if err != nil {
		return negotiator.Memory{}, err
	}
	p.open = l
	return p.remember(left, l), nil
}
