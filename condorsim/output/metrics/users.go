package metrics

import (
	"cmp"
	"slices"
)

// User is what one user got.
type User struct {
	Name                string  `json:"user"`
	Jobs                int     `json:"jobs"`
	CPUSeconds          float64 `json:"cpu_seconds"`
	MeanWait            float64 `json:"mean_wait"`
	MeanBoundedSlowdown float64 `json:"mean_bounded_slowdown"`
}

// ByUser returns what each user got, sorted by name. The bound is that of bounded slowdowns. Jobs
// of unknown users are left out.
func ByUser(jobs []Job, bound int64) []User {
	index := map[string]int{}
	var users []User
	for _, j := range jobs {
		if j.User == "" {
			continue
		}
		i, known := index[j.User]
		if !known {
			i = len(users)
			index[j.User] = i
			users = append(users, User{Name: j.User})
		}
		u := &users[i]
		u.Jobs++
		u.CPUSeconds += float64(j.Procs) * float64(j.work())
		u.MeanWait += j.wait()
		u.MeanBoundedSlowdown += j.boundedSlowdown(bound)
	}
	for i := range users {
		u := &users[i]
		u.MeanWait /= float64(u.Jobs)
		u.MeanBoundedSlowdown /= float64(u.Jobs)
	}
	slices.SortFunc(users, func(a, b User) int { return cmp.Compare(a.Name, b.Name) })
	return users
}

// users sets the number of users, the worst of their mean bounded slowdowns x, and how equal these
// are: Jain's index (Σx)²/(n·Σx²), which is 1 if all are the same and 1/n if one user has it all
// (Jain, Chiu and Hawe, DEC Technical Report 301, 1984).
func (m *Metrics) users(all []User) {
	var sum, squares float64
	for _, u := range all {
		x := u.MeanBoundedSlowdown
		sum += x
		squares += x * x
		m.WorstUserBoundedSlowdown = max(m.WorstUserBoundedSlowdown, x)
	}
	m.Users = float64(len(all))
	m.UserFairness = ratio(sum*sum, m.Users*squares)
}
