package check

import (
	"context"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
)

// next returns the policy's next decision as text, and counts it.
func (c *checker) next(ctx context.Context, run *conformance.Run) (string, error) {
	refusals := run.Refusals()
	text, err := run.NextText(ctx)
	if err == nil {
		c.played.count(1, run.Refusals()-refusals, refusal(run))
	}
	return text, err
}

// refusal describes the first decision of a run that was refused; "" if there is none.
func refusal(run *conformance.Run) string {
	for _, f := range run.Findings() {
		if f.Rule == conformance.Accepted {
			return f.String()
		}
	}
	return ""
}

// record lets a policy decide the rounds of a pool and returns these, and counts them. It calls the callback before each round.
func (c *checker) record(ctx context.Context, seed uint64, main backfill.Decider,
	before func(*conformance.Run, int) error,
) ([]conformance.Step, error) {
	lost := 0
	count := func(run *conformance.Run) {
		c.played.count(1, run.Refusals()-lost, refusal(run))
		lost = run.Refusals()
	}
	run, steps, err := conformance.Record(ctx, seed, c.scale.rounds, main, func(run *conformance.Run, round int) error {
		if round > 0 {
			count(run)
		}
		return before(run, round)
	})
	if err == nil {
		count(run)
	}
	return steps, err
}
