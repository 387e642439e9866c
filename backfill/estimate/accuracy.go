package estimate

import (
	"math/bits"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// options holds the values of the options of estimators that learn.
type options struct {
	percentile, threshold, window int
	maxAge                        backfill.Time
	predictAgain, censored        bool
	userKeys, projectKeys         []string
	correct                       backfill.Correction
}

// key is a label and its value, by which jobs are grouped, such as the jobs of one user. Jobs
// without an estimate are a group of their own, as a run time divided by a default cannot be
// compared with one divided by a request.
type key struct {
	label, value string
	unestimated  bool
}

// keyOf returns the key of the job for the first of the labels that the job has; false if it has
// none of them.
func keyOf(j *Job, labels []string) (key, bool) {
	for _, label := range labels {
		if value, ok := j.Labels[label]; ok {
			return key{label: label, value: value, unestimated: j.Unestimated}, true
		}
	}
	return key{}, false
}

// accuracy is the learner that records for each key which share R of its request each job used.
type accuracy struct {
	options
	labels []string
	keys   map[key]*accuracies
	whose  queue[*accuracies] // the record for each job of the history, oldest first; nil: the job has no key
	now    backfill.Time      // when the last job ended
}

func newAccuracy(o options, labels []string) *accuracy {
	return &accuracy{options: o, labels: labels, keys: map[key]*accuracies{}}
}

// accuracies is the record for one key: its jobs that count, in the order of their ends, and sorted
// by R.
type accuracies struct {
	key   key
	jobs  int // number of the key's jobs in the history, also of those that no longer count
	byEnd queue[accurateJob]
	byR   ranked
}

type accurateJob struct {
	ratio
	at backfill.Time
}

func (a *accuracies) push(j accurateJob) {
	a.byEnd.push(j)
	a.byR.add(j.ratio)
}

func (a *accuracies) pop() { a.byR.remove(a.byEnd.pop().ratio) }

func (a *accuracy) learn(e *Ended) {
	a.now = e.At
	known := a.learnsFor(&e.Job)
	a.whose.push(known)
	if known == nil {
		return
	}
	known.jobs++
	known.push(accurateJob{ratio: accuracyOf(e), at: e.At})
	if a.window > 0 && known.byEnd.len() > a.window {
		known.pop()
	}
	a.age(known)
}

// learnsFor returns the record to which a job is to be added, and makes it if there is none; nil if
// the job has no key.
func (a *accuracy) learnsFor(j *Job) *accuracies {
	k, ok := keyOf(j, a.labels)
	if !ok {
		return nil
	}
	known := a.keys[k]
	if known == nil {
		known = &accuracies{key: k}
		a.keys[k] = known
	}
	return known
}

// age drops from a record the jobs that ended longer before the last job than the option max-age
// says.
func (a *accuracy) age(known *accuracies) {
	for a.maxAge > 0 && known.byEnd.len() > 0 && a.now-known.byEnd.at(0).at > a.maxAge {
		known.pop()
	}
}

func (a *accuracy) forget(*Ended) {
	known := a.whose.pop()
	if known == nil {
		return
	}
	if known.byEnd.len() == known.jobs { // else the options window or max-age have dropped the job already
		known.pop()
	}
	if known.jobs--; known.jobs == 0 {
		delete(a.keys, known.key)
	}
}

// of returns the ratio by which to adjust a job's request: the percentile, by nearest rank, of the
// shares of their requests that past jobs with the same key used. It returns one if too few are
// known.
func (a *accuracy) of(j *Job) ratio {
	k, ok := keyOf(j, a.labels)
	if !ok {
		return one
	}
	known := a.keys[k]
	if known == nil {
		return one
	}
	a.age(known)
	n := known.byEnd.len()
	if n == 0 || n < a.threshold {
		return one
	}
	return known.byR.at((a.percentile*n+99)/100 - 1)
}

// estimate returns the adjusted request of a job.
func (a *accuracy) estimate(j *Job) backfill.Time { return a.of(j).of(j.Requested) }

// combined returns an estimator that adjusts requests by the mean of two ratios, that of the user's
// past jobs and that of the project's. If one of these is 1, it uses the other alone.
func combined(user, project *accuracy) func(*Job) backfill.Time {
	return func(j *Job) backfill.Time {
		u, p := user.of(j), project.of(j)
		switch {
		case u.isOne():
			return p.of(j.Requested)
		case p.isOne():
			return u.of(j.Requested)
		default:
			return meanOf(u, p, j.Requested)
		}
	}
}

// ratio is a job's accuracy R: its actual run time over the requested one, at most 1. It is kept as
// a fraction, so that only the estimate is rounded.
type ratio struct{ ran, requested uint64 }

// one is the ratio 1, which does not change a request.
var one = ratio{1, 1}

// accuracyOf returns the share of its request that a job used, at most 1.
func accuracyOf(e *Ended) ratio {
	return ratio{uint64(min(e.Ran, e.Requested)), uint64(e.Requested)}
}

func (r ratio) isOne() bool { return r.ran == r.requested }

// less reports whether r < s.
func (r ratio) less(s ratio) bool {
	high, low := bits.Mul64(r.ran, s.requested)
	high2, low2 := bits.Mul64(s.ran, r.requested)
	return high < high2 || high == high2 && low < low2
}

// of returns r times t, rounded up.
func (r ratio) of(t backfill.Time) backfill.Time {
	whole, rest := r.split(t)
	if rest > 0 {
		whole++
	}
	return backfill.Time(whole)
}

// split returns r times t as whole seconds and a rest, in parts of 1/r.requested of a second.
func (r ratio) split(t backfill.Time) (whole, rest uint64) {
	high, low := bits.Mul64(uint64(max(t, 0)), r.ran)
	return bits.Div64(high, low, r.requested) // the quotient is at most t
}

// meanOf returns the mean of r times t and s times t, rounded up.
func meanOf(r, s ratio, t backfill.Time) backfill.Time {
	wholeR, restR := r.split(t)
	wholeS, restS := s.split(t)
	sum := wholeR + wholeS
	if restR > 0 || restS > 0 {
		sum++
		if (ratio{s.requested - restS, s.requested}).less(ratio{restR, r.requested}) { // more than a second in all
			sum++
		}
	}
	return backfill.Time((sum + 1) / 2) // rounding up before and after halving gives the same as once
}
