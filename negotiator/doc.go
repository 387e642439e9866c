// Package negotiator turns a pool's ads into a schedule.
//
// A cycle has these phases. [Negotiator.RunCycle] runs phases 2 to 6, [Run] all of them.
//
//  1. fetch:   a [Pool] says what changed ([Delta])
//  2. cluster: jobs that no slot can tell apart share an autocluster, slots that no job can tell
//     apart a slot class (package matchmaker)
//  3. match:   Requirements both ways and Rank are evaluated once for each pair of these; the
//     result is a candidate set for each autocluster
//  4. round:   the delta becomes a round of events for the policy (package backfill)
//  5. decide:  the policy decides the round, and its decision is checked
//     jobs that may displace running ones do so in a second round, see displace.go
//     scavengers, which no policy sees, make way and start after that, see makeway.go
//  6. report:  the decision becomes [Match]es and a [Report]
//  7. act:     the pool starts the matches
//  8. publish: the sinks see the report
//
// [Run] repeats this until nothing can happen any more. The same loop drives the simulator, in
// virtual time, and the daemon: a cycle has no clock, no network and no disk of its own.
//
// A negotiator that ends leaves a [Checkpoint], and [Restore] continues from it.
//
// Files, from the top down; each calls only those below it:
//
//	run.go         the loop
//	cycle.go       one cycle: phases 2 to 6
//	checkpoint.go  the state from which a new negotiator continues
//	suppose.go     what jobs and slots would be to the plan that are not in the pool
//	beside.go      jobs on slots that are no part of the plan: of machines that sleep, or overlapping ones
//	makeway.go     scavengers that make way for what was decided, and start on what is idle (package scavenge)
//	takeover.go    what jobs that are to take over still need, which is kept from scavengers
//	displace.go    jobs that take over from running ones, in a second round (package preempt)
//	report.go      what came of a cycle
//	copy.go        a copy of the schedule, which package outlook plays ahead
//	basis.go       what the predicted run time of a job rests on
//	review.go      what runs show of users' words, and who is planned anew for it
//	retake.go      limits that come and go, and the jobs that take of them
//	remeasure.go   requests that depend on the slot, and the jobs that have them
//	relearn.go     estimators: new run times for the waiting jobs of a user, and news of who runs
//	replan.go      estimators: what completed jobs teach, and new run times for all jobs
//	delays.go      how long the pool takes to start jobs
//	free.go        what is free on slots just before a round
//	scavengers.go  the scavengers that are known, which no policy sees
//	scavengernews.go  what a delta says of them, taken out of it
//	never.go       what a job lacks that fits on no slot
//	check.go       refuses deltas that cannot be true
//	displaced.go   what is remembered, checked and told of jobs that displace others
//	negotiator.go  the negotiator: its configuration, its state, and changes of the policy
//	recorder.go    who is told of cycles, to write them down (package record)
//	heard.go       what estimators are told of jobs that run, and who waits
//	predict.go     the predicted run times of jobs
//	trust.go       how far the run times that users state count
//	preemption.go  what a negotiator knows of jobs that displace others
//	jobs.go        the jobs that wait, run or are held, and their autoclusters
//	order.go       the queue's order by an expression; utility.go has examples
//	limits.go      rows for the pool's limits, and what jobs take of them
//	inventory.go   numbers for slots and bundles, and the translation of placements
//	ending.go      when slots end
//	more.go        slots that a pool does not have, as users ask for them
//	whose.go       whose ad it is: a job's, a slot's or a daemon's
//	kinds.go       of which kinds the GPUs of slots are; devices.go has these as ads list them
//	unheeded.go    what is asked of the state of slots, and stays as their ads say; closed.go has the slots that
//	               take no job
//	resources.go   the resources that slots list beyond the usual ones
//	schema.go      from ads to jobs and slots; labels.go has the labels of jobs, clock.go the clock of
//	               startds, counts.go how many jobs run on slots, request.go what jobs request of one
//	pool.go        the interface to a pool
package negotiator
