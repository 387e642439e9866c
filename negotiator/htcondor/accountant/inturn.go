package accountant

import (
	"cmp"
	"slices"
)

// keyInTurn returns the key of a job of a submitter with this effective priority, given the weight
// of the jobs up to and including this one, if submitters are served one after the other.
// Priorities that differ by less than a ten-thousandth count as one.
func keyInTurn(priority, sum float64) float64 {
	const nearby, many = 1e-4, 1e4
	return priority * (1 + nearby*sum/(sum+many))
}

// byPrio has the jobs of those of a group's submitters who have the same effective priority come in
// the order of their JobPrio, but for what is below floors.
func (s *Share) byPrio(list []placed) {
	alike := map[float64][]int{}
	for i, p := range list {
		if p.key >= 0 {
			priority := s.queues[s.jobs[p.job].Submitter].priority
			alike[priority] = append(alike[priority], i)
		}
	}
	for priority, these := range alike {
		slices.SortStableFunc(these, func(x, y int) int {
			a, b := list[x], list[y]
			return cmp.Or(cmp.Compare(s.jobs[b.job].Prio, s.jobs[a.job].Prio), cmp.Compare(a.key, b.key))
		})
		sum := 0.0
		for _, at := range these {
			sum += list[at].weight
			list[at].key = keyInTurn(priority, sum)
		}
	}
}
