package compare

import (
	"cmp"
	"slices"
)

// Job is a job in both schedules. Times are in seconds.
type Job struct {
	Name   string `json:"job"`
	User   string `json:"user,omitempty"`
	Cpus   int64  `json:"cpus"`
	Run    int64  `json:"run"`
	Submit int64  `json:"submit"`
	A      int64  `json:"wait_a"`
	B      int64  `json:"wait_b"`
	// Difference is B less A.
	Difference int64 `json:"difference"`
}

// job returns the job of a pair.
func (s *sides) job(i int) Job {
	a, b := &s.a[s.pairs[i].a], &s.b[s.pairs[i].b]
	return Job{
		Name: a.Job, User: s.user(i), Cpus: a.Cpus, Run: a.Run, Submit: a.Submit, A: wait(a), B: wait(b),
		Difference: wait(b) - wait(a),
	}
}

// extremes finds who gained and who lost most, and counts all who did.
func (c *Comparison) extremes(s *sides) {
	var shorter, longer []int32
	for i := range s.pairs {
		at := int32(i) //nolint:gosec // tables have fewer rows
		switch change := s.change(i); {
		case change < 0:
			shorter = append(shorter, at)
		case change > 0:
			longer = append(longer, at)
		default:
			c.Same++
		}
	}
	c.Shorter, c.Longer = len(shorter), len(longer)
	c.Gained, c.Lost = s.most(shorter), s.most(longer)
}

// most returns the jobs of some pairs that changed most; of equal ones the first in order of jobs.
func (s *sides) most(pairs []int32) []Job {
	slices.SortFunc(pairs, func(i, k int32) int {
		return cmp.Or(cmp.Compare(size(s.change(int(k))), size(s.change(int(i)))), cmp.Compare(i, k))
	})
	jobs := []Job{}
	for _, i := range pairs[:min(len(pairs), Kept)] {
		jobs = append(jobs, s.job(int(i)))
	}
	return jobs
}
