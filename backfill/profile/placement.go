package profile

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// Rule says which slots a request gets of those that could take it.
type Rule uint8

// A request that may run to a slot's end first of all prefers slots where it may run longest. Next, but
// after the rank, every rule prefers slots with fewer resources for which the request does not ask: a job
// without GPUs leaves slots with GPUs to others.
const (
	// ByRank prefers slots of the job's higher rank class, then those with the smallest remainder
	// (see host), then the first by name. Each slot in turn takes as many chunks as fit.
	ByRank Rule = iota
	// Pack is ByRank, but ignores the rank.
	Pack
	// Spread prefers slots with the largest remainder, then the first by name, and puts one chunk on
	// each slot in turn, round after round. Slots with more for which the request does not ask take their
	// turn once the others are full.
	Spread
)

// RuleHelp says in a line what the rules do.
const RuleHelp = "How slots are chosen: rank (by the job's Rank, then the fullest), pack (the fullest) or spread (the " +
	"emptiest, a chunk on each in turn); each takes slots with GPUs and the like last for jobs that do not ask for them."

// ruleNames is indexed by Rule.
var ruleNames = [...]string{"rank", "pack", "spread"}

func (r Rule) String() string {
	if int(r) < len(ruleNames) {
		return ruleNames[r]
	}
	return "unknown"
}

// ParseRule parses the name of a rule: rank, pack or spread.
func ParseRule(name string) (Rule, error) {
	i := slices.Index(ruleNames[:], name)
	if i < 0 {
		return 0, fmt.Errorf("unknown placement rule %q: choose one of %s", name, strings.Join(ruleNames[:], ", "))
	}
	return Rule(i), nil
}

// host is a slot that can take at least one chunk of a request.
type host struct {
	id          SlotID
	name        string
	rank        int32
	spare       int32 // the number of resources that the slot has and the request does not ask for
	chunks      int
	lasts       Time  // of the request, how long it may run there, if it may run to a slot's end; else 0
	left, total int64 // the remainder left/total: the smallest fraction of a resource that one chunk leaves free
}

// Place chooses slots for a request that starts at start. It returns false if the request does not
// fit then.
func (p *View) Place(r Request, start Time) (Placement, bool) {
	p.GoOn()
	if r.Takes != nil && !p.Rows().Free(r.Takes, start, r.end(start)) {
		return nil, false
	}
	if r.Whole {
		return p.placeBundle(&r, start)
	}
	if len(r.Candidates.Slots) == 1 {
		id := r.Candidates.Slots[0]
		if !r.Candidates.Open(0, start) || p.chunksOf(0, &r, start) < r.Nodes {
			return nil, false
		}
		if r.Nodes == 1 {
			return p.slots[id].single, true
		}
		return Placement{{Slot: id, Count: r.Nodes}}, true
	}
	hosts := p.hosts(r, start)
	p.found = hosts.hosts
	switch {
	case hosts.chunks < r.Nodes:
		return nil, false
	case r.Nodes == 1:
		return p.slots[hosts.hosts[0].id].single, true
	}
	return hosts.placement(), true
}

// HasPlace reports whether the request fits at start. It costs less than [View.Place], as it ends with
// the first slots that do, whichever the rule would choose.
func (p *View) HasPlace(r Request, start Time) bool {
	p.GoOn()
	if r.Takes != nil && !p.Rows().Free(r.Takes, start, r.end(start)) {
		return false
	}
	if r.Takes = nil; r.Whole || len(r.Candidates.Slots) == 1 {
		_, ok := p.Place(r, start)
		return ok
	}
	x := p.reach(&r, start)
	if x == nil {
		total := 0
		for i := range r.Candidates.Slots {
			if r.Candidates.Open(i, start) {
				total += p.chunksOf(i, &r, start)
			}
			if total >= r.Nodes {
				return true
			}
		}
		return false
	}
	total, none := p.onIdle(x, &r), p.looked[:0]
	x.each(start, func(i int32) bool {
		if total < r.Nodes && !p.isIdle(x.candidates.Slots[i]) {
			n := p.chunksOf(int(i), &r, start)
			if total += n; n == 0 {
				none = append(none, i)
			}
		}
		return total < r.Nodes
	})
	for _, i := range none {
		p.tighten(x, i)
	}
	p.looked = none
	return total >= r.Nodes
}

// PlaceOn is [View.Place] for one chunk of the request, on one of the given slots that are
// candidates.
func (p *View) PlaceOn(r Request, slots []SlotID, start Time) (Placement, bool) {
	p.GoOn()
	if r.Takes != nil && !p.Rows().Free(r.Takes, start, r.end(start)) {
		return nil, false
	}
	r.Nodes = 1
	var best host
	for _, id := range slots {
		if p.chunksAt(id, &r, start) == 0 {
			continue
		}
		if i, found := slices.BinarySearch(r.Candidates.Slots, id); found {
			if h, ok := p.host(&r, i, start); ok && (best.chunks == 0 || p.rule.compare(&h, &best) < 0) {
				best = h
			}
		}
	}
	if best.chunks == 0 {
		return nil, false
	}
	return p.slots[best.id].single, true
}

// hosts returns the candidates of which the rule takes some for a request at start, with less room than
// that only if it does not fit. It leaves out idle candidates that the rule would not choose. The choice is
// valid until the next query.
func (p *View) hosts(r Request, start Time) choice {
	hosts := choice{rule: p.rule, nodes: r.Nodes, hosts: p.found[:0]}
	x := p.reach(&r, start)
	if x == nil {
		for i := range r.Candidates.Slots {
			if h, ok := p.host(&r, i, start); ok {
				hosts.add(&h)
			}
		}
		return hosts
	}
	busy := x.upTo(start, p.looked[:0])
	n := 0
	for _, i := range busy {
		if p.isIdle(r.Candidates.Slots[i]) {
			p.tighten(x, i)
			continue
		}
		busy[n] = i
		n++
	}
	p.looked = p.firstIdle(x, r.Nodes, busy[:n]) // r.Nodes are enough: each takes at least one chunk
	for _, i := range p.looked {
		if h, ok := p.host(&r, int(i), start); ok {
			hosts.add(&h)
		} else {
			p.tighten(x, i)
		}
	}
	return hosts
}

// host returns the request's i-th candidate as a [host]; false if it cannot take a chunk at start.
func (p *View) host(r *Request, i int, start Time) (host, bool) {
	id := r.Candidates.Slots[i]
	if !p.Up(id) {
		return host{}, false
	}
	s := &p.slots[id]
	for k, need := range r.Chunk {
		if need > 0 && s.free[k].value(start) < need { // mostly that is enough to know
			return host{}, false
		}
	}
	if !r.Candidates.Open(i, start) {
		return host{}, false
	}
	h, end, n := p.newHost(r.Candidates, i), p.end(r, id, start), int64(r.Nodes)
	for k, total := range s.capacity {
		need := r.Chunk[k]
		if need <= 0 && total <= 0 {
			continue
		}
		low := s.free[k].min(start, end)
		if need > 0 {
			if n = min(n, low/need); n <= 0 {
				return host{}, false
			}
		} else {
			h.spare++
		}
		h.leaves(low-need, total)
	}
	if h.chunks = p.chunksBeside(i, r, start, int(n)); h.chunks == 0 {
		return host{}, false
	}
	if r.ToEnd {
		h.lasts = end - start
	}
	return h, true
}

// newHost returns the i-th candidate as a [host] with a remainder of 1.
func (p *View) newHost(c *Candidates, i int) host {
	id := c.Slots[i]
	h := host{id: id, name: p.slots[id].name, left: 1, total: 1}
	if c.Rank != nil {
		h.rank = c.Rank[i]
	}
	return h
}

// leaves notes that a chunk leaves the fraction left/total of one resource free. The host's remainder
// is the smallest of these fractions.
func (h *host) leaves(left, total int64) {
	if total > 0 && compareFractions(left, total, h.left, h.total) < 0 {
		h.left, h.total = left, total
	}
}

// compare returns a negative number if the rule prefers host a, and a positive one if it prefers b.
func (r Rule) compare(a, b *host) int {
	if a.lasts != b.lasts {
		return cmp.Compare(b.lasts, a.lasts)
	}
	if r == ByRank && a.rank != b.rank {
		return cmp.Compare(b.rank, a.rank)
	}
	if a.spare != b.spare {
		return cmp.Compare(a.spare, b.spare)
	}
	remainder := compareFractions(a.left, a.total, b.left, b.total)
	if r == Spread {
		remainder = -remainder
	}
	if remainder != 0 {
		return remainder
	}
	return strings.Compare(a.name, b.name)
}

// fill puts on each host in turn as many chunks as fit, until all nodes chunks are placed.
func fill(hosts []host, nodes int) Placement {
	var at Placement
	for _, h := range hosts {
		n := min(h.chunks, nodes)
		at = append(at, Chunks{Slot: h.id, Count: n})
		if nodes -= n; nodes == 0 {
			break
		}
	}
	return at
}

// spread puts one chunk on each host in turn, round after round; on hosts with more to spare than those
// before them once these are full.
func spread(hosts []host, nodes int) (at Placement) {
	for len(hosts) > 0 && nodes > 0 {
		n := 1
		for n < len(hosts) && hosts[n].spare == hosts[0].spare {
			n++
		}
		total := 0
		for _, h := range hosts[:n] {
			total += min(h.chunks, nodes-total)
		}
		at = inTurn(at, hosts[:n], total)
		hosts, nodes = hosts[n:], nodes-total
	}
	return at
}

// inTurn adds to a placement so many chunks, for which the hosts have room: one on each in turn.
func inTurn(at Placement, hosts []host, chunks int) Placement {
	first := len(at)
	for i := range min(len(hosts), chunks) {
		at = append(at, Chunks{Slot: hosts[i].id})
	}
	for chunks > 0 {
		for i := range at[first:] {
			if c := &at[first+i]; chunks > 0 && c.Count < hosts[i].chunks {
				c.Count++
				chunks--
			}
		}
	}
	return at
}

// compareFractions compares a/b with c/d exactly; b and d are positive. A numerator is negative if
// the slot is overfull in a resource that the job does not ask for.
func compareFractions(a, b, c, d int64) int {
	switch {
	case a < 0 && c < 0:
		return compareFractions(-c, d, -a, b)
	case a < 0 || c < 0:
		return cmp.Compare(a, c)
	}
	hi1, lo1 := bits.Mul64(uint64(a), uint64(d))
	hi2, lo2 := bits.Mul64(uint64(c), uint64(b))
	return cmp.Or(cmp.Compare(hi1, hi2), cmp.Compare(lo1, lo2))
}
