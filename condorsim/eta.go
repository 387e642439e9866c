package condorsim

import (
	"context"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// Eta says how [RunEta] finds out how true the start times are that waiting jobs are told.
type Eta struct {
	// Jobs is how many jobs are told one, evenly over those that do not start in their round of
	// arrival; 0: [DefaultEtaJobs].
	Jobs int
	// Futures is how many futures are played for a range; 0: [ahead.DefaultFutures]. Seed determines
	// what is drawn in them.
	Futures int
	Seed    uint64
	// Workers is how many jobs are told their starts at a time; 0: as many as there are processors.
	// The results do not depend on it.
	Workers int
	// Estimates are the estimators, which take the place of those of the configuration. Open opens
	// the files that they name; may be nil.
	Estimates estimate.Settings
	Open      func(name string) (io.ReadCloser, error)
}

// DefaultEtaJobs is how many jobs are told their starts by default.
const DefaultEtaJobs = 1000

// Told is what a waiting job was told about its start at an instant.
type Told struct {
	Job backfill.JobID
	At  backfill.Time
	// Range is when it starts in the futures.
	Range ahead.Range
	// Fit is where the schedule of that instant has it: its reservation, or its earliest fit beside
	// those before it. It is [backfill.Forever] if it has no place there.
	Fit backfill.Time
}

// EtaResult is what a sample of jobs was told, by job: at the arrival, and when it became the head
// of the queue. A job that has nobody before it when it arrives is in both.
type EtaResult struct {
	Arrival, Head []Told
	// AtOnce counts the jobs that started in their round of arrival, and Waited those that did not, of
	// which some were told their starts.
	AtOnce, Waited int
}

// RunEta is [Run] without a pace that also tells jobs when they will start, as they would be told
// on a real pool: from a copy of the schedule that is played ahead. What comes of the jobs is the
// same as without.
//
// The workload is run twice: first to learn which jobs wait. The policies must be
// [backfill.Repeatable], and the workload must have no outages.
func RunEta(ctx context.Context, w *Workload, c negotiator.Config, eta Eta, sinks ...negotiator.Sink) (*Result, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	t, err := newTeller(w, c, eta)
	if err != nil {
		return nil, err
	}
	sample, err := t.sample(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.Estimates, err = w.set(eta.Estimates, c.Policy.Spec().Guarantees, eta.Open); err != nil {
		return nil, err
	}
	t.work(ctx, fail, sample)
	r, err := Run(ctx, w, c, nil, append([]negotiator.Sink{t}, sinks...)...)
	if err != nil {
		fail(err)
	}
	close(t.asked)
	t.working.Wait()
	t.twins.Close()
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause // the error of a play, or the caller's
	}
	byJob := func(a, b Told) int { return int(a.Job - b.Job) }
	slices.SortFunc(t.told.Arrival, byJob)
	slices.SortFunc(t.told.Head, byJob)
	r.Eta = &t.told
	return r, nil
}

// teller is the sink that tells the jobs of a sample when they will start.
type teller struct {
	eta            Eta
	w              *Workload
	main, fallback backfill.Repeatable
	n              *negotiator.Negotiator
	twins          outlook.Twins // decide in the plays

	arriving, rising map[backfill.JobID]bool // the jobs still to be told, at their arrival and as heads
	asked            chan question
	working          sync.WaitGroup

	mu   sync.Mutex
	told EtaResult
}

// question is a copy of the schedule, and the jobs that are told now when they will start in it.
type question struct {
	outlook *outlook.Outlook
	arrived []backfill.JobID
	head    []backfill.JobID // one at most
}

func newTeller(w *Workload, c negotiator.Config, eta Eta) (*teller, error) {
	main, fallback, err := copyable(w, c, "start times")
	if err != nil {
		return nil, err
	}
	if eta.Jobs <= 0 {
		eta.Jobs = DefaultEtaJobs
	}
	if eta.Workers <= 0 {
		eta.Workers = runtime.GOMAXPROCS(0)
	}
	return &teller{eta: eta, w: w, main: main, fallback: fallback, asked: make(chan question, eta.Workers)}, nil
}

// sample runs the workload once, and chooses of the jobs that do not start in their round of arrival
// every k-th.
func (t *teller) sample(ctx context.Context, c negotiator.Config) (map[backfill.JobID]bool, error) {
	ours, err := t.main.Again(ctx)
	if err != nil {
		return nil, err
	}
	defer closeDecider(ours)
	second, err := t.fallback.Again(ctx)
	if err != nil {
		return nil, err
	}
	defer closeDecider(second)
	c.Policy, c.Fallback = ours, second
	if c.Estimates, err = t.w.set(t.eta.Estimates, ours.Spec().Guarantees, t.eta.Open); err != nil {
		return nil, err
	}
	c.Refused = nil // the run that counts reports it
	var all waiters
	if _, err = Run(ctx, t.w, c, nil, &all); err != nil {
		return nil, err
	}
	waited := all.jobs
	t.told.AtOnce, t.told.Waited = all.atOnce, len(waited)
	chosen := map[backfill.JobID]bool{}
	slices.Sort(waited)
	for i := range min(t.eta.Jobs, len(waited)) {
		chosen[waited[i*len(waited)/min(t.eta.Jobs, len(waited))]] = true
	}
	return chosen, nil
}

// waiters are the jobs that do not start in their round of arrival, and the number of those that do.
type waiters struct {
	jobs   []backfill.JobID
	atOnce int
}

// Cycle notes who of those that arrive has to wait.
func (s *waiters) Cycle(r *negotiator.Report) error {
	for _, j := range r.Delta.Submitted {
		switch {
		case r.State.IsWaiting(j.ID):
			s.jobs = append(s.jobs, j.ID)
		case r.State.IsRunning(j.ID):
			s.atOnce++
		}
	}
	return nil
}

func closeDecider(d backfill.Decider) {
	if d, closes := d.(interface{ Close() }); closes {
		d.Close()
	}
}

// work starts the workers, which tell the jobs their starts. Errors go to fail, which ends the
// simulation.
func (t *teller) work(ctx context.Context, fail context.CancelCauseFunc, sample map[backfill.JobID]bool) {
	t.arriving, t.rising = sample, maps.Clone(sample)
	for range t.eta.Workers {
		t.working.Go(func() {
			for q := range t.asked {
				if ctx.Err() != nil {
					continue
				}
				if err := t.tell(ctx, q, fail); err != nil {
					fail(fmt.Errorf("start times, in a copy of the simulation at %s: %w", t.w.text(q.outlook.Now()), err))
				}
			}
		})
	}
}

// watch is called with the negotiator before the first cycle.
func (t *teller) watch(n *negotiator.Negotiator) { t.n = n }

// Cycle hands a copy of the schedule to the workers if a job of the sample has arrived, or has become
// the head of the queue.
func (t *teller) Cycle(r *negotiator.Report) error {
	var q question
	for _, j := range r.Delta.Submitted {
		if t.arriving[j.ID] && r.State.IsWaiting(j.ID) {
			delete(t.arriving, j.ID)
			q.arrived = append(q.arrived, j.ID)
		}
	}
	for _, j := range r.State.FirstWaiting(1) {
		if t.rising[j.ID] && !t.arriving[j.ID] {
			delete(t.rising, j.ID)
			q.head = append(q.head, j.ID)
		}
	}
	if len(q.arrived)+len(q.head) > 0 {
		q.outlook = outlook.New(t.n)
		t.asked <- q
	}
	return nil
}

// tell plays a copy ahead, and notes what its jobs are told.
func (t *teller) tell(ctx context.Context, q question, fail context.CancelCauseFunc) error {
	asked := append(slices.Clone(q.arrived), q.head...)
	refused := func(r backfill.Refusal) { // a start by the fallback would not be the policy's
		fail(fmt.Errorf("start times, in a copy of the simulation at %s: %w", t.w.text(r.Now), r.Err))
	}
	ranges, err := t.twins.Ranges(ctx, q.outlook, outlook.FuturesOptions{
		Futures: ahead.Futures{Count: t.eta.Futures, Workers: 1, Of: asked}, Seed: t.eta.Seed,
	}, ahead.Bounds{}, refused)
	if err != nil {
		return err
	}
	fits := fitsOf(q.outlook, asked)
	told := func(ids []backfill.JobID) (list []Told) {
		for _, id := range ids {
			one := Told{Job: id, At: q.outlook.Now(), Range: ahead.Range{
				Low: backfill.Forever, Mid: backfill.Forever, High: backfill.Forever,
			}, Fit: backfill.Forever}
			if r, starts := ranges[id]; starts {
				one.Range = r
			}
			if at, fits := fits[id]; fits {
				one.Fit = at
			}
			list = append(list, one)
		}
		return list
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told.Arrival = append(t.told.Arrival, told(q.arrived)...)
	t.told.Head = append(t.told.Head, told(q.head)...)
	return nil
}
