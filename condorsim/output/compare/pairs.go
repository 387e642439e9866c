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
	// The rows of B with the same name are a list: its first row, and for each row the next one, from 1.
	first, next := make(map[string]int32, len(s.b)), make([]int32, len(s.b))
	for i := len(s.b) - 1; i >= 0; i-- {
		next[i] = first[s.b[i].Job]
		first[s.b[i].Job] = int32(i) + 1 //nolint:gosec // tables have fewer rows
	}
	taken := make([]bool, len(s.b))
	find := func(row *schedules.Row, sameSubmit bool) int32 {
		for at := first[row.Job]; at > 0; at = next[at-1] {
			if !taken[at-1] && (!sameSubmit || s.b[at-1].Submit == row.Submit) {
				taken[at-1] = true
				return at - 1
			}
		}
		return -1
	}
	var left []int32
	for i := range s.a {
		at := int32(i) //nolint:gosec // tables have fewer rows
		if found := find(&s.a[i], true); found >= 0 {
			s.pairs = append(s.pairs, pair{at, found})
		} else {
			left = append(left, at)
		}
	}
	for _, at := range left {
		row := &s.a[at]
		found := find(row, false)
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
