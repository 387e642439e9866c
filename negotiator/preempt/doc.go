// Package preempt has the rules by which a waiting job gets the place of running ones, as the stock
// negotiator has them: by startd rank and by user priority. It decides nothing about the plan, asks
// nobody and reads no clock.
//
// # A tour
//
// [Rules] are what an administrator configures, and [Claims] is what a pool knows of claimed slots
// ([Claim]) and of submitters ([Standing]). A cycle opens a [Search] over both, once the policy has
// decided. For each waiting job, in the queue's order, [Search.Candidates] yields what could be done
// for it, best first, each a [Preemption] with its [Victim]s. Whoever takes one says so with
// [Search.Take]: the victims are used then, and the values that expressions see follow. A job that
// only has to wait until others have retired is [Blocked].
//
// A claim for which a job waits already, while the running one retires, is a candidate as that of the
// job that waits: whoever is better is to have the place, and that job is ousted.
//
// A [Memory] remembers who displaced whom, and when, so that two jobs do not change places again and
// again.
//
// Only jobs with one chunk preempt or are preempted: of a gang over several slots all would have to
// make way at one instant.
//
// Files: rules.go what is configured; claim.go what pools tell; preemption.go what is decided, and how
// people are told; memory.go the pause; search.go the search over the claims of a cycle; candidate.go
// one claim as a candidate, and which one is best; several.go several dynamic slots of one machine;
// shapes.go which jobs and claims are alike for the expressions; ads.go the attributes that
// expressions see beside those of the ads; alone.go what is asked of a claim alone; values.go values of
// expressions.
package preempt
