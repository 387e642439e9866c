package stockmodel

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUsageByDay: a run counts for the days on which it was, and not beyond the last.
func TestUsageByDay(t *testing.T) {
	u := NewUsage(2, 2)
	u.Add(1, day/2, 3*day)
	require.Equal(t, Usage{{0, 0}, {0.5, 1}}, u)
}

// TestPlay has cases that are worked out by hand, of a day on ten slots with jobs of a day.
func TestPlay(t *testing.T) {
	jobs := func(counts ...int) (all []Job) {
		for user, n := range counts {
			for range n {
				all = append(all, Job{User: user, Run: 24})
			}
		}
		return all
	}
	one, two := User{Name: "a", Factor: 1000}, User{Name: "b", Factor: 4000}
	lab := Group{Name: "lab", Static: 3}
	for name, c := range map[string]struct {
		groups []Group
		users  []User
		jobs   []Job
		want   []float64
	}{
		"four times the factor is a quarter of the share": {nil, []User{one, two}, jobs(20, 20), []float64{8, 2}},
		"what one does not want the other has":            {nil, []User{one, two}, jobs(1, 20), []float64{1, 9}},
		"a strict group has its quota": {
			[]Group{lab}, []User{{"lab", "a", 1000}, two}, jobs(20, 4), []float64{3, 4},
		},
		"others have what it leaves": {
			[]Group{lab}, []User{{"lab", "a", 1000}, two}, jobs(1, 20), []float64{1, 9},
		},
		"two groups share by their quotas": {
			[]Group{{"x", 0, 0.8, true}, {"y", 0, 0.2, true}},
			[]User{{"x", "a", 1000}, {"y", "b", 1000}},
			jobs(20, 20),
			[]float64{8, 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Pool{Slots: 10, Groups: c.groups, Users: c.users, HalfLife: day, Cycle: day / 24}
			var got []float64
			for _, used := range Play(p, c.jobs, 1) {
				got = append(got, used[0])
			}
			require.Equal(t, c.want, got)
		})
	}
}
