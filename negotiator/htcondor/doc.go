// Package htcondor is a real HTCondor pool as a [negotiator.Pool].
//
// A [Pool] is put together from four parts:
//
//   - observe looks at the pool and gives a snapshot of it, which does not change;
//   - track keeps what the negotiator believes, and compares it with the snapshot;
//   - claims keeps what is on its way, and decides what to send next;
//   - dispatch is the network of claims: it tells the schedds which jobs start, and where.
//
// What claims and track do follows from what they are given, and from its time: they ask no daemon.
//
// # One cycle, step by step
//
// When the daemon starts (daemon/daemon.go, open), [Pool.Open] looks at the pool and makes a
// checkpoint of the look and of what a former negotiator saved (track/saved.go), from which
// [negotiator.Restore] goes on. The first Fetch uses that look and begins at step 3. Each later
// cycle takes all steps:
//
//  1. The daemon (daemon/cycles.go, fetch) calls [Pool.Fetch] (pool.go). Fetch waits until a look
//     is due: at the end of the interval, at the negotiator's next planned event, soon after a
//     match was handed over and when it has waited too long for its job to run, when a pause of a
//     slot ends, at once while a gang starts, or after a wake-up; but never before CycleDelay has
//     passed since the last cycle. Meanwhile it tries again to hand over the matches that could not
//     be handed over (step 7), asks the collector what became of the claims of jobs that do not
//     run yet (claims/early.go, dispatch/startds.go) and what has become free (watch.go), and asks
//     the schedds whether jobs were submitted (submits.go).
//  2. Fetch looks at the pool: [observe.Observer.Look] (look.go, observe/observe.go) asks the
//     schedds it knows for their queues (queue.go), in parallel, and meanwhile the collector for
//     everything else (schedds.go, slots.go). Once the collector has answered, Look waits for the
//     schedds, at most for Hold; an answer that comes later serves a later look. Jobs of a schedd
//     whose ads differ in their state alone share one [observe.Spec] (spec.go). The result is an
//     [observe.Snapshot] (snapshot.go).
//  3. Fetch compares the snapshot with what the negotiator knows so far (compare in pool.go; steps
//     3 to 5). The dispatcher hears which matches the schedds have been told of since. Then
//     [claims.State.See] (claims/state.go) has the [track.Belief] take the snapshot in and find its
//     jobs (track/belief.go).
//  4. The state judges which starts have failed already (claims/early.go), and chooses the slots
//     that get no jobs for a while, since starts failed there (claims/suspects.go), and the jobs
//     that wait for a while, since their schedds did not start them (claims/refused.go). The result
//     is a [track.Dispatched].
//  5. [track.Belief.Diff] (track/diff.go) compares slots (track/slots.go) and jobs (track/jobs.go),
//     charges the accountant, admits new jobs to the plan (track/admission.go), follows the claims
//     that are lent (track/leases.go, track/holders.go), and compares the claims that belong to no
//     known job (track/foreign.go). The result is a [track.Outcome] with the [negotiator.Delta].
//     The state learns from it what became of the matches, the observer forgets slots that are
//     gone, and publish (facts.go) keeps what others may ask. Fetch returns the delta. The daemon's
//     fetch checks two things then. If the clock was put back far, the daemon begins anew with Open
//     (daemon/daemon.go, schedule). If it has to step back for another negotiator (daemon/rival.go,
//     without), it waits until that one is gone and begins anew, too; without condor_master, and
//     before its first cycle has ended, it ends with an error instead.
//  6. The daemon takes its lock (daemon/cycles.go, step), and goes through four phases. It has the
//     negotiator decide ([negotiator.Decide], negotiator/run.go; RunCycle, negotiator/cycle.go),
//     and shows the plan to [Pool.TakePlan]: how long claims can be lent, which jobs no slot can
//     run, and what was promised (track/plan.go). It persists the plan, before anybody hears of a
//     promise (track/saved.go, daemon/state.go). It acts: if there are matches, it calls [Pool.Act]
//     (pool.go), step 7; if machines sleep on which jobs that wait would start, [Pool.Rouse] says so
//     to the collector (negotiator/beside.go, dispatch/rouse.go). And it publishes the report. If
//     the negotiator refuses the delta, the daemon begins anew with Open, unless that is the third
//     time in a row.
//     If slots overlap with others (BackfillSlot), jobs that still wait start there with what is idle
//     (daemon/beside.go, fill), and another cycle follows at once, which is told that they run.
//  7. For each match, [claims.State.Start] notes where the job is to run, and makes a flight: a job
//     on its way to its slots. Then [dispatch.Dispatcher.HandOver] tells schedds which claims of
//     gangs have ended (dispatch/release.go) and which scavengers have to leave (dispatch/vacate.go), has the state pick the flights that their schedds
//     have room for (claims/flight.go), and asks the collector what their slots can give now
//     (dispatch/offers.go). For each flight whose slots can give all it needs, [claims.State.Grant]
//     takes claims for its chunks (claims/grant.go); a gang may have to wait for its turn there
//     (claims/gangs.go). A claim may be lent for more jobs than one (claims/leases.go); if it is
//     lent for longer than its first job may take, the next Fetch returns at once, without a look,
//     to tell the negotiator so (track/leases.go, Grant). What is left is tried again (step 1). The dispatcher tells
//     each schedd of its grants (dispatch/negotiate.go; on the wire, [client.Negotiation.Match] in
//     client/negotiate.go), and the state of what was told. A schedd does not answer a match.
//  8. The schedd claims the slots at their startds and starts the job. The next snapshots show what
//     became of the flight: the job runs, its claim was refused, it has not started in time, or it
//     is gone (steps 4 and 5).
//
// Before a Fetch, if there is a new forecast and users are to be told why their jobs wait, the
// daemon (daemon/cycles.go, explain) calls [Pool.Explain] (pool.go; claims/reasons.go,
// dispatch/explain.go), which tells the schedds. Others ask for [Facts] (facts.go) at any time.
//
// The packages beside these do the rest: cedar, security and client speak to the daemons, broker to
// those that cannot be connected to, server answers tools and daemons, accountant knows who has
// used how much, condorconfig reads HTCondor's configuration, daemon is the process around it all.
// README.md is the guide for administrators.
package htcondor
