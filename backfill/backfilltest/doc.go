// Package backfilltest is for tests of policies: [Conform] makes failed tests of
// what package conformance finds. [Textbook] is conservative, pc and dc without
// anything that spares work, to compare with.
package backfilltest
