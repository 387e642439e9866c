// Package backfill is the scheduling core: what a policy can read, what it can do, and which rules
// its decisions have to keep. It knows nothing about ads, RPC, clocks or files.
//
// The [State] holds everything: slots, jobs, reservations, guarantees, and the availability profile
// (package profile) that follows from them. A [Policy] decides from the state alone. Each round of
// events opens a [Cycle] on the state; the policy takes the events one by one with [Cycle.Next],
// reads, and acts: [Cycle.Start], [Cycle.Reserve], [Cycle.Release], [Cycle.Hold], [Cycle.Wake],
// [Cycle.Guarantee]. The [Action]s that it took, in their order, are the journal; the host accepts it
// as the [Decision], or refuses it as a whole. Most policies need nothing else. [Fast] is for those
// that must be fast, and [View] for those that look at the state closely.
//
// A whole policy, first come first served:
//
//	func decide(c *backfill.Cycle) {
//		for _, more := c.Next(); more; { // take the events
//			_, more = c.Next()
//		}
//		for j := range c.Queue() {
//			at, fits := c.FitsNow(j)
//			if !fits {
//				return
//			}
//			c.Start(j, at)
//		}
//	}
//
// The [Host] owns a state and lets its policy ([Decider]) decide each round. If a decision is
// refused, the fallback decides the same round at once.
//
// Because the state holds everything, a policy can be replaced while jobs run, or run in another
// process (package plugins) that may crash. A what-if runs on a [State.Clone]; a round can be
// recorded and replayed ([Transaction.Replay]); the simulator and the daemon use the same code and
// decide alike.
//
// A policy can touch only its Cycle, and through it the read-only views of the state ([View]) and
// of the profile. Only the host, which opened the [Transaction], can replay a journal, or accept or
// roll back the round.
//
// The files. What a state and a round consist of:
//   - types.go: time, vectors and placements, under the names that policies use
//   - limits.go: how large amounts, times and numbers from outside may be
//   - job.go: jobs, and the order of jobs
//   - event.go: rounds, their events, and the order in which events are applied
//   - action.go: the actions of a policy as data, and their checks
//   - decision.go: an accepted round: the journal, the starts, broken guarantees
//   - bundle.go: sets of slots that one job takes whole
//   - places.go: placements by names, and how they are printed
//
// The state:
//   - state.go: the state and its indexes; set, the one way to change a job
//   - view.go: the state for reading
//   - table.go: the records of the jobs by ID, copied on write
//   - queue.go: the waiting jobs in the queue's order, and by what they ask for
//   - jobtree.go: the tree that lists jobs; joblist.go: such a tree by itself
//   - rekey.go: new places in the queue's order, for many jobs at once
//   - curve.go: keys that change with time by themselves, and until when one job stays before another
//   - leader.go: the list of a shape's jobs while their keys do
//   - moving.go: the queue while they do
//   - calendar.go: the planned jobs by planned start
//   - snapshot.go: the state as plain data, and back
//   - window.go: jobs whose candidates close before they could begin, and when candidates open
//   - row.go: limits of the pool, of which jobs take while they run
//   - beside.go: what these leave to jobs that start beside the plan
//   - ending.go: when jobs end on slots that end, and what becomes of them when that moves
//   - least.go: what reservations need when they begin, beside what they take then
//   - release.go: the jobs that may not start yet, and the events that release them
//   - reason.go: why each job is where it is, and when it may start
//   - idle.go: how many idle cpus are kept for reservations
//   - freed.go: resources that jobs gave back in the last seconds, for policies that ask for it
//
// A cycle:
//   - transaction.go: opening a round, replaying, accepting or rolling back
//   - validate.go: which rounds are refused because they contradict themselves or the state
//   - jobset.go: sets of the jobs of a round
//   - apply.go: what each event does to the state
//   - displace.go: which reservations an event voids, and which are put back
//   - residents.go: which jobs are on which slots
//   - pin.go: jobs that make way for another, and that one
//   - cycle.go: what a policy asks and does
//   - fast.go: what makes a policy faster: shorter questions, and a memory from one cycle to the next
//   - fitting.go: which waiting jobs fit now, without a look at all of them
//   - lane.go: the jobs of such a pass that ask for the same, and the pass's next one
//   - startable.go: the same for jobs that have reservations
//   - together.go: alike jobs whose reservations move together
//   - arrange.go: reservations that move to other slots at their same starts
//   - depth.go: how many waiting jobs are promised a start, and who comes next
//   - horizon.go: how much of the plan each user's jobs hold, and whose may enter
//   - settle.go: what is checked and completed when a round ends
//
// Who decides:
//   - host.go: a state, the active policy, its fallback
//   - breakoff.go: when a round of a play is broken off
//   - patience.go: when a policy that fails is given up
//   - refusal.go: a decision that did not count, and of which kind the failure is
//   - elapsed.go: the events that the host adds: overruns, missed starts, changed candidates
//   - correction.go: when jobs are expected to end that have outlived what was predicted
//   - resume.go: continuing from a snapshot
//   - redo.go: telling of rounds that are over, and deciding them again
//   - policy.go: a policy by name, with its options
//   - option.go, values.go: options, their checks and their values
//   - describe.go: checks of how a policy describes itself; it may be an untrusted plugin
//   - order.go: the orders of the queue
//
// Below it: profile, what is free when; policies/NAME, the policies; scan, balance and plan, what
// the policies share; conformance, the rules for every policy; backfilltest, tests that a policy's own
// tests call. Beside it: estimate, how long jobs are expected to run; ahead, who will start when if
// the state goes on.
package backfill
