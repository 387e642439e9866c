package observe

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

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

// question is what a schedd is asked.
type question struct {
	schedd       client.Schedd
	name         string
	jobs         string // a constraint
	attributes   []string
	began        time.Time
	stoppedSince time.Time
	hold         time.Duration   // it is asked for so long how many jobs were submitted; 0: it is not
	most         int             // bytes of memory that the answer may take
	stock        *stock          // what is kept of all queues; nil: of no other
	records      bool            // it is asked for the limits of single users, too
	run          map[string]bool // attributes that are kept of running jobs whose ads are left out
}

// reading is a schedd's answer to a question, or why there is none.
type reading struct {
	question
	groups     []rawGroup
	surplus    surplus
	size       int // what the groups take, in bytes of memory
	text       int // bytes of the answer
	besides    besides
	submits    int64 // before the queue was read
	took       time.Duration
	err        error
	unrecorded error // why there is no answer about the limits of users and projects
}

// ask begins to read a schedd's queue, unless that is under way or done, or the schedd has been
// renamed or cannot be reached, or others have their turn.
func (o *Observer) ask(ctx context.Context, s *schedd) {
	if s.reading != nil || s.read == o.number || s.Moved || o.now().Before(s.asleep) || !o.isTurnOf(s) {
		return
	}
	answer := make(chan reading, 1)
	ctx, cancel := context.WithCancel(ctx)
	began := o.now()
	q := question{
		schedd: client.Schedd{Security: o.s.Security, Address: s.Address}, name: s.Name,
		jobs: o.wantedJobs(), attributes: o.jobAttributes.projection(),
		began: began, stoppedSince: o.stoppedSince(s, began), most: o.most, run: o.run,
		records: s.records, stock: o.stock,
	}
	if o.s.CountSubmits && s.answered && s.Failed == nil { // who cannot be reached is tried once
		q.hold = o.s.Hold
	}
	in := newIntake(q)
	s.stop = func() { cancel(); o.stock.end(in.share) }
	patience, rooms := max(o.s.Patience, o.s.Timeout), o.roomsFor(s)
	s.reading = answer
	go o.turns.within(ctx, rooms, func() {
		since := time.Now()
		within, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		r := readQueue(within, q, in)
		r.took = time.Since(since)
		answer <- r
	})
}

// wantedJobs returns the constraint by which schedds are asked for jobs.
func (o *Observer) wantedJobs() string {
	if o.s.JobConstraint == "" {
		return jobRequirements
	}
	return jobRequirements + " && (" + o.s.JobConstraint + ")"
}

// readQueue asks a schedd how many jobs were submitted, for its jobs, in groups of those that are
// alike, and then which jobs were put on hold or removed lately.
func readQueue(ctx context.Context, q question, in *intake) reading {
	r := reading{question: q, submits: Uncounted}
	if q.hold > 0 {
		if n, err := submitted(ctx, q.schedd, q.hold); err == nil { // plans can do without
			r.submits = n
		}
	}
	most := mostText(q.most)
	jobs := client.JobQuery{Requirements: q.jobs, Projection: q.attributes, Group: true, Long: in.add, Most: most}
	_, r.err = q.schedd.Jobs(ctx, jobs, func(lines cedar.Lines) error { return in.add(lines, len(lines)) })
	r.text = in.read
	if r.err != nil {
		return r
	}
	stopped := client.JobQuery{
		Requirements: fmt.Sprintf(stoppedJobs, q.stoppedSince.Unix()), Projection: []string{"ClusterId", "ProcId"},
		Most: most,
	}
	_, r.err = q.schedd.Jobs(ctx, stopped, func(lines cedar.Lines) error {
		ad, err := lines.Said()
		if err != nil {
			return nil //nolint:nilerr // it tells of no job
		}
		cluster, _ := ad.Literal("ClusterId").Int()
		proc, _ := ad.Literal("ProcId").Int()
		return in.addStopped(JobKey{q.name, cluster, proc}, len(lines))
	})
	if r.err == nil && q.records {
		r.unrecorded = readRecords(ctx, q, in)
	}
	r.groups = in.all()
	r.surplus, r.besides, r.size, r.text, r.err = in.surplus, in.besides, in.size, in.read, cmp.Or(r.err, in.failure)
	return r
}

// hear takes in what the schedds answer. It waits for them no longer than Hold,
// and for those that are new as [newcomers] says.
func (o *Observer) hear(ctx context.Context, l *look) {
	wait, cancel := context.WithTimeout(ctx, o.s.Hold)
	defer cancel()
	fresh, stop := o.newcomers.begin(wait, o.s.Hold)
	defer stop()
	defer o.newcomers.learn(fresh)
	turns := map[string]int{} // those who wait, by port
	for _, name := range slices.Sorted(maps.Keys(o.schedds)) {
		s := o.schedds[name]
		if s.Moved {
			continue
		}
		if s.reading == nil { // it is not to be asked
			if s.Failed != nil {
				l.problem("%s", s.Failed)
			} else if o.now().Before(s.asleep) {
				l.problem("schedd %s has a long queue: its jobs are read once in %v", name, s.rest)
			} else if s.turn != o.turns.look {
				turns[s.port()]++
			}
			continue
		}
		up, trust, isNew := wait, s.keeper.sender.trust(), !s.answered && !s.lags
		if isNew {
			up = fresh.up[trust]
		}
		r, answered := s.answer(up.Done(), o.s.Hold)
		if isNew {
			fresh.note(trust, r, answered)
		}
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
	o.tellTurns(l, turns)
}
