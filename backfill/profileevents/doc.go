// Package profileevents counts the profile events that the planning policies conservative, pc and
// dc would scan if they were written as in the textbook. This is the measure by which Lindsay et
// al., Backfilling with guarantees granted upon job submission, compare their running times.
//
// The textbook keeps the profile as an array of events in order of time, without those before now:
// a start and an end for each running or planned job. To place a job, or to try to, it removes the
// job from the array and scans the array from now on until it has found the job's earliest place.
// The scan counts one for each start or end at an instant t with
//
//	now ≤ t < end of the place found
//
// Nothing is skipped. At an early completion, conservative tries each waiting job once. After each
// move, pc begins again at the front of its queue, until a round moves nothing. At every
// completion, dc tries each job that is planned for later, round after round, until a round moves
// nothing; at an arrival it tries the new job, each job before it, and the new job again. When dc
// only asks whether a job can start now, the scan counts like any other.
//
// A [Counter] wraps a linked-in policy and computes the same count from its decisions. If a job
// stays where it is, the cost of its try is its rank in the sorted instants; a move in pc changes
// the ranks of whole ranges. A try of dc may find a place that is then not taken, so for dc the
// counter searches a profile of its own. All moves are compared with the policy's decision.
// backfilltest.Textbook scans literally; tests check that both counts are the same.
//
// The count works for one slot, and for jobs that do not outlive their estimates. Anything else
// ends it with an error.
//
//   - counter.go: the decider, its copy of the jobs, and the sorted starts and ends
//   - tries.go: what each policy tries, and how many events that scans
package profileevents
