// Package backfill is the scheduling core: what a policy may know, what it may
// do, and what it is held to. It knows nothing of ads, RPC, clocks or files.
//
// The [State] carries everything: slots, jobs, reservations, guarantees, and
// the availability profile (package profile) that follows from them. A
// [Policy] is a function of it. Each round of events opens a [Cycle] on the
// state; the policy takes the events one by one with [Cycle.Next], reads, and
// acts: [Cycle.Start], [Cycle.Reserve], [Cycle.Release], [Cycle.Guarantee],
// [Cycle.Hold], [Cycle.Wake], [Cycle.KeepFreed]. What it did is the [Decision],
// a journal of [Action]s, accepted or refused whole.
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
// The [Host] owns a state, puts each round before its policy ([Decider]), and
// has a refused one decided at once by the fallback.
//
// What follows from keeping everything in the state: a policy can be swapped
// while jobs run, or run in another process (package plugins) that may crash;
// a what-if is a [State.Clone]; a cycle can be recorded and replayed
// ([Cycle.Replay]); the simulator and the daemon cannot differ.
//
// Files: job.go, event.go, action.go, decision.go the nouns; state.go the state
// and its indexes; cycle.go opening, reading, undoing; apply.go what each event
// does, validate.go what rounds cannot be true; policy.go and order.go what can be chosen; host.go who decides;
// bundle.go slots that are taken whole together;
// snapshot.go the state as plain data; memo.go what spares a policy work; freed.go what jobs gave back of late; reason.go why a job waits; idle.go what reservations cost.
//
// Below it: profile, what is free when; policies/NAME, the policies; scan,
// balance and plan, what they share; profileevents, what they would cost by the book;
// conformance, what is asked of every policy. Beside it: estimate, how long jobs are taken to run.
package backfill
