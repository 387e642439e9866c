// Package negotiator turns a pool's ads into a schedule.
//
// A cycle ([Negotiator.RunCycle]) has numbered phases, each a method:
//
//  1. fetch:   a [Pool] says what changed ([Delta]); the caller does this
//  2. cluster: jobs that no slot can tell apart share an autocluster, slots
//     that no job can tell apart a slot class
//  3. match:   Requirements both ways and Rank, once for each pair of these;
//     the result is a candidate set
//  4. plan:    the delta becomes a round for the policy, whose decision is
//     checked (package backfill)
//  5. act:     the starts become [Match]es, which the pool carries out
//  6. publish: what was decided and why goes to the sinks
//
// [Run] repeats this until the pool has nothing more to say. The same loop
// drives the simulator, in virtual time, and the daemon: a cycle has no clock,
// no network and no disk of its own.
//
// A negotiator that ends leaves its [Memory], and [Restore] makes one that goes on
// from it.
//
// Files: pool.go the port to a pool; job.go from ads to jobs and slots;
// cluster.go phases 2 and 3; delta.go what a pool reports, checked and put in the
// policy's terms; order.go the queue's order by an expression; negotiator.go the
// cycle; run.go the loop; predict.go with which run times jobs are planned, and what is
// learned; forecast.go when jobs may be expected to start by them; memory.go what
// outlives a negotiator; fit.go why a job matches few slots or none.
package negotiator
