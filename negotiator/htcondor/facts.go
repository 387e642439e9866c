package htcondor

import (
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/claims"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// Facts are what the last look at the pool showed, and what has become of matches.
type Facts struct {
	Began time.Time
	Took  time.Duration
	// LookCPU is the processor time of the look, and RestCPU of comparing it with what was known.
	LookCPU, RestCPU           time.Duration
	Slots, Schedds, Submitters int
	// Idle and Running count jobs in the plan, Unplanned those that are kept out of it, see Why.
	Idle, Running, Unplanned int
	// Foreign counts claims of jobs that cannot be seen. When they end is a guess.
	Foreign     int
	Negotiators []observe.Other
	Problems    []string
	// Paused are slots that are left out for a while, since starts fail there.
	Paused []claims.Pause
	// Asleep are the slots of machines that sleep, as they will be once these are awake, by name.
	Asleep []*negotiator.Slot
	// Overlapping are the slots whose resources are those of their machines' other slots.
	Overlapping []negotiator.Overlapping
	// Matched and Unstarted count jobs since the start, see [claims.Counts], and Rejected the reasons
	// for waiting that schedds were told.
	Matched, Rejected, Unstarted int
	// Promises says what became of promised starts since the start.
	Promises track.Promises
	// Kept is how many bytes of memory the queues take, at most, and LeftOut how many jobs are not
	// planned because their ads are too large or are not read yet, or because too many wait.
	Kept, LeftOut int
	// Contested counts the ads that are left out since another daemon has their name or address.
	Contested int
	// Deaf counts the slots that would be lent for many short jobs if their START heeded leases.
	Deaf int
	// Found counts how often a schedd was found to have new jobs that no look had seen, and AskCPU is
	// the processor time of asking.
	Found  int
	AskCPU time.Duration
}

// Last returns what the last look at the pool showed.
func (p *Pool) Last() Facts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.facts
}

// Why returns why a job is not planned with; the second result is false if it is planned with, or
// not known.
func (p *Pool) Why(id backfill.JobID) (track.Unplanned, bool) { return p.seen().Why(id) }

// Unplanned returns the jobs that are not planned with, by submit time, then by schedd and ID.
// Until the next look it is the same slice, which must not be changed.
func (p *Pool) Unplanned() []track.Unplanned {
	view := p.seen()
	p.describing.Lock()
	defer p.describing.Unlock()
	if p.describedOf != view {
		p.describedOf, p.described = view, view.All()
	}
	return p.described
}

// Find lists the jobs that users call by a name: 12.0, or 12.0@schedd where several schedds have
// one. It waits while a look is compared.
func (p *Pool) Find(name string) []backfill.JobID {
	p.naming.Lock()
	defer p.naming.Unlock()
	return p.belief.Find(name)
}

// UsedBy returns the slots that a submitter's jobs use. Until the next look it is the same slice,
// which must not be changed.
func (p *Pool) UsedBy(submitter string) []track.Used {
	view := p.seen()
	p.describing.Lock()
	defer p.describing.Unlock()
	if p.usedOf != view {
		p.usedOf, p.used = view, view.Used()
	}
	return p.used[submitter]
}

// Lacking returns which limit has no room for a waiting job now; "" if all have. Only whoever
// runs the cycles may ask.
func (p *Pool) Lacking(id backfill.JobID) string {
	return p.claims.Limits().Lacking(p.belief.Job(id))
}

// MayRetire tells whether a job is a scavenger that matches only slots on which nobody may retire, and there
// are others. Only whoever runs the cycles may ask.
func (p *Pool) MayRetire(id backfill.JobID) bool {
	j := p.belief.Job(id)
	return j != nil && j.Group.Spec.MayRetire() && p.belief.View().Retires
}

// Submitter returns who submitted a job; "" if it is a foreign claim, or nobody knows it. Only whoever runs
// the cycles may ask.
func (p *Pool) Submitter(id backfill.JobID) string {
	if j := p.belief.Job(id); j != nil && j.Group != nil {
		return j.Group.Spec.Submitter()
	}
	return ""
}

// Charge sets what a job that is only asked about takes of concurrency limits; see [track.Limits.Charge].
// Only whoever runs the cycles may ask.
func (p *Pool) Charge(j *negotiator.Job) ([]negotiator.Limit, error) {
	return p.claims.Limits().Charge(j)
}

// Matched returns the jobs that were matched and do not run yet, as the last look saw their queues.
func (p *Pool) Matched() []backfill.JobID { return p.seen().Matched() }

func (p *Pool) seen() *track.View {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.view
}

// trouble shows an error in the facts.
func (p *Pool) trouble(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.facts.Problems = []string{err.Error()}
}

// publish stores what the Pool's methods for other goroutines return.
// Comparing the look began when so much processor time was used.
func (p *Pool) publish(s *observe.Snapshot, problems []string, used time.Duration) {
	view, counts, paused := p.belief.View(), p.claims.Counts(), p.claims.Paused()
	asleep, overlapping := p.belief.Aside()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.view = view
	p.facts = Facts{
		Began: s.Began, Took: s.Took, Slots: view.Slots, Schedds: len(s.Schedds), Submitters: s.Submitters,
		Idle: view.Idle, Running: view.Running, Unplanned: view.Unplanned, Foreign: view.Foreign,
		Negotiators: s.Negotiators, Problems: slices.Concat(s.Problems, problems), Paused: paused,
		Matched: counts.Matched, Rejected: p.dispatcher.Rejected(), Unstarted: counts.Unstarted,
		Kept: s.Kept, LeftOut: s.LeftOut + view.Unseated, Contested: s.Contested,
		Promises: view.Promises, Deaf: counts.Deaf, Asleep: asleep, Overlapping: overlapping,
		Found: p.submits.woken, AskCPU: p.submits.spent,
		LookCPU: p.lookCPU, RestCPU: p.s.CPU() - used,
	}
}
