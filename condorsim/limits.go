package condorsim

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/concurrency"
)

// On has the workload, whose jobs have ads, run on a pool that has its slots: with the pool's partitions,
// outages and limits.
func (w *Workload) On(pool *pools.Description) error {
	w.Bundles, w.GiveUpAfter, w.Limits = pool.Bundles, pool.GiveUpAfter, pool.Limits
	w.Preemption = preemptionOf(pool)
	if err := w.findScavengers(pool); err != nil {
		return err
	}
	w.take()
	w.giveClocks(pool)
	if err := w.setOutages(pool); err != nil {
		return err
	}
	w.Unheeded = append(w.Unheeded, pool.Unheeded()...)
	w.Unheeded = append(w.Unheeded, w.Schema.Unheeded(w.Slots, w.reported())...)
	return w.CheckChunks()
}

// take sets what the jobs take of limits, by their ads' ConcurrencyLimits. Limits that the pool does not
// have are not bounded. A job whose limits cannot be told is held.
func (w *Workload) take() {
	if len(w.Limits) == 0 {
		return
	}
	charge, nowhere := w.charging(), map[string]int{}
	for i, j := range w.Jobs {
		wants, err := charge(j.Job)
		if err != nil {
			w.Jobs[i].Ad = j.Ad.Clone()
			w.Jobs[i].Ad.SetString(negotiator.Refused, err.Error())
			continue
		}
		for _, one := range wants {
			if !w.limits(one.Name) {
				nowhere[one.Name]++
			}
		}
	}
	if len(nowhere) > 0 {
		w.Unheeded = append(w.Unheeded, "ConcurrencyLimits of jobs name limits that the pool does not have: "+counted(nowhere))
	}
}

// charging returns a function that sets what a job takes of limits, and returns those that it names. Jobs
// that take the same share it.
func (w *Workload) charging() func(*negotiator.Job) ([]concurrency.Limit, error) {
	known, ofSlots := map[string][]negotiator.Take{}, w.ofSlots()
	return func(j *negotiator.Job) ([]concurrency.Limit, error) {
		text, err := limitsOf(j.Ad, ofSlots)
		if err != nil {
			return nil, err
		}
		wants, err := concurrency.Parse(text)
		if err != nil {
			return nil, err
		}
		takes, found := known[text]
		if !found {
			takes = w.takes(wants)
			known[text] = takes
		}
		j.Takes = takes
		return wants, nil
	}
}

// Charge sets what a job that is only asked about takes of limits.
func (w *Workload) Charge(j *negotiator.Job) error {
	if len(w.Limits) > 0 {
		if _, err := w.charging()(j); err != nil {
			return err
		}
	}
	if !w.Grouped() {
		return nil
	}
	cpus := int64(1)
	if chunk, err := w.Schema.Request(j.Ad, 1); err == nil {
		cpus = chunk[0]
	}
	return w.chargeGroup(j, float64(cpus*int64(j.Nodes)))
}

// limits reports whether the pool has a limit of a name.
func (w *Workload) limits(name string) bool {
	return slices.ContainsFunc(w.Limits, func(l negotiator.Limit) bool { return l.Name == name })
}

// counted lists names with how many jobs each, those of most jobs first, a few of them.
func counted(jobs map[string]int) string {
	const most = 5
	names := slices.SortedFunc(maps.Keys(jobs), func(a, b string) int {
		return cmp.Or(cmp.Compare(jobs[b], jobs[a]), cmp.Compare(a, b))
	})
	var told []string
	for _, name := range names[:min(len(names), most)] {
		told = append(told, fmt.Sprintf("%s (%d)", backfill.Printable(name, most*most), jobs[name]))
	}
	if n := len(names) - most; n > 0 {
		told = append(told, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(told, ", ")
}

// limitsOf returns the limits that a job's ad names. Jobs are charged before they have a slot, so it is
// an error if they depend on it, or on when the job starts.
func limitsOf(ad *classad.ClassAd, ofSlots func(name string) bool) (string, error) {
	value := ad.Literal(pools.LimitsOfJobs)
	if value.Kind() == classad.Undefined {
		var outside classad.Outside
		var err error
		value, err = negotiator.EvaluateAlone(ad, pools.LimitsOfJobs, &classad.Meter{}, &outside)
		if err != nil {
			return "", err
		}
		if outside.More || slices.ContainsFunc(outside.Names, ofSlots) {
			return "", errors.New("its ConcurrencyLimits depend on the slot, the clock or chance, which simulations " +
				"do not support: write a text such as \"matlab:2, ansys\", or what is one by the job's ad alone")
		}
	}
	text, isText := value.Text()
	if !isText && value.Kind() != classad.Undefined {
		return "", fmt.Errorf("its ConcurrencyLimits are %v: must be a text such as \"matlab:2, ansys\"", value)
	}
	return text, nil
}

// ofSlots returns a function that tells whether any slot has an attribute.
func (w *Workload) ofSlots() func(name string) bool {
	known := map[string]bool{}
	return func(name string) bool {
		has, asked := known[name]
		if !asked {
			has = slices.ContainsFunc(w.Slots, func(s *negotiator.Slot) bool {
				_, there := s.Ad.Lookup(name)
				return there
			})
			known[name] = has
		}
		return has
	}
}

// takes returns what a job takes that wants this, rounded up.
func (w *Workload) takes(wants []concurrency.Limit) (takes []negotiator.Take) {
	for _, one := range wants {
		if amount := negotiator.AmountOf(one.Wanted); w.limits(one.Name) && amount > 0 {
			takes = append(takes, negotiator.Take{Limit: one.Name, Amount: amount})
		}
	}
	return takes
}

// LimitUse is how much of a limit was in use during a simulation, from the first submission to the last
// end, by the runs of jobs that came to their ends.
type LimitUse struct {
	Name string `json:"name"`
	// Height is how much there is, Mean and Most how much was in use on average and at most.
	Height float64 `json:"height"`
	Mean   float64 `json:"mean"`
	Most   float64 `json:"most"`
	// Full is for how long all was in use, in seconds, and FullShare which part of the time that is.
	Full      int64   `json:"full_seconds"`
	FullShare float64 `json:"full_share"`
	// Jobs are those that took of it, and Waited those for which it had no room at some time while they
	// waited.
	Jobs   int `json:"jobs"`
	Waited int `json:"jobs_waited"`
}

// Limits says how much of each limit was in use, also of the quotas of groups that accept no surplus and of
// the ceilings of users.
func (r *Result) Limits() (all []LimitUse) {
	for _, l := range slices.Concat(r.Workload.Limits, r.Workload.Quotas) {
		all = append(all, r.limit(l))
	}
	return all
}

// step is how much of a limit is in use from an instant on.
type step struct {
	at   backfill.Time
	used int64
}

// taken returns how much of a limit a job takes.
func taken(j *negotiator.Job, limit string) int64 {
	for _, t := range j.Takes {
		if t.Limit == limit {
			return t.Amount
		}
	}
	return 0
}

func (r *Result) limit(l negotiator.Limit) LimitUse {
	var steps []step
	var first, last backfill.Time = backfill.Forever, 0
	for i, o := range r.Outcomes {
		if !o.Ended || r.Workload.Jobs[i].Scavenger {
			continue
		}
		first, last = min(first, r.Workload.Jobs[i].Submit), max(last, o.End)
		if amount := taken(r.Workload.Jobs[i].Job, l.Name); amount > 0 {
			steps = append(steps, step{o.Start, amount}, step{o.End, -amount})
		}
	}
	steps = addUp(steps)
	use := LimitUse{Name: l.Name, Height: inUnits(l.Height)}
	for i, s := range steps {
		next := s.at
		if i+1 < len(steps) {
			next = steps[i+1].at
		}
		use.Most = max(use.Most, inUnits(s.used))
		use.Mean += inUnits(s.used) * float64(next-s.at)
		if s.used >= l.Height {
			use.Full += int64(next - s.at)
		}
	}
	if last > first {
		use.Mean /= float64(last - first)
		use.FullShare = float64(use.Full) / float64(last-first)
	}
	most := newPeaks(steps)
	for i, o := range r.Outcomes {
		j := r.Workload.Jobs[i]
		amount := taken(j.Job, l.Name)
		if !o.Ended || amount == 0 || j.Scavenger {
			continue
		}
		use.Jobs++
		// from the step during which the job came to that of its start
		from := max(0, sort.Search(len(steps), func(i int) bool { return steps[i].at > j.Submit })-1)
		to := sort.Search(len(steps), func(i int) bool { return steps[i].at >= o.Start })
		if most.within(from, to) > l.Height-amount {
			use.Waited++
		}
	}
	return use
}

// addUp sorts changes, and returns what is in use from each instant on.
func addUp(changes []step) (steps []step) {
	slices.SortFunc(changes, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	var used int64
	for i, c := range changes {
		if used += c.used; i+1 == len(changes) || changes[i+1].at != c.at {
			steps = append(steps, step{c.at, used})
		}
	}
	return steps
}

// peaks finds the most that is in use over any number of steps: the second half has the steps, and each
// place i before has the greater of those at 2i and 2i+1.
type peaks []int64

func newPeaks(steps []step) peaks {
	p := make(peaks, 2*len(steps))
	for i, s := range steps {
		p[len(steps)+i] = s.used
	}
	for i := len(steps) - 1; i > 0; i-- {
		p[i] = max(p[2*i], p[2*i+1])
	}
	return p
}

// within returns the most that is in use in steps from one to before another; if there are none, less than
// any limit leaves.
func (p peaks) within(from, to int) int64 {
	most := int64(math.MinInt64)
	for from, to = from+len(p)/2, to+len(p)/2; from < to; from, to = from/2, to/2 {
		if from%2 == 1 {
			most = max(most, p[from])
			from++
		}
		if to%2 == 1 {
			to--
			most = max(most, p[to])
		}
	}
	return most
}

func inUnits(amount int64) float64 { return float64(amount) / negotiator.LimitUnit }
