// Package conformance is what is asked of every policy: a [Run] puts one in charge
// of a random pool, with jobs and mishaps that a seed makes up, and holds every
// decision against the rules. It asks the same of a linked-in policy, of one
// behind the plugin boundary, and of a stranger's binary, and says what it found
// as values: package backfilltest makes failed tests of them, and plugins/check a
// verdict.
//
// [Rule] lists what is asked. Most rules must be kept; some are advice, which a
// policy may have its reasons not to follow. [Promise] is what a policy promises
// beyond that. [Driver] is the random pool by itself, for tests that compare two
// ways of running the same policy. Seeds with [Partitioned] are of pools that have
// bundles.
package conformance
