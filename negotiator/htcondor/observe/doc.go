// Package observe looks at an HTCondor pool and says what it saw.
//
// A look asks the collector for the ads of slots, schedds, submitters and negotiators, and each
// schedd for its queue. What it saw is a [Snapshot], which does not change any more. The package
// does not know what the negotiator was told or has decided; package track compares a Snapshot with
// that.
//
// Ads say more than what matters, and most of it changes all the time. So a look asks only for
// attributes that are always needed or that an expression on the other side refers to, has schedds
// group the jobs that do not differ in these, and parses an ad only if its text has changed.
//
// Files, in the order of a look: observe.go the [Observer] and the look; schedds.go what the
// collector says, and of submitters; literals.go what is read without evaluation; senders.go who
// sent an ad, identity.go whose a name is, claimants.go of schedds; rooms.go how many jobs these
// run at once, curb.go whether they want any; slots.go slots, slotprice.go what these cost, ends.go
// which attributes say when they end, missing.go which are gone, devices.go their GPUs and the
// like, resources.go what else they list, amounts.go what they have and how they round what jobs
// take, wish.go how jobs follow that, ranks.go how the pool ranks them, weights.go what they weigh,
// claimed.go who has them, where jobs may make way for others, scavenger.go which do so at once;
// queue.go the queues of schedds, turns.go which of many are asked, rest.go how long each is waited
// for and when it is read again, newcomers.go how long new ones are, groups.go what answers say,
// intake.go what is kept of each, holding.go of each user, outline.go of ads that are left out,
// stock.go of all, heaviest.go who has most, price.go what ads cost, spec.go what their jobs are
// planned by, alone.go what they take on any slot, bound.go for how long HTCondor lets them run,
// names.go whose these are, deferral.go those with a time of their own, gang.go gangs of several
// procs; wanted.go the attributes that are asked for, references.go those that ads refer to;
// snapshot.go what a look gives; freed.go a shorter look at slots that have more to give,
// submitted.go one at what was submitted.
package observe
