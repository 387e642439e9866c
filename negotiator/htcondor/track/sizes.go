package track

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// sizes are how large the slots are that are planned with, and what they weigh.
type sizes struct {
	// parted are the kinds of partitionable slots that weigh alike, whole the static ones by
	// ascending weight: of each the most of each resource that a slot has, of the static ones also
	// with a lower weight.
	parted []parted
	whole  []whole
	// known are weights by what a chunk asks for, as long as the slots are such; nil: all weigh
	// their cpus.
	known map[string]float64
	kinds map[*negotiator.Slot]string // by what each partitionable slot weighs
	all   string                      // of which slots known tells
	meter classad.Meter               // of what it took in this look to evaluate weights
}

type parted struct {
	most backfill.Vector
	ad   *classad.ClassAd // of one of them; nil: it weighs its cpus
}

type whole struct {
	most   backfill.Vector
	weight float64
}

// mostParted bounds the kinds of partitionable slots that are looked at for each kind of job,
// mostWeighed the weights that are remembered, and weighSteps about how many steps it may take in a
// look to find those of jobs that wait: 0.1 s. Beyond that jobs count as their cpus until the next
// look.
const (
	mostParted  = 16
	mostWeighed = 100_000
	weighSteps  = 2_000_000
)

// wants returns the weight of a job that waits: that of the smallest slots that are large enough,
// whatever its Requirements say; the cpus that it asks for if none is.
func (b *Belief) wants(s *observe.Spec) float64 {
	switch {
	case b.charging.Unweighted:
		return float64(s.Nodes)
	case len(s.Request) == 0:
		return float64(s.Nodes)
	case b.sizes.known == nil:
		return b.leastWeight(s) * float64(s.Nodes)
	}
	key := fmt.Sprint(s.Request)
	weight, known := b.sizes.known[key]
	switch {
	case known:
	case b.sizes.meter.Steps() > weighSteps:
		return cpusAsked(s) * float64(s.Nodes)
	default:
		weight = b.leastWeight(s)
		if len(b.sizes.known) >= mostWeighed {
			clear(b.sizes.known)
		}
		b.sizes.known[key] = weight
	}
	return weight * float64(s.Nodes)
}

// leastWeight returns the least weight of what a chunk can get.
func (b *Belief) leastWeight(s *observe.Spec) float64 {
	weight := math.Inf(1)
	for _, kind := range b.sizes.parted {
		switch {
		case !hasRoom(kind.most, s.Request):
		case kind.ad == nil:
			weight = min(weight, cpusAsked(s))
		default:
			weight = min(weight, b.weightOfPart(kind.ad, s.Request))
		}
	}
	static := b.sizes.whole
	at := sort.Search(len(static), func(i int) bool { return hasRoom(static[i].most, s.Request) })
	if at < len(static) {
		weight = min(weight, static[at].weight)
	}
	if math.IsInf(weight, 1) {
		return cpusAsked(s)
	}
	return weight
}

// hasRoom tells whether a slot of this size is large enough for a request.
func hasRoom(size, request backfill.Vector) bool {
	for i, amount := range request {
		if i >= len(size) || amount > size[i] {
			return false
		}
	}
	return true
}

// measure notes how large the slots are that are planned with now, what they weigh, and what jobs
// are charged with.
func (b *Belief) measure() {
	b.charging = b.s.Accounting.Accountant.Charging()
	before := b.sizes
	b.sizes = sizes{kinds: map[*negotiator.Slot]string{}}
	static, cut, ads := map[float64]backfill.Vector{}, map[string]backfill.Vector{}, map[string]*classad.ClassAd{}
	for name, s := range b.slots {
		switch o := b.now.Slots[name]; {
		case !s.up || o == nil:
		case o.Static:
			weight := float64(max(1, s.reported.Capacity[0]))
			if o.Weight != nil {
				weight = *o.Weight
			}
			static[weight] = larger(static[weight], s.reported.Capacity)
		default:
			kind, known := before.kinds[s.reported]
			if !known {
				kind = weighedBy(s.reported.Ad, b.s.Schema.Resources)
			}
			b.sizes.kinds[s.reported] = kind
			cut[kind] = larger(cut[kind], s.reported.Capacity)
			if kind != "" {
				ads[kind] = s.reported.Ad
			}
		}
	}
	var most backfill.Vector
	for _, weight := range slices.Sorted(maps.Keys(static)) {
		most = larger(slices.Clone(most), static[weight])
		b.sizes.whole = append(b.sizes.whole, whole{most, weight})
	}
	var all strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(cut)) {
		if len(b.sizes.parted) < mostParted {
			b.sizes.parted = append(b.sizes.parted, parted{cut[kind], ads[kind]})
			fmt.Fprint(&all, kind, cut[kind])
		}
	}
	if len(ads) == 0 {
		return
	}
	fmt.Fprint(&all, b.sizes.whole)
	b.sizes.all, b.sizes.known = all.String(), before.known
	if b.sizes.known == nil || b.sizes.all != before.all {
		b.sizes.known = map[string]float64{}
	}
}

// weighedBy returns a text that slots have in common of which the same part weighs the same: the
// expression, and what it refers to but amounts; "": it weighs its cpus.
func weighedBy(ad *classad.ClassAd, resources []string) string {
	e := weighs(ad)
	if e == nil {
		return ""
	}
	internal, _, _ := e.Refs(ad) // what cannot be followed evaluates to error
	var kind strings.Builder
	kind.WriteString(e.String())
	slices.Sort(internal)
	for _, name := range internal {
		amount := slices.ContainsFunc(resources, func(resource string) bool {
			tag := negotiator.Attribute(resource)
			return strings.EqualFold(name, tag) || strings.EqualFold(name, "TotalSlot"+tag)
		})
		if own, has := ad.Lookup(name); has && !amount {
			kind.WriteString("\n" + name + " = " + own.String())
		}
	}
	return kind.String()
}

// larger returns the larger amount of each resource, in the place of the first vector unless that
// is nil.
func larger(most, size backfill.Vector) backfill.Vector {
	if most == nil {
		return slices.Clone(size)
	}
	for i, amount := range size {
		most[i] = max(most[i], amount)
	}
	return most
}
