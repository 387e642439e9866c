package negotiator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

// ErrMemory says that what is supposed would take more memory than it may.
var ErrMemory = matchmaker.ErrMemory

// QuestionedJob is a job that a question is about, which is not in the pool, as the plan would take
// it; see [Negotiator.Suppose].
type QuestionedJob struct {
	Expected
	Candidates backfill.Candidates
	Rows       []backfill.Row   // that come with it
	Others     []backfill.Event // of jobs that take of these rows, too
	// WhyNone is why it has no candidates; "" if it has some.
	WhyNone string
}

// supposed is the ID of a job that is only supposed; no pool gets that far.
const supposed backfill.JobID = 1 << 62

// Supposed is a job that is only supposed, before it is known where it could run.
type Supposed struct {
	Expected
	rows   []backfill.Row // that come with it
	others []backfill.Event
	pool   *matchmaker.Copy
}

// Suppose returns a job that is not in the pool as it would be if it arrived now, with an ID and
// predicted run times. Nothing is changed, and the job is matched with nothing yet. It must be
// called between two cycles. Limits are those of which the job takes and that the pool does not have yet, as
// they bind nobody else. The error says why nobody could plan with the job.
func (n *Negotiator) Suppose(job *Job, limits []Limit) (*Supposed, error) {
	job = new(*job)
	job.ID, job.Submit = supposed, n.State().Now()
	job.Position = backfill.QueuePosition{Queue: "\U0010FFFF"} // behind all that came in this second
	if err := n.checkPlannable(job, nil); err != nil {
		return nil, err
	}
	request, err := n.schema.Request(job.Ad, 1)
	if err != nil {
		return nil, err
	}
	n.predictions.predict(job)
	defer n.predictions.forget(job.ID)
	cluster := matchmaker.Autocluster{ID: len(n.State().CandidateSets()), Request: request}
	rows := n.limits.further(limits)
	planned := takeOf(rows, n.inCoreTerms(job, cluster), job)
	s := &Supposed{Expected: n.predictions.expected(job, planned), rows: rows, pool: n.matchmaker.Copy()}
	if len(rows) > 0 {
		s.others = n.takersOf(rows)
	}
	return s, nil
}

// takersOf returns the events with which jobs take of rows that come with a job that is only supposed. They
// wait and run as before.
func (n *Negotiator) takersOf(rows []backfill.Row) (events []backfill.Event) {
	running := map[backfill.JobID]bool{}
	for run := range n.State().Running() {
		running[run.Job.ID] = true
		if n.stands(run.Job.ID) {
			continue // it has left soon, or takes of them once it runs
		}
		if job := n.jobs.get(run.Job.ID); job != nil && takesOf(rows, job) {
			events = append(events, backfill.Event{
				Kind: backfill.Found, Job: takeOf(rows, run.Job, job), Placement: run.Placement, Start: run.Start, End: run.End,
			})
		}
	}
	for _, j := range n.State().FirstWaiting(n.State().Waiting()) {
		if job := n.jobs.get(j.ID); !running[j.ID] && job != nil && takesOf(rows, job) {
			events = append(events, backfill.Event{Kind: backfill.Changed, Job: takeOf(rows, j, job)})
		}
	}
	return events
}

// takesOf reports whether a job takes of one of these rows.
func takesOf(rows []backfill.Row, job *Job) bool {
	return slices.ContainsFunc(job.Takes, func(t Take) bool {
		return slices.ContainsFunc(rows, func(row backfill.Row) bool { return row.Name == t.Limit })
	})
}

// takeOf returns a job, as planned, that takes of these rows, too.
func takeOf(rows []backfill.Row, planned *backfill.Job, job *Job) *backfill.Job {
	if !takesOf(rows, job) {
		return planned
	}
	planned = new(*planned)
	for _, row := range rows { // which are the last
		for _, t := range job.Takes {
			if row.Name == t.Limit {
				planned.Takes = append(slices.Clip(planned.Takes), backfill.Take{Row: row.ID, Amount: t.Amount})
			}
		}
	}
	return planned
}

// Match finds the candidates of the job. It may be called while cycles go on. The error is that of
// the context.
func (s *Supposed) Match(ctx context.Context) (QuestionedJob, error) {
	suited, err := s.pool.Suit(ctx, s.Ad.Ad)
	as := s.Expected
	if suited.Request != nil {
		as.Job = new(*as.Job)
		as.Job.Request = suited.Request
	}
	return QuestionedJob{as, suited.Candidates, s.rows, s.others, suited.WhyNone}, err
}

// Further is more slots, as they would come into the pool; see [Negotiator.Enlarge].
type Further struct {
	Events []backfill.Event
	Sets   []backfill.CandidateSet // that change
	// Untried counts the kinds of jobs that get none of the slots, as it would take too long to match
	// them.
	Untried int
}

// Enlargement is more slots before it is known which jobs could use them.
type Enlargement struct {
	like  *Slot
	slots backfill.SlotID // of the pool
	names []string        // of the resources
	pool  *matchmaker.Copy
}

// Enlarge returns more slots that are like one of the pool's. Nothing is changed, and no job is
// matched with them yet. It must be called between two cycles.
func (n *Negotiator) Enlarge(like string) (*Enlargement, error) {
	id, known := n.inventory.ids[like]
	switch {
	case len(n.inventory.bundles) > 0:
		return nil, errors.New("the pool is partitioned: it cannot get further slots")
	case !known:
		return nil, fmt.Errorf("there is no slot %s", backfill.Printable(like, 100))
	}
	slots := backfill.SlotID(len(n.inventory.slots)) //nolint:gosec // there are fewer
	return &Enlargement{n.inventory.slots[id], slots, n.schema.Resources, n.matchmaker.Copy()}, nil
}

// Match returns what comes with so many slots, which have the given amounts of resources, and the
// others as the slot that they are like. It may be called while cycles go on. The candidate sets
// take no more than the given bytes; see [matchmaker.Copy.Enlarge].
func (e *Enlargement) Match(ctx context.Context, amounts map[string]int64, count int, most int64) (f Further, err error) {
	ad, capacity, err := e.like.with(e.names, amounts)
	if err != nil {
		return f, err
	}
	ids := make([]backfill.SlotID, count)
	for i := range ids {
		ids[i] = e.slots + backfill.SlotID(i) //nolint:gosec // there are fewer
		slot := backfill.Slot{ID: ids[i], Name: fmt.Sprintf("new%d", i+1), Capacity: capacity, End: e.like.End}
		f.Events = append(f.Events, backfill.Event{Kind: backfill.SlotAdded, Slot: slot})
	}
	f.Sets, f.Untried, err = e.pool.Enlarge(ctx, ad, ids, most)
	return f, err
}

// ReadSupposed reads a job that is only supposed from its ad, which need not say which job it is.
func (n *Negotiator) ReadSupposed(name string, ad *classad.ClassAd) (*Job, error) {
	j := &Job{Name: name, Ad: ad.Clone(), Nodes: 1}
	j.Ad.SetInt("QDate", int64(max(0, n.State().Now())))
	if err := n.schema.readJob(j); err != nil {
		return nil, err
	}
	return j, nil
}
