package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/condor-backfill/condor-backfill/condorsim/output/compare/schedules"
	"github.com/condor-backfill/condor-backfill/condorsim/output/intervals"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

// Groups are the groups of jobs whose waits differ most, in all, the greatest difference first; Kept at most.
type Groups struct {
	Rows []Group `json:"rows"`
	// Of is how many groups there are.
	Of int `json:"of"`
}

// Group is the jobs of a user, a width or an hour of arrival. Waits are in seconds, in the mean.
type Group struct {
	Name string `json:"name"`
	Jobs int    `json:"jobs"`
	// CPUSeconds are what the jobs used in A.
	CPUSeconds float64 `json:"cpu_seconds"`
	A          float64 `json:"mean_wait_a"`
	B          float64 `json:"mean_wait_b"`
	SlowdownA  float64 `json:"mean_bounded_slowdown_a"`
	SlowdownB  float64 `json:"mean_bounded_slowdown_b"`
	// Difference is that of the mean waits; HalfWidth is half the width of its 95 % interval, and nil if
	// the group has jobs in fewer than 4 weeks.
	Difference float64  `json:"difference"`
	HalfWidth  *float64 `json:"half_width"`
	// Total is the difference of all waits together.
	Total float64 `json:"total_difference"`
}

// Sure reports whether the interval is on one side of 0.
func (g *Group) Sure() bool {
	return g.HalfWidth != nil && intervals.Difference{Mean: g.Difference, Half: *g.HalfWidth}.Sure()
}

// groups compares the groups of jobs that name gives the same name; jobs without one are in none.
func (s *sides) groups(name func(int) string) (all Groups) {
	index := map[string]int{}
	for i, p := range s.pairs {
		key := name(i)
		if key == "" {
			continue
		}
		at, known := index[key]
		if !known {
			at = len(all.Rows)
			index[key] = at
			all.Rows = append(all.Rows, Group{Name: key})
		}
		g := &all.Rows[at]
		a, b := &s.a[p.a], &s.b[p.b]
		g.Jobs++
		g.CPUSeconds += float64(float64(a.Cpus) * float64(work(a)))
		g.A += float64(wait(a))
		g.B += float64(wait(b))
		g.Total += float64(wait(b) - wait(a))
		g.SlowdownA += slowdown(a)
		g.SlowdownB += slowdown(b)
	}
	all.Of = len(all.Rows)
	slices.SortFunc(all.Rows, func(g, h Group) int {
		return cmp.Or(cmp.Compare(math.Abs(h.Total), math.Abs(g.Total)), cmp.Compare(g.Name, h.Name))
	})
	all.Rows = slices.Clip(all.Rows[:min(Kept, len(all.Rows))])
	clear(index)
	for at, g := range all.Rows {
		index[g.Name] = at
	}
	weeks := s.weeksOf(len(all.Rows), func(i int) int {
		if at, kept := index[name(i)]; kept {
			return at
		}
		return -1
	})
	for at := range all.Rows {
		g := &all.Rows[at]
		n := float64(g.Jobs)
		g.A, g.B, g.SlowdownA, g.SlowdownB = g.A/n, g.B/n, g.SlowdownA/n, g.SlowdownB/n
		g.Difference = g.B - g.A
		if d, known := intervals.OfPairedWeeks(weeks[at][1], weeks[at][0], "mean_wait"); known {
			g.HalfWidth = &d.Half
		}
	}
	return all
}

// weeksOf sums up the waits of some groups, of A and of B, by the week in which jobs came. Group returns the
// number of a pair's group; −1: it is in none.
func (s *sides) weeksOf(groups int, group func(int) int) [][2]metrics.Weeks {
	weeks := make([][2]metrics.Weeks, groups)
	for i, p := range s.pairs {
		at := group(i)
		if at < 0 {
			continue
		}
		for side, row := range []*schedules.Row{&s.a[p.a], &s.b[p.b]} {
			list := &weeks[at][side]
			if len(*list) == 0 || (*list)[len(*list)-1].Week != s.week(i) {
				*list = append(*list, metrics.Week{Week: s.week(i)})
			}
			last := &(*list)[len(*list)-1]
			last.Jobs++
			last.Wait += float64(wait(row))
		}
	}
	return weeks
}
