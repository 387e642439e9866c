package accountant

import (
	"cmp"
	"slices"
	"sort"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Waiting is a waiting job as fair share sees it.
type Waiting struct {
	ID        backfill.JobID
	Submitter string
	// Weight is the slot weight that the job takes in all, cpus × nodes as a rule.
	Weight float64
	// Prio is its JobPrio: among the jobs of a submitter the highest comes first.
	Prio int64
}

// Share is the fair order of waiting jobs at a moment: each has a key, and the
// lowest is next. One goroutine at a time may use it.
//
// The key of a job is (what its submitter uses + the weight of the submitter's
// jobs up to and with this one) × the effective priority of the submitter. So
// jobs that start in the order of the keys bring all submitters to the same
// product of use and priority, which is what HTCondor gives when it spins its pie:
// weight in proportion to 1/priority, counting what is in use, and again among the
// rest when somebody has too few jobs. The two differ by less than one job each,
// because HTCondor cuts the pie before it looks at the jobs. A submitter's jobs
// under its floor come before all others of its group.
//
// Where there are accounting groups, the jobs of a group have one order as above,
// and groups that share a parent, which counts as one of them with its own
// submitters, are merged: their key is (what the group uses + the weight of its
// jobs up to and with this one) / its quota. Thus keys up to 1 are within a
// group's quota, those above it are surplus, which comes later and goes to groups
// by quota, as HTCondor shares it. HTCondor negotiates for one whole group after
// the other, from the one that uses the least of its quota; here their jobs
// alternate, so that no group gets all of the good slots, and the amounts are the
// same. Groups without a quota come behind all that have one. GROUP_AUTOREGROUP
// lets a group have surplus, but in the same way, not by the priorities of its
// users among all others.
type Share struct {
	keys   map[backfill.JobID]float64
	queues map[string]*queue
	a      *Accountant
	nodes  map[*group]*node
}

// queue is a submitter's waiting jobs, next first.
type queue struct {
	node                 *node
	used, priority, most float64   // most is the floor
	prios                []int64   // of the jobs
	sums                 []float64 // of weights up to and with each job
	late                 float64   // weight of those that arrived since
}

// node is a group as it was when the share was made.
type node struct {
	group  // a copy: its use and quotas
	parent *node
	own    lane // its submitters' jobs
	merged lane // the jobs of its submitters and subgroups
	mixed  bool // there are groups, so that the two differ
}

// lane is jobs in the order of keys, which rise.
type lane struct{ keys, sums []float64 }

// noQuota is the key behind which groups without a quota wait.
const noQuota = 1e9

// least is the weight of a job that weighs nothing, so that keys rise.
const least = 1e-3

// placed is a job on its way up the groups.
type placed struct {
	job    int
	key    float64
	weight float64
}

// Share orders waiting jobs, given in the order of jobs, by what is in use as of
// the last Update and the quotas of the last Divide. It takes O(n log n) for each
// level of groups.
func (a *Accountant) Share(jobs []Waiting) *Share {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := &Share{keys: make(map[backfill.JobID]float64, len(jobs)), queues: map[string]*queue{}, a: a, nodes: map[*group]*node{}}
	bySubmitter := map[string][]int{}
	var submitters []string
	for i, j := range jobs {
		if bySubmitter[j.Submitter] == nil {
			submitters = append(submitters, j.Submitter)
		}
		bySubmitter[j.Submitter] = append(bySubmitter[j.Submitter], i)
	}
	lists := map[*node][]placed{}
	for _, name := range submitters {
		q, own := s.queue(name), bySubmitter[name]
		slices.SortStableFunc(own, func(x, y int) int { return cmp.Compare(jobs[y].Prio, jobs[x].Prio) })
		sum := 0.0
		for _, i := range own {
			weight := max(jobs[i].Weight, least)
			sum += weight
			q.prios, q.sums = append(q.prios, jobs[i].Prio), append(q.sums, sum)
			lists[q.node] = append(lists[q.node], placed{i, q.key(sum), weight})
		}
	}
	for _, p := range s.merge(a.tree.root, lists) {
		s.keys[jobs[p.job].ID] = p.key
	}
	return s
}

// Key is the key of a job; ok is false if it is neither of those the share was
// made of nor has arrived since.
func (s *Share) Key(id backfill.JobID) (key float64, ok bool) {
	key, ok = s.keys[id]
	return key, ok
}

// Arrive is the key of one more job, among those that there are. It comes behind
// the submitter's jobs of the same or a higher JobPrio and behind all that arrived
// before; nobody else's key changes until the next Share. It takes O(log n).
func (s *Share) Arrive(w Waiting) float64 {
	s.a.mu.Lock()
	q := s.queue(w.Submitter)
	s.a.mu.Unlock()
	ahead, _ := slices.BinarySearchFunc(q.prios, w.Prio, func(p, prio int64) int {
		if p >= prio {
			return -1
		}
		return 1
	})
	q.late += max(w.Weight, least)
	before := 0.0 // the weight ahead of the job, in its queue and then in its group
	if ahead > 0 {
		before = q.sums[ahead-1]
	}
	key := q.key(before + q.late)
	if n := q.node; n.mixed {
		before += n.own.upTo(key) - upTo(q.sums, key, q.key)
		keyOf := func(sum float64) float64 { return groupKey(n.used+sum, n.quota) }
		key = keyOf(before + q.late)
		before += n.merged.upTo(key) - upTo(n.own.sums, key, keyOf)
		for ; n.parent != nil; n = n.parent {
			keyOf = func(sum float64) float64 { return groupKey(n.subtreeUsed+sum, n.subtreeQuota) }
			key = keyOf(before + q.late)
			before += n.parent.merged.upTo(key) - upTo(n.merged.sums, key, keyOf)
		}
	}
	s.keys[w.ID] = key
	return key
}

// queue is the submitter's; a new one has no jobs.
func (s *Share) queue(name string) *queue {
	q := s.queues[name]
	if q == nil {
		g, isGroup := s.a.tree.assigned(name)
		if isGroup { // no submitter has such a name
			g = s.a.tree.root
		}
		q = &queue{node: s.node(g), priority: s.a.effective(name)}
		if r := s.a.accounts[name]; r != nil {
			q.used, q.most = r.Use.Weight, float64(r.Floor)
		}
		s.queues[name] = q
	}
	return q
}

func (q *queue) key(sum float64) float64 {
	key := (q.used + sum) * q.priority
	if q.used+sum <= q.most {
		return -1 / (1 + key) // rises as well, and is below all others
	}
	return key
}

func (s *Share) node(g *group) *node {
	n := s.nodes[g]
	if n == nil {
		n = &node{group: *g, mixed: len(s.a.tree.all) > 1}
		if g.parent != nil {
			n.parent = s.node(g.parent)
		}
		s.nodes[g] = n
	}
	return n
}

// merge is the order of a group's subtree.
func (s *Share) merge(g *group, lists map[*node][]placed) []placed {
	n := s.node(g)
	list := lists[n]
	sortPlaced(list)
	if !n.mixed {
		return list
	}
	n.own = rekey(list, n.used, n.quota)
	for _, child := range g.children {
		below := s.merge(child, lists)
		rekey(below, child.subtreeUsed, child.subtreeQuota)
		list = append(list, below...)
	}
	sortPlaced(list)
	n.merged = laneOf(list)
	return list
}

// rekey gives jobs in order the keys of their group; it returns the lane with
// their old ones.
func rekey(list []placed, used, quota float64) lane {
	old, sum := laneOf(list), used
	for i := range list {
		sum += list[i].weight
		list[i].key = groupKey(sum, quota)
	}
	return old
}

func groupKey(weight, quota float64) float64 {
	if quota <= 0 {
		return noQuota + weight
	}
	return min(weight/quota, noQuota)
}

func laneOf(list []placed) (l lane) {
	sum := 0.0
	for _, p := range list {
		sum += p.weight
		l.keys, l.sums = append(l.keys, p.key), append(l.sums, sum)
	}
	return l
}

// upTo is the weight of the jobs whose keys are at most that.
func (l lane) upTo(key float64) float64 {
	after, _ := slices.BinarySearchFunc(l.keys, key, func(k, key float64) int {
		if k <= key {
			return -1
		}
		return 1
	})
	if after == 0 {
		return 0
	}
	return l.sums[after-1]
}

// upTo is the weight of the jobs, given by the sums of weights, whose keys are at
// most that.
func upTo(sums []float64, key float64, keyOf func(sum float64) float64) float64 {
	after := sort.Search(len(sums), func(i int) bool { return keyOf(sums[i]) > key })
	if after == 0 {
		return 0
	}
	return sums[after-1]
}

func sortPlaced(list []placed) {
	slices.SortFunc(list, func(x, y placed) int { return cmp.Or(cmp.Compare(x.key, y.key), cmp.Compare(x.job, y.job)) })
}
