// Package daemon is the process around a negotiator on a real pool, in HTCondor's terms a daemon.
//
// [Inherit] reads what condor_master passes to the daemons that it starts. A [Site] is how this
// machine's configuration wants daemons to communicate. [Become] gives root up, except for reading
// secrets again. A [LogFile] is the log, with lines like those of HTCondor's daemons. A [State] is
// what survives the process.
//
// A [Daemon] schedules the pool cycle by cycle: it fetches what changed, decides, persists, acts
// and publishes. Beside the cycles it tells condor_master that it is alive, publishes the
// Negotiator ad, answers questions about start times, and watches that no other negotiator is at
// work.
//
//	d := daemon.New(daemon.Options{…})
//	err := d.Run(ctx) // until the context ends; SIGTERM is the caller's business
//
// Persisting comes before acting, so a process that is killed at any moment has forgotten no
// promise.
//
// Files: daemon.go the daemon's life, tuning.go what changes in it, pool.go what it asks of a pool;
// cycles.go what happens around each cycle, problems.go what is told of it, preemption.go by which
// rules jobs make way for others and what both are told, scavengers.go what is told of scavengers, beside.go on slots that are no part of
// the plan;
// rival.go other negotiators, standards.go whose user priorities count, halves.go what pages tell of others; publish.go and ad.go the ads that are published; forecast.go start
// times, foresee.go how they are found, pace.go how much of the machine that takes, accuracy.go how
// true they were, judging.go what an observer writes down, forecast_ad.go how forecasts are sent,
// answers.go what is made of them for all clients, explain.go and basis.go what one job is told, whatif.go
// questions about what is not so, drains.go slots that are to be empty by a time; choose.go how the
// policy is chosen beside the cycles; web.go HTTP, page.go what a page shows, metrics.go metrics, metering.go those that simulated
// pools have, too; state.go, ledger.go and learned.go what survives, in a state file (package statefile), accounting.go the accounting in it while no
// negotiator runs; master.go condor_master, and what it passes on; setup.go, collectors.go and
// secrets_linux.go the Site; guard.go who may give commands, relatives.go the daemons of this machine;
// process.go the process's user, self.go what it uses; log.go the log, budget.go how much of each kind
// it takes.
package daemon
