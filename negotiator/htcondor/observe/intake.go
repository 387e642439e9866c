package observe

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// intake is what is kept of a schedd's queue while it is read. Users can make their queue as large
// as they like: when all takes more than most bytes, the largest ads of the user whose ads take most
// are left out, until the rest fits. Of these, only what tells of the jobs' state is kept, so that a
// running job is not lost.
type intake struct {
	schedd     string
	run        map[string]bool // the attributes that are kept of running jobs, in lower case
	most, size int             // bytes
	users      map[string]*holding
	groups     []held
	outlines   map[string]int // what is left of ads, by its lines: indexes into groups
}

// holding is what the whole ads of a user take.
type holding struct {
	user        string
	size, limit int // bytes; limit is that of one ad
}

// held is a group of a user's jobs; of is nil for what is left of ads.
type held struct {
	rawGroup
	holding *holding
}

// maxGroup is up to how many bytes the ad of a group is planned with, whatever room there is. Honest
// ads with long lists of machines take a tenth of it.
const maxGroup = 256 << 10

func newIntake(q question) *intake {
	return &intake{
		schedd: q.name, run: q.run, most: q.most, users: map[string]*holding{}, outlines: map[string]int{},
	}
}

// add takes in an ad that had this size. It errs if there is too much, even without all ads that can
// be left out.
func (k *intake) add(lines cedar.Lines, size int) error {
	user, _ := lines.Find("User")
	h := k.users[string(user)]
	if h == nil {
		h = &holding{user: string(user), limit: maxGroup}
		k.users[string(user)] = h
	}
	g := split(lines)
	if size-len(g.ids) > h.limit {
		k.leaveOut(g, h.limit)
	} else {
		k.groups = append(k.groups, held{g, h})
		h.size += g.size()
		k.size += g.size()
	}
	for k.size > k.most {
		if !k.relieve() {
			return fmt.Errorf("the queue of schedd %s does not end after %d bytes", k.schedd, k.most)
		}
	}
	return nil
}

// relieve leaves out the largest ads of the user whose ads take most. It reports whether that made
// room. Limits are powers of two, so that each look leaves out the same ads while a queue hardly
// changes.
func (k *intake) relieve() bool {
	h := k.heaviest()
	largest, before := 0, k.size
	for _, g := range k.groups {
		if g.holding == h {
			largest = max(largest, len(g.lines))
		}
	}
	if largest < 2 {
		return false
	}
	h.limit = 1 << (bits.Len(uint(largest-1)) - 1) //nolint:gosec // a length
	all := k.groups
	k.groups, k.outlines = make([]held, 0, len(all)), map[string]int{}
	for _, g := range all {
		switch {
		case g.holding == nil:
			k.outlines[string(g.lines)] = len(k.groups)
			k.groups = append(k.groups, g)
		case g.holding == h && len(g.lines) > h.limit:
			h.size -= g.size()
			k.size -= g.size()
			k.leaveOut(g.rawGroup, h.limit)
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
// left, and notes that the ad has more bytes than the limit.
func (k *intake) leaveOut(g rawGroup, limit int) {
	lines := outline(g.lines, k.run, limit)
	at, known := k.outlines[string(lines)]
	if !known {
		at = len(k.groups)
		k.outlines[string(lines)] = at
		k.groups = append(k.groups, held{rawGroup: rawGroup{lines: lines}})
		k.size += len(lines)
	}
	k.groups[at].ids = append(append(k.groups[at].ids, g.ids...), ' ')
	k.size += len(g.ids) + 1
}

// all returns the groups of jobs that were kept, whole or in outlines.
func (k *intake) all() []rawGroup {
	all := make([]rawGroup, len(k.groups))
	for i, g := range k.groups {
		all[i] = g.rawGroup
	}
	return all
}

// size is about how much memory the group takes, in bytes.
func (g *rawGroup) size() int { return len(g.lines) + len(g.ids) }

// leftOutAttribute is added to what is left of an ad, and says how many bytes the ad might have had;
// 0 if it cannot be read.
const leftOutAttribute = "BackfillLeftOut"

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

// outline returns the lines that are left of an ad that has more bytes than the limit, or that cannot
// be read (the limit is 0). Of a running job, the attributes in run are left, too.
func outline(lines []byte, run map[string]bool, limit int) []byte {
	status, _ := cedar.Lines(lines).Find("JobStatus")
	number, _ := strconv.ParseInt(string(status), 10, 64)
	runs := (&Group{Status: number}).Runs()
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

// leftOutBecause says why an ad was left out: it has more bytes than the limit, or cannot be read.
func leftOutBecause(limit int64, user string) error {
	switch limit {
	case 0:
		return errors.New("its ad cannot be read: simplify its expressions, or write them anew")
	case maxGroup:
		return fmt.Errorf("its ad has more than %d bytes: shorten its expressions and what they refer to", limit)
	}
	return fmt.Errorf("its ad has more than %d bytes, and the queue is too large with all ads of %s: shorten the jobs' "+
		"expressions and what they refer to, or submit fewer different jobs", limit, cmp.Or(user, "its user"))
}
