package meter

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Options say what a Meter tells.
type Options struct {
	// Alone says that no daemon's own metrics are collected beside it: it then tells what
	// dashboards need of those, too.
	Alone bool
	// Group returns what an accounting group is called; nil: as it is.
	Group func(name string) string
}

// Meter counts what a negotiator does, as a [prometheus.Collector]. Its methods may be called
// concurrently; Cycle by one goroutine at a time.
type Meter struct {
	o                             Options
	phases, decisions, waits, off *prometheus.HistogramVec
	starts                        prometheus.Counter

	mu       sync.Mutex // guards what follows
	groups   *names
	policies *names
	totals   totals
	last     *Cycle   // nil: none yet
	seen     *picture // of the last cycle; nil: nobody has asked since

	looking sync.Mutex // is held while somebody looks at the copy of a state
}

// totals are what a daemon's own metrics tell.
type totals struct {
	cycles, slots, started, running, idle, reserved, beyond, unplanned int
	fallback                                                           bool
	broken                                                             map[string]int
	phases                                                             []Phase
}

// Phase is a part of a cycle, and how long it took.
type Phase struct {
	Name string
	Took time.Duration
}

// Cycle is what a Meter is told of a cycle.
type Cycle struct {
	// Report is the negotiator's. It is read before [Meter.Cycle] returns.
	Report *negotiator.Report
	// Observes says that nothing was started, whatever the report says.
	Observes bool
	// Phases are those of the cycle; nil: matching and planning, as the report has them.
	Phases []Phase
	// State returns a copy of the state after the cycle that nobody else uses meanwhile, such as
	// that of an outlook. It is called when somebody collects, once if there is a copy. Nil, or if
	// there is none yet: nothing is told of the pool.
	State func() *backfill.State
	// Starts returns a function that says which start a waiting job is told; it may return nil, and
	// be nil.
	Starts func() func(backfill.JobID) (backfill.Time, bool)
	// Groups returns the accounting groups that have quotas; nil: none has.
	Groups func() []Group
}

// Group is an accounting group and its quota, in the weight of slots.
type Group struct {
	Name  string
	Quota float64
}

// The phases of a report, as a daemon calls them.
const (
	PhaseFetch   = "fetch"
	PhaseMatch   = "match"
	PhasePlan    = "plan"
	PhaseAct     = "act"
	PhasePublish = "publish"
	PhaseRest    = "rest"
)

// New returns a Meter that was told nothing yet.
func New(o Options) *Meter {
	m := &Meter{
		o:         o,
		phases:    histogram("cycle_phase_seconds", "How long each phase of a cycle took.", 0.001, 120, "phase"),
		decisions: histogram("decision_seconds", "How long a policy took to decide a cycle.", 0.0001, 60, "policy"),
		waits: histogram("job_wait_seconds", "How long jobs had waited when they were started, by accounting group. "+
			"A job that is started again counts again.", 1, 30*24*3600, "group"),
		off: histogram("told_start_error_seconds",
			"By how much starts came earlier or later than they were told, by when they were told.", 1, 7*24*3600, "told"),
		starts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "backfill_job_starts_total",
			Help: "Jobs that were matched, to start at once or as soon as others have made way.",
		}),
		groups:   &names{known: map[string]string{}, most: MostGroups, call: o.Group},
		policies: newNames(mostPolicies), totals: totals{broken: map[string]int{}},
	}
	for _, told := range []string{"arrival", "head"} {
		m.off.WithLabelValues(told)
	}
	return m
}

// StartError counts a start that came, and by how many seconds it was told wrong, earlier or later.
// The parameter told is when it was told: at the job's "arrival", or at the "head" of the queue.
func (m *Meter) StartError(told string, seconds backfill.Time) {
	m.off.WithLabelValues(told).Observe(float64(max(seconds, -seconds)))
}

// Cycle counts a cycle. One that is quiet is passed over.
func (m *Meter) Cycle(c Cycle) {
	r := c.Report
	if r.Quiet {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.Phases == nil {
		c.Phases = []Phase{{PhaseMatch, r.Matched}, {PhasePlan, r.Took - r.Matched}}
	}
	for _, phase := range c.Phases {
		m.phases.WithLabelValues(phase.Name).Observe(phase.Took.Seconds())
	}
	policy, _ := r.State.Policy()
	m.decisions.WithLabelValues(m.policies.label(policy)).Observe((r.Took - r.Matched).Seconds())
	if !c.Observes {
		m.wait(r)
	}
	m.count(r)
	m.totals.phases = c.Phases
	m.last, m.seen = &c, nil
	m.last.Report = nil // it is valid until the next cycle
}

// wait counts the jobs that start, and how long they had waited.
func (m *Meter) wait(r *negotiator.Report) {
	m.starts.Add(float64(len(r.Matches)))
	for i := range r.Matches {
		match := &r.Matches[i]
		label := m.groups.label(match.Job.Labels["group"])
		m.waits.WithLabelValues(label).Observe(float64(max(0, max(r.Delta.Now, match.At)-match.Job.Submit)))
	}
}

// count counts what a daemon's own metrics tell.
func (m *Meter) count(r *negotiator.Report) {
	if !m.o.Alone {
		return
	}
	t, s := &m.totals, r.State
	t.cycles++
	t.started, t.running, t.idle = len(r.Matches), s.RunningJobs(), s.Waiting()
	t.beyond, t.unplanned = s.BeyondDepth(), s.Held()
	t.slots, t.reserved = 0, 0
	for _, slot := range s.Slots() {
		if s.SlotUp(slot.ID) {
			t.slots++
		}
	}
	for _, j := range s.Settled() {
		if !j.Running && j.Held == "" {
			t.reserved++
		}
	}
	t.fallback = r.Negotiator() != nil && r.Negotiator().GivenUp() != nil
	for _, b := range r.Decision.Broken {
		t.broken[b.Cause.String()]++
	}
}
