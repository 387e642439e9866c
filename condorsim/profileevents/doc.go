// Package profileevents counts the profile events that the planning policies conservative, pc and
// dc would scan if they were written as in the textbook. This is the measure by which Lindsay et
// al., Backfilling with guarantees granted upon job submission, compare the policies' running
// times.
//
// The textbook keeps the profile as an array of events in order of time: a start and an end for
// each running or planned job, from now on. To place a job, it removes the job's own events from
// the array and scans the array from now on until it has found the job's earliest place. A try is
// the same for a job that has a place and may get an earlier one. The scan counts one for each
// start or end at an instant t with
//
//	now ≤ t < end of the place found
//
// No event is skipped. At an early completion, conservative tries each waiting job once. After each
// move, pc begins again at the front of its queue, until a round moves nothing. At every
// completion, dc tries each job that is planned for later, round after round, until a round moves
// nothing. At an arrival, dc tries the new job, then each job before it in the queue, and then the
// new job again. When dc only asks whether a job can start now, the scan counts like any other.
//
// A [Counter] wraps a linked-in policy and computes the same count from the policy's decisions,
// without an array. The try of a job that does not move costs as many events as there are other
// starts and ends from now until before the job's end, so the counter keeps these sorted. For pc it
// also updates, after each move, how many instants lie before each job's end. A try of dc may find
// a place that the job then does not take, so for dc the counter searches a profile of its own. It
// compares all moves with the policy's decision. backfilltest.Textbook scans literally; tests check
// that both counts are the same.
//
// The count works for one slot, and for jobs that do not outlive their estimates. Anything else
// ends it with an error.
//
//   - counter.go: the decider, its copy of the jobs, and the sorted starts and ends
//   - tries.go: what each policy tries, and how many events that scans
package profileevents
