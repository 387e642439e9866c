// Package metrics measures a finished schedule: how long jobs waited, how well the machine was
// used, and how fairly.
//
// A tour:
//
//   - [Compute] takes the machine and the finished jobs in order of jobs and returns [Metrics];
//     [ComputeBounded] takes the bound of bounded slowdowns as well.
//   - [Metrics] has one number per metric, under the name of its JSON key; [Metrics.All] ranges
//     over names and values in the order of the fields, and [Metrics.List] adds labels and units,
//     for tables and CSV files.
//   - [ComputeSeries] condenses the schedule for charts: [Series].
//   - [ByUser] returns what each user got.
//   - [ComputeWeeks] sums the jobs up by the week of their submission. Package intervals takes such
//     sums and says how far a mean is due to chance.
//   - [Duration], [Hours], [Grouped] and [Whole] write times and numbers for people.
//
// Terms: the wait of a job is its start less its submit time, the response its end less its submit
// time. A slowdown is a response over a run time. The order of jobs is by submit time, then by
// place in the workload. The greatest 5 % of n jobs are the greatest ⌈n·5/100⌉; percentiles are by
// nearest rank: the ⌈p·n⌉-th smallest.
//
// The fair-share metrics compare what a job used with its fair share: what it would have got if,
// until it completed, the processors in use had been divided among the jobs in the system (those
// that have arrived and not completed). They are defined in Rajbhandary et al., Variations of
// Conservative backfilling to improve fairness; fairshare.go says how they are computed.
//
// Unfairness against fair start times is not here, as it needs other schedules than the finished
// one.
//
// Sums are taken in a fixed order: the same jobs give the same bits.
package metrics
