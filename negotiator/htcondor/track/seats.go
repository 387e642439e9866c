package track

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// Jobs that wait take time in each cycle, however little is said of them. So many are known at once,
// at most: they have a seat. Hosts share all seats evenly, the schedds of a host its own, then the
// users of a schedd, a user's kinds of jobs, their clusters and the groups of these: what one of them
// does not need the others get. So what cannot start, a user's or another's, never keeps all seats.
const (
	mostSeats       = 400_000
	mostSeatsOfHost = 100_000
	mostSeatsOfUser = 25_000 // of one schedd
)

// crowd are jobs that wait: all, or those of a host, a schedd, a user, a kind, a cluster or a
// group.
type crowd struct {
	jobs, asks int // how many there are, and for how many seats they ask
	parts      []*crowd
	whole      *crowd           // whose part it is, while it may grow
	groups     []*observe.Group // of a user
}

// add adds a part, which is ready; all together ask for no more seats than most.
func (c *crowd) add(part *crowd, most int) {
	c.parts = append(c.parts, part)
	c.jobs, c.asks = c.jobs+part.jobs, min(most, c.asks+part.asks)
}

// seats are how many of a group's waiting jobs have a seat, for groups in which not all have one.
type seats map[*observe.Group]int

// shareSeats shares the seats for the jobs that wait in the last snapshot's queues, whether they were
// read or are as they were before.
func (b *Belief) shareSeats(schedds []string) {
	b.seats = seats{}
	all, hosts := &crowd{}, map[string]*crowd{}
	for _, name := range schedds {
		s := b.now.Schedds[name]
		if s.Moved {
			continue
		}
		if hosts[s.Address.Host] == nil {
			hosts[s.Address.Host] = &crowd{}
		}
		hosts[s.Address.Host].add(queueOf(s), mostSeatsOfHost)
	}
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		all.add(hosts[name], mostSeats)
	}
	b.seats.give(all, all.asks)
}

// queueOf returns the jobs that wait at a schedd, by user.
func queueOf(s *observe.Schedd) *crowd {
	queue, users := &crowd{}, map[string]*crowd{}
	for _, g := range s.Groups {
		if g.Runs() || g.OnHold() || len(g.Jobs) == 0 {
			continue
		}
		u := users[g.Spec.User()]
		if u == nil {
			u = &crowd{}
			users[g.Spec.User()] = u
		}
		u.groups = append(u.groups, g)
		u.jobs += len(g.Jobs)
		u.asks = min(u.jobs, mostSeatsOfUser)
	}
	for _, name := range slices.Sorted(maps.Keys(users)) {
		queue.add(users[name], mostSeatsOfHost)
	}
	return queue
}

// split returns a user's jobs by kind, which their clusters are of, by cluster and by group, the most
// urgent first. So neither a cluster whose jobs differ nor many clusters that are alike are many.
func (c *crowd) split() *crowd {
	user, kinds, clusters := &crowd{}, map[*observe.Spec]*crowd{}, map[int64]*crowd{}
	slices.SortFunc(c.groups, func(a, b *observe.Group) int {
		return cmp.Or(cmp.Compare(b.Prio, a.Prio), cmp.Compare(a.Submit, b.Submit), a.Jobs[0].Compare(b.Jobs[0]))
	})
	for _, g := range c.groups {
		cluster := clusters[g.Jobs[0].Cluster]
		if cluster == nil {
			if kinds[g.Spec] == nil {
				kinds[g.Spec] = user.part(&crowd{})
			}
			cluster = kinds[g.Spec].part(&crowd{})
			clusters[g.Jobs[0].Cluster] = cluster
		}
		cluster.part(&crowd{groups: []*observe.Group{g}}).grow(len(g.Jobs))
	}
	return user
}

// part adds a part that is not ready yet.
func (c *crowd) part(part *crowd) *crowd {
	part.whole = c
	c.parts = append(c.parts, part)
	return part
}

// grow has a part, and all that it is a part of, have so many more jobs, which ask for seats.
func (c *crowd) grow(jobs int) {
	for ; c != nil; c = c.whole {
		c.jobs, c.asks = c.jobs+jobs, c.asks+jobs
	}
}

// give gives so many seats to jobs that wait.
func (s seats) give(c *crowd, n int) {
	switch {
	case n >= c.jobs:
		return
	case len(c.groups) == 1:
		s[c.groups[0]] = n
		return
	case len(c.groups) > 1:
		c = c.split()
	}
	for i, n := range divide(c.parts, n) {
		s.give(c.parts[i], n)
	}
}

// divide divides seats: no part has fewer than another one, unless it asks for no more. What is left
// over goes to the first.
func divide(parts []*crowd, seats int) []int {
	got := make([]int, len(parts))
	for i, p := range parts {
		got[i] = p.asks
	}
	slices.Sort(got)
	each, hungry := 0, len(parts) // what those get who do not get all
	for ; hungry > 0; hungry-- {
		modest := got[len(parts)-hungry]
		if each = seats / hungry; modest > each {
			break
		}
		seats -= modest
	}
	seats -= each * hungry
	for i, p := range parts {
		if got[i] = p.asks; p.asks > each && hungry > 0 {
			got[i] = each + min(1, seats)
			seats -= min(1, seats)
		}
	}
	return got
}

// seated returns the jobs of a group that have one of its seats: first those that keep theirs, even
// if they are more, then those that had one.
func (b *Belief) seated(g *observe.Group, most int) []*Job {
	kept := make([]*Job, 0, most)
	if most == len(g.Jobs) {
		for _, key := range g.Jobs {
			kept = append(kept, b.find(key))
		}
		return kept
	}
	keys := g.Jobs
	if !slices.IsSortedFunc(keys, observe.JobKey.Compare) {
		keys = slices.SortedFunc(slices.Values(keys), observe.JobKey.Compare)
	}
	var had []*Job
	var fresh []observe.JobKey
	for _, key := range keys {
		switch j := b.jobs[key]; {
		case j == nil && len(fresh) < most:
			fresh = append(fresh, key)
		case j == nil:
		case j.keepsSeat():
			kept = append(kept, j)
		default:
			had = append(had, j)
		}
	}
	kept = append(kept, had[:min(len(had), max(0, most-len(kept)))]...)
	for _, key := range fresh[:min(len(fresh), max(0, most-len(kept)))] {
		kept = append(kept, b.find(key))
	}
	return kept
}

// keepsSeat tells whether a job keeps its seat however many others wait: it was started, it was
// promised a start, or something is kept for it.
func (j *Job) keepsSeat() bool {
	return j.Phase == Running || j.Phase == Lent || j.promised > 0 || j.owed ||
		j.servedBy != nil || j.booked != nil
}

// without returns how many jobs have no seat, and says so; "" if all have one.
func (s seats) without() (n int, told string) {
	var whose *observe.Group // of a group with most such jobs
	for g, has := range s {
		missing := len(g.Jobs) - has
		n += missing
		if whose == nil || cmp.Or(missing-(len(whose.Jobs)-s[whose]), whose.Jobs[0].Compare(g.Jobs[0])) > 0 {
			whose = g
		}
	}
	if n > 0 {
		told = fmt.Sprintf("more jobs wait than there is room for, and %d are not planned yet: among them jobs of %.100s "+
			"at schedd %s", n, whose.Spec.User(), whose.Jobs[0].Schedd)
	}
	return n, told
}
