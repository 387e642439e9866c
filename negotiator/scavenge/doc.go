// Package scavenge keeps the scavengers of a pool: jobs that run on whatever is idle now, also where it is
// reserved, and make way at once for any other job.
//
// Policies never see them. They plan with a pool without scavengers, so a scavenger can delay nobody by more
// than the time that it takes to leave. The negotiator keeps them in a [Book]:
//
//   - book.go: who waits and who runs, in queue.go by user and kind, and early.go: who may not start
//     yet;
//   - way.go: who must leave so that a job that was started has its place ([Book.MakeWay]);
//   - fill.go: who may run on what is still idle after that ([Book.Fill]).
//
// The package knows nothing of ads: candidates are those of the core, and so are amounts.
package scavenge
