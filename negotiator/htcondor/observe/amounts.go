package observe

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// settle replaces what a slot's ad says of resources by expressions, as STARTD_ATTRS may, by their
// values. It errs if one is no number, or all of them together take too many steps.
func settle(ad *classad.ClassAd, resources []string) error {
	var m classad.Meter
	for _, resource := range resources {
		for _, name := range []string{negotiator.Attribute(resource), "TotalSlot" + negotiator.Attribute(resource)} {
			e, given := ad.Lookup(name)
			if !given || ad.Literal(name).Kind() != classad.Undefined {
				continue
			}
			v := e.Eval(classad.Scope{My: ad, MaxSteps: max(1, slotSteps-int(m.Steps())), Meter: &m})
			if m.Exceeded() > 0 {
				return fmt.Errorf("its %s is too expensive to evaluate: its resources take more than %d steps", name, slotSteps)
			}
			switch n, isNumber := v.Number(); {
			case isNumber && n == math.Trunc(n) && math.Abs(n) <= backfill.MaxAmount:
				ad.SetInt(name, int64(n))
			case isNumber:
				ad.SetReal(name, n)
			case v.Kind() == classad.Undefined:
				ad.Delete(name)
			default:
				return fmt.Errorf("its %s is %.60s: must be a number", name, v)
			}
		}
	}
	return nil
}

// Amounts returns how much of each resource a slot's ad shows; 0 where that is no number above 0,
// and [backfill.MaxAmount] where it is more than can be planned with. All expressions share
// slotSteps.
func Amounts(ad *classad.ClassAd, resources []string) backfill.Vector {
	v := make(backfill.Vector, len(resources))
	var m classad.Meter
	for i, resource := range resources {
		scope := classad.Scope{My: ad, MaxSteps: max(1, slotSteps-int(m.Steps())), Meter: &m}
		if n, ok := scope.Attr(resource).Number(); ok && n > 0 {
			v[i] = int64(min(n, backfill.MaxAmount))
		}
	}
	return v
}

// rounding holds the ways in which the pool's partitionable slots round up the amounts that jobs
// request: by the slot's consumption policy, or as startds without one do. A way that was seen once
// counts until many others have been seen.
type rounding struct {
	resources []string
	ways      map[string]*way // by the text of the consumption policy
	most      int             // when there are so many, those of slots that are gone are dropped
}

// way is a consumption policy: one slot that has it, and the most of each resource that a slot with
// it has. It has no slot if it is too expensive.
type way struct {
	slot     *negotiator.Slot
	capacity backfill.Vector
}

// fewRoundings is how many ways of rounding are always kept.
const fewRoundings = 50

func newRounding(resources []string) rounding {
	return rounding{resources: resources, ways: map[string]*way{}, most: fewRoundings}
}

// add notes how a slot rounds up the amounts that jobs request, and reports whether that is new. If
// too many ways are noted, it drops those that none of the slots in the map has.
func (r *rounding) add(slot *negotiator.Slot, all map[string]*Slot) bool {
	key := r.policy(slot.Ad)
	if r.ways[key] == nil && len(r.ways) >= r.most {
		clear(r.ways)
		for _, s := range all {
			if s.Ad != nil && !s.Static {
				r.note(r.policy(s.Ad.Ad), s.Ad)
			}
		}
		r.most = max(fewRoundings, 2*len(r.ways))
	}
	return r.note(key, slot)
}

// note notes a slot with a policy. It reports whether the policy is new, or none of its slots had
// as much of a resource.
func (r *rounding) note(policy string, slot *negotiator.Slot) (grew bool) {
	w := r.ways[policy]
	if w == nil {
		r.ways[policy] = &way{slot, slices.Clone(slot.Capacity)}
		return true
	}
	for i, amount := range slot.Capacity {
		if amount > w.capacity[i] {
			w.capacity[i], grew = amount, policy != ""
		}
	}
	return grew
}

// policy returns the text of a slot's consumption policy; "" if it has none.
func (r *rounding) policy(ad *classad.ClassAd) string {
	var text strings.Builder
	for _, resource := range r.resources {
		if e, ok := ad.Lookup("Consumption" + resource); ok {
			text.WriteString(e.String() + "\n")
		}
	}
	return text.String()
}

// Bounds of a slot's consumption policy, which any startd can set: what it takes to evaluate for a
// resource, and up to how many bytes a text of the job counts as the policy's own business.
const (
	maxConsumptionSteps = 1000
	longestPlain        = 256
)

// taken returns how much of each resource a chunk of the job gets, at most, on a slot of the pool,
// if it requests the amounts asked. A policy by which the job would fit none of its slots does not
// count, and one that is too expensive by itself is dropped: else one startd could have no job of
// the pool fit. It errs if a policy takes too many steps by the fault of the job's attributes.
func (r *rounding) taken(job *classad.ClassAd, asked backfill.Vector) (backfill.Vector, error) {
	most := append(backfill.Vector{}, asked...)
	var plain *classad.ClassAd
	for _, w := range r.ways {
		amounts, affordable := r.by(w, job, asked)
		if !affordable {
			if plain == nil {
				plain = job.Values(longestPlain)
			}
			if _, affordable = r.by(w, plain, asked); affordable {
				return nil, fmt.Errorf("what it consumes is too expensive to evaluate: a slot's policy takes more than %d steps with it",
					maxConsumptionSteps)
			}
			w.slot = nil
		}
		for i, amount := range amounts {
			most[i] = max(most[i], amount)
		}
	}
	return most, nil
}

// by returns what a chunk of the job gets of each resource by a policy; nothing if that is more
// than any slot with it has, or if it was dropped. It returns false if it takes too many steps.
func (r *rounding) by(w *way, job *classad.ClassAd, asked backfill.Vector) (_ backfill.Vector, affordable bool) {
	s := w.slot
	if s == nil {
		return nil, true
	}
	amounts, policy := slices.Clone(asked), false
	var m classad.Meter
	for i, resource := range r.resources {
		e, ok := s.Ad.Lookup("Consumption" + resource)
		if !ok {
			continue
		}
		policy = true
		n, isNumber := e.Eval(classad.Scope{My: s.Ad, Target: job, MaxSteps: maxConsumptionSteps, Meter: &m}).Number()
		if m.Exceeded() > 0 {
			return nil, false
		}
		if isNumber && n >= 0 && n < backfill.MaxAmount {
			amounts[i] = max(amounts[i], ceil(n))
		}
		if amounts[i] > w.capacity[i] {
			return nil, true
		}
	}
	if !policy {
		for i, amount := range asked {
			amounts[i] = roundUp(r.resources[i], amount, s.Capacity[i])
		}
	}
	return amounts, true
}

func ceil(n float64) int64 {
	whole := int64(n)
	if float64(whole) < n {
		whole++
	}
	return whole
}

// roundUp returns what a startd without a consumption policy gives for a requested amount: memory
// in steps of 128 MiB, disk in steps of 1 MiB and then of a thousandth of all that the slot has.
func roundUp(resource string, amount, total int64) int64 {
	step := func(n, unit int64) int64 { return (n + unit - 1) / unit * unit }
	switch {
	case amount == 0:
		return 0
	case strings.EqualFold(resource, "memory"):
		return step(amount, 128)
	case strings.EqualFold(resource, "disk"):
		amount = step(amount, 1024)
		if total >= 1000 {
			amount = min(max(total, amount), step(amount, ceil(float64(total)/1000)))
		}
		return amount
	default:
		return amount
	}
}
