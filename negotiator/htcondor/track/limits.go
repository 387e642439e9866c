package track

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// Limits are a part of the plan. The negotiator is told what each job takes of all limits that may
// ever apply to it, but of a limit itself only once those who want it cannot all have it at once:
// one that cannot bind costs the plan nothing. Then it stays for as long as any job names it.
//
// What runs outside of the plan takes from the height of a limit: claims of jobs that cannot be
// planned with, jobs that a schedd runs elsewhere, and what running jobs take beyond what the
// negotiator was told of them.

// mostLimits bounds the limits that the negotiator is told of. Users invent names, and each may have
// his [accountant.Allowance] of them.
const mostLimits = 10_000

// limiting is what the negotiator was told of limits.
type limiting struct {
	told map[string]toldLimit
	// takes are what jobs take, which those that take the same share.
	takes map[charge][]negotiator.Take
	// settled are the Specs of jobs that run with limits that depend on the slot.
	settled map[settlement]*observe.Spec
}

// toldLimit is the height of a limit, and the user to whom it is charged that it is there.
type toldLimit struct {
	height int64
	user   string
}

func newLimiting() limiting {
	return limiting{told: map[string]toldLimit{}, takes: map[charge][]negotiator.Take{}, settled: map[settlement]*observe.Spec{}}
}

// restore takes up what a former negotiator was told of limits, as far as that can be.
func (l *limiting) restore(saved []SavedLimit) (limits []negotiator.Limit) {
	for _, s := range saved {
		_, twice := l.told[s.Name]
		if s.Name != "" && !twice && s.Height >= 0 && s.Height <= backfill.MaxAmount && len(limits) < mostLimits {
			l.told[s.Name] = toldLimit{s.Height, s.User}
			limits = append(limits, negotiator.Limit{Name: s.Name, Height: s.Height})
		}
	}
	return limits
}

// takesOf returns what the negotiator is told that a job takes of limits.
func (b *Belief) takesOf(j *Job) []negotiator.Take {
	a := b.s.Accounting.Accountant
	if a == nil {
		return nil
	}
	what := b.chargeOf(j)
	takes, known := b.limiting.takes[what]
	if !known {
		takes = takesOf(a.Bounds(b.s.Accounting.Limits).Of(b.candidate(what)))
		b.limiting.takes[what] = takes
	}
	return takes
}

// takesOf returns what the negotiator is told that jobs take who want this.
func takesOf(wants []accountant.Want) (takes []negotiator.Take) {
	for _, w := range wants {
		if amount := negotiator.AmountOf(w.Amount); amount >= 1 && !w.Exempt {
			takes = append(takes, negotiator.Take{Limit: w.Name, Amount: amount})
		}
	}
	return takes
}

// Limits is what jobs take of limits in one look, and what the starts after it take. Only whoever has the
// belief may use it; nil: there are none.
type Limits struct {
	b      *Belief
	bounds *accountant.Bounds
	// waiting are the jobs that may be planned with, charges what they take, and at where in charges.
	waiting []*Job
	charges tally[charge]
	at      []int
	wants   [][]accountant.Want // by charge
	why     []string            // by charge: why such jobs cannot be planned with
	// bySlot are the waiting jobs' Specs whose limits depend on the slot, each with the limit that has no
	// room anywhere, if that was asked for.
	bySlot map[*observe.Spec]string
	meter  classad.Meter // of what was asked for that
}

// limit brings the negotiator's limits up to date with what runs and what wants to run, of which
// asking are the jobs that it does not know yet. It returns which jobs limits keep out of the plan,
// and why: those that can never start.
func (c *comparison) limit(asking []*Job) map[backfill.JobID]string {
	b, a := c.b, c.b.s.Accounting.Accountant
	if a == nil {
		return nil
	}
	p := &Limits{b: b, bounds: a.Bounds(b.s.Accounting.Limits), bySlot: map[*observe.Spec]string{}}
	b.limits, c.out.Limits = p, p
	running := b.running()
	for what, n := range running.all {
		for _, w := range p.bounds.Of(b.candidate(what)) {
			w.Used += w.Amount * float64(n)
		}
	}
	for _, j := range b.all {
		if j.Phase == Waiting {
			p.waiting = append(p.waiting, j)
		}
	}
	p.waiting = append(p.waiting, asking...)
	for _, j := range p.waiting {
		p.at = append(p.at, p.charges.add(b.chargeOf(j)))
	}
	p.want()
	p.refuse(c.tellLimits(p.bounds))
	if slices.ContainsFunc(p.charges.things, func(what charge) bool { return what.spec != nil && what.spec.BySlot }) {
		c.delta.Room = p.bounds.Room()
	}
	p.bounds.Close()
	b.limiting.keep(running.things, p.charges.things)
	return c.tellTakes(p)
}

// want adds up what the waiting jobs want.
func (p *Limits) want() {
	b := p.b
	for what, n := range p.charges.all {
		one := b.candidate(what)
		if why := p.bounds.May(one); why != "" {
			p.wants, p.why = append(p.wants, nil), append(p.why, why)
			continue
		}
		wants := p.bounds.Of(one)
		why := accountant.Never(wants)
		p.wants, p.why = append(p.wants, wants), append(p.why, why)
		if why != "" {
			continue
		}
		for _, w := range wants {
			if !w.Exempt {
				w.Waited += w.Amount * float64(n)
				w.Waiting += n
			}
		}
		takes := takesOf(wants)
		if known, ok := b.limiting.takes[what]; !ok || !slices.Equal(takes, known) {
			b.limiting.takes[what] = takes
		}
	}
}

// refuse keeps out of the plan whoever names limits of which the negotiator is not told.
func (p *Limits) refuse(untold map[*accountant.Bound]bool) {
	for i, wants := range p.wants {
		for _, w := range wants {
			if untold[w.Bound] && p.why[i] == "" {
				p.why[i] = accountant.TooMany(w.User)
			}
		}
	}
}

// tellLimits tells the negotiator of the limits that can bind, and of other heights. It returns those
// that it is not told of, as there are too many.
func (c *comparison) tellLimits(bounds *accountant.Bounds) (untold map[*accountant.Bound]bool) {
	told, runs := c.b.limiting.told, c.b.toldRunning()
	count := map[string]int{} // by user
	for _, l := range told {
		count[l.user]++
	}
	there := map[string]bool{}
	for _, bound := range bounds.All() {
		before, known := told[bound.Name]
		if !known && !bound.Binds() {
			continue
		}
		user := bound.User
		if !known && user != "" && count[user] >= accountant.Allowance(mostLimits, len(told)-count[""], count[user]) {
			if untold == nil {
				untold = map[*accountant.Bound]bool{}
			}
			untold[bound] = true
			continue
		}
		there[bound.Name] = true
		now := toldLimit{heightOf(bound, runs[bound.Name]), before.user}
		if !known {
			now.user = user
			count[user]++
		}
		if now != before || !known {
			told[bound.Name] = now
			c.delta.Limits = append(c.delta.Limits, negotiator.Limit{Name: bound.Name, Height: now.height})
		}
	}
	for name := range told {
		if !there[name] {
			delete(told, name)
			c.delta.LimitsGone = append(c.delta.LimitsGone, name)
		}
	}
	return untold
}

// heightOf returns how much of a limit there is for jobs in the plan, of which those that run are
// known to take so much. It is rounded down.
func heightOf(bound *accountant.Bound, known float64) int64 {
	if math.IsInf(bound.Max, 1) {
		return backfill.MaxAmount
	}
	return negotiator.HeightOf(bound.Max-bound.Used, known)
}

// toldRunning returns what the running jobs in the plan take of each limit, as the negotiator was
// told.
func (b *Belief) toldRunning() map[string]float64 {
	var alike tally[*negotiator.Take]
	var takes [][]negotiator.Take
	for _, j := range b.all {
		if j.Phase == Running && len(j.takes) > 0 {
			if i := alike.add(&j.takes[0]); i == len(takes) {
				takes = append(takes, j.takes)
			}
		}
	}
	all := map[string]float64{}
	for i, these := range takes {
		for _, t := range these {
			all[t.Limit] += float64(t.Amount) * float64(alike.counts[i])
		}
	}
	return all
}

// keep forgets what jobs take that are not there any more.
func (l *limiting) keep(charges ...[]charge) {
	n := 0
	for _, some := range charges {
		n += len(some)
	}
	if len(l.takes) <= 2*n+100 {
		return
	}
	there := map[charge]bool{}
	for _, some := range charges {
		for _, what := range some {
			there[what] = true
		}
	}
	for what := range l.takes {
		if !there[what] {
			delete(l.takes, what)
		}
	}
}

// tellTakes has the negotiator plan anew with waiting jobs that take of other limits than it was
// told. It returns which jobs leave the plan or stay out of it, and why.
func (c *comparison) tellTakes(p *Limits) map[backfill.JobID]string {
	out, edited := map[backfill.JobID]string{}, map[*Job]bool{}
	for _, j := range c.edited {
		edited[j] = true
	}
	for i, j := range p.waiting {
		at := p.at[i]
		switch now := c.b.limiting.takes[p.charges.things[at]]; {
		case p.why[at] != "":
			out[j.ID] = p.why[at]
		case j.Phase == Waiting && !sameTakes(j.takes, now) && !edited[j]:
			c.edited = append(c.edited, j)
		}
	}
	return out
}

func sameTakes(a, b []negotiator.Take) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// Bounds tells whether a ceiling or a quota keeps others of a started job's submitter, or group,
// from starting with it. Its schedd does not know of these.
func (p *Limits) Bounds(j *Job) bool {
	return p != nil && slices.ContainsFunc(j.takes, func(t negotiator.Take) bool {
		_, told := p.b.limiting.told[t.Limit]
		return told && accountant.IsShare(t.Limit)
	})
}

// starts notes that a job starts which waited in this look.
func (p *Limits) starts(j *Job) {
	for _, w := range p.wantsOf(j) {
		w.Used += w.Amount
		if !w.Exempt {
			w.Waited, w.Waiting = w.Waited-w.Amount, w.Waiting-1
		}
	}
}

// wantsOf returns what a job that waited in this look takes of limits.
func (p *Limits) wantsOf(j *Job) []accountant.Want {
	if p == nil || j == nil || j.Phase != Waiting {
		return nil
	}
	if i, known := p.charges.find(p.b.chargeOf(j)); known && p.why[i] == "" {
		return p.wants[i]
	}
	return nil
}

// Lacking returns which limit has no room for a waiting job now, after the starts of the last cycle;
// "" if all have.
func (p *Limits) Lacking(j *Job) string {
	why := accountant.Lacking(p.wantsOf(j))
	if why == "" && p != nil && j != nil && j.Phase == Waiting && j.Group.Spec.BySlot {
		why = p.lackingBySlot(j)
	}
	return backfill.AsReason(why)
}

// limitsAttribute is the attribute of jobs that names their concurrency limits.
const limitsAttribute = "ConcurrencyLimits"

// Charge sets what a job that is only asked about takes of the concurrency limits that its ad names. It
// returns those of which the negotiator was not told, as they bind nobody who is there. The error says why
// the job can never start.
func (p *Limits) Charge(j *negotiator.Job) (untold []negotiator.Limit, err error) {
	if _, names := j.Ad.Lookup(limitsAttribute); p == nil || !names {
		return nil, nil
	}
	value, err := negotiator.Evaluate(j.Ad, limitsAttribute)
	text, isText := value.Text()
	if err == nil && !isText {
		err = fmt.Errorf("its ConcurrencyLimits are %v without a slot: must be a text such as \"matlab:2, ansys\"", value)
	}
	if err != nil {
		return nil, err
	}
	limits, err := accountant.ParseLimits(text)
	if err != nil {
		return nil, err
	}
	wants := p.bounds.Asked(limits)
	if why := accountant.Never(wants); why != "" {
		return nil, errors.New(why)
	}
	j.Takes = takesOf(wants)
	runs := p.b.toldRunning()
	for _, w := range wants {
		if _, told := p.b.limiting.told[w.Name]; !told {
			untold = append(untold, negotiator.Limit{Name: w.Name, Height: heightOf(w.Bound, runs[w.Name])})
		}
	}
	return untold, nil
}

// Reached iterates over the waiting jobs for which a concurrency limit has no room now, and which, see
// [accountant.Reached].
func (p *Limits) Reached(yield func(j *Job, why string) bool) {
	if p == nil {
		return
	}
	known := make([]string, len(p.wants))
	for i, wants := range p.wants {
		known[i] = backfill.AsReason(accountant.Lacking(wants))
	}
	for i, j := range p.waiting {
		why := known[p.at[i]]
		if _, reached := accountant.Reached(why); reached && j.Phase == Waiting && p.b.knows(j) && !yield(j, why) {
			return
		}
	}
}
