package results

import (
	"cmp"
	"strings"
)

// The estimators of requested and of actual run times.
const (
	requested = "requested"
	accurate  = "accurate"
)

// Estimator names the run times that the scheduler plans with. If all three uses of a run time
// (order, backfill, running) have the same estimator, it is that, such as mix:0.5. If each use has
// actual run times (1) or requested ones (0), it is S and three digits, as Tang et al. name
// settings (IPDPS 2010). Else it is each use with its estimator. Options, if any, come last.
func (k Key) Estimator() string {
	var s Estimates
	if k.Estimates != nil {
		s = *k.Estimates
	}
	all := cmp.Or(s.All, requested)
	uses := [3]string{cmp.Or(s.Order, all), cmp.Or(s.Backfill, all), cmp.Or(s.Running, all)}
	name, digits := "S", true
	for _, use := range uses {
		switch use {
		case requested:
			name += "0"
		case accurate:
			name += "1"
		default:
			digits = false
		}
	}
	switch {
	case uses[0] == uses[1] && uses[1] == uses[2]:
		name = uses[0]
	case !digits:
		name = "order=" + uses[0] + " backfill=" + uses[1] + " running=" + uses[2]
	}
	return strings.TrimSpace(name + " " + OptionsText(s.Options))
}
