// Package profile answers the question that all backfilling rests on: what is free when.
//
// A [Profile] holds, for every slot and every resource, a step function of time: the amount that is
// free. Running jobs and reservations are added to the profile and removed from it as spans of
// time. Between these changes, the profile finds the earliest start of a request
// ([View.EarliestFit]), finds a placement at a given start ([View.Place]), and checks whether a
// placement still fits ([View.Fits]). A copy ([Profile.Clone]) shares everything until one side
// changes it, so a what-if costs only what it changes.
//
// The package imports no other of this module: it knows slots, vectors and seconds, and nothing of
// jobs, queues or policies.
//
//   - types.go: Time, Vector, Placement, Candidates, Request
//   - steps.go: the step function of one resource on one slot
//   - node.go: the tree that stores the changes of a step function
//   - profile.go: many slots, many resources, the five operations
//   - slide.go: moving a span a little
//   - sums.go: what is free on all slots together
//   - fits.go: what is free on a slot, and whether a placement fits there
//   - room.go: for how long a slot has room around a span of time
//   - reach.go: with many slots, a lower bound for each that lets searches skip it
//   - idle.go: slots that are free for all time, and which of them the placement rule prefers
//   - earliest.go: the earliest start on many slots
//   - breakoff.go: queries that are broken off when their time is over
//   - placement.go: which slots the placement rule chooses for a request
//   - filling.go: many placements by start on slots that are alike
//   - choice.go: the hosts that the rule prefers most, of all that could take a request
//   - row.go: amounts that all slots share, such as limits, and the earliest start where they matter
//   - window.go: when jobs may begin on a candidate, and the earliest start where that matters
//   - ending.go: slots that have nothing from an instant on
//   - least.go: slots on which a job begins only while more is free than it takes
//   - lead.go: what is occupied for that where jobs are to begin, and how several begin in one second
//   - bundle.go: slots that are taken whole together, and which bundles share a slot
package profile
