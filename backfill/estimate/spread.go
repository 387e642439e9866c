package estimate

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"
	"sync"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Records are what is known of past run times at one instant: the last jobs of each user and
// project, and of all. They never change, and cost little to take, whatever estimators are chosen.
// All methods may be called concurrently.
type Records struct {
	labels [groups][]string
	last   [groups]map[key][]pastJob

	ended int // of how many jobs something is known

	mu    sync.Mutex
	known map[class]*Spread // what was asked for already
}

// Spread is how the run times of jobs that are alike are spread, as shares of their requests.
type Spread struct {
	points []point // by ratio
	whose  string
}

// pastRun is which share of its request a job used, and by how much it ran longer. What a pool takes
// to notice that a job has ended counts as its run time, so jobs that use all of their request are a
// little longer.
type pastRun struct {
	ratio
	over backfill.Time
}

// pastJob is a past run, and what jobs have in common that are more alike than others of the same
// user.
type pastJob struct {
	pastRun
	cpus    int64
	program string
}

func pastJobOf(e *Ended) pastJob {
	return pastJob{pastRun{accuracyOf(e), max(0, e.Ran-e.Requested)}, e.Cpus, e.Labels[executable]}
}

// compare orders runs by their length, of jobs that request the same.
func (r pastRun) compare(s pastRun) int {
	switch {
	case r.less(s.ratio):
		return -1
	case s.less(r.ratio):
		return 1
	default:
		return cmp.Compare(r.over, s.over)
	}
}

// point is a past run, and the weight of it and of all that are shorter.
type point struct {
	pastRun
	upTo uint64
}

// The groups of jobs that a spread is made of, from the jobs most alike to all.
const (
	ofUser = iota
	ofProject
	ofAll
	groups
)

// lastOfGroup is how many jobs of each group count, the last ones, as users change what they do; of
// a user's, lastAlike more are looked through for those that are more alike than others.
const (
	lastOfGroup = 64
	lastAlike   = 16
)

// sources are what a spread is made of, from the jobs most alike to all. The first are those of the
// user's jobs that are alike by the keys of the estimator learned, as they are often the same program;
// they count again among all of the user's. What is less alike counts as much as so many jobs that are
// more alike, rest: the next source makes up for what a source does not know.
var sources = [...]struct {
	group, level int
	last         int
	rest         uint64
}{
	{ofUser, sameProgram, lastOfKey, 8},
	{ofUser, sameShape, lastOfKey, 8},
	{ofUser, sameRequest, lastAlike, 40},
	{ofUser, sameUser, lastOfGroup, 40},
	{ofProject, anyJob, lastOfGroup, 40},
	{ofAll, anyJob, lastOfGroup, 0},
}

// class is what a spread depends on.
type class struct {
	user, project key
	stated        backfill.Time
	cpus          int64
	program       string
}

// alike reports whether a past job of a group is like those of the class, at a level of the keys.
func (c *class) alike(past *pastJob, level int) bool {
	if level >= sameUser {
		return true
	}
	return past.requested == uint64(c.stated) &&
		(level == sameRequest || c.cpus > 0 && past.cpus == c.cpus) &&
		(level != sameProgram || c.program != "" && past.program == c.program)
}

// records keep the last jobs of each group, in the order of their ends.
type records struct {
	labels [groups][]string
	tables [groups]map[key]*record
}

// record is a group of jobs.
type record struct {
	jobs int       // in the history
	last []pastJob // the last of them; only ever appended to, as snapshots share the memory
}

func newRecords(o options) records {
	r := records{labels: [groups][]string{ofUser: o.userKeys, ofProject: o.projectKeys}}
	for g := range r.tables {
		r.tables[g] = map[key]*record{}
	}
	return r
}

// keysOf returns the job's groups; false: it is in none of that kind.
func keysOf(j *Job, labels *[groups][]string) (keys [groups]key, member [groups]bool) {
	for g := range groups {
		keys[g], member[g] = keyOf(j, labels[g])
	}
	keys[ofAll], member[ofAll] = key{unestimated: j.Unestimated}, true
	return keys, member
}

func (r *records) learn(e *Ended) {
	keys, member := keysOf(&e.Job, &r.labels)
	for g, k := range keys {
		if !member[g] {
			continue
		}
		known := r.tables[g][k]
		if known == nil {
			known = &record{}
			r.tables[g][k] = known
		}
		known.jobs++
		if len(known.last) == lastOfGroup+lastAlike {
			known.last = known.last[1:]
		}
		known.last = append(known.last, pastJobOf(e))
	}
}

// forget drops the oldest job of the history.
func (r *records) forget(e *Ended) {
	keys, member := keysOf(&e.Job, &r.labels)
	for g, k := range keys {
		if !member[g] {
			continue
		}
		known := r.tables[g][k]
		if known.jobs == len(known.last) {
			known.last = known.last[1:]
		}
		if known.jobs--; known.jobs == 0 {
			delete(r.tables[g], k)
		}
	}
}

// Records returns what is known of past run times now. It is nothing if an estimator knows the actual
// run times, as what it predicts is not as uncertain as what users request.
func (s *Set) Records() *Records {
	if s.knows {
		return &Records{labels: s.records.labels, known: map[class]*Spread{}}
	}
	r := &Records{labels: s.records.labels, ended: s.history.Len(), known: map[class]*Spread{}}
	for g, all := range s.records.tables {
		r.last[g] = make(map[key][]pastJob, len(all))
		for k, known := range all {
			r.last[g][k] = known.last
		}
	}
	return r
}

// Len returns of how many jobs something is known.
func (r *Records) Len() int { return r.ended }

// Spread returns how the run times of jobs like this one are spread: by the keys of the estimator
// learned as far as the job's cpus and executable are known, and by its request, user and project.
// It is empty if nothing is known.
func (r *Records) Spread(j *Job) *Spread {
	keys, _ := keysOf(j, &r.labels)
	kind := class{keys[ofUser], keys[ofProject], j.stated(), j.Cpus, j.Labels[executable]}
	kind.user.unestimated = j.Unestimated
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.known[kind]
	if known == nil {
		known = r.spread(&keys, &kind)
		r.known[kind] = known
	}
	return known
}

// spread makes a spread of the sources, each of which counts for what those before it do not know.
func (r *Records) spread(keys *[groups]key, kind *class) *Spread {
	s := &Spread{whose: keys[ofUser].value}
	rest := uint64(1) << 40
	for _, from := range sources {
		first := len(s.points)
		jobs := r.last[from.group][keys[from.group]]
		for i := len(jobs) - 1; i >= 0 && len(s.points) < first+from.last; i-- {
			if kind.alike(&jobs[i], from.level) {
				s.points = append(s.points, point{pastRun: jobs[i].pastRun})
			}
		}
		n := uint64(len(s.points) - first)
		if n == 0 {
			continue
		}
		each := rest / (n + from.rest)
		for i := range s.points[first:] {
			s.points[first+i].upTo = each
		}
		rest -= n * each
	}
	slices.SortFunc(s.points, func(a, b point) int { return a.compare(b.pastRun) })
	var sum uint64
	for i := range s.points {
		sum += s.points[i].upTo
		s.points[i].upTo = sum
	}
	return s
}

// Empty reports that nothing is known.
func (s *Spread) Empty() bool { return len(s.points) == 0 }

// Whose returns the user whose jobs they are; "" if the job names none.
func (s *Spread) Whose() string { return s.whose }

// Draw maps a number, any of those of 64 bits as likely as another, to the run time of a job that
// has run for so long, 0 if it has not started. The larger the number, the longer the run time. It
// is longer than what the job has run, and exceeds the request by no more than a past run did. For a
// job that has run longer than all that are known it is the request.
func (s *Spread) Draw(number uint64, requested, so backfill.Time) backfill.Time {
	run := func(i int) backfill.Time { return max(1, s.points[i].of(requested)+s.points[i].over) }
	n := len(s.points)
	first := 0
	if so > 0 {
		first = sort.Search(n, func(i int) bool { return run(i) > so })
	}
	if first == n {
		return requested
	}
	below := uint64(0)
	if first > 0 {
		below = s.points[first-1].upTo
	}
	at, _ := bits.Mul64(number, s.points[n-1].upTo-below)
	return run(first + sort.Search(n-1-first, func(i int) bool { return s.points[first+i].upTo-below > at }))
}
