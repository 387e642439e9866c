package estimate

import (
	"math"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// The keys by which the estimator learned finds jobs that are like one, from those most alike to all
// jobs.
const (
	sameProgram = iota // of a user, with the same executable, request and cpus
	sameShape          // of a user, with the same request and cpus
	sameRequest        // of a user, with the same request
	sameUser
	anyJob
	levels
)

// lastOfKey is how many jobs of a key count: of those that ended, and of those that run.
const lastOfKey = 8

// weights are what the jobs of a key count, the one that ended last first: 0.8^i.
var weights = [lastOfKey]float64{1, 0.8, 0.64, 0.512, 0.4096, 0.32768, 0.262144, 0.2097152}

// executable is the label that says which program a job runs.
const executable = "executable"

// learned learns the last run times of the jobs of each key, for the estimator of that name. What it
// predicts is a mean of them, to which each key adds what those with more alike jobs leave to it.
//
// It computes with floating-point numbers, each operation rounded by itself and all in one order, so
// that every machine predicts the same.
type learned struct {
	userKeys []string
	again    bool // whose job ends, of that user all waiting jobs are predicted anew
	censored bool // running jobs count

	users  map[key]*likes
	shapes map[shape]*likes
	all    [2]likes // of jobs with a request, and without
	runs   map[backfill.JobID]*runner
}

// shape is what the jobs of a key have in common besides whether they state a request; "" and 0 for
// what does not matter.
type shape struct {
	user       *likes
	executable string
	request    backfill.Time
	cpus       int64
}

// likes are the jobs of a key.
type likes struct {
	jobs int // in the history
	// last are those that ended last, the latest at the end: how long they ran, in seconds, or in parts of
	// what they requested if jobs of the key request different times.
	last []float64
	// newest is the one of those that run that started last; nil: none runs.
	newest *runner
	// coarser are the jobs of the next key up to sameRequest, which are known as long as these are: to look
	// them up would take longer than all the rest.
	coarser *likes
}

func newLearned(o options) *learned {
	return &learned{
		userKeys: o.userKeys, again: o.predictAgain, censored: o.censored,
		users: map[key]*likes{}, shapes: map[shape]*likes{}, runs: map[backfill.JobID]*runner{},
	}
}

// scaled reports whether jobs of a key request different times.
func scaled(level int) bool { return level >= sameUser }

// shapesOf returns the shapes of a job's keys up to sameRequest; those without a request are of no key.
// A job that states no request is like others that state none: to all of them the pool gives the same.
func shapesOf(j *Job, user *likes) (all [sameUser]shape) {
	program, request := j.Labels[executable], j.stated()
	if j.Cpus > 0 {
		all[sameShape] = shape{user: user, request: request, cpus: j.Cpus}
		if program != "" {
			all[sameProgram] = shape{user, program, request, j.Cpus}
		}
	}
	all[sameRequest] = shape{user: user, request: request}
	return all
}

// of returns what is known of the job's keys; nil: nothing, or the job is of none at that level.
func (l *learned) of(j *Job) [levels]*likes { return l.find(j, false) }

// made is of, but makes what is missing.
func (l *learned) made(j *Job) [levels]*likes { return l.find(j, true) }

func (l *learned) find(j *Job, add bool) (known [levels]*likes) {
	known[anyJob] = &l.all[hasNone(j)]
	k, ok := keyOf(j, l.userKeys)
	if !ok {
		return known
	}
	user := l.users[k]
	if user == nil {
		if !add {
			return known
		}
		user = &likes{}
		l.users[k] = user
	}
	known[sameUser] = user
	if !add && l.shapes[shape{user: user, request: j.stated()}] == nil {
		return known // nor are more alike jobs known, and mostly nobody has requested the same
	}
	var finer *likes
	for level, s := range shapesOf(j, user) {
		if s.user == nil {
			continue
		}
		var g *likes
		if finer != nil {
			g = finer.coarser
		}
		if g == nil {
			g = l.shapes[s]
		}
		if add {
			if g == nil {
				g = &likes{}
				l.shapes[s] = g
			}
			if finer != nil {
				finer.coarser = g
			}
		}
		known[level], finer = g, g
	}
	return known
}

func hasNone(j *Job) int {
	if j.Unestimated {
		return 1
	}
	return 0
}

// drop forgets those keys of a job of which no job is known any more.
func (l *learned) drop(j *Job, known *[levels]*likes) {
	user := known[sameUser]
	if user == nil {
		return
	}
	for level, s := range shapesOf(j, user) {
		if s.user != nil && known[level].unknown() {
			delete(l.shapes, s)
		}
	}
	if user.unknown() {
		k, _ := keyOf(j, l.userKeys)
		delete(l.users, k)
	}
}

func (g *likes) unknown() bool { return g.jobs == 0 && g.newest == nil }

func (l *learned) learn(e *Ended) {
	for level, g := range l.made(&e.Job) {
		if g == nil {
			continue
		}
		g.jobs++
		if len(g.last) == lastOfKey {
			copy(g.last, g.last[1:])
			g.last = g.last[:lastOfKey-1]
		}
		g.last = append(g.last, measured(level, e.Ran, e.Requested))
	}
}

// measured returns a run time as jobs of a key are compared.
func measured(level int, ran, requested backfill.Time) float64 {
	if scaled(level) {
		return float64(ran) / float64(requested)
	}
	return float64(ran)
}

func (l *learned) forget(e *Ended) {
	known := l.of(&e.Job)
	for _, g := range known {
		if g == nil {
			continue
		}
		if g.jobs == len(g.last) {
			copy(g.last, g.last[1:])
			g.last = g.last[:g.jobs-1]
		}
		g.jobs--
	}
	l.drop(&e.Job, &known)
}

// estimate returns the weighted mean of what is known of jobs like this one, rounded up; what the job
// requests if nothing is known.
func (l *learned) estimate(j *Job, now backfill.Time) backfill.Time {
	mean, known := l.mean(j, now, nil)
	if !known {
		return j.Requested
	}
	return roundedUp(mean)
}

// roundedUp rounds up, but for what may be due to the rounding before: a mean of 100 s is not 101 s.
func roundedUp(mean float64) backfill.Time {
	const slip = 1.0 / (1 << 46)
	return backfill.Time(math.Ceil(mean - float64(mean*slip)))
}

// mean returns the mean run time of jobs like this one; false if none is known. If parts is not nil, it
// gets what each key contributes.
func (l *learned) mean(j *Job, now backfill.Time, parts *[levels]part) (mean float64, known bool) {
	rest := 1.0 // what the keys so far leave to those to come
	for level, g := range l.of(j) {
		if g == nil {
			continue
		}
		unit := 1.0
		if scaled(level) {
			unit = float64(j.stated())
		}
		sum, n := g.ended(unit, float64(j.Requested))
		if g.newest != nil {
			sum, n = g.running(level, unit, float64(j.Requested), now, sum, n)
		}
		if n == 0 {
			continue
		}
		leaves := 1.0
		if level == anyJob {
			leaves = 0
		}
		left := float64(rest * leaves / float64(n+leaves))
		if parts != nil {
			parts[level] = part{share: rest - left, ended: len(g.last), running: g.runs(level)}
		}
		mean += float64(rest * float64(sum/float64(n+leaves)))
		rest, known = left, true
	}
	return mean, known
}

// part is what a key contributes to a mean.
type part struct {
	share          float64
	ended, running int
}

// ended returns the weighted sum of the run times of the jobs that ended last, in a unit and at most the
// given limit, and the sum of their weights.
func (g *likes) ended(unit, limit float64) (sum, n float64) {
	latest := len(g.last) - 1
	for i := range g.last {
		sum += float64(weights[i] * min(float64(g.last[latest-i]*unit), limit))
		n += weights[i]
	}
	return sum, n
}
