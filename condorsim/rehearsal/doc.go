// Package rehearsal runs the negotiator, as it is configured, on a simulated pool: with the pool,
// workload, policy, order and estimators of its own settings, where package condorsim takes those of a
// simulation.
//
//   - load.go: the pool and its jobs, from files or the built-in ones, read as condorsim run reads them;
//   - rehearsal.go: a [Rehearsal] is all of it, ready to be scheduled;
//   - run.go: runs it at the pace of a clock, with a live view or a log, and reloads at signals;
//   - again.go: the command that runs a refused round alone;
//   - explain.go, lookahead.go: what is so at an instant, about which somebody asks; tell.go says it;
//   - page.go: shows it as a page while it runs; served.go: serves that;
//   - whatif.go: what would be so; drain.go: what becomes of slots that are to be empty by a time.
package rehearsal
