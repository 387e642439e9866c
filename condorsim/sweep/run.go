package sweep

import (
	"context"
	"errors"
	"sync"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Runner says how to run the cells of a sweep.
type Runner struct {
	// Parallel is how many cells run at a time, at least 1.
	Parallel int
	// Memory bounds the estimated memory of the running cells, in bytes. One cell runs in any case.
	Memory int64
	// Save keeps a finished cell; if it fails, so does the sweep.
	Save func(results.Cell) error
	// Finished is called for each cell, in the order in which they finish. The error says why the
	// cell failed; nil: it did not.
	Finished func(key results.Key, cell results.Cell, err error)
	// Progress is called with an estimate of the finished share of the work, from 0 to 1.
	Progress func(share float64)
}

// Failure is a cell that could not be run.
type Failure struct {
	Key results.Key
	// Policy is the policy's name, or the path of its executable from the working directory.
	Policy string
	Err    error
}

// Run runs the cells with these indices of Manifest.Cells. Save, Finished and Progress are called
// by one goroutine at a time. If a cell fails, the others go on; failures are returned in the order
// of the cells. The error is why the sweep was given up: the context ended, or a cell could not be
// saved.
func (p *Sweep) Run(ctx context.Context, cells []int, r Runner) ([]Failure, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tasks := p.tasks(cells)
	s := &running{plan: p, runner: r, cancel: cancel, room: newRoom(r.Memory), failed: make([]error, len(p.cells))}
	for _, t := range tasks {
		s.work += t.cost()
	}
	queue := make(chan *task, len(tasks))
	for _, t := range tasks {
		queue <- t
	}
	close(queue)
	var all sync.WaitGroup
	for range max(1, min(r.Parallel, len(tasks))) {
		all.Go(func() {
			for t := range queue {
				if ctx.Err() != nil {
					return
				}
				s.run(ctx, t)
			}
		})
	}
	all.Wait()
	var failures []Failure
	for i, err := range s.failed {
		if err != nil {
			key := p.cells[i].key
			policy, _ := p.settings.Places.executable(key.Policy) // it was found when it was checked
			failures = append(failures, Failure{key, policy, err})
		}
	}
	return failures, context.Cause(ctx)
}

// running is a sweep that is being run.
type running struct {
	plan   *Sweep
	runner Runner
	cancel context.CancelCauseFunc
	room   *room

	mu         sync.Mutex // for the fields below, and for the calls of the runner
	work, done float64
	failed     []error // by cell
}

// run runs one cell, saves its result and reports it. If the sweep is given up meanwhile, it does
// neither.
func (s *running) run(ctx context.Context, t *task) {
	s.room.enter(t.need())
	defer s.room.leave(t.need())
	defer t.leave()
	part := &progress{running: s, cost: t.cost()}
	c := &s.plan.cells[t.cell]
	w, err := t.workload()
	var cell results.Cell
	if err == nil {
		part.jobs = len(w.Jobs)
		cell, err = s.plan.simulate(ctx, c, w, part)
	}
	if ctx.Err() != nil {
		return // the sweep was given up, so the result does not count
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.runner.Save != nil {
		if saveErr := s.runner.Save(cell); saveErr != nil {
			s.cancel(saveErr)
			return
		}
	}
	s.failed[t.cell] = err
	s.done += part.cost - part.told
	if s.runner.Finished != nil {
		s.runner.Finished(c.key, cell, err)
	}
	s.tell()
}

// tell reports progress. The lock must be held.
func (s *running) tell() {
	if s.runner.Progress != nil && s.work > 0 {
		s.runner.Progress(min(1, s.done/s.work))
	}
}

// progress is a sink that counts the finished jobs of a cell.
type progress struct {
	running    *running
	jobs, done int
	cost, told float64
}

// Cycle reports progress whenever another hundredth of the jobs has ended.
func (p *progress) Cycle(report *negotiator.Report) error {
	before := p.done * 100 / p.jobs
	p.done += len(report.Delta.Completed)
	if p.done*100/p.jobs == before {
		return nil
	}
	s := p.running
	s.mu.Lock()
	defer s.mu.Unlock()
	now := p.cost * float64(p.done) / float64(p.jobs)
	s.done += now - p.told
	p.told = now
	s.tell()
	return nil
}

// shared is a value that several tasks need. The first task that asks for it makes it, and it is
// dropped when the last one is done.
type shared[T any] struct {
	mu    sync.Mutex
	users int
	made  bool
	value T
	err   error
}

func (s *shared[T]) get(produce func() (T, error)) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.made {
		s.value, s.err = produce()
		s.made = true
	}
	return s.value, s.err
}

func (s *shared[T]) leave() (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users--
	if s.users == 0 {
		var none T
		s.value, s.err = none, errors.New("internal error: it was dropped")
	}
	return s.users == 0
}

// task is a cell to run.
type task struct {
	cell    int
	home    *cell
	trace   *shared[*formats.Jobs]
	variant *shared[*condorsim.Workload]
	size    int64 // of the trace's files, in bytes
	copies  bool  // of the simulation are kept, for fair start times
}

// workload returns the task's workload. Other tasks may share it; it must not be changed.
func (t *task) workload() (*condorsim.Workload, error) {
	return t.variant.get(func() (*condorsim.Workload, error) {
		trace, err := t.trace.get(t.home.input.trace)
		if err != nil {
			return nil, err
		}
		return t.home.input.workload(trace, t.home.key.Load, t.home.estimates, t.home.key.Seed)
	})
}

func (t *task) leave() {
	t.variant.leave()
	t.trace.leave()
}
