// Package metrics measures a finished schedule: how long jobs waited, how well
// the machine was used, and who paid for it.
//
// A tour:
//
//   - [Compute] takes the machine and the finished jobs in order of jobs and
//     gives [Metrics]; [ComputeBounded] has the bound of bounded slowdowns set.
//   - [Metrics] is one number per metric, under the name of its JSON key;
//     [Metrics.All] ranges over names and values in the order of the fields, and
//     [Metrics.List] adds labels and units, for tables and CSV files.
//   - [ComputeSeries] condenses the schedule for charts: [Series].
//   - [ByUser] tells what each user got.
//
// Terms: the wait of a job is its start less its submit time, the response its
// end less its submit time. A slowdown is a response over a run time. The order
// of jobs is by submit time, then by place in the workload. The greatest 5 % of
// n jobs are the greatest ⌈n·5/100⌉; percentiles are by nearest rank: the ⌈p·n⌉-th
// smallest.
//
// The fair-share metrics compare what a job used with what would have been its
// share if, all the time until it was done, the processors in use had been
// divided among the jobs in the system (those that have arrived and have not
// completed); see fairshare.go for how that is integrated. They are defined in
// Rajbhandary et al., Variations of Conservative backfilling to improve fairness.
//
// The metrics that need schedules other than the finished one, the unfairness
// against fair start times, are not here.
//
// Sums are taken in a fixed order: the same jobs give the same bits.
package metrics
