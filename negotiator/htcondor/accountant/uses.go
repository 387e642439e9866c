package accountant

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// LimitUse is how much of a concurrency limit jobs use and want.
type LimitUse struct {
	Name string
	// Height is the limit, Used what running jobs use of it, and Wanted what waiting ones want, who are
	// Waiting. Jobs whose limits depend on the slot want nothing while they wait.
	Height, Used, Wanted float64
	Waiting              int
}

// String says how much of the limit is in use, and who waits for more.
func (l LimitUse) String() string {
	text := fmt.Sprintf("%s: %s of %s in use", l.Name, decimal(l.Used), decimal(l.Height))
	if l.Waiting > 0 {
		text += fmt.Sprintf(", %s wanted by %d waiting", decimal(l.Wanted), l.Waiting)
	}
	return text
}

// Close has [Accountant.LimitsInUse] tell what was found to be used and wanted.
func (b *Bounds) Close() {
	var limits []LimitUse
	for _, bound := range b.all {
		if name, concurrency := strings.CutPrefix(bound.Name, limitName); concurrency {
			limits = append(limits, LimitUse{name, bound.Max, bound.Used, bound.Waited, bound.Waiting})
		}
	}
	slices.SortFunc(limits, func(x, y LimitUse) int { return strings.Compare(x.Name, y.Name) })
	b.a.mu.Lock()
	defer b.a.mu.Unlock()
	b.a.limits = limits
	b.a.asked.outdate()
}

// mostShown bounds the limits of which administrators are shown the use, as users invent names.
const mostShown = 100

// LimitsInUse returns, by name, how much is used and wanted of the concurrency limits that jobs named at
// the last [Bounds.Close] and that are bounded; of very many, of those that are wanted and used most.
func (a *Accountant) LimitsInUse() []LimitUse {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	bounded := slices.DeleteFunc(slices.Clone(a.limits), func(l LimitUse) bool { return l.Height >= unlimited })
	a.mu.Unlock()
	if len(bounded) > mostShown {
		slices.SortStableFunc(bounded, func(x, y LimitUse) int {
			return cmp.Or(cmp.Compare(y.Waiting, x.Waiting), cmp.Compare(y.Used, x.Used))
		})
		bounded = bounded[:mostShown]
		slices.SortFunc(bounded, func(x, y LimitUse) int { return strings.Compare(x.Name, y.Name) })
	}
	return bounded
}
