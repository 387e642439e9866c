// Package track keeps what the negotiator believes of a real pool, and compares it with what was
// seen.
//
// [Diff] is its heart: a function of a [Belief], a snapshot of the pool and the matches under way.
// It gives the differences as a [negotiator.Delta], and the belief as it is once they were
// reported. It reads no clock and asks no daemon. Three rules keep the belief true although a
// real pool is never quite as one thinks:
//
//   - The queue is right about jobs, the slot about what is free. A job runs when its schedd says
//     so, not when it was matched.
//   - A match is a wish. Until the job runs, its place counts as taken; after a while it has
//     failed.
//   - What is not seen is not gone: not while its daemon does not answer, and not at the first
//     look.
//
// Files, in the order of Diff: belief.go the [Belief], and how it takes a snapshot in; diff.go the
// comparison and its [Outcome]; slots.go slots; jobs.go jobs, job.go one of them; admission.go
// which new jobs are planned with; claims.go claims of no known job; view.go what others may ask;
// saved.go what survives a restart.
package track
