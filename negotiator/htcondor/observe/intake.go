package observe

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// intake is what is kept of a schedd's answer while it is read. Users can make their queue as large
// as they like: when all takes more than most bytes of memory, see [price], the largest ads of the
// user who has most are left out, until the rest fits. Of these, only what tells of the jobs' state
// is kept, so that a running job is not lost. The [stock] has it leave out more, if all queues
// together take too much. Whatever is left out, all of it together takes time in proportion to what
// was read.
type intake struct {
	schedd, host string
	run          map[string]bool // the attributes that are kept of running jobs, in lower case
	stock        *stock
	share        *share

	mu         sync.Mutex // guards what follows; the stock's lock is taken under it, never the reverse
	most, size int        // bytes of memory
	read       int        // bytes of text, all that came
	came       int        // groups, all that came
	users      map[string]*holding
	greedy     heaviest[*holding] // those of whom more can be left out
	besides    besides
	surplus    surplus
	told       bool // nothing more can be left out
	failure    error
}

// Up to how many bytes, and names, constants and signs, the ad of a group is planned with, whatever
// room there is. Honest ads with a list of a thousand machines have a fifth of the first and half
// of the second.
const (
	maxGroup       = 256 << 10
	maxGroupTokens = 16 << 10
)

// newIntake begins an intake; its share of the stock is to be ended.
func newIntake(q question) *intake {
	k := &intake{
		schedd: q.name, host: q.schedd.Address.Host, run: q.run, most: q.most, users: map[string]*holding{}, stock: q.stock,
	}
	if k.stock == nil {
		k.stock = newStock(2 * q.most)
	}
	k.share = k.stock.begin(k)
	return k
}

// errEnded says that a reading was given up.
var errEnded = errors.New("nobody waits for the rest of the queue")

// add takes in an ad that had this size. It errs if there is too much, even without all ads that
// can be left out.
func (k *intake) add(lines cedar.Lines, size int) error {
	user, _ := lines.Find("User")
	g := held{rawGroup: split(lines)}
	text, tokens := size-len(g.ids), 0
	g.price = price(len(g.lines), 0)
	if text <= maxGroup {
		tokens = classad.Tokens(g.lines)
		g.price = price(len(g.lines), tokens)
	}
	return k.take(func() {
		k.read += size
		k.came++
		g.at = k.came
		h := k.holdingOf(string(user))
		k.grow(h, priceOfJobs(g.ids))
		switch {
		case text > maxGroup:
			k.leaveOut(g, h, tooLong)
		case tokens > maxGroupTokens:
			k.leaveOut(g, h, tooManyTokens)
		case g.price > h.limit:
			k.leaveOut(g, h, h.limit)
		default:
			g.waiting = k.cutJobs(&g.rawGroup, h, h.most)
			h.whole = append(h.whole, g)
			k.grow(h, h.kinds.add(g.lines))
		}
		for h.size > k.most/4*3 && k.shrink(h) { //nolint:revive // until it is less
		}
	})
}

// take has something taken in, and makes room for it.
func (k *intake) take(in func()) error {
	k.mu.Lock()
	if k.failure == nil {
		in()
		for k.size > k.most {
			k.leaveOutMore()
		}
		if !k.stock.note(k.share, k.size) && k.failure == nil {
			k.fail(errEnded)
		}
	}
	err := k.failure
	k.mu.Unlock()
	for other := k.stock.crowds(k.share); other != nil && err == nil; other = k.stock.crowds(k.share) {
		other.relieve()
	}
	return err
}

// relieve leaves out some of what there is, unless it is too late.
func (k *intake) relieve() {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.told || k.failure != nil:
	case k.size == 0:
		k.stock.settle(k.share, false)
	default:
		k.leaveOutMore()
		k.stock.note(k.share, k.size)
	}
}

// leaveOutMore leaves out what is kept besides the jobs, then ads and jobs of the user who has
// most. If there is nothing more to leave out, the reading fails.
func (k *intake) leaveOutMore() {
	h := k.greedy.first()
	switch {
	case k.besides.size > 0:
		k.size -= k.besides.size
		k.besides.leaveOut()
	case h == nil:
		k.fail(fmt.Errorf("the queue of schedd %s does not end after %d bytes of memory: %w", k.schedd, min(k.size, k.most), errNoRoom))
	default:
		k.shrink(h)
	}
}

// fail has the reading end with an error; nothing is kept of it.
func (k *intake) fail(err error) {
	k.failure, k.size = err, 0
	k.users, k.greedy, k.besides = nil, nil, besides{}
	k.stock.end(k.share)
}

// grow notes that what is kept of a user's takes so many bytes more.
func (k *intake) grow(h *holding, bytes int) {
	k.size += bytes
	k.greedy.grow(h, bytes)
}

// leaveOut keeps of an ad what tells of its jobs' state, together with others of which the same is
// left, and notes which limit the ad is beyond.
func (k *intake) leaveOut(g held, h *holding, limit int) {
	g.lines, g.price = outline(g.lines, k.run, limit), 0
	at, known := h.outlines[string(g.lines)]
	room := h.most
	if known {
		room = max(0, room-h.left[at].waiting)
	}
	g.waiting = k.cutJobs(&g.rawGroup, h, room)
	switch {
	case len(g.ids) == 0:
	case known:
		left := &h.left[at]
		left.waiting += g.waiting
		left.ids = append(append(left.ids, ' '), g.ids...)
	default:
		h.outlines[string(g.lines)] = len(h.left)
		h.left = append(h.left, g)
		k.grow(h, priceAlone(g.lines))
	}
}

// cutJobs keeps of a group of a user's no more waiting jobs than there is room for. It returns how
// many that are.
func (k *intake) cutJobs(g *rawGroup, h *holding, room int) int {
	waiting := g.waiting()
	if waiting <= room {
		return waiting
	}
	before := priceOfJobs(g.ids)
	g.ids = firstIDs(g.ids, room)
	k.grow(h, priceOfJobs(g.ids)-before)
	less := waiting - room
	k.surplus = surplus{k.surplus.jobs + less, h.name}
	return room
}

// surplus are waiting jobs of which nothing is kept: how many, and the user of some.
type surplus struct {
	jobs int
	user string
}

// told says that there are such jobs.
func (s surplus) told(schedd string) string {
	return fmt.Sprintf("the queue of schedd %s has more jobs than there is room for, and %d are not planned: among them "+
		"jobs of %.100s", schedd, s.jobs, strings.Trim(s.user, `"`))
}

// all returns the groups of jobs that were kept, whole or in outlines, in the order in which they
// came. Nothing is left out any more.
func (k *intake) all() []rawGroup {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.told = true
	k.stock.settle(k.share, true)
	var kept []held
	for _, h := range k.users {
		kept = append(append(kept, h.whole...), h.left...)
	}
	slices.SortFunc(kept, func(a, b held) int { return cmp.Compare(a.at, b.at) })
	all := make([]rawGroup, len(kept))
	for i, g := range kept {
		all[i] = g.rawGroup
	}
	return all
}

// besides is what an answer says besides of the jobs that may run: which were stopped, and the
// limits of users. It is left out first, since plans can do without.
type besides struct {
	size     int // bytes of memory
	leftOut  bool
	stopped  []JobKey
	highest  int64 // cluster of stopped jobs, also of those that are left out
	recorded []record
}

func (b *besides) leaveOut() {
	*b = besides{leftOut: true, highest: b.highest}
}

// What a job that was stopped and the limit of a user take, in bytes of memory.
const (
	bytesPerStopped = 80
	bytesPerRecord  = 1024 // besides the name
)

// addStopped takes in a job that was put on hold or removed; the text that told of it had this
// size.
func (k *intake) addStopped(job JobKey, size int) error {
	return k.take(func() {
		k.read += size
		b := &k.besides
		b.highest = max(b.highest, job.Cluster)
		if !b.leftOut && len(b.stopped) < maxStopped {
			b.stopped = append(b.stopped, job)
			b.size, k.size = b.size+bytesPerStopped, k.size+bytesPerStopped
		}
	})
}

// addRecord takes in the limit of a user or project; the text that told of it had this size.
func (k *intake) addRecord(r record, size int) error {
	return k.take(func() {
		k.read += size
		if b := &k.besides; !b.leftOut {
			b.recorded = append(b.recorded, r)
			b.size, k.size = b.size+r.price(), k.size+r.price()
		}
	})
}
