// Package replay decides the rounds of a record again, and compares each decision with what was decided then.
// As a policy is a function of the state, they are the same unless the policy is another one, or this code has
// changed: so a record is a proof of what was decided, and a test of a policy's next version.
//
// [Replay] reads records and replays them. [Difference] is a round that was decided otherwise, with the state that
// the policy saw. Files: replay.go the replay; known.go what entries refer to; difference.go; linked.go the policies that are linked in.
package replay
