// Package plan is what the policies share that plan every waiting job and move
// jobs forward: conservative, pc and dc.
//
// Most jobs cannot move, and a [Plan] knows which without trying. A job that was
// tried in vain can move only after something grew: a place was given back, by a
// job that ended early or by one that moved. With a place [a, b) that became
// free, a job of duration d planned for p can start at s < p only if [s, s+d)
// reaches into [a, b); on one slot even the part of it before p must, since from
// p on the job stands on its own place. So each job has a window of the starts
// that it might have: empty after a try in vain, widened by what grows, and only
// the window is searched. What grew is also of no use to a job that needs more
// than the most that is free there, nor to one that could do with the least that
// was free before.
//
// What of this depends on the request alone is asked once for all jobs of a
// [shape], those that ask for the same: a growth is noted there, and each job
// learns of it when its turn comes.
//
// A job that takes a bundle is one of a chunk on each slot of it: it can move only if
// some slot of a bundle grew so that all of it is free.
//
// Windows are a memo. A plan without one begins with every window open, and
// comes to the same decisions.
//
//   - plan.go: the list of jobs, brought along with the cycle's events
//   - entry.go: one job, its window, and trying it
//   - shape.go: what jobs of one request have in common; what grew for them
//   - move.go: in which order jobs are moved: one function for each policy
package plan
