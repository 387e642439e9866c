package estimate

import (
	"cmp"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Run is a job that runs.
type Run struct {
	Job
	Since backfill.Time
	// Planned is the job in the plan: which one it is, and its place in the order of jobs.
	Planned *backfill.Job
}

// Started tells the set that a job runs, or that one runs since another instant than it was told before.
// Of jobs that start at one instant it does not matter which it is told of first, but it is fastest in order
// of jobs.
func (s *Set) Started(r Run) {
	for _, l := range s.learned {
		l.left(r.Planned.ID)
		l.started(&r)
	}
}

// Left tells the set that a job does not run any more, whether it ended or not. If it is not known to run,
// nothing changes.
func (s *Set) Left(id backfill.JobID) {
	for _, l := range s.learned {
		l.left(id)
	}
}

// HeedsRunning reports whether running jobs count, so that the set must be told which there are, with
// Started and Left.
func (s *Set) HeedsRunning() bool {
	for _, l := range s.learned {
		if l.censored {
			return true
		}
	}
	return false
}

// RunningSince returns since when a job runs, by what the set was told; false: it does not, or running jobs
// do not count.
func (s *Set) RunningSince(id backfill.JobID) (at backfill.Time, ok bool) {
	for _, l := range s.learned {
		if one := l.runs[id]; one != nil {
			return one.Since, true
		}
	}
	return 0, false
}

// PredictsAgain reports whether the waiting jobs of a user are to be predicted anew when one of that user's
// jobs ends; see [Set.UserOf].
func (s *Set) PredictsAgain() bool {
	for _, l := range s.learned {
		if l.again {
			return true
		}
	}
	return false
}

// User is a user whose jobs are predicted from one another.
type User struct{ key }

// UserOf returns whose job it is for [Set.PredictsAgain]; false if that is not known.
func (s *Set) UserOf(labels map[string]string) (User, bool) {
	if len(s.learned) == 0 {
		return User{}, false
	}
	k, ok := keyOf(&Job{Labels: labels}, s.learned[0].userKeys)
	return User{k}, ok
}

// runner is a running job. It is in the list of each of its keys, by since when they run.
type runner struct {
	Run
	keys [levels]*likes
	in   [levels]struct{ before, after *runner }
}

func (l *learned) started(r *Run) {
	if !l.censored {
		return
	}
	one := &runner{Run: *r, keys: l.made(&r.Job)}
	l.runs[r.Planned.ID] = one
	for level, g := range one.keys {
		if g != nil {
			g.insert(level, one)
		}
	}
}

func (l *learned) left(id backfill.JobID) {
	one := l.runs[id]
	if one == nil {
		return
	}
	delete(l.runs, id)
	for level, g := range one.keys {
		if g != nil {
			g.remove(level, one)
		}
	}
	l.drop(&one.Job, &one.keys)
}

// later reports whether a job started after another one, or at the same instant and is behind it in the
// order of jobs.
func (r *runner) later(o *runner) bool {
	return cmp.Or(cmp.Compare(r.Since, o.Since), backfill.Compare(r.Planned, o.Planned)) > 0
}

// insert adds a job to those that run. It looks for the place from the latest on, as most jobs are told
// of when they start.
func (g *likes) insert(level int, one *runner) {
	after, before := (*runner)(nil), g.newest
	for before != nil && before.later(one) {
		after, before = before, before.in[level].before
	}
	one.in[level].before, one.in[level].after = before, after
	if before != nil {
		before.in[level].after = one
	}
	if after == nil {
		g.newest = one
	} else {
		after.in[level].before = one
	}
}

func (g *likes) remove(level int, one *runner) {
	before, after := one.in[level].before, one.in[level].after
	if before != nil {
		before.in[level].after = after
	}
	if after == nil {
		g.newest = before
	} else {
		after.in[level].before = before
	}
}

// running adds to the sum and the weights of the jobs that ended those that started last. One that has
// run for a counts as one of the ended jobs that ran longer, whichever; if there are none, it counts as
// ending at 2a.
func (g *likes) running(level int, unit, limit float64, now backfill.Time, sum, n float64) (float64, float64) {
	latest, counted := len(g.last)-1, 0
	for r := g.newest; r != nil && counted < lastOfKey; r = r.in[level].before {
		counted++
		so := measured(level, max(0, now-r.Since), r.stated())
		above, weight := 0.0, 0.0
		for i, w := range weights[:len(g.last)] {
			if ran := g.last[latest-i]; ran > so {
				above += float64(w * min(float64(ran*unit), limit))
				weight += w
			}
		}
		if n++; weight > 0 {
			sum += above / weight
		} else {
			sum += min(float64(2*float64(so*unit)), limit)
		}
	}
	return sum, n
}

// runs returns how many running jobs count.
func (g *likes) runs(level int) (n int) {
	for r := g.newest; r != nil && n < lastOfKey; r = r.in[level].before {
		n++
	}
	return n
}
