// Package htcondor is a real HTCondor pool as a [negotiator.Pool].
//
// A [Pool] is put together from three parts that know little of each other:
//
//   - observe looks at the pool and gives a snapshot of it, which does not change;
//   - track keeps what the negotiator believes, and compares it with the snapshot;
//   - dispatch tells the schedds which jobs the negotiator has started, and where.
//
// # One cycle, step by step
//
// When the daemon starts, [Pool.Open] looks at the pool once and restores what a former negotiator
// saved (track/saved.go). The first cycle begins with that look, at step 3. All others begin here:
//
//  1. The daemon (daemon/cycles.go, fetch) calls [Pool.Fetch] (pool.go). It waits until a look is
//     due: at the negotiator's next planned event, after the interval, when a job should have
//     started, or after a wake-up; but never before CycleDelay has passed. Meanwhile matches that
//     could not be handed over are tried again (step 7).
//  2. Fetch looks at the pool: [observe.Observer.Look] (observe/observe.go) asks all schedds in
//     parallel for their queues (queue.go), the collector for everything else (schedds.go,
//     slots.go), and waits for the schedds. Jobs that ask for the same share one [observe.Spec]
//     (spec.go). The result is an [observe.Snapshot] (snapshot.go).
//  3. Fetch compares the snapshot with what the negotiator believes (pool.go, compare; steps 3 to
//     5). [track.Belief.See] (track/belief.go) takes the snapshot in and finds its jobs.
//  4. [dispatch.Dispatcher.Judge] (dispatch/dispatch.go) hears which matches the schedds were told
//     meanwhile, and leaves out, for a while, the slots where starts have failed (suspects.go).
//  5. [track.Diff] (track/diff.go) compares slots (slots.go), jobs (jobs.go), which new jobs may be
//     planned with (admission.go), and claims of unknown jobs (claims.go). The result is a
//     [track.Outcome] with the [negotiator.Delta]. [dispatch.Dispatcher.Settle] learns from it what
//     became of the matches, the observer forgets slots that are gone, and facts.go keeps what
//     others may ask. Fetch returns the delta. If the clock was put back, or another negotiator is
//     at work, the daemon ends the cycle here.
//  6. The daemon takes its lock (daemon/cycles.go, step) and calls [negotiator.Step]
//     (negotiator/run.go): the negotiator decides, and Step hands the matches to the daemon's Act.
//     It saves the negotiator's promises before anybody hears of them (track/saved.go,
//     daemon/state.go), and calls [Pool.Act] (pool.go).
//  7. For each match, [track.Belief.Start] notes where the job is to run, and
//     [dispatch.Dispatcher.Start] makes a flight: a job on its way to its slots. Then
//     [dispatch.Dispatcher.HandOver] hands over what can go now: which flights their schedds have
//     room and a turn for (flight.go, gangs.go), what their slots have to give (offers.go), a claim
//     for each chunk (grant.go), and a talk with each schedd (dispatch/negotiate.go; on the wire it
//     is [client.Negotiation.Match], client/negotiate.go). A schedd does not answer a match.
//  8. The next snapshots show what became of a flight: the job runs, it has not started in time, or
//     it is gone (steps 4 and 5).
//
// Between two cycles the daemon calls [Pool.Explain] (dispatch/explain.go), which tells users why
// their jobs wait. Others ask for [Facts] (facts.go) at any time.
//
// The packages beside these do the rest: cedar, security and client speak to the daemons, server
// listens to them, accountant knows who has used how much, daemon is the process around it all.
// README.md is the guide for administrators.
package htcondor
