// Package dispatch hands the matches of a negotiator over to schedds.
//
// A match names its job and is locked to it, or its claim is lent for more jobs like it. The
// dispatcher takes a claim id of the slot from the collector, and gives it to the job's schedd, with
// the slot's ad. What became of the match shows in the next snapshot of the pool: until the job is
// seen to run it is a flight. Whatever cannot be handed over now, because a slot is not free yet or
// a schedd does not answer, is tried again; what does not come about in time has failed, and the
// slot that seems to be the reason is left out for a while.
//
// Files, in the order of handing over: dispatch.go the [Dispatcher]; flight.go jobs on their way,
// and whether their schedds have room; offers.go what slots have to give; grant.go who gets what of
// it; leases.go claims that are lent; negotiate.go telling the schedds; gangs.go gangs, which take
// turns; early.go starts that fail at once; suspects.go slots on which starts fail; explain.go reasons
// for users; notes.go lines about both.
package dispatch
