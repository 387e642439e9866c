// Package claims keeps the [State] of what a negotiator has on its way in a real pool, and decides
// what to send next: which claim is given to which job, which slot is lent, which start has failed,
// and which slot is left out for it.
//
// It is a state machine: each method takes in one event, such as a plan, a snapshot, what slots
// offer, or what a schedd was told, and the time of it. It asks no daemon, reads no clock and waits
// for nobody, so a scenario of leases or failed starts is a list of events. Package dispatch is its
// network: it carries to the daemons what a State gives it, and returns what came of that.
//
// One cycle has these events, in this order:
//
//  1. [State.See]: a look at the pool. It tells what became of the matches, and finds what the
//     negotiator must be told.
//  2. [State.TakePlan] and [State.Start]: what the negotiator has decided. A job that starts
//     becomes a flight, until a look sees it run.
//  3. [State.Ready]: which flights can be handed over now; [State.Grant]: what their slots offer.
//     The result is grants to send.
//  4. [State.Told]: which of them a schedd was told.
//  5. [State.TellLeases]: what the negotiator must be told of leases that were granted with them.
//
// Between looks there are [State.Doubts], with [Doubt.Over] and [Doubt.Unused], for starts that fail
// in their first seconds, and [State.Leftovers] and [State.Released], for the claims of gangs that have ended.
//
// Files: state.go the [State] and its events; flight.go jobs on their way, and whether their
// schedds have room, contested.go whether others may have started them first; recount.go schedds
// that are to ask for a gang's slots; grant.go who gets what of the offers, takeover.go jobs that
// have the place of others, vacate.go scavengers that leave for others, clock.go whether job and
// slot still accept each other; leases.go which claims are lent, lease.go how long and in which
// words, queue.go who waits for them, deaf.go slots that cannot be lent; early.go starts that fail
// early; gangs.go gangs, which take turns; suspects.go slots on which starts fail, refused.go jobs
// that schedds do not start; wishes.go which jobs want machines that sleep; reasons.go why jobs
// wait.
package claims
