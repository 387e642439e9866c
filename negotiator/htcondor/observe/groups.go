package observe

import (
	"bytes"
	"fmt"
	"maps"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// rawGroup is an ad that stands for several jobs: their IDs, and the other lines.
type rawGroup struct{ lines, ids []byte }

// split takes those lines out of a group's ad that say which jobs it has.
func split(lines cedar.Lines) rawGroup {
	var g rawGroup
	g.lines = make([]byte, 0, len(lines))
	for line := range bytes.SplitAfterSeq(lines, []byte{'\n'}) {
		name, value, _ := bytes.Cut(line, []byte(" = "))
		switch string(name) {
		case "JobIds":
			g.ids = append([]byte{}, bytes.Trim(value, "\"\n ")...)
		case "JobCount", "Id", "ServerTime":
		default:
			g.lines = append(g.lines, line...)
		}
	}
	return g
}

// digest takes in what the look of this number read of a schedd's queue. It reports whether jobs
// refer to attributes that were not asked for.
func (o *Observer) digest(s *schedd, r reading, number int) (grew bool) {
	s.read, s.Since, s.Submits = number, r.began, r.submits
	known := s.limits.size // while the answer has none
	switch {
	case r.unrecorded != nil:
		o.log.Debug("a schedd does not tell the limits of its users", "schedd", s.Name, "error", r.unrecorded)
	case !r.besides.leftOut:
		s.limit(r.besides.recorded)
		known = 0
	}
	if s.asked != r.jobs {
		s.asked, s.AskedSince = r.jobs, number
	}
	unread, which := 0, ""
	leftOut, whose := 0, ""
	s.Groups, s.Stopped = make([]*Group, 0, len(r.groups)), r.besides.stopped
	s.NewestStopped = r.besides.highest
	for _, raw := range r.groups {
		g := s.groups[string(raw.lines)]
		if g == nil || !bytes.Equal(g.ids, raw.ids) {
			made := &Group{}
			if g != nil {
				*made = *g
			} else {
				fresh, more, err := o.readNew(raw.lines, s.Name)
				if err != nil {
					unread, which = unread+1, err.Error()
					continue
				}
				made, grew = fresh, grew || more
				made.price = priceAlone(raw.lines)
			}
			bad, one := made.readJobs(raw.ids, s.Name)
			if bad > 0 {
				unread, which = unread+bad, one
			}
			if g = made; !g.Spec.unread {
				s.groups[string(raw.lines)] = g
			}
		}
		g = o.groupRoundedAnew(s, raw, g)
		if g.Spec.leftOut {
			leftOut, whose = leftOut+len(g.Jobs), g.Spec.user
		}
		g.look = number
		s.Groups = append(s.Groups, g)
	}
	o.keepAnswer(s, r, number, known)
	s.leftOut, s.wrong = leftOut+r.surplus.jobs, wrongWith(s.Name, leftOut, whose, unread, which)
	if r.surplus.jobs > 0 {
		s.wrong = r.surplus.told(s.Name)
	}
	maps.DeleteFunc(s.groups, func(_ string, g *Group) bool { return g.look != number })
	return grew
}

// groupRoundedAnew returns a group as slots round now what its jobs take: another one if that differs.
func (o *Observer) groupRoundedAnew(s *schedd, raw rawGroup, g *Group) *Group {
	spec := o.roundedAnew(g.Spec)
	if spec == g.Spec {
		return g
	}
	anew := *g
	anew.Spec = spec
	s.groups[string(raw.lines)] = &anew
	return &anew
}

// keepAnswer counts what is kept of a schedd's answers in a look, the limits of before among it, and
// drops the earlier ones if they take too much.
func (o *Observer) keepAnswer(s *schedd, r reading, number, limits int) {
	if n := len(s.answers); n > 0 {
		s.earlier += s.answers[n-1].without(number)
	} else {
		s.earlier = 0
	}
	if !o.stock.keep(s.Name, portion{r.schedd.Address.Host, r.size + limits, s.earlier}) {
		s.answers, s.earlier = nil, 0
	}
	s.answers = append(s.answers, Reading{Number: number, Groups: s.Groups, Stopped: s.Stopped})
}

// without returns how much memory a reading takes besides what a later one has, too.
func (r Reading) without(number int) int {
	all := bytesPerStopped * len(r.Stopped)
	for _, g := range r.Groups {
		if g.look != number {
			all += g.price + priceOfJobs(g.ids)
		}
	}
	return all
}

// wrongWith says what was left out of the answer of a schedd; "" if nothing was.
func wrongWith(schedd string, leftOut int, whose string, unread int, which string) string {
	switch {
	case unread > 0:
		return fmt.Sprintf("of what schedd %s tells of its queue %d parts cannot be read, and their jobs are left "+
			"out: %.200s", schedd, unread, which)
	case leftOut > 0:
		return fmt.Sprintf("the ads of %d jobs in the queue of schedd %s are too large or cannot be read, and the jobs "+
			"are not planned: among them jobs of %.100s", leftOut, schedd, whose)
	}
	return ""
}

// readNew reads a group's ad that was not seen before, or what is left of it if its user's ads have
// taken too much in this look. It reports whether the ad refers to attributes that were not asked
// for.
func (o *Observer) readNew(lines []byte, schedd string) (g *Group, grew bool, err error) {
	user, _ := cedar.Lines(lines).Find("User")
	payer, before := string(user), o.used()
	if !o.reads.may(payer) {
		lines = outline(lines, o.run, readLater)
	}
	ad, err := o.parse(lines)
	if err == nil {
		g = o.readGroup(ad)
		g.Spec, grew = o.specOf(ad, schedd)
	}
	o.reads.charge(payer, o.used()-before+len(lines)/bytesPerRead)
	return g, grew, err
}

// parse parses a group's ad, or of what is left of it the lines that can be parsed if the ad
// cannot: the jobs are there, and some may run.
func (o *Observer) parse(lines []byte) (*classad.ClassAd, error) {
	ad, err := o.parser.ParseOld(string(lines))
	if err != nil {
		var left []byte
		for line := range bytes.Lines(outline(lines, o.run, unreadable)) {
			if _, wrong := o.parser.ParseOld(string(line)); wrong == nil {
				left = append(left, line...)
			}
		}
		if outlined, wrong := o.parser.ParseOld(string(left)); wrong == nil {
			return outlined, nil
		}
	}
	return ad, err
}

// readJobs reads the jobs' IDs. It returns how many texts are no IDs, and what is wrong with the
// last of these.
func (g *Group) readJobs(ids []byte, schedd string) (bad int, which string) {
	g.ids, g.Jobs = ids, nil
	for id := range strings.FieldsSeq(string(ids)) {
		cluster, proc, ok := ParseJobID(id)
		if !ok {
			bad, which = bad+1, id
			continue
		}
		g.Jobs = append(g.Jobs, JobKey{schedd, cluster, proc})
	}
	if bad > 0 {
		which = fmt.Sprintf("%.40q is no job's ID", which)
	}
	return bad, which
}

// readGroup reads a [Group] from a job ad: the attributes that change while jobs wait and run.
func (o *Observer) readGroup(ad *classad.ClassAd) *Group {
	g := &Group{}
	number := func(name string) int64 {
		n, _ := o.value(ad, name).Number()
		return int64(max(-1<<50, min(n, 1<<50)))
	}
	g.Status, g.Submit, g.Prio = number("JobStatus"), backfill.Time(number("QDate")), number("JobPrio")
	g.Started, g.Shadows = backfill.Time(number("JobCurrentStartDate")), number("NumShadowStarts")
	if g.manager, _ = o.value(ad, "Scheduler").Text(); accountant.CheckName(g.manager) != nil {
		g.manager = ""
	}
	g.transfers, _ = o.value(ad, "TransferringInput").Bool()
	g.queued, _ = o.value(ad, "TransferQueued").Bool()
	g.Cools = backfill.Time(max(0, number("JobCoolDownExpiration")))
	g.Vacated = number("VacateReasonCode")
	if at := number("DeferralTime"); at > 0 {
		g.Deferral = Deferral{
			Time: backfill.Time(at), Prep: backfill.Time(max(0, number("DeferralPrepTime"))),
			Window: backfill.Time(max(0, number("DeferralWindow"))),
		}
	}
	g.Hosts = o.hostsOf(ad)
	return g
}

// hostsOf returns the slots on which a job runs, but no more than one above the number of its
// nodes, which shows that something is wrong: the user may have written a long list. Only of gangs
// does the schedd write RemoteHosts.
func (o *Observer) hostsOf(ad *classad.ClassAd) (hosts []string) {
	nodes, list := int64(1), ""
	if universe, _ := o.value(ad, "JobUniverse").Int(); universe == parallelUniverse {
		n, _ := o.value(ad, "MaxHosts").Int()
		nodes = max(1, min(n, backfill.MaxChunks))
		list, _ = o.value(ad, "RemoteHosts").Text()
	}
	if list == "" {
		list, _ = o.value(ad, "RemoteHost").Text()
	}
	for host := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		if hosts = append(hosts, host); int64(len(hosts)) > nodes {
			break
		}
	}
	return hosts
}
