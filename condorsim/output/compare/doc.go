// Package compare compares what became of the same jobs in two runs, job by job, and finished
// simulations cell by cell.
//
// A tour:
//
//   - jobs.go: [Jobs] takes two schedules and returns a [Comparison];
//   - pairs.go: finds the same jobs in both, and says which are in one alone;
//   - measures.go: the measures of both side by side, with paired differences;
//   - percentiles.go: how far differences of percentiles are due to chance;
//   - groups.go: the same by user, by width and by hour of arrival;
//   - extremes.go: which jobs gained and lost most;
//   - first.go: the first start that differs, and who ran and waited then;
//   - shapes.go: the differences as curves and as dots, for charts;
//   - cells.go: [OfCells] compares results that have measures and no jobs.
//
// Differences are those of B less A, so that a wait that got shorter is below 0. The same input gives
// the same numbers, and A and B exchanged the same with the other sign.
package compare
