package observe

import (
	"fmt"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Amounts returns how much of each resource a slot's ad shows; 0 where that is no number above 0.
func Amounts(ad *classad.ClassAd, resources []string) backfill.Vector {
	v := make(backfill.Vector, len(resources))
	for i, resource := range resources {
		if n, ok := ad.Eval(resource, nil).Number(); ok && n > 0 {
			v[i] = int64(n)
		}
	}
	return v
}

// rounding holds the ways in which the pool's partitionable slots round up the amounts that jobs
// request: by the slot's consumption policy, or as startds without one do. A way that was seen once
// counts until many others have been seen.
type rounding struct {
	resources []string
	ways      map[string]*negotiator.Slot // one slot of each consumption policy, by the policy's text
	most      int                         // when there are so many, those of slots that are gone are dropped
}

// fewRoundings is how many ways of rounding are always kept.
const fewRoundings = 50

func newRounding(resources []string) rounding {
	return rounding{resources: resources, ways: map[string]*negotiator.Slot{}, most: fewRoundings}
}

// add notes how a slot rounds up the amounts that jobs request, and reports whether that is new. If
// too many ways are noted, it drops those that none of the slots in the map has.
func (r *rounding) add(slot *negotiator.Slot, all map[string]*Slot) bool {
	key := r.policy(slot.Ad)
	if r.ways[key] != nil {
		return false
	}
	if len(r.ways) >= r.most {
		clear(r.ways)
		for _, s := range all {
			if s.Ad != nil && !s.Static {
				r.ways[r.policy(s.Ad.Ad)] = s.Ad
			}
		}
		r.most = max(fewRoundings, 2*len(r.ways))
	}
	r.ways[key] = slot
	return true
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

// taken returns how much of each resource a chunk of the job gets, at most, on a slot of the pool,
// if it requests the amounts asked. It errs if a slot's consumption policy takes too many steps with
// the job's attributes.
func (r *rounding) taken(job *classad.ClassAd, asked backfill.Vector) (backfill.Vector, error) {
	var m classad.Meter
	most := append(backfill.Vector{}, asked...)
	for policy, s := range r.ways {
		if policy == "" {
			for i, amount := range asked {
				most[i] = max(most[i], roundUp(r.resources[i], amount, s.Capacity[i]))
			}
			continue
		}
		for i, resource := range r.resources {
			e, ok := s.Ad.Lookup("Consumption" + resource)
			if !ok {
				continue
			}
			n, isNumber := e.Eval(classad.Scope{
				My: s.Ad, Target: job, MaxSteps: classad.FewSteps, Meter: &m,
			}).Number()
			if isNumber && n >= 0 && n < backfill.MaxAmount {
				most[i] = max(most[i], ceil(n))
			}
		}
	}
	if m.Exceeded() > 0 {
		return nil, fmt.Errorf("what it consumes is too expensive to evaluate: a slot's policy takes more than %d steps with it",
			classad.FewSteps)
	}
	return most, nil
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
	step := func(n, by int64) int64 { return (n + by - 1) / by * by }
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
