package profile

import "slices"

// choice gathers the hosts of which the placement rule takes some for a request. Mostly many slots
// could take it and few get it, so it keeps only as many as the rule needs: the others are neither
// kept nor sorted.
type choice struct {
	rule   Rule
	nodes  int
	chunks int    // that the hosts can take together; if at least nodes, the request fits
	hosts  []host // a binary heap, the one on top that the rule prefers least
}

// add adds a host, and drops those without which the request still gets all its chunks from others
// that the rule prefers.
func (c *choice) add(h *host) {
	if c.taken(len(c.hosts), c.chunks) && c.rule.compare(h, &c.hosts[0]) > 0 {
		return
	}
	c.chunks += h.chunks
	c.hosts = append(c.hosts, *h)
	for i := len(c.hosts) - 1; i > 0 && c.less((i-1)/2, i); i = (i - 1) / 2 {
		c.hosts[i], c.hosts[(i-1)/2] = c.hosts[(i-1)/2], c.hosts[i]
	}
	for c.taken(len(c.hosts)-1, c.chunks-c.hosts[0].chunks) {
		c.chunks -= c.hosts[0].chunks
		c.drop()
	}
}

// taken reports whether so many hosts, with room for so many chunks, take the whole request. Spread
// begins with one chunk on each, so it takes hosts while there are chunks.
func (c *choice) taken(hosts, chunks int) bool {
	if c.rule == Spread {
		return hosts >= c.nodes
	}
	return chunks >= c.nodes
}

// less reports whether the rule prefers the host at index i to that at index j.
func (c *choice) less(i, j int) bool { return c.rule.compare(&c.hosts[i], &c.hosts[j]) < 0 }

// drop removes the host on top.
func (c *choice) drop() {
	last := len(c.hosts) - 1
	c.hosts[0] = c.hosts[last]
	c.hosts = c.hosts[:last]
	for i := 0; ; {
		worst := 2*i + 1
		if worst >= last {
			return
		}
		if worst+1 < last && c.less(worst, worst+1) {
			worst++
		}
		if !c.less(i, worst) {
			return
		}
		c.hosts[i], c.hosts[worst] = c.hosts[worst], c.hosts[i]
		i = worst
	}
}

// placement puts the chunks, for which there is room, on the hosts.
func (c *choice) placement() Placement {
	slices.SortFunc(c.hosts, func(a, b host) int { return c.rule.compare(&a, &b) })
	if c.rule == Spread {
		return spread(c.hosts, c.nodes)
	}
	return fill(c.hosts, c.nodes)
}
