package estimate

import (
	"cmp"
	"io"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Job is what an estimator may use to predict the run time of a job.
type Job struct {
	// Name is the job as users know it.
	Name string
	// Requested is the run time that the job requests, at least 1. If the job requests none, it is a
	// default, and Unestimated is true.
	Requested   backfill.Time
	Unestimated bool
	// Stated is what the job itself says, if its request does not count as it is; 0: it does. Jobs are
	// alike if they state the same.
	Stated backfill.Time
	// Cpus are those of all chunks; 0: not known.
	Cpus int64
	// Labels are the job's owner, group, project and the like. Estimators do not change them.
	Labels map[string]string
	// Actual is the run time, which only a simulation knows. Only a [Set] with an oracle uses it.
	Actual backfill.Time
}

// stated returns what the job says that it requests.
func (j *Job) stated() backfill.Time { return cmp.Or(j.Stated, j.Requested) }

// Ended is a job that ran until it completed, with its run time.
type Ended struct {
	Job
	Ran, At backfill.Time // for how long it ran, and when it ended
}

// Uses are the run times to plan a job with, each from 1 to what the job requests.
type Uses struct {
	// Order is the run time that the queue's order uses.
	Order backfill.Time
	// Backfill is the run time with which the waiting job is placed.
	Backfill backfill.Time
	// Running is the run time that is expected of the job once it runs.
	Running backfill.Time
}

// Set holds the estimators for the three uses. Only one goroutine at a time may use it.
type Set struct {
	history    *History
	learners   []learner
	estimators []estimator // one for each that was chosen, even if for several uses
	names      []string    // theirs, as users write them
	bases      []*learned  // by estimator; nil: it is another one
	learned    []*learned  // those among them
	// order, backfill and running are indexes of the list estimators.
	order, backfill, running int
	requested                bool // all three uses have the estimator requested
	knows                    bool // one of them has an estimator that knows the actual run times
	records                  records
	files                    []*named // those that were read
	correct                  backfill.Correction
}

// estimator predicts the run time of a job at an instant.
type estimator func(j *Job, now backfill.Time) backfill.Time

// learner is an estimator's memory of the jobs in the history, which it learns one by one.
type learner interface {
	learn(e *Ended)
	// forget drops what was learned from a job, the oldest of the history, which is leaving it.
	forget(e *Ended)
}

// New makes the estimators. They learn from the history, which belongs to the set from now on, and
// from what Learn adds to it; nil is an empty history. The function open opens files; nil if none
// may be read. The parameter guarantees is true if the policy gives them, see [Settings.Validate],
// and oracle if the actual run times of jobs are known. New returns an error if the settings are
// wrong or a file cannot be read.
func New(s Settings, h *History, guarantees, oracle bool, open func(name string) (io.ReadCloser, error)) (*Set, error) {
	uses, o, err := s.read(guarantees, oracle)
	if err != nil {
		return nil, err
	}
	if h == nil {
		h = NewHistory(0)
	}
	set := &Set{history: h, requested: true, records: newRecords(o), correct: o.correct}
	makes := maker{set: set, options: o, open: open}
	index := map[spec]int{}
	for i, use := range []*int{&set.order, &set.backfill, &set.running} {
		named := uses[i]
		if _, known := index[named]; !known {
			e, err := makes.estimator(named)
			if err != nil {
				return nil, err
			}
			index[named] = len(set.estimators)
			set.estimators, set.names = append(set.estimators, e), append(set.names, named.String())
			set.bases = append(set.bases, nil)
			if named.name == learnedName {
				set.bases[index[named]] = makes.last
				set.learned = append(set.learned, makes.last)
			}
		}
		*use = index[named]
		set.requested = set.requested && named.name == requested
		set.knows = set.knows || named.kind().oracle
	}
	for i := range h.ended.len() {
		set.teach(h.ended.at(i))
	}
	return set, nil
}

// Requested reports whether Estimate would always return what the job requests, so that it need not
// be called.
func (s *Set) Requested() bool { return s.requested }

// Knows reports whether an estimator knows the actual run times of jobs; only such ones look at
// [Job.Actual].
func (s *Set) Knows() bool { return s.knows }

// Correction says what is expected of a running job that has outlived what the set estimated; nil
// has none that could be outlived.
func (s *Set) Correction() backfill.Correction {
	if s == nil {
		return 0
	}
	return s.correct
}

// Estimate returns the run times to plan the job with at an instant, one for each use.
func (s *Set) Estimate(j *Job, now backfill.Time) Uses {
	var known [3]backfill.Time // there is at most one estimator for each use
	for i, estimate := range s.estimators {
		known[i] = max(1, min(estimate(j, now), j.Requested))
	}
	return Uses{Order: known[s.order], Backfill: known[s.backfill], Running: known[s.running]}
}

// Learn adds a job that ended to the history, which may drop its oldest jobs for it, and lets the
// estimators learn from it. Jobs must be reported in the order of their ends; a job that is
// reported late counts as having ended with the one before it.
func (s *Set) Learn(e Ended) {
	dropped := s.history.add(e)
	for i := range dropped {
		s.records.forget(&dropped[i])
		for _, l := range s.learners {
			l.forget(&dropped[i])
		}
	}
	s.teach(s.history.ended.at(s.history.Len() - 1))
}

func (s *Set) teach(e *Ended) {
	s.records.learn(e)
	for _, l := range s.learners {
		l.learn(e)
	}
}

// History returns the history that the set has learned from.
func (s *Set) History() *History { return s.history }
