// Package profile answers the one question all backfilling rests on: what is
// free when.
//
// A [Profile] holds, for every slot and every resource, a step function of
// time: the amount that is free. Running jobs and reservations are spans that
// are added to it and removed from it; between them it is asked for the
// earliest start of a request ([View.EarliestFit]), for a placement at a
// given start ([View.Place]) and whether a placement still holds
// ([View.Fits]). A copy ([Profile.Clone]) shares everything until one side
// changes it, so that a what-if costs only what it changes.
//
// The package is a leaf: it knows slots, vectors and seconds, and nothing of
// jobs, queues or policies.
//
//   - types.go: Time, Vector, Placement, Candidates, Request
//   - steps.go: the step function of one resource on one slot
//   - node.go: the tree of its changes
//   - profile.go: many slots, many resources, the five operations
//   - reach.go: many slots, and which of them need not be asked
//   - idle.go: many slots of which nothing is taken, and which of them are preferred
//   - earliest.go: the earliest start on many slots
//   - placement.go: which of the slots that could host a request do
//   - bundle.go: slots that are taken whole together, and which of them are in conflict
package profile
