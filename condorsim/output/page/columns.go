package page

import "slices"

// few returns the table of all cells for the page, which shows a few of its columns at first: what
// a cell is, and the measures that are asked for most. With every metric the table is ten screens
// wide.
func (s *Study) few() Table {
	t := s.all().WithHours()
	first := []string{"Cell", "State", "Trace", "Scheduler", "Load", "Seed", "Jobs"}
	for _, m := range s.Measures {
		if slices.Contains([]string{"mean_wait", "longest_wait", "mean_bounded_slowdown", "utilisation"}, m.Name) {
			first = append(first, m.Label, m.Label+", hours")
		}
	}
	for i := range t.Columns {
		t.Columns[i].First = slices.Contains(first, t.Columns[i].Title)
	}
	return t
}

// Choosable reports whether the page shows some of the columns at first, and lets readers choose.
func (t Table) Choosable() bool {
	return slices.ContainsFunc(t.Columns, func(c Column) bool { return c.First })
}
