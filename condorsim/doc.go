// Package condorsim simulates a pool in memory, scheduled by the negotiator's own code.
//
// A [Workload] is slots and jobs, made from what a file of jobs holds ([From]): a trace ([FromTrace],
// [OnPool]) or job ads ([FromHistory]), also as a negotiator sees them in its queue ([Queued]); for all of
// them the file is read by one set of rules ([ReadingFor]). A [SimulatedPool] runs it: it submits each job at its
// time, starts what the negotiator matches, and ends each job after its actual run time, in virtual
// time or, with a [Pace], in scaled real time. Slots fail and are drained as the workload says
// (outage.go), some of them with notice (notice.go), and end as their ads tell beforehand (ending.go).
// What users use is kept account of if the queue's order is that of their priorities (priorities.go,
// accounts.go, accounts_line.go), or if accounting groups of the pool have quotas (quotas.go). Jobs make way
// for others as the workload says (preemption.go, claims.go; vain.go ends those in which they do so for
// ever), and what that costs is in preemption_measures.go. Scavengers make way for all others
// (scavengers.go; what they use and cost is in scavenger_measures.go). What slots are that a pool gets
// besides its own is in more.go. Jobs take of the pool's limits what their ads name (limits.go), and occupy
// what they request, or all of a slot on which nobody can run beside them (occupied.go).
// [Run] puts a negotiator in front of the pool and returns the [Result]: what became
// of every job. [RunFair] also finds fair start times, in copies of the state that are played ahead,
// and [RunEta] tells jobs when they will start, and says how true it was (eta.go; eta_fits.go has what
// it is compared with, eta_measures.go the errors).
//
// Every run is audited: the audit keeps its own books and compares them with what the negotiator
// reports. A contradiction is a [Violation], which can be saved as a case to run again.
// [Result.Measured] returns every number of a run, and [CountEvents] adds a count of profile
// events. What becomes of promises is in guarantees.go. [Happened] makes a result of the starts that a
// trace or a history records, so that what really happened stands beside policies (happened.go). What
// jobs occupied then is in occupied.go, too. What a run does not heed of its files is said before it (doubts.go); outage_dates.go
// has outages that begin at a date; jitter.go moves the keys of the queue's order at random.
//
// This package schedules nothing: matching, ordering, planning and the checks of jobs are left to
// the negotiator. It only says when things happen.
//
// What goes in is below input/: workload reads, changes and generates traces, history reads job
// ads, pools describes the slots. What comes out is below output/: metrics computes the measures of
// the literature, report prints a run and gantt draws it, survey describes a trace, results is what
// sweeps leave on disk, papers compares it with what studies say, page shows it as HTML with the
// figures of chart, and wholefile writes files whole or not at all. sweep runs matrices of
// simulations.
package condorsim
