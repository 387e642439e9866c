package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Step is a round with the policy's decision as text. Decisions that are refused all have the same text, as
// their content does not matter.
type Step struct {
	Now  backfill.Time
	Text string
}

// Record lets a policy decide rounds of the pool of a seed and returns these. It calls the callback before
// each of them.
func Record(ctx context.Context, seed uint64, rounds int, main backfill.Decider, before func(*Run, int) error) (*Run,
	[]Step, error,
) {
	run, err := Start(seed, main)
	if err != nil {
		return nil, nil, err
	}
	steps := make([]Step, 0, rounds)
	for round := range rounds {
		if err = before(run, round); err != nil {
			return nil, nil, err
		}
		text, err := run.NextText(ctx)
		if err != nil {
			return nil, nil, err
		}
		steps = append(steps, Step{run.decision.Now, text})
	}
	return run, steps, nil
}

// Loss tells at which rounds the policy loses its memory in the pool of a seed: a number of times
// because another process (or decider) takes over, and more often because it is sent the state anew.
type Loss struct {
	restarts []int
	random   *rand.Rand
}

// NewLoss chooses the rounds.
func NewLoss(seed uint64, rounds, restarts int) *Loss {
	random := rand.New(rand.NewPCG(seed, 3))
	return &Loss{random.Perm(rounds)[:min(restarts, rounds)], random}
}

// At returns what happens before a round. It is to be called once for each round, in their order.
func (l *Loss) At(round int) (restart, resync bool) {
	return slices.Contains(l.restarts, round), l.random.IntN(4) == 0
}

// handed is a decider that another one can take over from.
type handed struct{ backfill.Decider }

// restarts is how often a policy loses its memory to another decider in a pool.
const restarts = 3

// Repeat lets a policy decide the pool of a seed again, and again with a memory that it loses on the way and
// with what-ifs beside. It returns the first difference, or nil if there is none. The callback creates a
// decider of the policy.
func Repeat(ctx context.Context, seed uint64, rounds int, decider func() backfill.Decider) (*Finding, error) {
	undisturbed := func(*Run, int) error { return nil }
	_, want, err := Record(ctx, seed, rounds, decider(), undisturbed)
	if err != nil {
		return nil, err
	}
	main, loss := &handed{decider()}, NewLoss(seed, rounds, restarts)
	_, got, err := Record(ctx, seed, rounds, main, func(run *Run, round int) error {
		restart, resync := loss.At(round)
		if restart {
			main.Decider = decider()
		}
		if resync {
			return run.Renew()
		}
		return whatIf(ctx, run, round, main)
	})
	if err != nil || slices.Equal(want, got) {
		return nil, err
	}
	_, again, err := Record(ctx, seed, rounds, decider(), undisturbed)
	if err != nil {
		return nil, err
	}
	rule := Memoryless
	if !slices.Equal(want, again) {
		rule, got = Deterministic, again
	}
	round, text := difference(want, got)
	return &Finding{Rule: rule, Seed: seed, Round: round, Now: want[round-1].Now, Text: text}, nil
}

// whatIf lets a policy decide two rounds of what might happen to a run.
func whatIf(ctx context.Context, run *Run, round int, main backfill.Decider) error {
	if round%8 != 0 || round == 0 {
		return nil
	}
	branch, err := run.Branch(run.seed+uint64(round), run.Host.State.Clone(), main)
	for range 2 {
		if err == nil {
			_, err = branch.Next(ctx)
		}
	}
	return err
}

// Difference describes the first difference between two records of the pool of a seed.
func Difference(seed uint64, want, got []Step) string {
	round, text := difference(want, got)
	return fmt.Sprintf("pool %d, round %d: %s", seed, round, text)
}

// difference returns the first round that two records of equal length differ in, from 1, and says how.
func difference(want, got []Step) (round int, text string) {
	for i := range want {
		if want[i] != got[i] {
			return i + 1, fmt.Sprintf("%q in one run and %q in the other", short(want[i].Text), short(got[i].Text))
		}
	}
	return len(want), "nothing differs"
}

// short cuts a text so that it fits into a line of a report.
func short(text string) string { return backfill.Printable(text, 100) }
