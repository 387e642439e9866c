// Package backfilltest is the conformance suite for policies: [Conform] drives a
// policy through random pools, jobs and mishaps, and holds every decision
// against what is promised. It asks the same of a linked-in policy, of one
// behind the plugin boundary, and of a stranger's binary.
//
// [Driver] is the random pool by itself, for tests that compare two ways of
// running the same policy. [Textbook] is conservative, pc and dc without anything
// that spares work, to compare with.
package backfilltest
