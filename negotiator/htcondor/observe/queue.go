package observe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
)

// jobRequirements are true of the jobs that can ever need a slot of ours. A gang's proc that is on
// hold may: its schedd starts it with the others. A schedd that groups its answer evaluates them
// against the attributes that are asked for, and no others.
const jobRequirements = "JobStatus =!= 3 && JobStatus =!= 4 && (JobStatus =!= 5 || JobUniverse =?= 11) && " +
	"JobUniverse =!= 7 && JobUniverse =!= 9 && JobUniverse =!= 12"

// stoppedJobs is the constraint for jobs that were put on hold or removed since a Unix time.
const stoppedJobs = "(JobStatus == 3 || JobStatus == 5) && EnteredCurrentStatus >= %d"

// stopGrace is how far before the last interval a look still asks for jobs that were put on hold or
// removed: a schedd may answer late, and its clock may differ.
const stopGrace = 2 * time.Minute

// maxQueue bounds what is kept of what a schedd sends of its jobs at once, in bytes of memory, see
// [price]. A hundred thousand jobs of which no two are alike take half of it; a user may have three
// quarters. See [intake] for what is left out if it is more.
const maxQueue = 1 << 30

// maxStopped is how many of the jobs that were put on hold or removed lately are kept of a schedd's
// answer.
const maxStopped = 1_000_000

// brokeredPause is how long a schedd is left alone that was never reached because it is behind a
// broker (CCB): another try would only delay each look.
const brokeredPause = 5 * time.Minute

// A schedd whose answer failed after longer than a look waits is left alone for restAfterFailure
// times as long as that took, but for maxRest at most: an answer that does not end would take a
// processor otherwise. The silence at its end does not count, since waiting takes nothing: a schedd
// that hung for a while is read as soon as it answers.
const (
	restAfterFailure = 3
	maxRest          = 5 * time.Minute
)

// question is what a schedd is asked.
type question struct {
	schedd       client.Schedd
	name         string
	jobs         string // a constraint
	attributes   []string
	began        time.Time
	stoppedSince time.Time
	most         int             // bytes of memory that the answer may take
	stock        *stock          // what is kept of all queues; nil: of no other
	records      bool            // it is asked for the limits of single users, too
	run          map[string]bool // attributes that are kept of running jobs whose ads are left out
}

// rawGroup is an ad that stands for several jobs: their IDs, and the other lines.
type rawGroup struct{ lines, ids []byte }

// reading is a schedd's answer to a question, or why there is none.
type reading struct {
	question
	groups  []rawGroup
	surplus surplus
	size    int // what the groups take, in bytes of memory
	stopped []JobKey
	took    time.Duration
	err     error
	// recorded are the limits of users and projects; unrecorded is why there is no answer about them.
	recorded   []record
	unrecorded error
}

// askAll begins to read the queues of all schedds.
func (o *Observer) askAll(ctx context.Context) {
	for _, s := range o.schedds {
		o.ask(ctx, s)
	}
}

// ask begins to read a schedd's queue, unless that is under way or done, or the schedd has been
// renamed or cannot be reached.
func (o *Observer) ask(ctx context.Context, s *schedd) {
	if s.reading != nil || s.read == o.number || s.Moved || o.now().Before(s.asleep) {
		return
	}
	answer := make(chan reading, 1)
	ctx, cancel := context.WithCancel(ctx)
	began, since := o.now(), time.Now()
	q := question{
		schedd: client.Schedd{Security: o.s.Security, Address: s.Address}, name: s.Name,
		jobs: o.wantedJobs(), attributes: o.jobAttributes.projection(),
		began: began, stoppedSince: o.stoppedSince(s, began), most: o.most, run: o.run,
		records: s.records, stock: o.stock,
	}
	in := newIntake(q)
	o.stock.begin(in)
	s.stop = func() { cancel(); o.stock.end(in) }
	patience := o.s.Patience
	s.reading = answer
	go func() {
		within, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		r := readQueue(within, q, in)
		r.took = time.Since(since)
		answer <- r
	}()
}

// wantedJobs returns the constraint by which schedds are asked for jobs.
func (o *Observer) wantedJobs() string {
	if o.s.JobConstraint == "" {
		return jobRequirements
	}
	return jobRequirements + " && (" + o.s.JobConstraint + ")"
}

// readQueue asks a schedd for its jobs, in groups of those that are alike, and then which jobs were
// put on hold or removed lately.
func readQueue(ctx context.Context, q question, in *intake) reading {
	r := reading{question: q}
	jobs := client.JobQuery{Requirements: q.jobs, Projection: q.attributes, Group: true, Long: in.add}
	_, r.err = q.schedd.Jobs(ctx, jobs, func(lines cedar.Lines) error { return in.add(lines, len(lines)) })
	if r.err != nil {
		return r
	}
	r.groups, r.surplus, r.size = in.all(), in.surplus, in.size
	stopped := client.JobQuery{
		Requirements: fmt.Sprintf(stoppedJobs, q.stoppedSince.Unix()), Projection: []string{"ClusterId", "ProcId"},
	}
	_, r.err = q.schedd.Jobs(ctx, stopped, func(lines cedar.Lines) error {
		if len(r.stopped) == maxStopped {
			return nil
		}
		if ad, err := lines.Said(); err == nil { // else it is none
			cluster, _ := ad.Literal("ClusterId").Int()
			proc, _ := ad.Literal("ProcId").Int()
			r.stopped = append(r.stopped, JobKey{q.name, cluster, proc})
		}
		return nil
	})
	if r.err == nil && q.records {
		r.recorded, r.unrecorded = readRecords(ctx, q)
	}
	return r
}

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

// hear takes in what the schedds answer. It waits for them no longer than Hold.
func (o *Observer) hear(ctx context.Context, l *look) {
	wait, cancel := context.WithTimeout(ctx, o.s.Hold)
	defer cancel()
	for _, name := range slices.Sorted(maps.Keys(o.schedds)) {
		s := o.schedds[name]
		if s.Moved {
			continue
		}
		if s.reading == nil { // it is not to be asked
			if s.Failed != nil {
				l.problem("%s", s.Failed)
			}
			continue
		}
		r, answered := s.answer(wait.Done(), o.s.Hold)
		if !answered {
			l.problem("schedd %s has not told its queue yet", name)
			continue
		}
		s.stopReading()
		if o.accept(s, r) {
			l.grew = o.digest(s, r, l.Number) || l.grew
		}
		if s.Failed != nil {
			l.problem("%s", s.Failed)
		} else if s.wrong != "" {
			l.problem("%s", s.wrong)
		}
	}
}

// answer waits for a schedd's answer until the channel is closed; answered is false if none has
// come by then. A schedd that once was too late is no longer waited for: its answer is only taken
// if it is there. That changes when an answer has taken it less than hold.
func (s *schedd) answer(up <-chan struct{}, hold time.Duration) (r reading, answered bool) {
	select {
	case r = <-s.reading:
	default:
		if s.lags {
			s.Late = true
			return r, false
		}
		select {
		case r = <-s.reading:
		case <-up:
			s.Late, s.lags = true, true
			return r, false
		}
	}
	s.Late, s.lags = false, s.lags && r.took >= hold
	return r, true
}

// accept notes whether a schedd answered, and tells whether the answer is of use: no error, and of
// the jobs that are asked for now. It may lack attributes that are asked for since, as does what it
// replaces.
func (o *Observer) accept(s *schedd, r reading) bool {
	switch {
	case r.err != nil && s.Failed == nil:
		o.log.Warn("a schedd does not tell its queue; what is known of its jobs stands",
			"schedd", s.Name, "error", r.err)
	case r.err == nil && s.Failed != nil:
		o.log.Info("a schedd tells its queue again", "schedd", s.Name)
	}
	if s.Failed == nil {
		s.failing = o.now()
	}
	s.Failed, s.answered = r.err, s.answered || r.err == nil
	busy := r.took
	if errors.Is(r.err, os.ErrDeadlineExceeded) {
		busy -= o.s.Security.Silence()
	}
	if errors.Is(r.err, cedar.ErrBrokered) && s.Since.IsZero() {
		s.asleep = o.now().Add(brokeredPause)
	} else if r.err != nil && busy > o.s.Hold {
		s.asleep = o.now().Add(min(restAfterFailure*busy, maxRest))
	}
	return r.err == nil && r.jobs == o.wantedJobs()
}

// digest takes in what the look of this number read of a schedd's queue. It reports whether jobs
// refer to attributes that were not asked for.
func (o *Observer) digest(s *schedd, r reading, number int) (grew bool) {
	s.read, s.Since = number, r.began
	o.stock.keep(s.Name, portion{r.schedd.Address.Host, r.size})
	if r.unrecorded == nil {
		s.recorded = r.recorded
	} else {
		o.log.Debug("a schedd does not tell the limits of its users", "schedd", s.Name, "error", r.unrecorded)
	}
	if s.asked != r.jobs {
		s.asked, s.AskedSince = r.jobs, number
	}
	unread, which := 0, ""
	leftOut, whose := 0, ""
	s.Groups, s.Stopped = make([]*Group, 0, len(r.groups)), r.stopped
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
			}
			bad, one := made.readJobs(raw.ids, s.Name)
			if bad > 0 {
				unread, which = unread+bad, one
			}
			if g = made; !g.Spec.unread {
				s.groups[string(raw.lines)] = g
			}
		}
		if g.Spec.leftOut {
			leftOut, whose = leftOut+len(g.Jobs), g.Spec.user
		}
		g.look = number
		s.Groups = append(s.Groups, g)
	}
	s.answers = append(s.answers, Reading{Number: number, Groups: s.Groups, Stopped: s.Stopped})
	s.leftOut, s.wrong = leftOut+r.surplus.jobs, wrongWith(s.Name, leftOut, whose, unread, which)
	if r.surplus.jobs > 0 {
		s.wrong = r.surplus.told(s.Name)
	}
	maps.DeleteFunc(s.groups, func(_ string, g *Group) bool { return g.look != number })
	return grew
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
// taken too much in this look. It reports whether the ad refers to attributes that were not asked for.
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

// parse parses a group's ad, or of what is left of it the lines that can be parsed if the ad cannot: the
// jobs are there, and some may run.
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
	g.Suspended = min(backfill.Time(max(0, number("CumulativeSuspensionTime"))), backfill.MaxTime)
	g.SuspendedAt = backfill.Time(number("LastSuspensionTime"))
	if at := number("DeferralTime"); at > 0 {
		g.Deferral = Deferral{
			Time: backfill.Time(at), Prep: backfill.Time(max(0, number("DeferralPrepTime"))),
			Window: backfill.Time(max(0, number("DeferralWindow"))),
		}
	}
	g.Hosts = o.hostsOf(ad)
	return g
}

// hostsOf returns the slots on which a job runs, but no more than one above the number of its nodes,
// which shows that something is wrong: the user may have written a long list. Only of gangs does the
// schedd write RemoteHosts.
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
