// Package fleet runs numbered tasks, each of which writes one file, as jobs of an HTCondor pool: the cells
// of condorsim sweep --on htcondor. It knows nothing of sweeps.
//
//   - [Fleet.Run] (fleet.go) submits the tasks as one cluster, follows it until each task has ended, and
//     submits those again that came to nothing. All that it remembers is in its folder (state.go), so that
//     another process can go on.
//   - running.go does what follows of events, and clusters.go submits, asks for and removes clusters.
//   - submit.go writes the submit description: late materialization, what a task needs, lines of the user.
//   - events.go reads the event log of a cluster as it grows.
//   - book.go keeps where each task is, by its events: a state machine without files, clock or processes.
//   - condor.go calls condor_submit, condor_rm and condor_q; gathering.go says once what happens to many.
//
// Jobs are watched by their event log, which costs the schedd nothing; condor_q is asked only after a
// long silence, which tells a schedd that is down from jobs that take long.
package fleet
