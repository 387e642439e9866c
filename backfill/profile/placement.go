package profile

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// Rule says which of the slots that could host a request do.
type Rule uint8

const (
	// ByRank prefers the job's higher rank class, then the slot that is left
	// fullest, then the name; each slot in turn takes as many chunks as fit.
	ByRank Rule = iota
	// Pack is ByRank without the rank.
	Pack
	// Spread prefers the slot that is left emptiest and gives one chunk to each
	// slot a round.
	Spread
)

// ruleNames are by Rule.
var ruleNames = [...]string{"rank", "pack", "spread"}

func (r Rule) String() string {
	if int(r) < len(ruleNames) {
		return ruleNames[r]
	}
	return "unknown"
}

// ParseRule reads a rule's name: rank, pack or spread.
func ParseRule(name string) (Rule, error) {
	i := slices.Index(ruleNames[:], name)
	if i < 0 {
		return 0, fmt.Errorf("unknown placement rule %q: choose one of %s", name, strings.Join(ruleNames[:], ", "))
	}
	return Rule(i), nil
}

// host is a slot that can take at least one chunk.
type host struct {
	id       SlotID
	name     string
	rank     int32
	chunks   int
	left, of int64 // the remainder: the smallest fraction that one chunk leaves free
}

// Place chooses slots for a request that starts at start. It is false if the
// request does not fit then.
func (p *Profile) Place(r Request, start Time) (Placement, bool) {
	if len(r.Candidates.Slots) == 1 {
		id := r.Candidates.Slots[0]
		if p.chunksAt(id, &r, start) < r.Nodes {
			return nil, false
		}
		if r.Nodes == 1 {
			return p.slots[id].single, true
		}
		return Placement{{Slot: id, Count: r.Nodes}}, true
	}
	hosts, total := p.hosts(r, start)
	if total < r.Nodes {
		return nil, false
	}
	if r.Nodes == 1 {
		return p.slots[slices.MinFunc(hosts, p.rule.compare).id].single, true
	}
	slices.SortFunc(hosts, p.rule.compare)
	if p.rule == Spread {
		return spread(hosts, r.Nodes), true
	}
	return fill(hosts, r.Nodes), true
}

// hosts lists the candidates that can take a chunk at start, and how many
// chunks they can take together, at most r.Nodes.
func (p *Profile) hosts(r Request, start Time) (hosts []host, total int) {
	x := p.reach(&r)
	if x == nil {
		for i := range r.Candidates.Slots {
			if h, ok := p.host(&r, i, start); ok {
				hosts, total = append(hosts, h), total+min(h.chunks, r.Nodes-total)
			}
		}
		return hosts, total
	}
	p.looked = x.upTo(start, p.looked[:0])
	for _, i := range p.looked {
		if h, ok := p.host(&r, int(i), start); ok {
			hosts, total = append(hosts, h), total+min(h.chunks, r.Nodes-total)
		} else {
			p.tighten(x, i)
		}
	}
	return hosts, total
}

// host is the i-th candidate, if it can take a chunk at start.
func (p *Profile) host(r *Request, i int, start Time) (host, bool) {
	id := r.Candidates.Slots[i]
	n := p.chunksAt(id, r, start)
	if n == 0 {
		return host{}, false
	}
	s := &p.slots[id]
	h := host{id: id, name: s.name, chunks: n, left: 1, of: 1}
	if r.Candidates.Rank != nil {
		h.rank = r.Candidates.Rank[i]
	}
	for k, of := range s.capacity {
		if of <= 0 {
			continue
		}
		left := s.free[k].min(start, start+r.Duration) - r.Chunk[k]
		if compareFractions(left, of, h.left, h.of) < 0 {
			h.left, h.of = left, of
		}
	}
	return h, true
}

// compare orders hosts by preference.
func (r Rule) compare(a, b host) int {
	remainder := compareFractions(a.left, a.of, b.left, b.of)
	switch r {
	case Spread:
		return cmp.Or(-remainder, strings.Compare(a.name, b.name))
	case Pack:
		return cmp.Or(remainder, strings.Compare(a.name, b.name))
	default:
		return cmp.Or(cmp.Compare(b.rank, a.rank), remainder, strings.Compare(a.name, b.name))
	}
}

// fill gives each host in turn as many chunks as fit.
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

// spread gives each host one chunk a round.
func spread(hosts []host, nodes int) Placement {
	at := make(Placement, min(len(hosts), nodes))
	for i := range at {
		at[i].Slot = hosts[i].id
	}
	for nodes > 0 {
		for i := range at {
			if nodes > 0 && at[i].Count < hosts[i].chunks {
				at[i].Count++
				nodes--
			}
		}
	}
	return at
}

// compareFractions compares a/b with c/d exactly; b and d are positive. An
// overfull slot can have a negative numerator, in a resource that the job does
// not ask for.
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
