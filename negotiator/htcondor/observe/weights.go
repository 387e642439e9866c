package observe

import (
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

// SlotWeight is the attribute of slots that says what they count for in fair share and quotas.
const SlotWeight = "SlotWeight"

// weights are the expressions of [config.Weights]; nil for none.
type weights struct {
	weight, counts *classad.Expr
	forced         bool
}

// weighBy has all slots weighed by these expressions. Slots are asked for the attributes that the
// expressions refer to. One that cannot be parsed counts as not given.
func (o *Observer) weighBy(w config.Weights) {
	o.weights = weights{o.ofSlots(w.SlotWeight), o.ofSlots(w.PoolSize), w.Forced}
}

// ofSlots returns an expression over slots, which are asked for what it refers to; nil for none.
func (o *Observer) ofSlots(text string) *classad.Expr {
	e, err := classad.ParseExpr(text)
	if text == "" || err != nil {
		return nil
	}
	o.slotAttributes.referTo(e)
	return e
}

// weigh notes what a slot weighs and whether it counts for the size of the pool. The pool's own
// expression replaces the startd's SlotWeight if it is forced, or if that is no number.
func (o *Observer) weigh(s *Slot, ad *classad.ClassAd) {
	host := o.s.host(o.looked)
	own, given := ad.Lookup(SlotWeight)
	scope := classad.Scope{My: ad, MaxSteps: slotSteps, Host: host}
	if given && !IsCpus(own) && !o.weights.forced {
		_, given = scope.Attr(SlotWeight).Number()
	}
	if w := o.weights; w.forced || !given {
		ad.Delete(SlotWeight)
		if w.weight != nil && !IsCpus(w.weight) {
			ad.Set(SlotWeight, w.weight)
		}
	}
	s.Weight = nil
	if e, given := ad.Lookup(SlotWeight); given && !IsCpus(e) {
		weight := WeightOf(ad, host, nil)
		s.Weight = &weight
	}
	s.Uncounted = o.weights.counts != nil && !o.weights.counts.Eval(scope).IsTrue()
}

// IsCpus tells whether a slot's weight is its cpus, as by default.
func IsCpus(e *classad.Expr) bool {
	return strings.TrimPrefix(strings.ToLower(e.String()), "my.") == "cpus"
}

// WeightOf returns what the slot of an ad weighs by its SlotWeight. As with the stock negotiator,
// it is 1 if that is no number, or below 0; also if it takes more than slotSteps. The meter may be
// nil.
func WeightOf(ad *classad.ClassAd, host *classad.Host, m *classad.Meter) float64 {
	scope := classad.Scope{My: ad, MaxSteps: slotSteps, Host: host, Meter: m}
	weight, isNumber := scope.Attr(SlotWeight).Number()
	if !isNumber || !(weight >= 0) || weight > mostWeight {
		return 1
	}
	return weight
}

// mostWeight is the largest weight that counts: above it an ad has gone wrong.
const mostWeight = 1e12
