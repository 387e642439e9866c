// Package sweep runs matrices of simulations: every trace under every scheduler,
// at every load, under every estimate model, with every seed.
//
// A tour:
//
//   - [File] is a sweep's file; [Parse] reads it strictly, so that a typo is an
//     error with its line and not a sweep of something else.
//   - [Prepare] looks for the traces in [Places] and makes a [Plan]: the
//     manifest, and the cells in its order. A cell's key has a digest of all that
//     its result depends on.
//   - [Estimates] are the estimators of schedulers; each one of a list is another
//     scheduler.
//   - [Plan.Split] says which cells of a folder of results still count.
//   - [Plan.Run] runs the others on several cores, and hands each to be written
//     as it is finished.
//
// What comes out depends on the file, the traces and the program, and on nothing
// else: not on the number of cores, nor on what was interrupted in between.
package sweep
