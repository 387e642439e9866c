package negotiator

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// Order is the queue's priority function: a function of package backfill or a ClassAd expression.
// The zero Order is first come, first served.
type Order struct {
	named                backfill.Order
	once                 bool // named is of one cycle, see OrderOfCycle
	expression, waitTime *classad.Expr
	scale                func(backfill.JobID) float64 // nil: keys are as they are; see Scaled
	priority             func(*backfill.Job) float64  // nil: all users have the same; see Prioritized
	prioritiesMove       backfill.Moves
}

// waitTime is the expression for how long a job has been in its queue.
const waitTime = "ifThenElse(CurrentTime > QDate, CurrentTime - QDate, 0)"

// FairShare is the name of the queue's order by HTCondor's user priorities, whose keys only a pool knows
// that keeps the account of users; see [OrderOfCycle].
const FairShare = "fairshare"

// expressionPrefix begins an order that is an expression.
const expressionPrefix = "expr:"

// OrderHelp is the help text about orders.
func OrderHelp() string {
	var text strings.Builder
	text.WriteString("Orders of the queue (--order), and which job comes first; ties fall to the earlier job. Where\n" +
		"none is chosen, a policy has its own (negotiator policies) or fcfs, and a real pool fairshare:\n\n")
	for _, o := range backfill.Orders() {
		fmt.Fprintf(&text, "  %-16s %s\n", o.Name, o.Doc)
	}
	fmt.Fprintf(&text, "  %-16s %s\n", FairShare, "whose user has used less, by HTCondor's user priorities; in simulations see\n"+
		strings.Repeat(" ", 19)+"--priority-halflife and --priority-factor, and groups: of the pool")
	text.WriteString("  expr:EXPRESSION  " + `the largest value of a ClassAd expression, such as
                   expr:-EstimatedRunTime or expr:1.0*WaitTime/EstimatedRunTime

In an expression MY is the job's ad. Whatever the ad says, these are what is planned with:

  QDate WaitTime    when the job was submitted; the seconds since then
  EstimatedRunTime  the estimate in seconds
  MinHosts          the number of chunks
  RequestCpus …     what each chunk requests; RequestMemory is in MiB
  Width             the cpus of all chunks
  Owner             as a text, where it is known

CurrentTime and time() are the instant of the cycle. The integer 7/2 is 3: write 1.0*7/2. True
counts as 1, false as 0; jobs for which there is no number come last.
`)
	return text.String() + utilityHelp()
}

// OrderBy makes an order of a function.
func OrderBy(key backfill.Order) Order { return Order{named: key} }

// OrderOfCycle makes an order of a function whose keys follow from what only the pool knows and hold
// for one cycle, such as the users' fair share. Who looks ahead takes the last keys to stay.
func OrderOfCycle(key backfill.Order) Order { return Order{named: key, once: true} }

// OfCycle reports whether the keys hold for one cycle; see [OrderOfCycle].
func (o Order) OfCycle() bool { return o.once }

// Scaled returns the order with each key multiplied by a positive factor of the job's own, which
// must be the same whenever it is asked for: keys move as they did. Where keys are places in a line
// ([Order.OfCycle]), or all alike as under fcfs, nothing changes.
func (o Order) Scaled(factor func(backfill.JobID) float64) Order {
	if !o.once {
		o.scale = factor
	}
	return o
}

// Prioritized returns the order with each key moved by the priority of the job's user, above 0, of which
// the lower is better: a key above 0, such as a run time, is multiplied by it, and one below 0, such as a
// wait in run times, divided, as then the lowest has waited longest. Moves says what priorities change
// with. The function must be safe for concurrent use. Where keys are places in a line
// ([Order.OfCycle]), or all alike as under fcfs, nothing changes.
func (o Order) Prioritized(priority func(*backfill.Job) float64, moves backfill.Moves) Order {
	if !o.once {
		o.priority, o.prioritiesMove = priority, moves
	}
	return o
}

// prioritized moves the keys of an order by priorities, if they are to be.
func (o Order) prioritized(order backfill.Order) backfill.Order {
	if o.priority == nil || order == nil {
		return order
	}
	return func(j *backfill.Job, at backfill.Moment) (float64, backfill.Moves) {
		key, moves := order(j, at)
		if moves = moves.And(o.prioritiesMove); key > 0 {
			return key * o.priority(j), moves
		}
		return key / o.priority(j), moves
	}
}

// scaled multiplies the keys of an order, if they are to be.
func (o Order) scaled(order backfill.Order) backfill.Order {
	if order = o.prioritized(order); o.scale == nil || order == nil {
		return order
	}
	return func(j *backfill.Job, at backfill.Moment) (float64, backfill.Moves) {
		key, moves := order(j, at)
		factor := o.scale(j.ID)
		moves.Curve = moves.Curve.Scaled(factor)
		return key * factor, moves
	}
}

// IsExpression reports whether the order is an expression, which sees the jobs' ads.
func (o Order) IsExpression() bool { return o.expression != nil }

// OrderNamed returns the order of that name, or of the expression after "expr:", but for [FairShare].
// The error of a wrong expression is a [*classad.SyntaxError].
func OrderNamed(name string) (Order, error) {
	if text, ok := strings.CutPrefix(name, expressionPrefix); ok {
		e, err := classad.ParseExpr(text)
		if err != nil {
			return Order{}, fmt.Errorf("the order %s is followed by no expression: %w", expressionPrefix, err)
		}
		wait, err := classad.ParseExpr(waitTime)
		return Order{expression: e, waitTime: wait}, err
	}
	if name == FairShare {
		return Order{}, errors.New("order " + FairShare + " follows from the account of users, which nobody keeps here")
	}
	named, err := backfill.OrderNamed(name)
	if err != nil {
		return Order{}, fmt.Errorf("%w, %s or %sEXPRESSION", err, FairShare, expressionPrefix)
	}
	return Order{named: named}, nil
}

// priorities are an expression's values for the jobs of a negotiator. The expression is evaluated
// once for each job and instant, and only once for a job whose value does not depend on the clock.
type priorities struct {
	order     Order
	resources []string
	slack     backfill.Time // is included in the jobs' estimates
	job       func(backfill.JobID) *Job
	known     map[backfill.JobID]*priority
	host      classad.Host
	now       backfill.Time
	asked     bool  // the evaluation under way has read the clock
	evaluated bool  // for at least one job
	numbers   bool  // for at least one job the value was a number
	start     int64 // the Unix time of second 0 of the pool's clock
	expensive []*Job
}

// UnorderedText is the warning that the value of the order's expression was a number for none of
// the jobs.
const UnorderedText = "the order's expression has a number for no job, so the queue is in order of jobs"

// ExpensiveText is the warning that the order's expression takes too long for some jobs, which come
// last: their own attributes are too expensive to evaluate.
const ExpensiveText = "the order's expression is too expensive to evaluate for a job, which comes last"

// unordered reports whether the expression was evaluated and its value never was a number; false if
// p is nil.
func (p *priorities) unordered() bool { return p != nil && p.evaluated && !p.numbers }

// priority is an expression's value for a job.
type priority struct {
	job      *Job
	estimate backfill.Time
	ad       *classad.ClassAd // nil if the value does not depend on the clock
	at       backfill.Time    // the instant of the last evaluation
	key      float64
}

// of returns the order as a function over a negotiator's jobs, and the cache of the expression's
// values, which is nil if the order is no expression.
func (o Order) of(
	job func(backfill.JobID) *Job, resources []string, slack backfill.Time, world World,
) (backfill.Order, *priorities) {
	if o.expression == nil {
		return o.scaled(o.named), nil
	}
	p := &priorities{
		order: o, resources: resources, slack: slack, job: job, known: map[backfill.JobID]*priority{}, start: world.Start,
	}
	p.host = classad.Host{Zone: world.Zone, UserMap: world.UserMap, Now: func() int64 {
		p.asked = true
		return p.start + int64(p.now)
	}}
	return o.scaled(p.key), p
}

// Of returns the order as a function over these jobs, in a pool with these resources, cpus first, and
// this slack in the jobs' estimates; expressions see the world. The function is not safe for concurrent
// use and keeps a value for each job.
func (o Order) Of(
	jobs map[backfill.JobID]*Job, resources []string, slack backfill.Time, world World,
) backfill.Order {
	order, _ := o.of(func(id backfill.JobID) *Job { return jobs[id] }, resources, slack, world)
	return order
}

// key returns a job's key at a moment, lower keys first, and whether it changes with time. It
// implements [backfill.Order].
func (p *priorities) key(j *backfill.Job, at backfill.Moment) (key float64, moves backfill.Moves) {
	now := at.Now
	known := p.known[j.ID]
	if known == nil || known.job != p.job(j.ID) || known.estimate != j.Estimate {
		known = &priority{job: p.job(j.ID), estimate: j.Estimate, ad: p.describe(j), at: now - 1}
		p.known[j.ID] = known
	}
	if known.ad == nil {
		return known.key, backfill.Moves{}
	}
	if known.at == now {
		return known.key, backfill.Moves{WithTime: true}
	}
	p.now, p.asked = now, false
	known.key, known.at = p.evaluate(known), now
	p.evaluated, p.numbers = true, p.numbers || !math.IsInf(known.key, 1)
	if !p.asked {
		known.ad = nil
		return known.key, backfill.Moves{}
	}
	return known.key, backfill.Moves{WithTime: true}
}

// evaluate returns the key for a job. If that takes more than [classad.FewSteps], the job comes
// behind all others and is not tried again.
func (p *priorities) evaluate(known *priority) float64 {
	var m classad.Meter
	v := p.order.expression.Eval(classad.Scope{
		My: known.ad, Host: &p.host, MaxSteps: classad.FewSteps, Meter: &m,
	})
	if m.Exceeded() > 0 {
		p.expensive, p.asked = append(p.expensive, known.job), false
	}
	return keyOf(v)
}

// takeExpensive returns the jobs whose keys took too many steps since the last call; nil if p is nil.
func (p *priorities) takeExpensive() []*Job {
	if p == nil {
		return nil
	}
	jobs := p.expensive
	p.expensive = nil
	return jobs
}

// keyOf returns the key for an expression's value: the negated number, since the largest value and
// the lowest key come first. True counts as 1, false as 0; any other value gets +Inf, so that it
// comes behind all numbers.
func keyOf(v classad.Value) float64 {
	n, ok := v.Number()
	if b, isBool := v.Bool(); isBool {
		n, ok = 0, true
		if b {
			n = 1
		}
	}
	if !ok || math.IsNaN(n) {
		return math.Inf(1)
	}
	return min(-n, math.MaxFloat64)
}

// forget drops the value of a job that is gone.
func (p *priorities) forget(id backfill.JobID) {
	if p != nil {
		delete(p.known, id)
	}
}

// describe returns a copy of a job's ad with the attributes that [OrderHelp] lists.
func (p *priorities) describe(j *backfill.Job) *classad.ClassAd {
	ad := p.job(j.ID).Ad.Clone()
	ad.SetInt("QDate", p.start+int64(j.Submit))
	ad.Delete("CurrentTime") // so that the name means the clock
	ad.Set("WaitTime", p.order.waitTime)
	ad.SetInt("EstimatedRunTime", int64(j.Estimate-p.slack))
	ad.SetInt("MinHosts", int64(j.Nodes))
	for i, resource := range p.resources {
		ad.SetInt("Request"+Attribute(resource), j.Request[i])
	}
	ad.SetInt("Width", j.Width())
	if owner, ok := j.Labels["owner"]; ok {
		ad.SetString("Owner", owner)
	}
	return ad
}
