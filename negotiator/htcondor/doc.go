// Package htcondor is a real HTCondor pool as a [negotiator.Pool].
//
// A [Pool] looks at the pool (one question to the collector, one to each schedd),
// compares what it sees with what the negotiator believes, and tells the
// differences as a [negotiator.Delta]. What the negotiator decides to start it
// hands to the schedds as matches that name their job and are locked to it.
//
// A real pool is never quite as one thinks. Ads are late, claims are refused,
// daemons answer late or not at all. Three rules keep the schedule true:
//
//   - The queue is right about jobs, the slot about what is free. A job runs when
//     its schedd says so, not when it was matched.
//   - A match is a wish. Until the job runs it is in flight: its place counts as
//     taken, it is tried again where that does no harm, and after a while it has
//     failed.
//   - What is not seen is not gone: not while its daemon does not answer, and not
//     at the first look.
//
// The packages below this one do the parts: cedar, security and client speak to
// the daemons, server listens to them, accountant knows who has used how much,
// daemon is the process around it all. README.md is the guide for administrators.
//
// Files: pool.go the port, facts.go what others ask it; look.go a look at the pool, of
// wanted.go attributes; slots.go and queue.go what was seen, plan.go jobs as they are
// planned with; differ.go the differences, claims.go of them those of others' claims;
// accounting.go shares and limits; flight.go matches on their way, gangs.go whose turn
// it is, room.go how many jobs a schedd runs, offers.go what slots have to give, grant.go handing over, doubts.go slots on
// which starts fail; left.go what
// survives a restart; explain.go reasons for users.
package htcondor
