// Package condorsim is a pool that exists in memory: workloads in, schedules
// out, on the negotiator's own code.
//
// A [Workload] is slots and jobs, made from a trace ([FromTrace]) or from ads
// ([FromAds]). A [Pool] runs it: it submits each job at its time, starts what
// the negotiator matches, and ends it after its actual run time, in virtual
// time or, with a pace, in scaled real time. [Run] puts a negotiator in front of
// the pool and returns the [Result]: what became of every job.
//
// Nothing of matching, ordering, planning or checking is written here; the
// package knows when things happen, and no more.
//
// Below it: workload reads traces, metrics computes what the literature
// measures, report prints; results is what sweeps leave on disk, page shows it
// with the charts of chart, gantt shows a single run.
package condorsim
