package auto

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// settle decides what follows from what the candidates are expected to give: the best is in charge
// if it is better than the base, else the base is. If the base failed, the best of the others is.
func (c *Chooser) settle(made *Choice) *negotiator.Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.choices++
	c.told = made
	made.InCharge, made.Chosen, made.Base = c.inCharge, c.inCharge, c.base
	if made.Expected == nil {
		made.Why = "nobody waits"
		if c.faults[c.base] != nil {
			return nil
		}
		return c.put(made, c.base)
	}
	if made.Wrong = c.weigh(made); made.Wrong != nil {
		made.Values, made.Why = nil, made.Wrong.Error()
		return nil
	}
	made.Why = "each better one would lift promises"
	if !slices.Contains(c.faults, nil) {
		made.Why = "all candidates failed"
	}
	for _, i := range ranked(made.Values) {
		why := c.takes(made, i)
		if why == "" {
			continue
		}
		if made.Why = why; i != c.inCharge && made.Now-c.changed < c.least {
			made.Why = fmt.Sprintf("the last change was %d s ago", made.Now-c.changed)
			return nil
		}
		return c.put(made, i)
	}
	return nil
}

// weigh notes the value of what each candidate is expected to give. It fails if one has none.
func (c *Chooser) weigh(made *Choice) error {
	for i, m := range made.Expected {
		value := math.Inf(1)
		if i == c.base || c.faults[i] == nil {
			var err error
			if value, err = c.objective.value(m, made.Expected[c.base]); err != nil {
				return fmt.Errorf("%s: %w", made.Names[i], err)
			}
		}
		made.Values = append(made.Values, value)
	}
	return nil
}

// takes says why a candidate is to be in charge; "": it is not.
func (c *Chooser) takes(made *Choice, i int) string {
	if c.faults[i] != nil {
		return ""
	}
	lifts := c.candidates[c.inCharge].guarantees() && !c.candidates[i].guarantees()
	// A base that gives no guarantees would have to lift those that were given meanwhile.
	gives := c.inCharge == c.base && !c.candidates[c.base].guarantees() && c.candidates[i].guarantees()
	value, than, gain := made.Values[i], made.Values[c.base], c.gain
	if lifts || gives {
		gain = max(gain, c.lift)
	}
	if i == c.base { // the base needs no gain, unless it lifts promises of the one in charge
		than = made.Values[c.inCharge]
	}
	switch {
	case i == c.base && !lifts:
		return "no other is better by the gain"
	case value < than && value <= than-gain*math.Abs(than):
		return fmt.Sprintf("%.4g instead of %.4g", value, than)
	case c.faults[c.base] != nil && !lifts:
		return "the base failed"
	default:
		return ""
	}
}

// put puts a candidate in charge, and returns the change to be made; nil if it is in charge.
func (c *Chooser) put(made *Choice, which int) *negotiator.Change {
	if made.Chosen = which; which == c.inCharge {
		return nil
	}
	to, before := &c.candidates[which], c.inCharge
	c.inCharge, c.changed = which, made.Now
	c.made++
	return &negotiator.Change{
		Order: to.Order, Policy: to.Policy, Fallback: to.Fallback, Planning: c.planning, Estimates: c.estimates,
		Made: func(_ backfill.Time, err error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if err == nil {
				c.rules = which
				return
			}
			c.inCharge = before
			c.told = &Choice{Now: made.Now, Names: made.Names, InCharge: before, Chosen: before, Why: err.Error(), Wrong: err}
		},
	}
}

// ranked returns the indexes of values, the least first.
func ranked(values []float64) []int {
	all := make([]int, len(values))
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	return all
}
