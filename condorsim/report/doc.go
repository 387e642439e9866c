// Package report prints what came of a simulation: a summary table for people
// ([Table]), one JSON object for programs ([JSON]), a row per job ([WriteJobs]).
package report
