package observe

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// intake is what is kept of a schedd's queue while it is read. Users can make their queue as large
// as they like: when all takes more than most bytes of memory, see [price], the largest ads of the
// user whose ads take most are left out, until the rest fits. Of these, only what tells of the jobs'
// state is kept, so that a running job is not lost. The [stock] has it leave out more, if all queues
// together take too much.
type intake struct {
	schedd, host string
	run          map[string]bool // the attributes that are kept of running jobs, in lower case
	stock        *stock          // its lock guards what follows
	most, size   int             // bytes of memory
	read         int             // bytes of text, all that came
	users        map[string]*holding
	groups       []held
	outlines     map[string]int // what is left of ads, by its lines: indexes into groups
	surplus      surplus
	told, ended  bool // nothing more can be left out; nobody waits for the rest
}

// holding is what the whole ads of a user take, and all his jobs.
type holding struct {
	user        string
	size, limit int // bytes of memory; limit is that of one ad
	most        int // waiting jobs of one group
	kinds       kinds
}

// held is a group of a user's jobs.
type held struct {
	rawGroup
	holding *holding
	price   int // what a whole ad takes alone; 0: this is what is left of ads
	waiting int // the number of its jobs, if they do not run
}

// Up to how many bytes, and names, constants and signs, the ad of a group is planned with, whatever
// room there is. Honest ads with a list of a thousand machines have a fifth of the first and half of
// the second.
const (
	maxGroup       = 256 << 10
	maxGroupTokens = 16 << 10
)

func newIntake(q question) *intake {
	k := &intake{
		schedd: q.name, host: q.schedd.Address.Host, run: q.run, most: q.most, users: map[string]*holding{},
		outlines: map[string]int{}, stock: q.stock,
	}
	if k.stock == nil {
		k.stock = newStock(2 * q.most)
	}
	return k
}

// errEnded says that a reading was given up.
var errEnded = errors.New("nobody waits for the rest of the queue")

// add takes in an ad that had this size. It errs if there is too much, even without all ads that can
// be left out.
func (k *intake) add(lines cedar.Lines, size int) error {
	k.stock.mu.Lock()
	defer k.stock.mu.Unlock()
	k.read += size
	if k.ended {
		return errEnded
	}
	user, _ := lines.Find("User")
	h := k.users[string(user)]
	if h == nil {
		h = &holding{user: string(user), limit: k.most, most: math.MaxInt, kinds: kinds{}}
		k.users[string(user)] = h
	}
	g := split(lines)
	jobs := priceOfJobs(g.ids)
	h.size += jobs
	k.grow(jobs)
	alone, tokens := price(len(g.lines), 0), 0
	if size-len(g.ids) <= maxGroup && alone <= h.limit {
		tokens = classad.Tokens(g.lines)
		alone = price(len(g.lines), tokens)
	}
	switch {
	case size-len(g.ids) > maxGroup:
		k.leaveOut(g, h, tooLong)
	case tokens > maxGroupTokens:
		k.leaveOut(g, h, tooManyTokens)
	case alone > h.limit:
		k.leaveOut(g, h, h.limit)
	default:
		waiting := k.cutJobs(&g, h, h.most)
		k.groups = append(k.groups, held{g, h, alone, waiting})
		grown := h.kinds.add(g.lines)
		h.size += grown
		k.grow(grown)
	}
	for k.size > k.most || h.size > k.most/4*3 {
		if !k.relieve() {
			return fmt.Errorf("the queue of schedd %s does not end after %d bytes of memory: %w", k.schedd, k.most, errNoRoom)
		}
	}
	return k.stock.relieve(k)
}

// grow notes that what is kept takes so many bytes more.
func (k *intake) grow(bytes int) {
	k.size += bytes
	k.stock.change(k.host, bytes)
}

// relieve leaves out the largest ads of the user whose ads and jobs take most, or, if these take less than
// the jobs of one group that wait, the last of the jobs. It reports whether that made room. Limits are powers of two, so that each look leaves out the same ads while a queue hardly
// changes.
func (k *intake) relieve() bool {
	h := k.heaviest()
	largest, most, before := 0, 0, k.size
	for _, g := range k.groups {
		if g.holding == h {
			largest, most = max(largest, g.price), max(most, g.waiting)
		}
	}
	if most > 1 && most*bytesPerJob > largest {
		h.most = 1 << (bits.Len(uint(most-1)) - 1) //nolint:gosec // a number of jobs
		for i := range k.groups {
			if g := &k.groups[i]; g.holding == h && g.waiting > h.most {
				g.waiting = k.cutJobs(&g.rawGroup, h, h.most)
			}
		}
		return k.size < before
	}
	if largest < 2 {
		return false
	}
	h.limit = 1 << (bits.Len(uint(largest-1)) - 1) //nolint:gosec // a length
	all := k.groups
	k.groups, k.outlines = make([]held, 0, len(all)), map[string]int{}
	for _, g := range all {
		switch {
		case g.price == 0:
			k.outlines[string(g.lines)] = len(k.groups)
			k.groups = append(k.groups, g)
		case g.holding == h && g.price > h.limit:
			shrunk := h.kinds.remove(g.lines)
			h.size -= shrunk
			k.grow(-shrunk)
			k.leaveOut(g.rawGroup, h, h.limit)
		default:
			k.groups = append(k.groups, g)
		}
	}
	return k.size < before
}

// heaviest returns the user whose ads take most; of several, the first by name.
func (k *intake) heaviest() *holding {
	var most *holding
	for _, h := range k.users {
		if most == nil || h.size > most.size || h.size == most.size && h.user < most.user {
			most = h
		}
	}
	return most
}

// leaveOut keeps of an ad what tells of its jobs' state, together with others of which the same is
// left, and notes which limit the ad is beyond.
func (k *intake) leaveOut(g rawGroup, h *holding, limit int) {
	lines := outline(g.lines, k.run, limit)
	at, known := k.outlines[string(lines)]
	if !known {
		at = len(k.groups)
		k.outlines[string(lines)] = at
		k.groups = append(k.groups, held{rawGroup: rawGroup{lines: lines}, holding: h})
		k.grow(price(len(lines), classad.Tokens(lines)))
	}
	left := &k.groups[at]
	left.waiting += k.cutJobs(&g, h, h.most-left.waiting)
	left.ids = append(append(left.ids, g.ids...), ' ')
}

// cutJobs keeps of a group of a user's no more waiting jobs than there is room for. It returns how many
// that are.
func (k *intake) cutJobs(g *rawGroup, h *holding, room int) int {
	waiting := g.waiting()
	if waiting <= room {
		return waiting
	}
	shrunk := priceOfJobs(g.ids)
	g.ids = firstIDs(g.ids, room)
	shrunk -= priceOfJobs(g.ids)
	h.size -= shrunk
	k.grow(-shrunk)
	k.surplus = surplus{k.surplus.jobs + waiting - room, h.user}
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

// all returns the groups of jobs that were kept, whole or in outlines. Nothing is left out any more.
func (k *intake) all() []rawGroup {
	k.stock.mu.Lock()
	defer k.stock.mu.Unlock()
	k.told = true
	all := make([]rawGroup, len(k.groups))
	for i, g := range k.groups {
		all[i] = g.rawGroup
	}
	return all
}

// leftOutAttribute is added to what is left of an ad, and says which limit the ad is beyond: a
// positive number is one of bytes of memory, and there are others.
const leftOutAttribute = "BackfillLeftOut"

// Other limits than those of memory.
const (
	unreadable    = 0  // it cannot be read
	tooManyTokens = -1 // see maxGroupTokens
	tooLong       = -2 // see maxGroup
	readLater     = -3 // see reads
)

// What is left of an ad: of all jobs, and besides of those that hold slots, since their use is
// accounted and their end is planned with. The longest line is that of a running job's hosts.
var (
	keptOfAll     = set("JobStatus", "User", "AccountingGroup", "JobUniverse", "Scheduler")
	keptOfRunning = []string{"MaxHosts", "RemoteHost", "RemoteHosts", "JobCurrentStartDate", "QDate", "ConcurrencyLimits"}
)

const (
	maxKept          = 256
	maxKeptOfRunning = 64 << 10
)

// outline returns the lines that are left of an ad that is beyond a limit. Of a running job, the attributes in run are left, too.
func outline(lines []byte, run map[string]bool, limit int) []byte {
	runs := runs(lines)
	var left []byte
	for line := range bytes.SplitAfterSeq(lines, []byte{'\n'}) {
		name, _, _ := bytes.Cut(line, []byte(" = "))
		lower := strings.ToLower(string(name))
		if keptOfAll[lower] && len(line) <= maxKept || runs && run[lower] && len(line) <= maxKeptOfRunning {
			left = append(left, line...)
		}
	}
	return fmt.Appendf(left, "%s = %d\n", leftOutAttribute, limit)
}

// runs tells whether the jobs of an ad hold slots.
func runs(lines []byte) bool {
	status, _ := cedar.Lines(lines).Find("JobStatus")
	number, _ := strconv.ParseInt(string(status), 10, 64)
	return (&Group{Status: number}).Runs()
}

// leftOutBecause says why an ad was left out: it is beyond this limit.
func leftOutBecause(limit int64, user string) error {
	switch limit {
	case unreadable:
		return errors.New("its ad cannot be read: simplify its expressions, or write them anew")
	case tooManyTokens:
		return fmt.Errorf("its ad has more than %d names, constants and signs: shorten its expressions and what they "+
			"refer to", maxGroupTokens)
	case readLater:
		return errReadLater
	case tooLong:
		return fmt.Errorf("its ad has more than %d bytes: shorten its expressions and what they refer to", maxGroup)
	}
	return fmt.Errorf("its ad takes more than %d bytes of memory, and the queues are too large with all ads of %s: shorten the jobs' "+
		"expressions and what they refer to, or submit fewer different jobs", limit, cmp.Or(user, "its user"))
}
