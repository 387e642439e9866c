// Package track keeps the [Belief], the negotiator's record of a real pool, and compares it with
// what was seen.
//
// [Belief.See] takes a snapshot of the pool in. [Belief.Diff] compares it with what the negotiator
// was told, given the matches under way, and returns the differences as a [negotiator.Delta]. It
// reads no clock and asks no daemon. Three rules keep the belief right although news of a real pool
// is late and incomplete:
//
//   - The queue is right about jobs, the slot about what is free. A job runs when its schedd says
//     so, not when it was matched.
//   - A match may fail. Until the job runs, its place counts as taken; if it does not run in time,
//     the match has failed.
//   - What is not seen is not gone: not while its daemon does not answer, and not at the first
//     look.
//
// Files, in the order of Diff: belief.go the [Belief], and how it takes a snapshot in, seats.go
// how many waiting jobs of whom it knows; diff.go the comparison and its [Outcome], once.go how
// each job is told of once; slots.go slots, drained.go those that are drained; jobs.go jobs, job.go
// one of them, submitted.go since when it can be there, witness.go what slots say of them, lasted.go how long they run,
// adrift.go those whose slot is free again, elsewhere.go those that another negotiator has started,
// promises.go what became of promises; admission.go which new jobs are planned with,
// limits.go what limits have for them, slotlimits.go those that depend on the slot, charge.go what jobs
// take of these, world.go what ads learn from outside, weight.go what a job counts for,
// sizes.go one that waits, deferral.go jobs with a time of their own, unused.go those whose
// place was kept in vain, gangs.go gangs of several procs; lending.go claims that are lent,
// leases.go for how long, holders.go the jobs that stand for them; claim.go who has which slot, where jobs may make
// way for others, takeover.go those that do, ousted.go whose place another has meanwhile,
// saved_takeover.go what survives of that, makeway.go scavengers, which make way at once; foreign.go claims of no known
// job; changes.go what the log says of changed ads; plan.go what the plan says; view.go what others
// may ask, line.go the order by fair share, passed.go which jobs count for nothing there; saved.go
// what survives a restart, restored.go how that is taken up.
package track
