// Package process is the negotiator of a real pool as a process: it takes what condor_master hands
// down, reads the configuration, and puts together what the daemon needs.
//
//   - run.go: from the options to the end of the process ([Run]), in the order in which it happens;
//   - process.go: the parts: state, accounting, pool, command port; and what condor_reconfig changes;
//   - page.go: the pool behind the page;
//   - recording.go: the record of the cycles;
//   - logs.go: the log and the match log;
//   - check.go: all that a start would check, without a start ([Check]), and what the slots tell
//     ([CheckSlots]).
//
// Package negotiator/htcondor/daemon has what it does once it runs.
package process
