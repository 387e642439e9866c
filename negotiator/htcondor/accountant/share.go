package accountant

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Waiting is a waiting job as fair share sees it.
type Waiting struct {
	ID        backfill.JobID
	Submitter string
	// Weight is the slot weight that the job takes in all: that of all its slots.
	Weight float64
	// Prio is its JobPrio: among the jobs of a submitter, higher values come first.
	Prio int64
	// User is whose job it is, whatever its submitter. Passed says that it cannot start yet, as far
	// as is known, though others do: it counts for such jobs of its user only. Of these, those with
	// the lowest Vain come first: how many others start before jobs like it.
	User   string
	Passed bool
	Vain   float64
}

// Share is the fair order of waiting jobs at a moment: each job has a key, and the lowest key is
// next. It is not safe for concurrent use.
//
// The key of a job is (what its submitter uses + the weight of the submitter's jobs up to and
// including this one) × the submitter's effective priority. Starting jobs in the order of their
// keys therefore brings all submitters to the same product of use and priority. HTCondor's pie
// slices aim at the same: weight in proportion to 1/priority, counting what is in use, and again
// among the rest when a submitter has too few jobs. The two results differ by less than one job
// each, because HTCondor computes the slices before it looks at the jobs; but while a submitter has
// all that it wants, HTCondor slices what that uses too, for the others, and the best priority has
// most of it. The jobs of a submitter below its floor come before all others of its group. With
// [Settings.InTurn] there are no slices: the key is the submitter's effective priority, and only
// its own jobs' order follows from sums.
//
// With accounting groups, the jobs of one group are ordered as above. Groups with the same parent
// are then merged, where the parent's own submitters count as one of these groups: a job's key is
// (what the group uses + the weight of its jobs up to and including this one) / the group's quota.
// Keys up to 1 are within the quota; keys above 1 are surplus, which is served later and goes to
// groups in proportion to their quotas, as in HTCondor. HTCondor negotiates for one whole group
// after the other, starting with the one that uses the smallest part of its quota; here the jobs of
// groups alternate, so that no group gets all of the good slots, while the amounts are the same.
// Groups without a quota come after all groups with one. GROUP_AUTOREGROUP lets a group have
// surplus, but in the same way, not by the priorities of its users among all others. Jobs that are
// passed over ([Waiting].Passed) keep their places and do not count in the sums of other jobs, or a
// group, or user, would lose its part to others by jobs that never run. For each other they count,
// user by user, so that not all of them come first at once when they can start. Those before which
// most others start count last, or a user's jobs that can start would wait behind his others.
//
// If GROUP_SORT_EXPR is not HTCondor's default, whole groups come one after the other, in the order
// of its values: first each group's jobs within its quota, then all surplus.
type Share struct {
	keys   map[backfill.JobID]float64
	jobs   []Waiting
	mixed  bool // there are groups
	queues map[string]*queue
	a      *Accountant
	nodes  map[*group]*node
	turns  map[*group]int // see [tree.turns]
}

// queue holds a submitter's waiting jobs, next first.
type queue struct {
	node                 *node
	used, priority, most float64   // most is the floor: up to it jobs come first
	inTurn               bool      // see [Settings.InTurn]
	prios                []int64   // of the jobs
	sums                 []float64 // of what counts, up to and including each job
	arrived              float64   // weight of the jobs that Arrive added
}

// node is a group as it was when the Share was made.
type node struct {
	group  // a copy: its use and quotas
	parent *node
	own    lane // its submitters' jobs, by their keys among these
	merged lane // the jobs of its submitters and subgroups, by their keys within the group
	mixed  bool // there are groups, so own and merged differ
	// turn is the group's turn of so many; 0 of 0: groups take no turns.
	turn, turns int
}

// inTurn returns the key of a job for one that places it in its group.
func (n *node) inTurn(key float64) float64 {
	if key <= 1 { // within the quota
		return float64(n.turn) + key/2
	}
	return float64(n.turns+n.turn) + 1 - 1/(1+math.Log1p(key))
}

// lane is a list of jobs: their keys in ascending order, and the running sums of their weights.
type lane struct{ keys, sums []float64 }

// noQuota is the upper bound of the keys of groups with a quota. Keys of groups without one are
// above it.
const noQuota = 1e9

// least is the smallest weight that a job counts as, so that each job's key is above that of the
// job before it.
const least = 1e-3

// placed is a job, by its index, with its weight and its key at one level of the tree of groups.
type placed struct {
	job    int
	key    float64
	weight float64
}

// Share computes the fair order of waiting jobs, given in the order of [backfill.Compare], from the
// use of the last Update and the quotas of the last Divide. It takes O(n log n) for each level of
// groups.
func (a *Accountant) Share(jobs []Waiting) *Share {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := &Share{
		keys: make(map[backfill.JobID]float64, len(jobs)), jobs: jobs, queues: map[string]*queue{}, a: a,
		mixed: len(a.tree.all) > 1,
		nodes: map[*group]*node{}, turns: a.tree.turns(a.clock.Updated),
	}
	lists, vain := map[*node][]placed{}, make([]float64, len(jobs))
	for _, own := range bySubmitter(jobs) {
		q := s.queue(jobs[own[0]].Submitter)
		slices.SortStableFunc(own, func(x, y int) int { return cmp.Compare(jobs[y].Prio, jobs[x].Prio) })
		s.rank(own, vain)
		sum := 0.0
		for _, i := range own {
			p := placed{job: i, weight: max(jobs[i].Weight, least)}
			sum += s.counts(p)
			q.prios, q.sums = append(q.prios, jobs[i].Prio), append(q.sums, sum)
			p.key = q.key(sum + vain[i])
			lists[q.node] = append(lists[q.node], p)
		}
	}
	if a.settings.InTurn && a.settings.GlobalPrios {
		for _, list := range lists {
			s.byPrio(list)
		}
	}
	var all []placed
	if s.turns == nil {
		all = s.merge(a.tree.root, lists)
	} else {
		all = s.takeTurns(lists)
	}
	for _, p := range all {
		s.keys[jobs[p.job].ID] = p.key
	}
	return s
}

// rank fills in, for those of a submitter's jobs that are passed over, the weights of such jobs up to and
// including each one.
func (s *Share) rank(own []int, vain []float64) {
	var passed []int
	for _, i := range own {
		if s.jobs[i].Passed {
			passed = append(passed, i)
		}
	}
	slices.SortStableFunc(passed, func(x, y int) int { return cmp.Compare(s.jobs[x].Vain, s.jobs[y].Vain) })
	sum := 0.0
	for _, i := range passed {
		sum += max(s.jobs[i].Weight, least)
		vain[i] = sum
	}
}

// bySubmitter returns the indexes of each submitter's jobs, by the first ones.
func bySubmitter(jobs []Waiting) (all [][]int) {
	at := map[string]int{}
	for i, j := range jobs {
		n, known := at[j.Submitter]
		if !known {
			n = len(all)
			at[j.Submitter], all = n, append(all, nil)
		}
		all[n] = append(all[n], i)
	}
	return all
}

// Key returns the key of a job; ok is false if the job was passed neither to [Accountant.Share] nor
// to [Share.Arrive].
func (s *Share) Key(id backfill.JobID) (key float64, ok bool) {
	key, ok = s.keys[id]
	return key, ok
}

// Arrive adds one more waiting job and returns its key. The job comes after the submitter's jobs of
// the same or a higher JobPrio and after all that arrived earlier; the keys of other jobs do not
// change until the next Share. It takes O(log n).
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
	q.arrived += max(w.Weight, least)
	before := 0.0 // the weight ahead of the job in its queue
	if ahead > 0 {
		before = q.sums[ahead-1]
	}
	key := q.key(before + q.arrived)
	if n := q.node; n.mixed {
		before += n.own.upTo(key) - upTo(q.sums, key, q.key) // in its group
		keyOf := func(sum float64) float64 { return groupKey(n.used+sum, n.quota) }
		key = keyOf(before + q.arrived)
		if n.turns > 0 {
			s.keys[w.ID] = n.inTurn(key)
			return s.keys[w.ID]
		}
		before += n.merged.upTo(key) - upTo(n.own.sums, key, keyOf)
		for ; n.parent != nil; n = n.parent {
			keyOf = func(sum float64) float64 { return groupKey(n.subtreeUsed+sum, n.subtreeQuota) }
			key = keyOf(before + q.arrived)
			before += n.parent.merged.upTo(key) - upTo(n.merged.sums, key, keyOf)
		}
	}
	s.keys[w.ID] = key
	return key
}

// queue returns the submitter's queue and creates it if there is none.
func (s *Share) queue(name string) *queue {
	q := s.queues[name]
	if q == nil {
		g, isGroup := s.a.groupOf(s.a.accounts[name], name)
		if isGroup { // no submitter has the name of a group
			g = s.a.tree.root
		}
		q = &queue{node: s.node(g)}
		s.a.fill(q, name)
		s.queues[name] = q
	}
	return q
}

func (q *queue) key(sum float64) float64 {
	key := (q.used + sum) * q.priority
	if q.inTurn {
		key = keyInTurn(q.priority, sum)
	}
	if q.used+sum <= q.most {
		return -1 / (1 + key) // rises with key too, and is below all other keys
	}
	return key
}

func (s *Share) node(g *group) *node {
	n := s.nodes[g]
	if n == nil {
		n = &node{group: *g, mixed: s.mixed, turn: s.turns[g], turns: len(s.turns)}
		if g.parent != nil {
			n.parent = s.node(g.parent)
		}
		s.nodes[g] = n
	}
	return n
}

// merge returns the jobs of a group and of all groups below it, and fills in the lanes of these
// groups' nodes. If there are groups, the jobs are by ascending key.
func (s *Share) merge(g *group, lists map[*node][]placed) []placed {
	n := s.node(g)
	list := lists[n]
	if !n.mixed {
		return list
	}
	sortPlaced(list)
	n.own = s.rekey(list, n.used, n.quota)
	for _, child := range g.children {
		below := s.merge(child, lists)
		s.rekey(below, child.subtreeUsed, child.subtreeQuota)
		list = append(list, below...)
	}
	sortPlaced(list)
	n.merged = s.laneOf(list)
	return list
}

// takeTurns returns all jobs, in no order, with keys that place one group's after the other's.
func (s *Share) takeTurns(lists map[*node][]placed) (all []placed) {
	for n, list := range lists {
		sortPlaced(list)
		n.own = s.rekey(list, n.used, n.quota)
		for _, p := range list {
			p.key = n.inTurn(p.key)
			all = append(all, p)
		}
	}
	return all
}

// rekey replaces the keys of a group's jobs, which are sorted by key, by the keys that place them
// among the jobs of other groups: (what the group uses + the weights up to and including the job) /
// the group's quota. It returns the old keys, with the running sums of the weights. The first job of
// a user that is passed over stays just before those behind it, however wide it is.
func (s *Share) rekey(list []placed, used, quota float64) lane {
	old, sum := s.laneOf(list), used
	var passed map[string]float64 // weights of such jobs, by user
	for i := range list {
		p, j := &list[i], &s.jobs[list[i].job]
		if !j.Passed {
			sum += p.weight
			p.key = groupKey(sum, quota)
			continue
		}
		if passed == nil {
			passed = map[string]float64{}
		}
		p.key = groupKey(sum+passed[j.User]+least, quota)
		passed[j.User] += p.weight
	}
	return old
}

// counts returns what a job counts for in the sums of its group.
func (s *Share) counts(p placed) float64 {
	if s.jobs[p.job].Passed {
		return 0
	}
	return p.weight
}

func groupKey(weight, quota float64) float64 {
	if quota <= 0 {
		return noQuota + weight
	}
	return min(weight/quota, noQuota)
}

func (s *Share) laneOf(list []placed) (l lane) {
	sum := 0.0
	for _, p := range list {
		sum += s.counts(p)
		l.keys, l.sums = append(l.keys, p.key), append(l.sums, sum)
	}
	return l
}

// upTo returns the total weight of the jobs with keys up to the given one.
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

// upTo returns the total weight of the jobs with keys up to the given one. The jobs are given by the
// running sums of their weights, for which the callback returns keys.
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
