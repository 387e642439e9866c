// Package estimate says how long jobs are taken to run. Users request too much: the
// estimators adjust their requests by what is known of past jobs, as in Tang, Desai,
// Buettner and Lan, "Analyzing and Adjusting User Runtime Estimates to Improve Job
// Scheduling on the Blue Gene/P", IPDPS 2010, and Tsafrir, Etsion and Feitelson,
// "Backfilling Using System-Generated Predictions Rather than User Runtime Estimates",
// IEEE TPDS 18(6), 2007.
//
// [Settings] name an estimator for each of the three uses of an estimate: the queue's
// order, backfilling, and the ends of running jobs. [New] makes a [Set] of them, which
// is asked when a job arrives ([Set.Estimate]) and told when one ended ([Set.Learn]).
//
//	set, err := estimate.New(estimate.Settings{All: "combined"}, nil, false, false, nil)
//	set.Learn(estimate.Ended{Job: job, Ran: 600, At: now})
//	planned := set.Estimate(&next).Backfill
//
// All that estimators know follows from the [History] of jobs that ended, up to a bound.
// To put others in charge is to make a new Set with the old one's history; to keep what
// was learned over a restart is to write the history down.
//
// Files:
//   - estimate.go: the Set
//   - settings.go: what can be set, and what is refused
//   - spec.go: the estimators by name, their options and the help about them
//   - accuracy.go: user, project and combined; ratios in exact arithmetic
//   - ranked.go: percentiles of ratios
//   - lasttwo.go: tsafrir
//   - file.go: estimates from a file
//   - history.go: the jobs that ended, which estimators learn from
package estimate
