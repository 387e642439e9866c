package condorsim

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// Quotas of groups that accept no surplus, and ceilings of users, are limits of the plan, as on a real pool
// (negotiator/htcondor/track/limits.go): the accountant says which of them apply to a job, and how high they
// are. Here the negotiator is told of all of them, also of those that cannot bind.

// Grouped reports whether groups share the pool by quotas, or users have ceilings.
func (w *Workload) Grouped() bool { return len(w.Groups)+len(w.Ceilings) > 0 }

// ErrFairGroups is the error of [RunFair] where groups have quotas.
var ErrFairGroups = errors.New("fair start times are not known where groups have quotas or users have ceilings")

// submitter returns in whose name a job is: that of [Job.Submitter], and if the pool says of which group its
// user is, of that group.
func (w *Workload) submitter(j *Job) string {
	name := j.Submitter()
	if len(w.Groups) == 0 || j.Labels["account"] != "" {
		return name
	}
	group := w.Groups.Of(j.User, j.Labels["group"])
	if group == "" {
		return name
	}
	full := group + "." + cmp.Or(name, unknownUser)
	if accountant.CheckName(accountOf(full)) != nil {
		return group + "." + unknownUser
	}
	return full
}

// submitters returns each job's submitter. Jobs of one have the same text.
func (w *Workload) submitters() []string {
	type origin struct{ account, user, group string }
	known, all := map[origin]string{}, make([]string, len(w.Jobs))
	for i := range w.Jobs {
		j := &w.Jobs[i]
		from := origin{account: j.Labels["account"], user: j.User}
		if len(w.Groups) > 0 {
			from.group = j.Labels["group"]
		}
		name, found := known[from]
		if !found {
			name = w.submitter(j)
			known[from] = name
		}
		all[i] = name
	}
	return all
}

// emptyGroups returns the groups that no job is of, nor of any group below.
func (w *Workload) emptyGroups() (names []string) {
	used := map[string]bool{}
	for _, submitter := range w.submitters() {
		for name := strings.ToLower(submitter); !used[name]; {
			used[name] = true
			name = name[:max(0, strings.LastIndexByte(name, '.'))]
		}
	}
	for i := range w.Groups {
		if name := w.Groups[i].Name; !used[strings.ToLower(name)] {
			names = append(names, name)
		}
	}
	return names
}

// weigh sets what the jobs count for in shares and quotas while they wait: the least of the cpus that they
// would occupy.
func (w *Workload) weigh() {
	least, _ := w.leastOccupied()
	requests := w.Requests()
	w.weights = make([]float64, len(w.Jobs))
	for i := range w.Jobs {
		cpus := least[i][0]
		if requests[i] != nil {
			cpus = max(cpus, requests[i][0]*int64(w.Jobs[i].Nodes)) // of chunks that are alike
		}
		w.weights[i] = float64(cpus)
	}
}

// newAccountant returns an accounting of the workload's pool in which nobody has used anything.
func (w *Workload) newAccountant(p Priorities) (*accountant.Accountant, error) {
	s := accountant.DefaultSettings()
	s.HalfLife = float64(cmp.Or(p.HalfLife, DefaultHalfLife))
	s.Groups = w.Groups.Accounting()
	a, err := accountant.New(s)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(p.Factors)) {
		if err = a.SetFactor(accountOf(name), p.Factors[name]); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.Ceilings)) {
		if err = a.SetCeiling(accountOf(name), w.Ceilings[name]); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// group has the pool's groups and ceilings hold for the workload, whose jobs take of them: but for scavengers, which
// use what nobody else does.
func (w *Workload) group(pool *pools.Description) error {
	w.Groups, w.Ceilings = pool.Groups, pool.Ceilings
	if !w.Grouped() {
		return nil
	}
	w.weigh()
	a, err := w.newAccountant(Priorities{})
	if err != nil {
		return err
	}
	if err = cmp.Or(a.Update(time.Unix(1, 0), nil), a.Divide(float64(w.Capacity()[0]), nil)); err != nil {
		return err
	}
	q := newQuotas(a)
	for i, submitter := range w.submitters() {
		takes := q.add(w.Jobs[i].Takes, accountOf(submitter), w.weights[i])
		if !w.Jobs[i].Scavenger {
			w.Jobs[i].Takes = takes
		}
	}
	for _, name := range q.names {
		if most := q.most[name]; !math.IsInf(most, 1) {
			w.Quotas = append(w.Quotas, negotiator.Limit{Name: name, Height: negotiator.HeightOf(most, 0)})
		}
	}
	return nil
}

// chargeGroup adds to what a job takes that is only asked about what it takes of quotas.
func (w *Workload) chargeGroup(j *negotiator.Job, requests float64) error {
	if j.Scavenger {
		return nil
	}
	a, err := w.newAccountant(Priorities{})
	if err != nil {
		return err
	}
	q := newQuotas(a)
	j.Takes = q.add(j.Takes, accountOf(w.submitter(&Job{Job: j})), requests)
	return nil
}

// quotas are the limits that the accountant makes of quotas and ceilings.
type quotas struct {
	bounds *accountant.Bounds
	wants  map[string][]accountant.Want // of one cpu, by account
	names  []string                     // of limits that somebody takes of
	most   map[string]float64           // how high they are; +Inf: they do not bind
	takes  map[charge][]negotiator.Take // jobs that take the same share it
}

// charge is what a job takes of quotas, and of other limits.
type charge struct {
	account string
	weight  float64
	others  *negotiator.Take // the first of them
}

func newQuotas(a *accountant.Accountant) *quotas {
	none := accountant.NewLimits(func(string) (string, bool) { return "", false })
	return &quotas{
		bounds: a.Bounds(none), wants: map[string][]accountant.Want{}, most: map[string]float64{},
		takes: map[charge][]negotiator.Take{},
	}
}

// of returns what a cpu of an account takes of quotas and ceilings.
func (q *quotas) of(account string) []accountant.Want {
	wants, known := q.wants[account]
	if !known {
		wants = q.bounds.Of(accountant.Candidate{Submitter: account, Weight: 1})
		q.wants[account] = wants
		for _, w := range wants {
			if _, there := q.most[w.Name]; !there {
				q.names, q.most[w.Name] = append(q.names, w.Name), w.Max
			}
		}
	}
	return wants
}

// add returns what a job takes of limits, and what it takes of quotas and ceilings.
func (q *quotas) add(takes []negotiator.Take, account string, weight float64) []negotiator.Take {
	key := charge{account: account, weight: weight}
	if len(takes) > 0 {
		key.others = &takes[0]
	}
	all, known := q.takes[key]
	if !known {
		all = slices.Clip(takes)
		for _, w := range q.of(account) {
			if amount := negotiator.AmountOf(w.Amount * weight); amount > 0 && !w.Exempt && !math.IsInf(w.Max, 1) {
				all = append(all, negotiator.Take{Limit: w.Name, Amount: amount})
			}
		}
		q.takes[key] = all
	}
	return all
}

// bounded is what binds groups and users in a run: the quotas and ceilings, and how much of them is in use.
type bounded struct {
	a     *accounts
	total int64                        // of the pool's cpus, by which the quotas are known
	most  map[string]float64           // of each limit, as the accountant last said
	wants map[string][]accountant.Want // of one cpu, by account
	used  map[string]float64
	known map[string]int64 // of that, as the negotiator knows what jobs take
	told  map[string]int64 // the heights
}

func newBounded(a *accounts) *bounded {
	return &bounded{
		a: a, total: -1, used: map[string]float64{}, known: map[string]int64{}, told: map[string]int64{},
	}
}

// add notes that a job starts, or with -1 that its run is over, and what it occupies.
func (b *bounded) add(id backfill.JobID, weight float64, sign int64) {
	if b == nil {
		return
	}
	for _, w := range b.wants[b.a.submitters[id]] {
		b.used[w.Name] += weight
	}
	for _, t := range b.a.w.Jobs[id].Takes {
		b.known[t.Limit] += sign * t.Amount
	}
}

// tell adds to the delta the limits that are new or have another height: as the pool has more or fewer
// slots, or as jobs occupy more than they were known to.
func (b *bounded) tell(d *negotiator.Delta) error {
	if b == nil {
		return nil
	}
	if b.total != b.a.total {
		if err := b.a.divide(); err != nil {
			return err
		}
		q := newQuotas(b.a.accountant)
		for _, account := range b.a.names {
			q.of(account)
		}
		b.total, b.most, b.wants = b.a.total, q.most, q.wants
	}
	limits := slices.Clip(d.Limits)
	for _, l := range b.a.w.Quotas {
		height := negotiator.HeightOf(b.most[l.Name]-b.used[l.Name], float64(b.known[l.Name]))
		if before, known := b.told[l.Name]; !known || before != height {
			b.told[l.Name] = height
			limits = append(limits, negotiator.Limit{Name: l.Name, Height: height})
		}
	}
	d.Limits = limits
	return nil
}
