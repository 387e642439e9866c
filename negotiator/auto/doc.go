// Package auto lets a pool choose its own policy. A portfolio of policies, each with an order, is
// played ahead from the schedule as it stands, and the best by an objective is put in charge. The
// idea is that of a digital twin beside the scheduler, as in SchedTwin (arXiv 2512.18894).
//
// What is played ahead are the running and the waiting jobs, and the jobs of the last day, which
// come again a day later: without arrivals, whatever serves short jobs first looks best, as nobody
// sees what it costs those who come later. All run for as long as past jobs of their users suggest.
//
// Each candidate is played for as long as it would be in charge; then one of them, the base, goes on:
// the first of the portfolio at first. So what is compared is what the next hour brings under another
// policy, and a wrong choice costs little: it is made anew soon. This is a rollout (Bertsekas, Tsitsiklis
// and Wu, "Rollout algorithms for combinatorial optimization", Journal of Heuristics 3, 1997).
//
//	chooser, err := auto.New(map[string]string{"every": "3600"}, 2, nil)
//	defer chooser.Close()
//	chooser.TakeCharge(&config)
//	result, err := condorsim.Run(ctx, workload, config, nil, chooser)
//
// If the option base says so, the base is chosen anew each week or so by what each candidate would have
// done in it: the schedule as it was at its beginning is kept, and played with the jobs that came and the
// run times that they had. Jobs that left before they ran are left out, and so are weeks in which the pool
// became another one.
//
// A candidate may be a plugin ([Find]). One that fails in a play, or so often in charge that it is given
// up, is left out; if the base is, its fallback is played in its place.
//
// A [Chooser] is a sink of the cycles: after a cycle in which a choice is due it plays, and hands a
// change over to the next cycle. A daemon calls [Chooser.See] after each cycle instead, and
// [Chooser.LookBack] and [Chooser.Choose] beside the cycles. Nothing here has a clock or is random: the
// same cycles get the same choices, for any number of workers.
//
// Files:
//   - candidate.go: a policy with its order, and the portfolio
//   - choice.go: what was chosen, and how it is told
//   - chooser.go: when to choose
//   - hindsight.go: looks back at a week, and says which is the base
//   - measure.go: what a candidate is expected to give
//   - objective.go: an expression that says which is best
//   - options.go: what can be set
//   - period.go: a week, kept to be played when it is over
//   - play.go: plays the candidates ahead
//   - priorities.go: whose jobs count for more
//   - record.go: who arrived lately, and how long they ran
//   - scores.go: how the candidates did in the weeks so far
//   - settle.go: whether to change
//   - summary.go: how often it chose, and who was in charge
package auto
