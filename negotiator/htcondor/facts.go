package htcondor

import (
	"cmp"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Facts are what a look at the pool showed.
type Facts struct {
	Began                        time.Time
	Took                         time.Duration
	Slots, Schedds, Submitters   int
	Idle, Running, Unplanned     int // jobs; the last are kept out, see Why
	Foreign                      int // claims of jobs that we do not see; when they end is a guess
	Negotiators                  []Other
	Problems                     []string
	Paused                       []Pause // slots on which starts fail
	Matched, Rejected, Unstarted int     // since the start: jobs handed over, told to wait, never seen to run
}

// OtherAttributes are what [ReadOther] reads.
var OtherAttributes = []string{"Name", "MyAddress", "DaemonStartTime", "BackfillVersion"}

// Unplanned is a job that is not planned with.
type Unplanned struct {
	ID                      backfill.JobID
	Job, Schedd, Owner, Why string
}

// Other is a negotiator that the collector knows.
type Other struct {
	Name, Address string
	Started       time.Time
	Ours          bool // it is one like this
}

// Last is what the last look showed.
func (p *Pool) Last() Facts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.facts
}

// Why says why a job that is known is not planned with; false: it is.
func (p *Pool) Why(id backfill.JobID) (Unplanned, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.outside, func(o outside) bool { return o.id == id })
	if i < 0 {
		return Unplanned{}, false
	}
	return p.outside[i].describe(), true
}

// Unplanned are all jobs that are not planned with, in the order of jobs.
func (p *Pool) Unplanned() []Unplanned {
	p.mu.Lock()
	out := slices.Clone(p.outside)
	p.mu.Unlock()
	slices.SortFunc(out, func(a, b outside) int {
		return cmp.Or(cmp.Compare(a.group.submit, b.group.submit), a.key.compare(b.key))
	})
	all := make([]Unplanned, len(out))
	for i, o := range out {
		all[i] = o.describe()
	}
	return all
}

// outside is a job that is not planned with, as a look found it. There may be very many at
// each look, and seldom does anybody ask: they are described then.
type outside struct {
	id    backfill.JobID
	key   jobKey
	group *group
	why   string
	// several says that there is more than one schedd.
	several bool
}

func (o outside) describe() Unplanned {
	return Unplanned{ID: o.id, Job: o.key.name(o.several), Schedd: o.key.schedd, Owner: o.group.plan.labels["owner"], Why: o.why}
}

// Find lists the jobs that users call so: 12.0, or 12.0@schedd where several schedds
// have one.
func (p *Pool) Find(name string) []backfill.JobID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.names[name]
}

// trouble shows an error in the facts.
func (p *Pool) trouble(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.facts.Problems = []string{err.Error()}
}

// publish puts down what others ask for.
func (p *Pool) publish(l *look) {
	f := Facts{
		Began: l.began, Took: l.took, Submitters: l.submitters, Negotiators: l.others, Problems: l.problems, Paused: p.pauses(l.began),
		Schedds: len(p.schedds), Unplanned: len(l.outside),
	}
	for _, j := range p.jobs {
		switch j.phase {
		case running:
			f.Running++
		case waiting:
			f.Idle++
		case unknown:
		}
	}
	for _, s := range p.slots {
		if s.up {
			f.Slots++
		}
		if s.foreign != 0 {
			f.Foreign++
		}
	}
	names := p.names
	if p.renamed {
		names, p.renamed = p.nameJobs(), false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	f.Matched, f.Rejected, f.Unstarted = p.matched, p.rejected, p.unstarted
	p.facts, p.names, p.outside = f, names, l.outside
}

// nameJobs lists the jobs by what users call them.
func (p *Pool) nameJobs() map[string][]backfill.JobID {
	names := make(map[string][]backfill.JobID, 2*len(p.jobs))
	for key, j := range p.jobs {
		short := key.String()
		names[short] = append(names[short], j.id)
		names[short+"@"+key.schedd] = []backfill.JobID{j.id}
	}
	for _, ids := range names {
		slices.Sort(ids)
	}
	return names
}
