// Package sweep runs matrices of simulations: every trace under every scheduler, at every load,
// under every estimate model, scaled or not, with every seed.
//
// A tour:
//
//   - [File] is a sweep's file; [Parse] reads it strictly, so that a typo is an error with its
//     line. [Keys] shows all that it may have. A program that makes one itself has it checked by
//     [File.Check].
//   - [Prepare] finds the traces in [Places] and returns a [Sweep]: the manifest, and the cells in
//     its order. A cell's key has a digest of all that its result depends on.
//   - [Estimates] are the estimators of schedulers; each one of a list is another scheduler.
//   - [Sweep.Split] says which cells of a folder of results still count.
//   - [Sweep.Run] runs the others on several cores, and has each one saved when it is finished.
//   - [Sweep.Kit] makes a folder with what other machines need to run them one by one, and
//     [Kit.Prepare] prepares one there.
//
// Results depend only on the file, the traces and the program, and not on the number of cores or on
// interruptions.
package sweep
