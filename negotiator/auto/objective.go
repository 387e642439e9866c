package auto

import (
	"fmt"
	"math"

	"github.com/condor-backfill/condor-backfill/classad"
)

// objective says which candidate is best: the one with the least value of an expression, in which
// MY is the candidate's measures and TARGET those of the base.
type objective struct{ expr *classad.Expr }

// UsualObjective is the default objective: the mean bounded slowdown, which counts more if the
// greatest waits are longer than the base's by more than a quarter.
const UsualObjective = "MeanBoundedSlowdown * max({1.0, MY.Top5Wait / (1.25 * TARGET.Top5Wait + 3600)})"

// newObjective reads an objective, and tries it.
func newObjective(text string) (o objective, err error) {
	if o.expr, err = classad.ParseExpr(text); err != nil {
		return o, fmt.Errorf("the objective is no expression: %w", err)
	}
	some := Measures{Jobs: 100, MeanBoundedSlowdown: 2, MeanWait: 60, Top5Wait: 600, Makespan: 3600}
	if _, err = o.value(some, some); err != nil {
		return o, fmt.Errorf("%w: the measures are Jobs, MeanBoundedSlowdown, MeanWait, Top5Wait, Makespan", err)
	}
	return o, nil
}

// value returns the objective of a candidate beside the base.
func (o objective) value(candidate, base Measures) (float64, error) {
	v := o.expr.Eval(classad.Scope{My: candidate.ad(), Target: base.ad(), MaxSteps: classad.FewSteps})
	if n, ok := v.Number(); ok && !math.IsNaN(n) && !math.IsInf(n, 0) {
		return n, nil
	}
	return 0, fmt.Errorf("the objective gives %v, which is no number", v)
}

// ad returns the measures as attributes.
func (m Measures) ad() *classad.ClassAd {
	ad := classad.New()
	ad.SetInt("Jobs", int64(m.Jobs))
	ad.SetReal("MeanBoundedSlowdown", m.MeanBoundedSlowdown)
	ad.SetReal("MeanWait", m.MeanWait)
	ad.SetReal("Top5Wait", m.Top5Wait)
	ad.SetReal("Makespan", m.Makespan)
	return ad
}
