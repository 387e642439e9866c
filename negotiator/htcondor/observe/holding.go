package observe

import (
	"math"
	"math/bits"
)

// holding is what is kept of a user's jobs while a queue is read. Its name is the user.
type holding struct {
	weight
	limit    int // bytes of memory of one ad
	most     int // waiting jobs of one group; 0: nothing is kept of any
	kinds    kinds
	whole    []held
	left     []held         // of ads that are left out
	outlines map[string]int // indexes into left, by the lines
}

// held is a group of a user's jobs.
type held struct {
	rawGroup
	at      int // in the order in which they came
	price   int // what a whole ad takes alone; 0: this is what is left of ads
	waiting int // the number of its jobs, if they do not run
}

// bytesPerUser is what a user takes beside his jobs.
const bytesPerUser = 1024

func (k *intake) holdingOf(user string) *holding {
	h := k.users[user]
	if h == nil {
		h = &holding{
			weight: weight{name: user}, limit: k.most, most: math.MaxInt, kinds: kinds{}, outlines: map[string]int{},
		}
		k.users[user] = h
		k.greedy.put(h)
		k.grow(h, bytesPerUser+price(len(user), 0))
	}
	return h
}

// shrink leaves out the largest ads of a user, or, if these take less than the jobs of one group
// that wait, the last of the jobs; at last all that wait. It reports whether there was anything to
// leave out. Limits are powers of two, so that each look leaves out the same ads while a queue
// hardly changes, and that a user's groups are gone through a few dozen times at most.
func (k *intake) shrink(h *holding) bool {
	if h.place == 0 {
		return false
	}
	largest, most := h.largest()
	switch {
	case most > 1 && most*bytesPerJob > largest:
		h.most = halved(most)
		k.cutGroups(h, h.whole)
		k.cutGroups(h, h.left)
	case largest > 1:
		h.limit = halved(largest)
		whole := h.whole
		h.whole = nil
		for _, g := range whole {
			if g.price <= h.limit {
				h.whole = append(h.whole, g)
				continue
			}
			k.grow(h, -h.kinds.remove(g.lines))
			k.leaveOut(g, h, h.limit)
		}
	default:
		h.limit, h.most = 0, 0
		k.dropWaiting(h)
		k.greedy.drop(h)
	}
	return true
}

// halved returns the power of two below a number above 1.
func halved(n int) int { return 1 << (bits.Len(uint(n-1)) - 1) } //nolint:gosec // a number of jobs or bytes

// largest returns what the largest whole ad takes, and the most waiting jobs of one group.
func (h *holding) largest() (price, jobs int) {
	for _, g := range h.whole {
		price, jobs = max(price, g.price), max(jobs, g.waiting)
	}
	for _, g := range h.left {
		jobs = max(jobs, g.waiting)
	}
	return price, jobs
}

// cutGroups leaves out jobs beyond what one group may have.
func (k *intake) cutGroups(h *holding, groups []held) {
	for i := range groups {
		if g := &groups[i]; g.waiting > h.most {
			g.waiting = k.cutJobs(&g.rawGroup, h, h.most)
		}
	}
}

// dropWaiting keeps nothing of a user's jobs that wait, where only outlines are left of all.
func (k *intake) dropWaiting(h *holding) {
	left := h.left
	h.left, h.outlines = nil, map[string]int{}
	for _, g := range left {
		if g.waiting > 0 {
			k.cutJobs(&g.rawGroup, h, 0)
			k.grow(h, -priceAlone(g.lines))
			continue
		}
		h.outlines[string(g.lines)] = len(h.left)
		h.left = append(h.left, g)
	}
}
