package metrics

import "slices"

// The measures of this file show who pays if means over jobs fall: a scheduler lowers those when large
// jobs wait for small ones. Where jobs count as their area, of jobs of one width that run one after
// another the order changes nothing (Schwiegelshohn and Yahyapour, Fairness in parallel job scheduling,
// Journal of Scheduling 3(5), 2000).

// area returns the processor seconds that the job used.
func (j *Job) area() float64 { return float64(j.Procs) * float64(j.work()) }

// weighted sets the means in which jobs count as their area or as their processors. The areas may
// sum up to 0, if no job ran for a second; then both means by area are 0.
func (m *Metrics) weighted(jobs []Job, bound int64) {
	var wait, response, slowdown weightedSum
	for i := range jobs {
		j := &jobs[i]
		wait.add(j.area(), j.wait())
		response.add(j.area(), j.response())
		slowdown.add(float64(j.Procs), j.boundedSlowdown(bound))
	}
	m.AreaWeightedWait, m.AreaWeightedResponse = wait.mean(), response.mean()
	m.ProcessorBoundedSlowdown = slowdown.mean()
}

// weightedSum is Σ w·x and Σ w.
type weightedSum struct{ sum, weights float64 }

func (s *weightedSum) add(weight, x float64) {
	s.sum += float64(weight * x) // rounded before it is added, on every processor
	s.weights += weight
}

// mean returns Σ w·x / Σ w, or 0 if the weights sum up to 0.
func (s *weightedSum) mean() float64 { return ratio(s.sum, s.weights) }

// widths sets the means over the widest 10 % of the jobs and over the narrowest 50 %.
func (m *Metrics) widths(jobs []Job, bound int64) {
	widths := make([]int64, len(jobs))
	for i := range jobs {
		widths[i] = jobs[i].Procs
	}
	slices.Sort(widths)
	n, half := percent(len(jobs), 10), percent(len(jobs), 50)
	widest := groupOf(widths[len(widths)-n:], widths[len(widths)-n])
	narrowest := groupOf(widths[:half], widths[half-1])
	var ties weightedSum
	for i := range jobs {
		j := &jobs[i]
		if j.Procs >= widest.edge {
			ties.add(1, j.wait())
		}
		widest.take(j, j.Procs > widest.edge, bound)
		narrowest.take(j, j.Procs < narrowest.edge, bound)
	}
	m.Widest10WithTiesWait = ties.mean()
	m.Widest10Wait, m.Widest10BoundedSlowdown = widest.wait.mean(), widest.slowdown.mean()
	m.Narrowest50Wait, m.Narrowest50BoundedSlowdown = narrowest.wait.mean(), narrowest.slowdown.mean()
}

// widthGroup is the jobs that are on one side of a width, and the first of those that have it.
type widthGroup struct {
	edge           int64
	left           int // how many jobs as wide as the edge still belong to it
	wait, slowdown weightedSum
}

// groupOf returns the group of the jobs with these widths, of which the edge is the last to belong.
func groupOf(widths []int64, edge int64) widthGroup {
	c := widthGroup{edge: edge}
	for _, width := range widths {
		if width == edge {
			c.left++
		}
	}
	return c
}

// take counts a job if it is beyond the edge, or one of the first at it.
func (c *widthGroup) take(j *Job, beyond bool, bound int64) {
	switch {
	case beyond:
	case j.Procs == c.edge && c.left > 0:
		c.left--
	default:
		return
	}
	c.wait.add(1, j.wait())
	c.slowdown.add(1, j.boundedSlowdown(bound))
}
