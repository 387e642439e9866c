// Package ahead plays a copy of a schedule forward: who will start when, if nobody else arrives, or
// if those arrive whom the caller names. Start times, fair start times, what-ifs and the choice
// between policies all rest on it.
//
// A [Play] owns a copy of a state ([backfill.State.Clone]) and goes on from it, round by round, as
// the simulator would: running jobs end when the caller takes them to end, arrivals come at their
// submit times, and the policy is called for these events and whenever the schedule asks for it. All
// that happens at one instant is one round, in the order of events. So if the run times are right
// and nobody else arrives, the starts that are played are the starts that come.
//
//	play, err := rules.Play(ahead.Start{State: state.Clone(), End: ahead.Taken(runTime)})
//	starts, err := play.Starts(ctx, ahead.Bounds{Rounds: 100_000})
//
// A play is a function of its arguments: it has no clock and no randomness. It ends early if the
// context does, or at the caller's [Bounds]. [Futures] are many plays from one state, which differ
// in what the caller draws, and tell a range of starts.
//
// Files:
//   - play.go: a play, round by round
//   - ends.go: when the running jobs end
//   - starts.go: when the waiting jobs start in a play
//   - futures.go: when they start in several plays, as a range
//   - near.go: how many starts came near to when they had been told
package ahead
