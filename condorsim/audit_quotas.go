package condorsim

import (
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// groupBooks are the audit's own books of what groups use. No job may start if its group, or one above it that
// accepts no surplus, would use more than its quota with it; but for jobs of a group that regroups.
type groupBooks struct {
	w     *Workload
	all   map[string]*groupBook // by name in lower case
	group []*groupBook          // by job
	up    map[string]int64      // cpus of the slots that are there
	total int64
	// shrank says that slots went.
	shrank bool
	runs   map[backfill.JobID]int64 // how many cpus they occupy
}

// groupBook is that of a group.
type groupBook struct {
	pools.Group
	above   *groupBook
	static  float64 // quotas of the groups below it
	dynamic float64
	used    float64 // with the groups below it, in cpus
	more    float64 // of that, what jobs that have started in this cycle occupy more than they were charged
}

func newGroupBooks(w *Workload) *groupBooks {
	if len(w.Groups) == 0 {
		return nil
	}
	b := &groupBooks{
		w: w, all: map[string]*groupBook{}, group: make([]*groupBook, len(w.Jobs)), up: map[string]int64{},
		runs: map[backfill.JobID]int64{},
	}
	root := &groupBook{}
	b.all[""] = root
	for i := range w.Groups {
		b.all[strings.ToLower(w.Groups[i].Name)] = &groupBook{Group: w.Groups[i]}
	}
	for name, g := range b.all {
		if g == root {
			continue
		}
		g.above = b.all[name[:max(0, strings.LastIndexByte(name, '.'))]]
		if g.Static {
			g.above.static += g.Quota
		} else {
			g.above.dynamic += g.Quota
		}
	}
	for i, submitter := range w.submitters() {
		b.group[i] = b.groupOf(submitter)
	}
	return b
}

// groupOf returns the group of a submitter, which is the deepest that his name begins with; the root if he is of
// none.
func (b *groupBooks) groupOf(submitter string) *groupBook {
	name := strings.ToLower(submitter)
	for {
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 {
			return b.all[""]
		}
		name = name[:dot]
		if g := b.all[name]; g != nil {
			return g
		}
	}
}

// quota returns how many cpus a group may use: quotas in cpus come first, and the others are shares of what
// these leave of the group above. Together the shares are of all that at most.
func (b *groupBooks) quota(g *groupBook) float64 {
	switch {
	case g.above == nil:
		return float64(b.total)
	case g.Static && b.quota(g.above) > 0:
		return g.Quota
	case g.Static:
		return 0
	default:
		return g.Quota * max(0, b.quota(g.above)-g.above.static) / max(1, g.above.dynamic)
	}
}

// slots enters which slots came and went.
func (b *groupBooks) slots(d *negotiator.Delta) {
	if b == nil {
		return
	}
	for _, name := range d.SlotsDown {
		b.total -= b.up[name]
		delete(b.up, name)
	}
	for _, s := range d.SlotsUp {
		b.total += s.Capacity[0] - b.up[s.Name]
		b.up[s.Name] = s.Capacity[0]
	}
	b.shrank = b.shrank || len(d.SlotsDown) > 0
	for _, g := range b.all {
		g.more = 0
	}
}

// starts enters that a job starts which occupies so many cpus, and returns the group whose quota it exceeds; nil:
// none. What jobs that start together occupy more than they were charged counts from the next cycle on.
func (b *groupBooks) starts(id backfill.JobID, cpus int64) (exceeded *groupBook) {
	const tiny = 1e-6
	b.runs[id] = cpus
	charged, exempt := b.w.weight(id), b.group[id].Autoregroup
	if exempt { // it takes nothing of quotas, but counts from the next cycle on
		charged = 0
	}
	for g := b.group[id]; g != nil; g = g.above {
		if has := g.used - g.more + charged; g.above != nil && !g.AcceptSurplus && !exempt && has > b.quota(g)+tiny {
			exceeded = g
		}
		g.used += float64(cpus)
		g.more += float64(cpus) - charged
	}
	return exceeded
}

// ends enters that a run is over.
func (b *groupBooks) ends(id backfill.JobID) {
	if b == nil {
		return
	}
	for g := b.group[id]; g != nil; g = g.above {
		g.used -= float64(b.runs[id])
	}
	delete(b.runs, id)
}

// keepsQuotas enters a start in the books of groups. It is a violation if a group has more than its quota then
// that accepts no surplus. A job that takes over from others had its place before, when the pool may have been
// larger.
func (a *audit) keepsQuotas(s *backfill.Started, takesOver bool) error {
	if a.groups == nil {
		return nil
	}
	g := a.groups.starts(s.Job.ID, a.cpusOf(s.Job, s.Placement))
	if g == nil || takesOver && a.groups.shrank {
		return nil
	}
	return a.violation(s.Job.ID, "started, and group %s has %v cpus now, of which its quota is %v", g.Name, g.used,
		a.groups.quota(g))
}

// cpusOf returns how many cpus a job occupies in its place: of a partition, what it requests.
func (a *audit) cpusOf(j *backfill.Job, at backfill.Placement) (cpus int64) {
	if a.whole != nil {
		return j.Width()
	}
	return a.held(holding{job: j, at: at})[0]
}
