// Package daemon is the process around a negotiator on a real pool: what HTCondor
// calls a daemon.
//
// [Inherit] reads what condor_master says to the daemons that it starts; a [Site] is
// how this machine's configuration wants its daemons spoken to; [Become] gives root
// up, but for reading secrets anew; a [LogFile] is the log, in lines that look like
// those of HTCondor's daemons; a [State] is what outlives the process. A [Daemon] is
// its life: it schedules the pool cycle by cycle ([negotiator.Run]), and beside that keeps condor_master
// quiet, publishes the Negotiator ad, tells start times, and watches that no other
// negotiator is at work.
//
//	d := daemon.New(daemon.Options{…})
//	err := d.Run(ctx) // until the context ends; SIGTERM is the caller's business
//
// What was decided is written down before it is done, so that a process which is
// killed at any moment has forgotten no promise.
//
// Files: daemon.go the life; cycles.go around each cycle; rival.go other negotiators;
// publish.go and ad.go what is told of us; plan.go start times; state.go; inherit.go and master.go condor_master; setup.go
// and secrets_linux.go the Site; user.go; log.go; http.go; process.go.
package daemon
