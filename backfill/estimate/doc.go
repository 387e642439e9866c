// Package estimate predicts the run times of jobs. Users request too much: the estimators adjust
// the requests by what is known of past jobs, as in Tang, Desai, Buettner and Lan, "Analyzing and
// Adjusting User Runtime Estimates to Improve Job Scheduling on the Blue Gene/P", IPDPS 2010, and
// Tsafrir, Etsion and Feitelson, "Backfilling Using System-Generated Predictions Rather than User
// Runtime Estimates", IEEE TPDS 18(6), 2007.
//
// [Settings] name an estimator for each of the three uses of an estimate: the queue's order,
// backfilling, and the ends of running jobs. [New] makes a [Set] of them. Call [Set.Estimate] when
// a job arrives, and [Set.Learn] when a job has ended.
//
//	set, err := estimate.New(estimate.Settings{All: "combined"}, nil, false, false, nil)
//	set.Learn(estimate.Ended{Job: job, Ran: 600, At: now})
//	planned := set.Estimate(&next, now).Backfill
//
// All that the estimators have learned follows from the [History], which holds the jobs that ended
// last, up to a largest number. To change estimators, make a new Set with the history of the old
// one. To keep what was learned over a restart, write the history to a file.
//
// Files:
//   - estimate.go: the Set
//   - settings.go: what can be set, and what is refused
//   - spec.go: the estimators by name, their options and the help about them
//   - accuracy.go: the estimators user, project and combined; ratios in exact arithmetic
//   - ranked.go: percentiles of ratios
//   - spread.go: how the run times of jobs are spread, for whoever draws them
//   - trust.go: how far users' words about run times hold
//   - delays.go: how long a pool takes to start a job
//   - lasttwo.go: the estimator tsafrir
//   - learned.go: the estimator learned; running.go: what jobs that run tell it
//   - basis.go: what a prediction was made of
//   - file.go, columns.go: estimates from a file
//   - summary.go: which estimators are in use, for whoever prints it
//   - history.go: the jobs that ended, which estimators learn from
package estimate
