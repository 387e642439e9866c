package verdict

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/witness"
)

// Alike is up to how many seconds apart two starts count as the same: the observer's are decisions,
// and the live ones have been claimed and begun.
const Alike = 15

// Period bounds the jobs that are judged, by when they were submitted; 0: no bound. Until is the
// first instant after it.
type Period struct{ Since, Until int64 }

func (p Period) has(at int64) bool { return at >= p.Since && (p.Until == 0 || at < p.Until) }

// Verdict is what a record says. Times are seconds since 1970, lengths of time are seconds.
type Verdict struct {
	// From and To are the first and last look that the record has; jobs that were submitted outside
	// of Since and Until are left out, 0: no bound.
	From  int64 `json:"from"`
	To    int64 `json:"to"`
	Since int64 `json:"since,omitempty"`
	Until int64 `json:"until,omitempty"`
	// Rules are the policies and orders that decided, oldest first.
	Rules []Rule `json:"rules"`
	// Watched are the stretches of time in which the pool was watched without a gap.
	Watched []Stretch `json:"watched"`
	// Wide is from how many cpus on a job counts as wide: half of the largest slot.
	Wide int64 `json:"wide_cpus"`

	// Started are the jobs that began to run, and Unwatched those of them that are not judged, as
	// nobody watched all of their wait.
	Started   int `json:"started"`
	Unwatched int `json:"unwatched"`
	// All are all judged jobs, WideJobs the wide ones among them. Users and Widths divide them, the
	// former by how many they are.
	All      Group   `json:"all"`
	WideJobs Group   `json:"wide"`
	Users    []Group `json:"users"`
	Widths   []Group `json:"widths"`
	// Reasons are why the observer would not have started jobs at all, the most frequent ones.
	Reasons []Reason `json:"reasons"`
	// Waiting are the jobs that the observer would have started and that were not seen to run by
	// the end; Gone those of them that left the queue.
	Waiting Unstarted `json:"waiting"`
	Gone    Unstarted `json:"gone"`
	// Promises says what became of the starts that the observer promised.
	Promises Promises `json:"promises"`
	// Most are the jobs with the largest differences, earlier and later.
	Most Most `json:"most"`

	Record witness.Found `json:"record"`
}

// Rule is a policy and an order that decided from an instant on.
type Rule struct {
	From       int64  `json:"from"`
	Policy     string `json:"policy"`
	Order      string `json:"order"`
	Guarantees bool   `json:"guarantees"`
}

// Stretch is a stretch of time.
type Stretch struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Reason is why the observer would not have started jobs, and how many.
type Reason struct {
	Why  string `json:"why"`
	Jobs int    `json:"jobs"`
}

// Unstarted are jobs that the observer would have started. Waits are how long they waited after
// that, until they left or the record ends.
type Unstarted struct {
	Jobs  int   `json:"jobs"`
	Wide  int   `json:"wide"`
	Waits Waits `json:"waited_since"`
}

// Most are jobs with large differences, the largest first.
type Most struct {
	Earlier []Case `json:"earlier"`
	Later   []Case `json:"later"`
}

// Case is one job: when it really started, and when it would have.
type Case struct {
	Job    string `json:"job"`
	Schedd string `json:"schedd,omitempty"`
	User   string `json:"user"`
	Cpus   int64  `json:"cpus"`
	Submit int64  `json:"submit"`
	Start  int64  `json:"start"`
	Would  int64  `json:"would"`
}

// mostCases is how many jobs with the largest differences are listed, and mostReasons how many
// reasons.
const mostCases, mostReasons = 10, 5

// sort is how a job would have done.
type sort int

const (
	same    sort = iota
	earlier      // the observer would have started it before
	later        // its plan had a later start
	unknown      // it would have started later, and its plan did not say when
	never        // it would not have started it
)

// judge says how a job that began to run would have done, and when it would have started; 0: that
// is not known.
func judge(j *witness.Job) (how sort, would int64) {
	switch {
	case j.Would != 0 && j.Would < j.Start-Alike:
		return earlier, j.Would
	case j.Would != 0 && j.Would <= j.Start+Alike: // else it came back to the queue
		return same, j.Start
	case j.Held != "":
		return never, 0
	case j.Planned > j.Start+Alike:
		return later, j.Planned
	case j.Planned != 0, j.Start <= j.Submit+Alike: // it began before anybody saw it wait
		return same, j.Start
	default:
		return unknown, 0
	}
}

// blind says why a record has no look that can be read.
func blind(folder string, found witness.Found) error {
	why := "its first frame is not whole, perhaps not yet"
	switch n := len(found.Damaged); {
	case n > 1:
		why = fmt.Sprintf("%s; %d files are damaged", found.Damaged[0], n)
	case n == 1:
		why = found.Damaged[0]
	case found.Bytes > 0:
		why = "its lines are none of this version's"
	}
	return fmt.Errorf("the record in %s has no look at the pool that can be read: %s", folder, why)
}

// Read reads the record in a folder and judges the jobs that were submitted in a period. It errs if
// no look can be read, as nothing then says when the pool was watched, and with [witness.ErrNone] if
// there is no record.
func Read(folder string, period Period) (*Verdict, error) {
	v := &Verdict{
		Since: period.Since, Until: period.Until, Users: []Group{}, Widths: []Group{}, Reasons: []Reason{},
		Most: Most{Earlier: []Case{}, Later: []Case{}},
	}
	jobs, largest, names := map[witness.Key]*witness.Job{}, int64(0), map[string]string{}
	found, err := witness.Read(folder, func(l witness.Line) error {
		if l.Look != nil {
			v.look(l.Look)
			largest = max(largest, l.Look.Largest)
		}
		if l.Job == nil || !period.has(l.Job.Submit) {
			return nil
		}
		l.Job.Schedd, l.Job.User = once(names, l.Job.Schedd), once(names, l.Job.User)
		if j := jobs[l.Job.Key()]; j != nil {
			j.Merge(*l.Job)
		} else {
			jobs[l.Job.Key()] = l.Job
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if v.To == 0 {
		return nil, blind(folder, found)
	}
	v.Record, v.Wide = found, max(2, (largest+1)/2)
	all := make([]*witness.Job, 0, len(jobs))
	for _, j := range jobs {
		all = append(all, j)
	}
	slices.SortFunc(all, func(a, b *witness.Job) int {
		return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.Schedd, b.Schedd), cmp.Compare(a.Job, b.Job))
	})
	v.judge(all)
	return v, nil
}

// once returns a name that is kept once for all jobs that have it.
func once(names map[string]string, name string) string {
	kept, known := names[name]
	if !known {
		names[name], kept = name, name
	}
	return kept
}

// look takes in what a frame begins with.
func (v *Verdict) look(l *witness.Look) {
	if v.From == 0 || l.At < v.From {
		v.From = l.At
	}
	v.To = max(v.To, l.At)
	r := Rule{From: l.At, Policy: l.Policy, Order: l.Order, Guarantees: l.Guarantees}
	if n := len(v.Rules); n == 0 || v.Rules[n-1].Policy != r.Policy || v.Rules[n-1].Order != r.Order {
		v.Rules = append(v.Rules, r)
	}
	if n := len(v.Watched); n > 0 && l.Since <= v.Watched[n-1].To {
		v.Watched[n-1].To = max(v.Watched[n-1].To, l.At)
	} else {
		v.Watched = append(v.Watched, Stretch{max(l.Since, v.From), l.At})
	}
}

// judge judges the jobs, which are sorted.
func (v *Verdict) judge(all []*witness.Job) {
	groups, why := newGroups(v.Wide), map[string]int{}
	var waiting, gone, promised []*witness.Job
	for _, j := range all {
		if j.Promise != 0 && j.Told >= j.Since {
			promised = append(promised, j)
		}
		watched := j.Submit >= j.Since && (!j.Found || j.Would != 0)
		switch {
		case j.Start == 0 && j.Elsewhere != 0: // where, nobody sees
		case j.Start == 0 && j.Would != 0 && watched && j.Gone == 0:
			waiting = append(waiting, j)
		case j.Start == 0 && j.Would != 0 && watched:
			gone = append(gone, j)
		case j.Start == 0:
		case !watched:
			v.Started++
			v.Unwatched++
		default:
			v.Started++
			how, would := judge(j)
			if how == never {
				why[j.Held]++
			}
			v.Most.take(j, how, would)
			groups.add(j, how, would)
		}
	}
	groups.settle(v)
	v.Waiting, v.Gone = v.unstarted(waiting), v.unstarted(gone)
	v.Promises = keptPromises(promised, v.To)
	for reason, n := range why {
		v.Reasons = append(v.Reasons, Reason{reason, n})
	}
	slices.SortFunc(v.Reasons, func(a, b Reason) int { return cmp.Or(b.Jobs-a.Jobs, cmp.Compare(a.Why, b.Why)) })
	v.Reasons = v.Reasons[:min(len(v.Reasons), mostReasons)]
}

// unstarted describes jobs that the observer would have started.
func (v *Verdict) unstarted(jobs []*witness.Job) (u Unstarted) {
	var waits []int64
	for _, j := range jobs {
		u.Jobs++
		if j.Cpus >= v.Wide {
			u.Wide++
		}
		waits = append(waits, max(0, cmp.Or(j.Gone, v.To)-j.Would))
	}
	u.Waits = measure(waits)
	return u
}

// take takes a job into the lists if its difference is among the largest.
func (m *Most) take(j *witness.Job, how sort, would int64) {
	c := Case{Job: j.Job, Schedd: j.Schedd, User: j.User, Cpus: j.Cpus, Submit: j.Submit, Start: j.Start, Would: would}
	switch how {
	case earlier:
		m.Earlier = c.among(m.Earlier)
	case later:
		m.Later = c.among(m.Later)
	case same, unknown, never:
	}
}

// Off is by how many seconds the job would have started at another time.
func (c Case) Off() int64 { return max(c.Would-c.Start, c.Start-c.Would) }

// among puts the job into a list of those with the largest differences, behind those that came
// before.
func (c Case) among(all []Case) []Case {
	i := len(all)
	for i > 0 && all[i-1].Off() < c.Off() {
		i--
	}
	if i == mostCases {
		return all
	}
	all = slices.Insert(all, i, c)
	return all[:min(len(all), mostCases)]
}
