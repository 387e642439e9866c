package observe

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// settle replaces what a slot's ad says of resources by expressions, as STARTD_ATTRS may, by their
// values when the pool was looked at. It errs if one is no number, or all of them together take too many
// steps.
func settle(ad *classad.ClassAd, resources []string, host *classad.Host) error {
	var m classad.Meter
	for _, resource := range resources {
		for _, name := range []string{negotiator.Attribute(resource), "TotalSlot" + negotiator.Attribute(resource)} {
			e, given := ad.Lookup(name)
			if !given || ad.Literal(name).Kind() != classad.Undefined {
				continue
			}
			v := e.Eval(classad.Scope{My: ad, Host: host, MaxSteps: max(1, slotSteps-int(m.Steps())), Meter: &m})
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

// Amounts returns how much of each resource a slot's ad shows, with what its expressions see besides
// it; 0 where that is no number above 0, and [backfill.MaxAmount] where it is more than can be planned
// with. All expressions share slotSteps.
func Amounts(ad *classad.ClassAd, resources []string, host *classad.Host) backfill.Vector {
	v := make(backfill.Vector, len(resources))
	var m classad.Meter
	for i, resource := range resources {
		scope := classad.Scope{My: ad, Host: host, MaxSteps: max(1, slotSteps-int(m.Steps())), Meter: &m}
		if n, ok := scope.Attr(resource).Number(); ok && n > 0 {
			v[i] = int64(min(n, backfill.MaxAmount))
		}
	}
	return v
}

// rounding holds the ways in which the pool's slots round up the amounts that jobs request: by the
// slot's consumption policy, or as startds without one do.
type rounding struct {
	resources []string
	ways      []*way // those of most slots first, at most mostWays
	stale     bool   // slots have changed since they were counted
	fresh     bool   // and some are new, or have other policies
	counted   time.Time
	changed   time.Time
	outline   string        // what was counted
	counts    int           // how often that has changed
	work      int           // what it took so far to round, a microsecond each
	anew      int           // and to round anew in this look
	host      *classad.Host // what policies see besides the ads
}

// way is a consumption policy, and the slots that have it. Static slots are one, too, and so are
// partitionable ones without a policy.
type way struct {
	policy string
	// slot is the one of middle size; it has none if its policy is too expensive.
	slot     *negotiator.Slot
	slots    int
	sizes    []backfill.Vector // of a sample of the slots
	capacity backfill.Vector   // the most of each resource that a slot has
}

// Bounds of what is known of ways, and for how long they stand once they have changed: all jobs are
// rounded anew for that, which may take roundsOfAll of a look.
const (
	mostWays    = 20
	mostSizes   = 8
	recount     = time.Minute
	roundsOfAll = 500_000 // like readsOfAll
)

// static is the policy of static slots.
const static = "static"

// countWays counts in which ways slots round, if some have changed, and the ways did not lately.
// Some slot's ad changes in most looks: only new slots and policies count at once. Ways that no slot
// has any more are forgotten.
func (o *Observer) countWays() {
	r := &o.rounding
	r.host = o.s.host(o.looked)
	lately := func(at time.Time) bool { return !at.IsZero() && o.looked.Sub(at) < recount }
	if !r.stale || lately(r.changed) || !r.fresh && lately(r.counted) {
		return
	}
	r.stale, r.fresh, r.counted = false, false, o.looked
	if known := len(r.ways) > 0; r.count(o.slots) {
		r.counts++ // jobs take other amounts now
		if known {
			r.changed = o.looked
		}
	}
}

// count counts in which ways slots round. It reports whether that changes what jobs take.
func (r *rounding) count(slots map[string]*Slot) (changed bool) {
	alike, dear := map[string][]*negotiator.Slot{}, map[string]bool{}
	for _, w := range r.ways {
		dear[w.policy] = w.slot == nil
	}
	for _, s := range slots {
		if s.Ad == nil || s.Asleep != nil {
			continue
		}
		key := static
		if !s.Static {
			key = r.policy(s.Ad.Ad)
		}
		alike[key] = append(alike[key], s.Ad)
	}
	keys := slices.SortedFunc(maps.Keys(alike), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(alike[b]), len(alike[a])), strings.Compare(a, b))
	})
	r.ways = nil
	var outline strings.Builder
	for _, key := range keys[:min(len(keys), mostWays)] {
		w := r.wayOf(key, alike[key])
		if dear[key] {
			w.slot = nil
		}
		r.ways = append(r.ways, w)
	}
	slices.SortFunc(r.ways, func(a, b *way) int { return strings.Compare(a.policy, b.policy) })
	for _, w := range r.ways {
		fmt.Fprintf(&outline, "%q", w.policy)
		if len(r.ways) > 1 {
			fmt.Fprint(&outline, " ", bits.Len(uint(w.slots))) //nolint:gosec // it is a length
		}
		for _, amount := range w.capacity {
			fmt.Fprint(&outline, " ", bits.Len64(uint64(amount))) //nolint:gosec // it is no less than 0
		}
	}
	changed = r.outline != outline.String()
	r.outline = outline.String()
	return changed
}

// wayOf makes the way of slots with one policy, at least one.
func (r *rounding) wayOf(policy string, all []*negotiator.Slot) *way {
	disk := slices.IndexFunc(r.resources, func(name string) bool { return strings.EqualFold(name, "disk") })
	slices.SortFunc(all, func(a, b *negotiator.Slot) int {
		order := slices.Compare(a.Capacity, b.Capacity)
		if disk >= 0 {
			order = cmp.Or(cmp.Compare(a.Capacity[disk], b.Capacity[disk]), order)
		}
		return cmp.Or(order, strings.Compare(a.Name, b.Name))
	})
	w := &way{policy: policy, slot: all[len(all)/2], slots: len(all), capacity: slices.Clone(all[0].Capacity)}
	for _, s := range all {
		for i, amount := range s.Capacity {
			w.capacity[i] = max(w.capacity[i], amount)
		}
	}
	n := min(len(all), mostSizes)
	for i := range n { // the largest is among them
		w.sizes = append(w.sizes, all[(i+1)*len(all)/n-1].Capacity)
	}
	return w
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

// taken returns how much of each resource a chunk of the job is planned with that requests the
// amounts asked. The plan has one amount for all slots: what a chunk gets on any slot, at most. But
// a policy does not count if its slots are few, and others could host less than enoughRoom of the
// jobs that they have room for: else one startd could have the jobs of the pool fit nowhere. It
// errs if the policies of most slots take too many steps by the fault of the job's attributes.
func (r *rounding) taken(job *classad.ClassAd, asked backfill.Vector) (backfill.Vector, error) {
	var all []helping
	var plain *classad.ClassAd
	dear := 0
	for _, w := range r.ways {
		amounts, affordable := r.by(w, job, asked)
		if !affordable {
			if plain == nil {
				plain = job.Values(longestPlain)
			}
			if _, affordable = r.by(w, plain, asked); affordable {
				dear += w.slots
				continue
			}
			w.slot = nil
		}
		if amounts != nil {
			all = append(all, helping{way: w, amounts: amounts})
		}
	}
	voters := 0
	for _, s := range all {
		voters += s.way.slots
	}
	if dear > voters {
		return nil, fmt.Errorf("what it consumes is too expensive to evaluate: a slot's policy takes more than %d steps with it",
			maxConsumptionSteps)
	}
	r.work += len(all) * len(all)
	return agree(asked, all), nil
}

// enoughRoom is how much of other slots' room the plan must be able to use if it takes account of a
// policy that few slots have.
const enoughRoom = 0.75

// agree returns the amounts to plan with: of those that a chunk gets on slots, as many as can count
// together, first those that leave most room.
func agree(asked backfill.Vector, all []helping) backfill.Vector {
	for i := range all {
		for _, other := range all {
			all[i].leaves += other.usable(most(all[i].amounts, other.amounts))
		}
	}
	slices.SortFunc(all, func(a, b helping) int {
		return cmp.Or(cmp.Compare(b.leaves, a.leaves), strings.Compare(a.way.policy, b.way.policy))
	})
	best, usable := asked, hosts(all, asked, nil)
	for _, h := range all {
		if h.amounts.Within(best) {
			continue
		}
		with := most(best, h.amounts)
		others := hosts(all, with, h.way)
		if n := others + h.usable(with); n > usable || others >= enoughRoom*usable {
			best, usable = with, max(n, usable)
		}
	}
	return slices.Clone(best)
}

// hosts returns how many slots, but for those of one way, can be used that give no more than these
// amounts.
func hosts(all []helping, planned backfill.Vector, but *way) (n float64) {
	for _, h := range all {
		if h.way != but && h.amounts.Within(planned) {
			n += h.usable(planned)
		}
	}
	return n
}

// most returns the larger of each two amounts.
func most(a, b backfill.Vector) backfill.Vector {
	v := slices.Clone(a)
	for i, amount := range b {
		v[i] = max(v[i], amount)
	}
	return v
}

// helping is what a chunk of a job gets on the slots of a way, and how many slots all ways leave
// usable if it is planned with that everywhere.
type helping struct {
	way     *way
	amounts backfill.Vector
	leaves  float64
}

// usable returns how many of the way's slots can be used, in parts, if each chunk is planned with
// these amounts, no less than it gets: of those that can host one.
func (h helping) usable(planned backfill.Vector) (n float64) {
	for _, size := range h.way.sizes {
		if can := chunks(size, h.amounts); can > 0 {
			n += float64(chunks(size, planned)) / float64(can)
		}
	}
	return n * float64(h.way.slots) / float64(len(h.way.sizes))
}

// slight is which part of a slot makes no difference.
const slight = 100

// serves tells whether jobs may be planned with amounts as before, since what they would be planned
// with now differs slightly, leaves room for as many, and is no more but for disk, of which slots
// have now more and now less.
func (r *rounding) serves(before, now backfill.Vector) bool {
	for i, amount := range now {
		if amount > before[i] && !strings.EqualFold(r.resources[i], "disk") {
			return false
		}
	}
	for _, w := range r.ways {
		for _, size := range w.sizes {
			can := chunks(size, now)
			if can != chunks(size, before) {
				return false
			}
			for i, amount := range now {
				if can > 0 && max(before[i]-amount, amount-before[i]) > size[i]/slight {
					return false
				}
			}
		}
	}
	return true
}

// chunks returns how many chunks of these amounts have room in a slot.
func chunks(size, amounts backfill.Vector) int64 {
	n := int64(backfill.MaxAmount)
	for i, amount := range amounts {
		if amount > 0 {
			n = min(n, size[i]/amount)
		}
	}
	return n
}

// by returns what a chunk of the job gets of each resource by a policy; nothing if that is more
// than any slot with it has, or if it was dropped. It returns false if it takes too many steps.
func (r *rounding) by(w *way, job *classad.ClassAd, asked backfill.Vector) (_ backfill.Vector, affordable bool) {
	s := w.slot
	if s == nil {
		return nil, true
	}
	amounts, policy := slices.Clone(asked), w.policy == static
	var m classad.Meter
	defer func() { r.work += 1 + int(m.Steps())/stepsPerRead }()
	for i, resource := range r.resources {
		e, ok := s.Ad.Lookup("Consumption" + resource)
		if !ok || w.policy == static {
			continue
		}
		policy = true
		n, isNumber := e.Eval(classad.Scope{My: s.Ad, Target: job, Host: r.host, MaxSteps: maxConsumptionSteps, Meter: &m}).Number()
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
