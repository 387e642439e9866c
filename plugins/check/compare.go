package check

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/plugins/host"
)

// determinism lets several fresh processes decide the same pools; it fails if a decision differs.
func (c *checker) determinism(ctx context.Context) (Check, error) {
	processes := []struct {
		name string
		env  []string
	}{
		{"the first process", nil},
		{"a second process", nil},
		{"a process with GOMAXPROCS=1", []string{"GOMAXPROCS=1"}},
		{"a process with GOMAXPROCS=2", []string{"GOMAXPROCS=2"}},
		{"a process with GOMAXPROCS=8", []string{"GOMAXPROCS=8"}},
	}
	for i, p := range processes {
		c.progress(float64(i) / float64(len(processes)))
		remote, err := c.start(ctx, c.options.Policy, p.env...)
		if err != nil {
			return c.died(ctx, err)
		}
		seed, differs, err := c.compare(ctx, remote)
		remote.Close()
		if err != nil {
			return Check{}, err
		}
		if differs != "" {
			c.incomparable = "the policy is not deterministic, so that there is nothing to compare with"
			return failed(conformance.Deterministic.Remedy(), "%s (%s and %s)", differs, processes[0].name, p.name).at(seed),
				nil
		}
	}
	return passed("the same decisions in %d pools by %d processes, with GOMAXPROCS 1, 2 and 8 too", c.scale.compared,
		len(processes)), nil
}

// compare lets a process decide all compared pools and describes the first difference from the
// decisions of earlier processes, with the pool's seed; "" if there is none.
func (c *checker) compare(ctx context.Context, main backfill.Decider) (uint64, string, error) {
	for i := range c.scale.compared {
		seed := c.pool(i)
		got, err := c.record(ctx, seed, main, func(*conformance.Run, int) error { return nil })
		if err != nil {
			return seed, "", err
		}
		want, known := c.journal[seed]
		if !known {
			c.journal[seed] = got
		} else if !slices.Equal(want, got) {
			return seed, conformance.Difference(seed, want, got), nil
		}
	}
	return 0, "", nil
}

// replaceable is a decider whose process can be replaced by another one.
type replaceable struct{ *host.Remote }

// memoryLess makes the policy lose its memory at random rounds, by sending it the state anew and by
// replacing its process, and requires the decisions of an undisturbed run.
func (c *checker) memoryLess(ctx context.Context) (check Check, err error) {
	if c.incomparable != "" {
		return skipped(c.incomparable), nil
	}
	main := &replaceable{}
	if main.Remote, err = c.start(ctx, c.options.Policy); err != nil {
		return c.died(ctx, err)
	}
	defer func() { main.Close() }()
	restarts, resyncs := 0, 0
	for i := range c.scale.compared {
		c.progress(float64(i) / float64(c.scale.compared))
		seed := c.pool(i)
		loss := conformance.NewLoss(seed, c.scale.rounds, c.scale.restarts)
		got, err := c.record(ctx, seed, main, func(run *conformance.Run, round int) error {
			restart, resync := loss.At(round)
			if restart {
				restarts++
				main.Close()
				fresh, err := c.start(ctx, c.options.Policy)
				if err != nil {
					return fmt.Errorf("start it anew: %w", err)
				}
				main.Remote = fresh
			}
			if !resync {
				return nil
			}
			resyncs++
			return run.Renew()
		})
		if err != nil {
			return c.died(ctx, err)
		}
		if !slices.Equal(c.journal[seed], got) {
			c.incomparable = "the policy remembers something, which branches cannot but confuse"
			return failed(conformance.Memoryless.Remedy(),
				"%s, in which the plugin was restarted and was sent the state anew",
				conformance.Difference(seed, c.journal[seed], got)).at(seed), nil
		}
	}
	return passed("%d restarts and %d resyncs at random rounds changed no decision", restarts, resyncs), nil
}

// How many what-ifs, branches of the state beside the trunk, are followed at a time, and for how
// many steps. A step is two rounds, so that what-ifs run ahead of the trunk.
const (
	branchesAtOnce = 3
	branchSteps    = 4
)

// whatIf is a branch that one process decides on, and beside it the same what-if in another
// process, which is sent the whole state every time.
type whatIf struct {
	branch      *host.Branch
	run, beside *conformance.Run
	left        int // steps
}

// branches lets a process decide what-ifs, on branches of the state, beside the pool's own rounds
// (the trunk). What-ifs must be decided as by a process that gets the whole state every time, and
// the trunk as without what-ifs.
func (c *checker) branches(ctx context.Context) (Check, error) {
	if c.incomparable != "" {
		return skipped(c.incomparable), nil
	}
	main, err := c.start(ctx, c.options.Policy)
	if err != nil {
		return c.died(ctx, err)
	}
	defer main.Close()
	fresh, err := c.start(ctx, c.options.Policy)
	if err != nil {
		return c.died(ctx, err)
	}
	defer fresh.Close()
	const do = "let a decision rest on the branch that it is asked about alone: keep no state beside it (in another " +
		"language: copy the whole branch at a Fork)"
	forks, unlike := 0, ""
	for i := range c.scale.compared {
		c.progress(float64(i) / float64(c.scale.compared))
		seed := c.pool(i)
		var alive []*whatIf
		got, err := c.record(ctx, seed, main, func(run *conformance.Run, round int) (err error) {
			if round > 0 && round%4 == 0 && len(alive) < branchesAtOnce {
				w, forkErr := fork(run, seed+uint64(round), main, fresh)
				if forkErr != nil {
					return forkErr
				}
				alive = append(alive, w)
				forks++
			}
			for _, w := range alive {
				if unlike, err = w.step(ctx, c.next); err != nil || unlike != "" {
					return errors.Join(err, errDiffers)
				}
			}
			alive = slices.DeleteFunc(alive, func(w *whatIf) bool { return w.left == 0 })
			return nil
		})
		switch {
		case unlike != "":
			return failed(do, "a what-if in %s", unlike).at(seed), nil
		case err != nil:
			return Check{}, err
		case !slices.Equal(c.journal[seed], got):
			return failed(do, "what-ifs disturbed the trunk: %s", conformance.Difference(seed, c.journal[seed], got)).at(seed), nil
		}
	}
	return passed("%d what-ifs beside the trunk: none disturbed it, and each was decided as by a fresh copy", forks),
		nil
}

// errDiffers ends a run when a what-if is decided differently.
var errDiffers = errors.New("a branch differs")

// fork starts a what-if: on a branch of one process, and on a copy of the state that the other
// process gets anew each time.
func fork(run *conformance.Run, seed uint64, main, fresh *host.Remote) (*whatIf, error) {
	state := run.Host.State.Clone()
	w := &whatIf{branch: main.Fork(state), left: branchSteps}
	var err error
	if w.run, err = run.Branch(seed, state, w.branch); err == nil {
		w.beside, err = run.Branch(seed, run.Host.State.Clone(), fresh)
	}
	return w, err
}

// step lets both processes decide the next two rounds of the what-if and describes the difference;
// "" if there is none.
func (w *whatIf) step(ctx context.Context, next func(context.Context, *conformance.Run) (string, error)) (string,
	error,
) {
	for range 2 {
		got, err := next(ctx, w.run)
		if err != nil {
			return "", err
		}
		if err = w.beside.Renew(); err != nil {
			return "", err
		}
		want, err := next(ctx, w.beside)
		if err != nil {
			return "", err
		}
		if want != got {
			return fmt.Sprintf("pool %d, round %d: %q, and %q by a fresh copy", w.run.Seed(), w.run.Rounds(),
				backfill.Printable(got, 100), backfill.Printable(want, 100)), nil
		}
	}
	if w.left--; w.left == 0 {
		w.branch.Drop()
	}
	return "", nil
}
