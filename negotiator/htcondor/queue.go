package htcondor

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
)

// jobKey names a job in a pool.
type jobKey struct {
	schedd        string
	cluster, proc int64
}

func (k jobKey) compare(o jobKey) int {
	return cmp.Or(strings.Compare(k.schedd, o.schedd), cmp.Compare(k.cluster, o.cluster), cmp.Compare(k.proc, o.proc))
}

func (k jobKey) String() string {
	return strconv.FormatInt(k.cluster, 10) + "." + strconv.FormatInt(k.proc, 10)
}

// phase is where the negotiator thinks that a job stands.
type phase uint8

const (
	unknown phase = iota // to the negotiator
	waiting
	running
)

// job is a job in a queue.
type job struct {
	key   jobKey
	id    backfill.JobID
	group *group // what it has in common with others in its queue
	look  int    // the number of the last look at its queue that saw it
	// stopped is the last look that saw it put on hold or removed a short time ago.
	stopped int

	// As the negotiator knows it: how it is planned with, whether it runs, and if so
	// where and since when.
	as        *plan
	submit    backfill.Time
	phase     phase
	places    []place
	claims    []string // of a gang that runs, where they are known; secrets
	start     backfill.Time
	estimated backfill.Time // of a running one, which may have been edited since

	// planned is when the negotiator was told of it as of one that waits.
	planned time.Time
}

// place is a number of chunks on a slot.
type place struct {
	Slot   string `json:"slot"`
	Chunks int    `json:"chunks"`
}

// group are jobs of a queue that are alike in all that was asked for.
type group struct {
	plan    *plan
	status  int64
	submit  backfill.Time
	prio    int64
	hosts   []string // where it runs
	started backfill.Time
	manager string // the DedicatedScheduler of a gang
	timed   bool   // it is to start at a time of its own
	ids     []byte // as they came
	jobs    []*job
	look    int
}

// Values of JobStatus.
const (
	idle         = 1
	runningNow   = 2
	transferring = 6
	suspended    = 7
)

// runs tells whether jobs of the group hold slots.
func (g *group) runs() bool {
	return g.status == runningNow || g.status == transferring || g.status == suspended
}

// schedd is a daemon with a queue.
type schedd struct {
	name    string
	address cedar.Address
	at      string            // the address as it came
	look    int               // that last saw its ad or one of its submitters
	own     int               // that last saw its own ad; 0: none did
	seen    time.Time         // when
	read    int               // the look that last had its queue
	since   time.Time         // when that reading began; zero: never
	asked   string            // which jobs that were
	other   int               // the look since which it is asked for those
	wrong   string            // what of the last reading was left out, and why
	failed  error             // why the last reading failed
	asleep  time.Time         // nobody asks it before, for it cannot be reached
	late    bool              // it did not answer in time, nor has since
	lags    bool              // nobody waits for it until it answers in less than hold
	under   chan reading      // the reading under way; nil: none
	stop    func()            // ends it
	groups  map[string]*group // by their lines
	// telling is where it will be told of matches, if that is under way, and slow whether
	// nobody waits for that until it takes less than hold.
	telling chan outcome
	matches []match
	slow    bool
	// releasing is where it will be told which claims of gangs have ended, if that is under way.
	releasing chan released
	refused   bool      // the last time it was not told of all
	mute      time.Time // it is not told reasons until then, since that took too long
	// submitters are those that it advertises, by name.
	submitters map[string]submitter
	capability string // a secret
	moved      bool   // another schedd is where it was: it has been renamed
	heard      int64  // when the collector got that, in Unix time
	// gang is when the last of its gangs began, counted when it last counted its queue;
	// both by its own clock.
	gang, counted backfill.Time
	// room is how many jobs it runs at once; nil: it does not say. It says itself that it is
	// full; that may be minutes old.
	room *accountant.Room
	full bool
}

// submitter is a submitter ad.
type submitter struct {
	look int // that saw its ad last
	tag  string
	idle int64
}

// rawGroup is an ad of a grouped query, apart from the jobs' IDs.
type rawGroup struct{ lines, ids []byte }

// jobRequirements are true of the jobs that can ever need a slot of ours. In groups the
// schedd knows no attributes but those that are asked for.
const jobRequirements = "JobStatus =!= 3 && JobStatus =!= 4 && JobStatus =!= 5 && JobUniverse =!= 7 && JobUniverse =!= 9 && JobUniverse =!= 12"

// stoppedJobs are those that were put on hold or removed after a time.
const stoppedJobs = "(JobStatus == 3 || JobStatus == 5) && EnteredCurrentStatus >= %d"

// stopGrace is by how much longer than an interval jobs are seen that were stopped: a
// schedd may answer late, and its clock differ.
const stopGrace = 2 * time.Minute

// maxQueue bounds what a schedd may tell of its jobs at once, in bytes: a hundred
// thousand jobs of which no two are alike take less than half of it.
const maxQueue = 256 << 20

// reading is what came of asking a schedd.
type reading struct {
	asked      string // which jobs
	groups     []rawGroup
	stopped    []jobKey
	attributes int // how many were asked for
	began      time.Time
	took       time.Duration
	err        error
}

// wantedJobs are those that a schedd is asked for.
func (p *Pool) wantedJobs() string {
	if p.s.JobConstraint == "" {
		return jobRequirements
	}
	return jobRequirements + " && (" + p.s.JobConstraint + ")"
}

// readQueue asks a schedd for its jobs, in groups of those that are alike, and then which
// jobs were stopped.
func (p *Pool) readQueue(ctx context.Context, s *schedd, asked string, projection []string, began, stoppedSince time.Time) reading {
	ctx, cancel := context.WithTimeout(ctx, p.s.Patience)
	defer cancel()
	r := reading{asked: asked, attributes: len(projection), began: began}
	d := client.Schedd{Security: p.s.Security, Address: s.address}
	size := 0
	_, r.err = d.Jobs(ctx, client.JobQuery{Requirements: asked, Projection: projection, Group: true}, func(lines cedar.Lines) error {
		if size += len(lines); size > p.most {
			return fmt.Errorf("the queue of schedd %s does not end after %d bytes", s.name, p.most)
		}
		r.groups = append(r.groups, split(lines))
		return nil
	})
	if r.err != nil {
		return r
	}
	stopped := client.JobQuery{
		Requirements: fmt.Sprintf(stoppedJobs, stoppedSince.Unix()), Projection: []string{"ClusterId", "ProcId"},
	}
	_, r.err = d.Jobs(ctx, stopped, func(lines cedar.Lines) error {
		ad, err := lines.Ad()
		if err == nil {
			cluster, _ := ad.Int("ClusterId")
			proc, _ := ad.Int("ProcId")
			r.stopped = append(r.stopped, jobKey{s.name, cluster, proc})
		}
		return err
	})
	return r
}

// split takes the lines out of a group's ad that say which jobs it has.
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

// digest takes in what was read of a queue. It reports whether jobs refer to
// attributes that were not asked for.
func (p *Pool) digest(s *schedd, r reading, number int) (grew bool) {
	s.readAt(r, number)
	unread, which := 0, ""
	for _, raw := range r.groups {
		g := s.groups[string(raw.lines)]
		if g == nil {
			ad, err := p.parser.ParseOld(string(raw.lines))
			if err != nil {
				unread, which = unread+1, err.Error()
				continue
			}
			g = readGroup(ad)
			var more bool
			g.plan, more = p.planOf(ad, s.name)
			grew = grew || more
			s.groups[string(raw.lines)] = g
		}
		g.look = number
		if !bytes.Equal(g.ids, raw.ids) {
			g.ids, g.jobs = raw.ids, nil
			for id := range strings.FieldsSeq(string(raw.ids)) {
				cluster, proc, ok := parseJobID(id)
				if !ok {
					unread, which = unread+1, fmt.Sprintf("%q is no job's ID", id)
					continue
				}
				g.jobs = append(g.jobs, p.job(jobKey{s.name, cluster, proc}))
			}
		}
		for _, j := range g.jobs {
			j.group, j.look = g, number
		}
	}
	s.wrong = ""
	if unread > 0 {
		s.wrong = fmt.Sprintf("of what schedd %s tells of its queue %d parts cannot be read, and their jobs are left out: %.200s", s.name, unread, which)
	}
	for _, key := range r.stopped {
		if j := p.jobs[key]; j != nil {
			j.stopped = number
		}
	}
	for lines, g := range s.groups {
		if g.look != number {
			delete(s.groups, lines)
		}
	}
	return grew
}

// readAt notes when a queue was read, and since when for which jobs.
func (s *schedd) readAt(r reading, number int) {
	s.read, s.since = number, r.began
	if s.asked != r.asked {
		s.asked, s.other = r.asked, number
	}
}

// job finds or founds a job.
func (p *Pool) job(key jobKey) *job {
	j := p.jobs[key]
	if j == nil {
		p.lastID++
		j = &job{key: key, id: p.lastID}
		p.jobs[key], p.byID[j.id], p.renamed = j, j, true
	}
	return j
}

// readGroup reads the passing attributes.
func readGroup(ad *classad.ClassAd) *group {
	g := &group{}
	number := func(name string) int64 {
		n, _ := ad.Eval(name, nil).Number()
		return int64(max(-1<<50, min(n, 1<<50)))
	}
	g.status, g.submit, g.prio = number("JobStatus"), backfill.Time(number("QDate")), number("JobPrio")
	g.started = backfill.Time(number("JobCurrentStartDate"))
	g.manager, _ = ad.Text("Scheduler")
	g.timed = number("DeferralTime") > 0
	hosts, several := ad.Text("RemoteHosts")
	if !several {
		hosts, _ = ad.Text("RemoteHost")
	}
	g.hosts = strings.FieldsFunc(hosts, func(r rune) bool { return r == ',' || r == ' ' })
	return g
}

// places are where the jobs of a group run, by the slots that are planned with.
func (p *Pool) places(g *group) []place {
	hosts := make([]string, len(g.hosts))
	for i, name := range g.hosts {
		hosts[i] = parent(name)
		if s := p.slots[name]; s != nil {
			hosts[i] = s.host
		}
	}
	slices.Sort(hosts)
	var at []place
	for i, host := range hosts {
		if i == 0 || host != hosts[i-1] {
			at = append(at, place{Slot: host})
		}
		at[len(at)-1].Chunks++
	}
	return at
}

// list writes places as a [negotiator.Placement] is written.
func list(at []place) string {
	places := make(negotiator.Placement, len(at))
	for i, a := range at {
		places[i] = negotiator.Place{Slot: &negotiator.Slot{Name: a.Slot}, Chunks: a.Chunks}
	}
	return places.String()
}

// name is what users call a job, of several schedds with the schedd.
func (k jobKey) name(several bool) string {
	if several {
		return k.String() + "@" + k.schedd
	}
	return k.String()
}

func (p *Pool) nameOf(j *job) string { return j.key.name(p.several()) }

func (p *Pool) several() bool { return len(p.schedds) > 1 }

// describe is a job in the negotiator's terms.
func (p *Pool) describe(j *job) *negotiator.Job {
	return &negotiator.Job{
		ID: j.id, Name: p.nameOf(j), Submit: j.group.submit, Nodes: j.group.plan.nodes,
		Place:    backfill.Place{Queue: j.key.schedd, Cluster: j.key.cluster, Proc: j.key.proc},
		Estimate: j.group.plan.estimate, Limit: j.group.plan.limit,
		Labels: j.group.plan.labels, Ad: j.group.plan.ad,
	}
}

// same tells whether a job is as the negotiator knows it.
func (j *job) same() bool {
	now := j.group.plan
	return (j.as == now || j.as.text == now.text) && j.submit == j.group.submit
}

// tell notes that the negotiator is told of a job as it is now.
func (p *Pool) tell(j *job, is phase) *negotiator.Job {
	if is == waiting && j.phase == unknown {
		j.planned = p.looked
	}
	j.as, j.submit, j.phase, j.estimated = j.group.plan, j.group.submit, is, j.group.plan.estimate
	return p.describe(j)
}

// submitterOf is in whose name a job is negotiated for.
func (j *job) submitterOf() string {
	if j.group.plan.parallel {
		if j.group.manager != "" {
			return j.group.manager
		}
		return "DedicatedScheduler@" + j.key.schedd
	}
	return j.group.plan.submitter()
}
