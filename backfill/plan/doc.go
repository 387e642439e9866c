// Package plan is what the policies share that plan every waiting job and move
// jobs forward in an order of their own: pc and dc.
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
// Windows are a memo. A plan without one begins with every window open, and
// comes to the same decisions.
package plan
