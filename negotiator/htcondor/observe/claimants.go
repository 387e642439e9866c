package observe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

const (
	// silentFor is how long a schedd must fail to tell its queue before another of its name takes its
	// place, while both are advertised.
	silentFor = 2 * time.Minute
	// alive is how long after that the first one must still be advertised to take it back: a collector
	// does not keep the ad of a dead daemon for so long.
	alive = 20 * time.Minute
)

// scheddClaim is what an ad says of where a schedd is.
type scheddClaim struct {
	name, at string
	home     string // the daemon's own address; at if the ad does not say
	heard    int64
	sender   sender
	ad       *classad.ClassAd
	own      bool // it is the schedd's ad, not a submitter's
}

// readClaim reads what the ad of a schedd or a submitter says, which names the schedd in the given
// attribute.
func readClaim(ad *classad.ClassAd, name string) scheddClaim {
	c := scheddClaim{ad: ad, own: name == "Name", sender: senderOf(ad)}
	c.name, _ = ad.Literal(name).Text()
	var given bool
	if c.at, given = ad.Literal("ScheddIpAddr").Text(); !given {
		c.at, _ = ad.Literal("MyAddress").Text()
	}
	if c.home, given = ad.Literal("MyAddress").Text(); !given {
		c.home = c.at
	}
	c.heard, _ = ad.Literal("LastHeardFrom").Int()
	return c
}

// isGenuine tells whether the ad is of the daemon at the schedd's address. A collector keeps one ad
// for each name and daemon's address, so another may have one that names this schedd's beside.
func (c scheddClaim) isGenuine() bool { return sameDaemon(c.home, c.at) }

// claimSchedd keeps a schedd's own ad until all have come. However many others there are, those of
// schedds that are known are kept.
func (o *Observer) claimSchedd(l *look, c scheddClaim) {
	err := accountant.CheckWords(c.name)
	switch {
	case err != nil:
		l.leaveOut("schedds", err)
	case o.schedds[c.name] != nil || len(l.scheddClaims) < mostClaims:
		l.scheddClaims = append(l.scheddClaims, c)
	default:
		l.conflicts[tooMany] = true
	}
}

// tooMany says that some schedds are not taken in.
var tooMany = fmt.Sprintf("more than %d schedds are advertised: new ones are left out", mostClaims)

// settleSchedds takes in the schedds' own ads. Of several that bear one name, one is taken in.
func (o *Observer) settleSchedds(l *look) {
	claims := l.scheddClaims
	l.scheddClaims = nil
	named := map[string]map[string]bool{} // the names at each address
	for _, c := range claims {
		at := endpoint(c.at)
		if named[at] == nil {
			named[at] = map[string]bool{}
		}
		named[at][c.name] = true
	}
	// Whom the collector knows best comes first, then who has an address to himself.
	genuine := func(c scheddClaim) int {
		if c.isGenuine() {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(claims, func(a, b scheddClaim) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(b.sender.trust(), a.sender.trust()),
			cmp.Compare(genuine(a), genuine(b)), cmp.Compare(len(named[endpoint(a.at)]), len(named[endpoint(b.at)])), strings.Compare(a.at, b.at))
	})
	for len(claims) > 0 {
		n := 1
		for n < len(claims) && claims[n].name == claims[0].name {
			n++
		}
		o.settleSchedd(l, o.schedds[claims[0].name], claims[:n])
		claims = claims[n:]
	}
}

// settleSchedd takes in the ad of one schedd, of several ads that bear its name.
func (o *Observer) settleSchedd(l *look, s *schedd, claims []scheddClaim) {
	for s == nil && len(claims) > 0 {
		if s = o.addSchedd(l, claims[0]); s == nil {
			claims = claims[1:]
		}
	}
	if s == nil {
		return
	}
	refused := func(c scheddClaim) bool { return s.keeper.refuses(c.sender, l.Began) }
	isMine := func(c scheddClaim) bool { return sameDaemon(c.at, s.at) && !refused(c) && !s.disowns(c) }
	mine := slices.IndexFunc(claims, isMine)
	mine = max(mine, slices.IndexFunc(claims, func(c scheddClaim) bool { return isMine(c) && s.isIncumbent(c, claims[mine]) }))
	other := slices.IndexFunc(claims, func(c scheddClaim) bool { return !sameDaemon(c.at, s.at) && !refused(c) })
	switch {
	case mine < 0: // a collector may keep one ad of a name, and that may be another's
		s.elsewhere, s.look, s.seen = &claims[max(other, 0)], l.Number, l.Began
		return
	case other >= 0 && s.yields(claims[mine], claims[other], l.Began):
		if !o.moveSchedd(l, s, claims[other].at) {
			return
		}
		mine = other
	}
	s.keeper = keeper{claims[mine].sender, l.Began}
	for _, c := range claims {
		switch {
		case sameDaemon(c.at, s.at) && !refused(c):
			l.tellTwin(s, claims[mine], c)
		default:
			l.conflict("two schedds are called %s, at %s (%s) and %s (%s): the first of them keeps the name; give each a "+
				"SCHEDD_NAME of its own"+howToDecide("SCHEDD"), s.Name, s.at, s.keeper.sender.String(), c.at, c.sender.String())
			if s.since == l.Number && !s.answered && s.former == "" && c.sender.trust() == s.keeper.sender.trust() {
				s.rivals = append(s.rivals, c.at)
			}
		}
	}
	c := claims[mine]
	if s.at != c.at {
		if address, err := cedar.ParseAddress(c.at); err == nil {
			s.at, s.Address = c.at, address
		}
	}
	s.elsewhere, s.own = nil, l.Number
	s.home = c.home
	s.see(c, l)
	counted, _ := c.ad.Literal("MyCurrentTime").Int()
	s.Counted = min(backfill.Time(counted), backfill.Time(l.Began.Add(maxClockSkew).Unix()))
	l.noteOdd("schedd", c.name, c.ad, stateOfSchedds)
	s.readRoom(c.ad)
	o.readCurb(s, c.ad, l)
}

// isIncumbent tells whether an ad comes from where the schedd's did before, and is as good as another.
func (s *schedd) isIncumbent(c, other scheddClaim) bool {
	return c.home == s.home && c.sender == other.sender && c.isGenuine() == other.isGenuine()
}

// tellTwin notes that of two ads of a schedd at its address the first counts.
func (l *look) tellTwin(s *schedd, mine, other scheddClaim) {
	if other.home != mine.home {
		l.conflict("two ads are of schedd %s at %s, from %s and %s: the first of them counts"+howToDecide("SCHEDD"),
			s.Name, s.at, mine.home, other.home)
	}
}

// yields tells whether the schedd gives its name up to another that has it, while both are
// advertised.
func (s *schedd) yields(mine, other scheddClaim, now time.Time) bool {
	silent := s.Failed != nil && (!s.answered || now.Sub(s.failing) >= silentFor)
	back := s.former != "" && sameDaemon(s.former, other.at) && now.Sub(s.moved) >= alive
	return silent || back || other.heard-mine.heard > outdated || other.sender.outranks(mine.sender)
}

// disowns tells whether an ad is another's, as it comes from another daemon than the schedd's ads
// did that came from itself.
func (s *schedd) disowns(c scheddClaim) bool { return s.genuine && !c.isGenuine() }

// see notes that a look saw an ad of the schedd, or of one of its submitters.
func (s *schedd) see(c scheddClaim, l *look) {
	s.keeper = keeper{c.sender, l.Began}
	s.genuine = s.genuine || c.isGenuine()
	s.look, s.seen, s.told = l.Number, l.Began, max(s.told, min(c.heard, l.Began.Unix()))
}

// addSchedd takes in a schedd that was not known; nil if its address cannot be read.
func (o *Observer) addSchedd(l *look, c scheddClaim) *schedd {
	address, err := cedar.ParseAddress(c.at)
	if err != nil {
		o.log.Warn("a schedd is left out", "schedd", backfill.Printable(c.name, longestTold), "error", err)
		return nil
	}
	s := &schedd{Schedd: Schedd{Name: c.name, Submitters: map[string]Submitter{}}, groups: map[string]*Group{}}
	s.Address, s.at, s.since = address, c.at, l.Number
	o.schedds[c.name] = s
	if !o.settleHome(l, s, c) {
		s.see(c, l)
	}
	return s
}

// settleHome has a schedd where a former observer knew it, before whatever is new. It reports
// whether an ad says that it is elsewhere: then it is asked there if it does not answer.
func (o *Observer) settleHome(l *look, s *schedd, c scheddClaim) (elsewhere bool) {
	home, known := o.homes.Schedds[s.Name]
	delete(o.homes.Schedds, s.Name)
	address, err := cedar.ParseAddress(home)
	if !known || err != nil {
		return false
	}
	s.since, s.answered = 0, true
	if sameDaemon(c.at, home) {
		return false
	}
	s.at, s.Address, s.look, s.seen, s.elsewhere = home, address, l.Number, l.Began, &c
	return true
}

// moveSchedd has a schedd asked at another address. It reports whether that can be read.
func (o *Observer) moveSchedd(l *look, s *schedd, to string) bool {
	address, err := cedar.ParseAddress(to)
	if err != nil {
		o.log.Warn("a schedd is left out", "schedd", s.Name, "error", err)
		return false
	}
	o.log.Info("a schedd is at another address now", "schedd", s.Name, "was", s.at, "now", to)
	s.stopReading()
	s.former, s.moved = s.at, l.Began
	s.Address, s.at, s.since = address, to, l.Number
	s.asleep, s.Failed, s.answered, s.elsewhere, s.failures = time.Time{}, nil, false, nil, 0
	s.Capability, s.heard, s.told, s.keeper, s.home, s.genuine, s.own = "", 0, 0, keeper{}, "", false, 0
	return true
}

// scheddOf returns the schedd of a submitter; nil if there is none at the address in the
// submitter's ad. That ad may be older than the daemon, or another's. A schedd of another pool that
// sends jobs here is known by its submitters alone.
func (o *Observer) scheddOf(c scheddClaim, l *look) *schedd {
	if err := accountant.CheckWords(c.name); err != nil {
		l.leaveOut("schedds", err)
		return nil
	}
	s := o.schedds[c.name]
	switch {
	case s == nil && l.submitted >= mostSubmitted:
		l.conflicts[tooManySubmitted] = true
		return nil
	case s == nil:
		l.submitted++
		return o.addSchedd(l, c)
	case !sameDaemon(c.at, s.at):
		// The ad of a schedd may be an impostor's, as a collector may keep one of a name.
		fresh := s.since == l.Number && !s.answered && c.sender.trust() > s.keeper.sender.trust()
		if (fresh || s.keeper.yieldsTo(c.sender)) && o.moveSchedd(l, s, c.at) {
			s.see(c, l)
			return s
		}
		open := s.elsewhere == nil || s.keeper.refuses(s.elsewhere.sender, l.Began)
		if open && (s.own != l.Number || !s.answered && s.former == "") {
			s.elsewhere = &c
		}
		return nil
	case s.disowns(c):
		l.conflict("submitters of schedd %s are advertised from %s, which is not its address, %s: they are left out"+
			howToDecide("SUBMITTOR"), s.Name, c.home, s.at)
		return nil
	case s.keeper.refuses(c.sender, l.Began):
		l.conflict("submitters of schedd %s are advertised at its own address, %s, in ads %s, and not %s: they are left out"+
			howToDecide("SUBMITTOR"), s.Name, s.at, c.sender.String(), s.keeper.sender.String())
		return nil
	}
	s.see(c, l)
	return s
}

// mostSubmitted bounds the schedds that are known by their submitters alone: each is asked in each
// look.
const mostSubmitted = 1000

var tooManySubmitted = fmt.Sprintf("more than %d schedds are known by submitters alone: new ones are left out", mostSubmitted)

// submitted counts the schedds that are known by their submitters alone.
func (o *Observer) submitted() (n int) {
	for _, s := range o.schedds {
		if s.own == 0 {
			n++
		}
	}
	return n
}

// giveWay has the schedds asked elsewhere that do not answer where they were, if an ad says where
// they are: they have restarted.
func (o *Observer) giveWay(l *look) {
	for _, name := range slices.Sorted(maps.Keys(o.schedds)) {
		s := o.schedds[name]
		c := s.elsewhere
		o.doubt(l, s)
		if s.elsewhere = nil; c == nil {
			continue
		}
		switch refused := s.keeper.refuses(c.sender, l.Began); {
		case refused:
			l.conflict("schedd %s was at %s, %s, and an ad says that it is at %s, %s: the ad is left out"+
				howToDecide("SCHEDD"), s.Name, s.at, s.keeper.sender.String(), c.at, c.sender.String())
		case sameDaemon(c.at, s.at):
		case s.Failed != nil || s.Moved:
			l.grew = o.moveSchedd(l, s, c.at) || l.grew
		case s.read == l.Number && (c.own || s.own == 0):
			l.conflict("schedd %s answers at %s, and an ad says that it is at %s: the ad is left out", s.Name, s.at, c.at)
		}
	}
}

// doubt has a new schedd asked at a rival's address if it knows none of the jobs which slots say
// that they run for it.
func (o *Observer) doubt(l *look, s *schedd) {
	if s.read != l.Number || len(s.rivals) == 0 {
		return
	}
	rival := s.rivals[0]
	if s.rivals = s.rivals[1:]; o.knowsOfRuns(s) || !o.moveSchedd(l, s, rival) {
		s.rivals = nil
		return
	}
	s.Groups, s.Stopped, s.answers, s.groups, s.Since, s.read = nil, nil, nil, map[string]*Group{}, time.Time{}, 0
	l.grew = true
}

// knowsOfRuns tells whether some job that a slot says it runs for a schedd is in the schedd's
// queue, or no slot says so. Slots count whose senders are known no less than the schedd.
func (o *Observer) knowsOfRuns(s *schedd) bool {
	runs := map[JobKey]bool{}
	for name, slot := range o.slots {
		if slot.Claimed && slot.Runs.Schedd == s.Name && o.read[name].keeper.sender.trust() >= s.keeper.sender.trust() {
			runs[slot.Runs] = true
		}
	}
	for _, g := range s.Groups {
		if g.Runs() && slices.ContainsFunc(g.Jobs, func(key JobKey) bool { return runs[key] }) {
			return true
		}
	}
	return len(runs) == 0
}

// before tells whether a schedd has the address that both have rather than another does: if the
// other's sender is weaker, or else if it was seen later, or else was there first. What they say of
// themselves does not count.
func (s *schedd) before(other *schedd, now time.Time) bool {
	mine, its := s.withstands(other, now), other.withstands(s, now)
	switch apart := s.told - other.told; {
	case mine != its:
		return mine
	case s.look != other.look:
		return s.look > other.look
	case max(apart, -apart) > outdated:
		return apart > 0
	default:
		return cmp.Or(cmp.Compare(s.since, other.since), cmp.Compare(min(other.own, 1), min(s.own, 1)),
			cmp.Compare(other.runs, s.runs), strings.Compare(s.Name, other.Name)) < 0
	}
}

// withstands tells whether another schedd, of a weaker sender, does not get the address that both
// have.
func (s *schedd) withstands(other *schedd, now time.Time) bool {
	return s.keeper.refuses(other.keeper.sender, now) &&
		(s.since <= other.since || other.keeper.yieldsTo(s.keeper.sender))
}

// findMoved marks the schedds whose address another one has, and the jobs there. They have been
// renamed, or are none.
func (o *Observer) findMoved(l *look) {
	runs := map[string]int{}
	for _, slot := range o.slots {
		runs[slot.Runs.Schedd]++
	}
	at := map[string]*schedd{}
	for _, name := range slices.Sorted(maps.Keys(o.schedds)) {
		s := o.schedds[name]
		s.runs = runs[name]
		if known := at[endpoint(s.at)]; known == nil || s.before(known, l.Began) {
			at[endpoint(s.at)] = s
		}
	}
	for _, s := range o.schedds {
		there := at[endpoint(s.at)]
		moved := there != s
		switch {
		case moved && s.look == l.Number:
			l.conflict("schedds %s and %s are advertised at one address, %s: the first of them has the jobs there"+howToDecide("SCHEDD"),
				there.Name, s.Name, s.at)
		case moved && !s.Moved:
			o.log.Info("a schedd has another name now", "schedd", s.Name, "now", there.Name)
		}
		if moved {
			s.stopReading()
		}
		s.Moved = moved
	}
}
