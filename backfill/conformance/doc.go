// Package conformance tests policies against the rules for all of them. A [Run] drives a policy
// through a random pool, whose jobs and mishaps follow from a seed, and checks every decision. The
// policy may be linked in, run behind the plugin boundary, or be somebody else's binary. The
// findings are values: package backfilltest turns them into failed tests, plugins/check into a
// verdict.
//
// [Rule] lists the rules. Most are mandatory, and to break one is a fault; some are advice, which a
// policy may have reasons not to follow. [Finding.Remedy] says what to do, and [Pool] on which pools a
// policy is judged, so that both packages give one verdict. [Repeat] and [Record] compare decisions of the
// same pool. [Promise] is what a single policy promises beyond the rules. [Driver] is the random
// pool by itself, for tests that compare two ways to run the same policy. A seed with [Partitioned]
// gives a pool with bundles, one with [Shallow] a plan of a small depth, one with [Deferred] jobs
// that may not start at once, one with [Windowed] candidates that are not always open, one with
// [Limited] jobs that take of rows.
package conformance
