// Package preempt has the rules by which a waiting job gets the place of running ones, as the stock
// negotiator has them: by startd rank and by user priority. It decides nothing about the plan, asks
// nobody and reads no clock.
//
// # A tour
//
// [Rules] are what an administrator configures, and [Claims] is what a pool knows of claimed slots
// ([Claim]) and of submitters ([Standing]). A [Preemption] is a waiting job that gets the place of
// others, its [Victim]s. A job that only has to wait until others have retired is [Blocked]. A
// [Memory] remembers who displaced whom, and when, so that two jobs do not change places again and
// again.
//
// Only jobs with one chunk preempt or are preempted: of a gang over several slots all would have to
// make way at one instant.
//
// Files: rules.go what is configured; claim.go what pools tell; preemption.go what is decided, and how
// people are told; memory.go the pause; values.go values of expressions.
package preempt
