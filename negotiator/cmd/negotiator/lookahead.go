package main

import (
	"context"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// told is when and where the waiting jobs will start, if all jobs run for as long as they are taken
// to and nobody else arrives.
type told map[backfill.JobID]ahead.Beginning

// lookAhead plays the schedule after a cycle ahead.
func lookAhead(ctx context.Context, twins *outlook.Twins, o *outlook.Outlook, b ahead.Bounds) (told, error) {
	return twins.Starts(ctx, o, b, nil)
}

// shortly returns a function for the live view, which looks ahead after each cycle, but not far: a
// picture must not hold the next cycle up.
func shortly(ctx context.Context, twins *outlook.Twins) func(*negotiator.Report) told {
	const rounds = 1000
	return func(r *negotiator.Report) told {
		starts, _ := lookAhead(ctx, twins, outlook.New(r.Negotiator()), ahead.Bounds{Rounds: rounds}) // without: the planned starts
		return starts
	}
}
