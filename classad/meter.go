package classad

// FewSteps is the limit for one evaluation of what a stranger wrote, if it is repeated for many
// ads: the Requirements, Rank or request of one job. It is used as [Scope.MaxSteps]. Expressions of
// real pools take less than a hundred steps; those that name a thousand machines one by one take
// 4,000. A step takes 50 ns at most, so that one evaluation is over in half a millisecond.
const FewSteps = 10_000

// Meter sums the steps of evaluations, so that a caller can tell what an ad, a user or a cycle has
// cost. It is set in a [Scope] or a [Pair], and is not safe for concurrent use. The same expressions
// and ads give the same sums everywhere, whatever was evaluated or compiled before.
type Meter struct {
	steps    int64
	exceeded int
}

// Steps returns the number of all steps so far. See [Scope.MaxSteps] for what a step is; an
// evaluation that was stopped counts with all steps that it was allowed.
func (m *Meter) Steps() int64 { return m.steps }

// Exceeded returns how many evaluations were stopped at their limit of steps.
func (m *Meter) Exceeded() int { return m.exceeded }

// count adds an evaluation with a limit of steps, of which some are left; fewer than none if it was
// stopped.
func (m *Meter) count(limit, left int) {
	if m == nil {
		return
	}
	m.steps += int64(limit - max(left, 0))
	if left < 0 {
		m.exceeded++
	}
}

// metered adds the evaluation in progress to the meter of its scope.
func (ev *evaluator) metered() { ev.meter.count(ev.maxSteps, ev.steps) }
