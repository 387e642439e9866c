// Package shapes counts what the jobs of a queue want of slots, by shape, and what of the slots is
// idle and of use to them. Whoever provisions slots asks for that: how many more of which kind
// would start waiting jobs now, and how many of those that are idle would not.
//
//	counts := shapes.Of(state, starts)
//
// The state must not change meanwhile: it is one between two cycles, or a copy
// ([backfill.State.Clone], or that of an outlook). The function says which start a waiting job is
// expected to have, beyond those that have reservations; nil: nobody knows. [Counts.Wanted] has a
// row for each shape, [Counts.Idle] what is idle, and [Counts.QueueEnd] when the last waiting job
// ends.
//
// Jobs that are alike, and slots on which the same is free for as long, are counted once: it takes
// milliseconds with 10,000 slots and 50,000 waiting jobs.
//
// Files, from the top down; each calls only those below it:
//
//	shapes.go  what is counted
//	queue.go   the jobs that want slots, by kind
//	slots.go   what is idle, by class of slot, and how often a kind fits there
//	shape.go   the shape of a request
package shapes
