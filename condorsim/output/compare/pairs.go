package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/condorsim/output/compare/schedules"
)

// Unmatched says which jobs are not compared, and of the compared ones in how far they are not the same.
type Unmatched struct {
	OnlyA Some `json:"only_a"` // in A alone
	OnlyB Some `json:"only_b"`
	// OtherSubmit were submitted at different times, and so are not taken for the same jobs.
	OtherSubmit Some `json:"other_submit"`
	// RanOnlyInA are in both and ran to their ends in A alone; RanInNeither in none.
	RanOnlyInA   Some `json:"ran_only_in_a"`
	RanOnlyInB   Some `json:"ran_only_in_b"`
	RanInNeither Some `json:"ran_in_neither"`
	// OtherRun and OtherCpus are compared although they ran for another time, or on other cpus.
	OtherRun  Some `json:"other_run"`
	OtherCpus Some `json:"other_cpus"`
}

// Some is a number of jobs, and the names of the first of them.
type Some struct {
	Jobs  int      `json:"jobs"`
	Names []string `json:"names,omitempty"`
}

// mostNames bounds the names.
const mostNames = 5

func (s *Some) add(row *schedules.Row) {
	s.Jobs++
	if len(s.Names) < mostNames {
		s.Names = append(s.Names, row.Job)
	}
}

// String names the jobs: "7 jobs (1.0, 1.1, …)".
func (s *Some) String() string {
	jobs := "jobs"
	if s.Jobs == 1 {
		jobs = "job"
	}
	more := ""
	if s.Jobs > len(s.Names) {
		more = ", …"
	}
	return fmt.Sprintf("%s %s (%s%s)", inwords.Whole(s.Jobs), jobs, strings.Join(s.Names, ", "), more)
}

// why says why no job is in both, as far as it is known, and what to do.
func (u *Unmatched) why() string {
	if u.OtherSubmit.Jobs > 0 {
		return fmt.Sprintf(": %s were submitted at different times; give tables of the same workload, or --any-submit "+
			"to go by names alone", &u.OtherSubmit)
	}
	return ": give tables of the same workload"
}

// pair is the same job in both schedules, by the index of its row.
type pair struct{ a, b int32 }

// sides are two schedules and what they have in common.
type sides struct {
	a, b  []schedules.Row
	pairs []pair // by submit time, then by the place in A
	// onlyA and onlyB are the rows without a pair.
	onlyA, onlyB []int32
}

// match finds the pairs: jobs of the same name and submit time. If several have both, the first of A is the
// first of B, and so on.
func (s *sides) match(anySubmit bool) (u Unmatched) {
	type identity struct {
		job    string
		submit int64
	}
	same := newQueues[identity](len(s.b), len(s.b))
	for i := range s.b {
		same.put(identity{s.b[i].Job, s.b[i].Submit}, i)
	}
	taken := make([]bool, len(s.b))
	var left []int32
	for i := range s.a {
		at := int32(i) //nolint:gosec // tables have fewer rows
		if found := same.take(identity{s.a[i].Job, s.a[i].Submit}); found >= 0 {
			taken[found] = true
			s.pairs = append(s.pairs, pair{at, found})
		} else {
			left = append(left, at)
		}
	}
	named := newQueues[string](len(s.b), 0)
	for i := range s.b {
		if !taken[i] {
			named.put(s.b[i].Job, i)
		}
	}
	for _, at := range left {
		row := &s.a[at]
		found := named.take(row.Job)
		if found >= 0 {
			taken[found] = true
		}
		switch {
		case found < 0:
			u.OnlyA.add(row)
			s.onlyA = append(s.onlyA, at)
		case anySubmit:
			s.pairs = append(s.pairs, pair{at, found})
		default:
			u.OtherSubmit.add(row)
			s.onlyA, s.onlyB = append(s.onlyA, at), append(s.onlyB, found)
		}
	}
	for i := range s.b {
		if !taken[i] {
			u.OnlyB.add(&s.b[i])
			s.onlyB = append(s.onlyB, int32(i)) //nolint:gosec // tables have fewer rows
		}
	}
	slices.SortStableFunc(s.pairs, func(p, q pair) int {
		return cmp.Or(cmp.Compare(s.a[p.a].Submit, s.a[q.a].Submit), cmp.Compare(p.a, q.a))
	})
	return u
}

// queues are rows by what they have in common, each in their order: a table may have one name for all its jobs.
type queues[K comparable] struct {
	ends map[K]ends
	next []int32 // of each row the one after it, −1 at the end
}

// ends are the first and the last row of a queue.
type ends struct{ first, last int32 }

// newQueues returns queues for so many rows, with room for so many keys.
func newQueues[K comparable](rows, keys int) queues[K] {
	return queues[K]{make(map[K]ends, keys), make([]int32, rows)}
}

// put appends a row to the queue of its key.
func (q *queues[K]) put(key K, row int) {
	at := int32(row) //nolint:gosec // tables have fewer rows
	q.next[at] = -1
	queue, there := q.ends[key]
	if !there {
		q.ends[key] = ends{at, at}
		return
	}
	q.next[queue.last] = at
	q.ends[key] = ends{queue.first, at}
}

// take returns the first row of a queue and removes it; −1: there is none.
func (q *queues[K]) take(key K) int32 {
	queue, there := q.ends[key]
	if !there {
		return -1
	}
	if next := q.next[queue.first]; next >= 0 {
		q.ends[key] = ends{next, queue.last}
	} else {
		delete(q.ends, key)
	}
	return queue.first
}

// keepRan keeps the pairs that ran to their ends in both, and says what it leaves out and what differs.
func (s *sides) keepRan(u *Unmatched) {
	s.pairs = slices.DeleteFunc(s.pairs, func(p pair) bool {
		a, b := &s.a[p.a], &s.b[p.b]
		switch {
		case a.Ended && b.Ended:
		case a.Ended:
			u.RanOnlyInA.add(a)
		case b.Ended:
			u.RanOnlyInB.add(a)
		default:
			u.RanInNeither.add(a)
		}
		return !a.Ended || !b.Ended
	})
	for _, p := range s.pairs {
		a, b := &s.a[p.a], &s.b[p.b]
		if a.Run != b.Run {
			u.OtherRun.add(a)
		}
		if a.Cpus != b.Cpus {
			u.OtherCpus.add(a)
		}
	}
}
