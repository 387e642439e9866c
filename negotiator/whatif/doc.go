// Package whatif answers questions about a schedule that is not: when a job would start, what
// another policy would do, or fewer slots, or more, or some that are drained for a time.
//
// An answer compares plays of two copies of the state (package backfill/ahead): the plan as it is,
// and as it would be. Nothing is touched. In both, every job runs for as long as it is taken to,
// and nobody else arrives. The schedule may be that of a simulation or of a daemon at work; a
// [Schedule] says how to look at it.
//
// Files:
//   - question.go: what can be asked, and what is wrong with a question
//   - answer.go: what is answered, as plain data
//   - ask.go: from a question to an answer
//   - job.go: when a job would start, and which smaller or shorter one would start sooner
//   - change.go: the plan under other rules or with other slots
//   - slots.go: slots that come, go, or are drained for a time
//   - closed.go: what jobs may use while slots are closed
//   - compare.go: what differs between two plans
package whatif
