// Package condorsim is a pool that exists in memory: workloads in, schedules
// out, on the negotiator's own code.
//
// A [Workload] is slots and jobs, made from a trace ([FromTrace], [OnPool]), from a
// history ([FromHistory]) or from ads ([FromAds]). A [Pool] runs it: it submits each
// job at its time, starts what the negotiator matches, and ends it after its actual
// run time, in virtual time or, with a pace, in scaled real time; slots fail and are
// drained as the workload says (outage.go). [Run] puts a negotiator in front of
// the pool and returns the [Result]: what became of every job.
//
// Every run is audited on the way: books of its own are held against what the
// negotiator says, and what cannot be is a [Violation], which can be saved as a
// case to be run again. [Result.Measured] is every number of a run, [CountEvents]
// counts profile events beside it.
//
// Nothing of matching, ordering, planning or checking is written here; the
// package knows when things happen, and no more.
//
// Below it: workload reads, changes and makes up traces, history reads job ads, pools
// descriptions of pools; metrics computes what the literature measures, report prints,
// gantt draws a single run. sweep runs matrices of simulations, and results is what
// those leave on disk; papers holds it against what studies say, and page shows it, with
// the charts of chart.
package condorsim
