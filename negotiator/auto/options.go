package auto

import (
	"fmt"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// Name is how users ask for a pool that chooses its own policy, where they would name a policy.
const Name = "auto"

// Options are what can be set, where a policy has its options.
func Options() []backfill.Option {
	const year = 366 * 24 * 60 * 60
	return []backfill.Option{
		{
			Name: "portfolio", Default: Usual, Type: backfill.List,
			Doc: "candidates as POLICY:ORDER, with options as POLICY:ORDER:NAME=VALUE, POLICY being a name or a plugin's " +
				"path, in double quotes if it has a blank; the first is the base at first",
		},
		{
			Name: "objective", Default: UsualObjective, Type: backfill.Text,
			Doc: "ClassAd expression, the least wins: MY is a candidate's measures Jobs, MeanBoundedSlowdown, MeanWait, " +
				"Top5Wait and Makespan, TARGET those of the base",
		},
		{
			Name: "every", Default: "3600", Type: backfill.LengthOfTime, Range: backfill.Range{Low: 1, High: year},
			Doc: "least time between two choices, for which a candidate is played before the base goes on",
		},
		{
			Name: "least", Default: "0", Type: backfill.LengthOfTime, Range: backfill.Range{Low: 0, High: year},
			Doc: "least time between two changes; when nobody waits, the base takes over all the same",
		},
		{
			Name: "gain", Default: "0.2", Type: backfill.Number, Range: backfill.Range{Low: 0, High: 1},
			Doc: "by which share another one must be better than the base",
		},
		{
			Name: "lift", Default: "0.5", Type: backfill.Number, Range: backfill.Range{Low: 0, High: 1},
			Doc: "the same if the change lifts promises: from a candidate that gives guarantees to one that does not, " +
				"or from such a base to one that does, as it will be back; a base that lifts some must be better than the " +
				"one in charge",
		},
		{
			Name: "horizon", Default: "14400", Type: backfill.LengthOfTime, Range: backfill.Range{Low: 0, High: year},
			Doc: "how long is played in all: a job that waits longer counts as if it started then; 0: to the end",
		},
		{
			Name: "work", Default: "0.1", Type: backfill.Number, Range: backfill.AtLeast(0),
			Doc: "by which share the queue's work must have changed since the last choice",
		},
		{
			Name: "base", Default: "0", Type: backfill.LengthOfTime, Range: backfill.Range{Low: 0, High: year},
			Doc: "after how long, at least every=, the base, which is in charge unless another one is better, is chosen " +
				"anew: the one that did best when what came in such periods is played in hindsight; 0: the first stays",
		},
		{
			Name: "window", Default: "86400", Type: backfill.LengthOfTime, Range: backfill.Range{Low: 0, High: year},
			Doc: "jobs that arrived within this time come again in plays; 0: none do",
		},
		{
			Name: "again", Default: "150", Type: backfill.WholeNumber, Range: backfill.Range{Low: 0, High: 1_000_000},
			Doc: "how many of them come again at most: the last ones",
		},
		{
			Name: "guarantees", Default: "false", Type: backfill.Flag,
			Doc: "leave out candidates that give no guarantees, so that no promise is ever lifted by a change",
		},
	}
}

// Spec describes auto in the form of a policy, for lists of policies and checks of options. It cannot
// be created as one.
func Spec() backfill.PolicySpec {
	return backfill.PolicySpec{
		Name: Name,
		Doc: "plays a portfolio of policies and orders ahead, from the schedule as it stands, and puts the best in " +
			"charge",
		Promise:      "that of the policy in charge; with guarantees=true, each job starts by the time it was told",
		Source:       "a digital twin beside the scheduler: SchedTwin, arXiv 2512.18894; the mechanism is this project's",
		IgnoresOrder: true,
		Estimates:    "learned",
		Options:      Options(),
	}
}

// Under returns the estimators of a pool that chooses its own policy: those that are chosen and, if none
// of them is for the order, the one of [Spec] for that. Estimators stay when the policy changes, so no
// candidate names its own.
func Under(chosen estimate.Settings) estimate.Settings {
	spec := Spec()
	spec.IgnoresOrder = false // no user gives an order, but candidates have some
	return chosen.Under(spec, "")
}

// Help is the help text about auto.
func Help() string {
	var text strings.Builder
	text.WriteString("The policy auto " + Spec().Doc + ".\nIts options (--policy-opt):\n\n")
	for _, o := range Options() {
		fmt.Fprintf(&text, "  %-10s %s; default: %s\n", o.Name, o.Doc, o.Default)
	}
	return text.String()
}
