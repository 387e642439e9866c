// Package plan is shared by the policies that plan every waiting job and move jobs to earlier
// starts: conservative, pc and dc. With slack, which moves none, they share who enters the plan.
//
// Most jobs cannot move, and a [Plan] knows which without a search. A job for which a search was in
// vain can move only after some slot has grown: room on it was given back, by a job that ended
// early or by one that moved. Say that room became free during [a, b), and that a job of duration d
// is planned for p. It can start at s < p only if [s, s+d) overlaps [a, b). On a single slot even
// the part of [s, s+d) before p must overlap it, since from p on the job uses its own place. So
// each job has a window of the starts that it might have. It is empty after a search in vain,
// growths widen it, and only starts in it are searched. A growth does not help a job that needs
// more than the most that is free there now, nor one for which the least that was free before was
// enough.
//
// Whether a growth is large enough to help a job depends on its request alone, whatever its
// duration. So it is tested once for all jobs of a [shape], which are those with equal requests.
// The growth is noted in the shape, and each job widens its window when its turn comes.
//
// One job's window narrows that of another. On a single slot, let the first be planned no later
// than the second, need the same and last no longer. At a start before the first one's planned
// start, the second needs all that the first would: where the first cannot start, the second cannot
// either. So of many alike jobs each searches only from where the one before it stands.
//
// Jobs with equal requests and estimates that are planned for the same time move abreast as far as
// there is room for all of them: what the first of them finds holds for the others. So the profile
// is asked and changed once for them.
//
// A job that takes a bundle needs all of each slot of it: it can move only if some slot of a bundle
// grew so that all of that slot is free.
//
// What a job takes of rows is room, too: where it is given back, all jobs that take of the row may move,
// on any slot.
//
// Windows are a memo, which only saves work. A plan that starts without it opens every window wide,
// and comes to the same decisions.
//
//   - plan.go: the list of jobs, and how the cycle's events change it
//   - entry.go: one job, its window, and the search for an earlier start
//   - grown.go: what the last growths of a shape have for a job
//   - shape.go: jobs with equal requests, the growths that may help them, and which of them may
//     narrow the window of which
//   - depth.go: who enters the plan, and the starts of those beyond its depth
//   - move.go: in which order jobs are moved, in one or two functions for each policy
package plan
