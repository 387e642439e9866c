// Package profileevents counts what the planning policies conservative, pc and dc
// would cost if they were written as in the textbook: the measure by which Lindsay
// et al., Backfilling with guarantees granted upon job submission, compare their
// running times.
//
// The textbook keeps the profile as an array of events, a start and an end for
// each job that runs or is planned, in order of time; what lies before now is cut
// off. Each time that a job is placed, or tried to be, it is taken out of the
// array, which is then scanned from now on until the job has found the earliest
// place. One is counted for each start or end at an instant t with
//
//	now ≤ t < end of the place found
//
// and nothing is skipped: conservative tries each waiting job once at an early
// completion; pc begins again at the front of its queue after each move, and ends
// with a round without any; dc tries each job that is planned for later at every
// completion, round after round until one moves nothing, and at an arrival the new
// one, each job before it, and the new one again. A try of dc's that only asks for
// a start now scans like any other.
//
// A [Counter] stands around a linked-in policy and comes to the same count from
// what the policy decides. Where a job stays is known, so that its try is a rank
// in the ordered instants; for pc, a move changes these by whole ranges. For dc,
// whose tries may find a place that is not taken, it looks for that place in a
// profile of its own. Whatever moves is compared with the policy's decision.
// backfilltest.Textbook scans literally; the two counts are the same by test.
//
// One slot, and jobs that do not outlive their estimates: everything else that can
// happen ends the count with an error.
//
//   - counter.go: the decider, and the mirror of jobs that it keeps
//   - tries.go: what each policy tries, and what that costs
//   - instants.go: starts and ends in order
package profileevents
