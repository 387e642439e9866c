package claims

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// leaseAttribute is the attribute of a match by which a claim is lent where START heeds it. The
// schedd evaluates the START of the claim's slot for each further job that it considers for the
// claim, and START refers to the attribute. The startd itself never has it.
const leaseAttribute = "NegotiatorMatchExprBackfillLease"

// In seconds.
const (
	// contended is for how long claims take up more jobs while jobs of others wait: long enough that
	// matching anew costs little of it.
	contended = 30
	// filling is for how long a schedd may start jobs with one match, where nothing else extends the
	// lease.
	filling = 5
	// skew is by how many seconds a schedd's clock may differ from ours. What it is told ends
	// earlier by so much.
	skew = 2
)

// lend returns how a slot is lent for flights that are alike and take equally long; nil if it is
// not. Alone says that no other flights are on their way to the slot.
//
// The places that the flights have in the plan are longer than their estimates by the start slack.
// A claim may take up jobs in the first half of that: it is given back in time all the same, with
// the other half left for the delays of the last job. So the plan does not change, and no
// reservation moves. Only where claims are lent for longer, they must not be in the way of others.
// All of them are given back before the slot ends or is to be empty.
func (c *State) lend(key track.LeaseKey, flights []*flight, o *Offer, q *queue, alone bool) *lending {
	spec, now, beside := flights[0].job.Spec, backfill.Time(c.now.Unix()), c.company(q, flights[0].job.Spec)
	place := c.estimate(spec) + c.s.StartSlack
	end := cmp.Or(c.ends[key.Slot], backfill.Forever)
	l := &lending{Lease: track.Lease{LeaseKey: key, Until: end}, ad: o.Ad}
	for _, f := range flights {
		l.Jobs, l.Until = append(l.Jobs, f.job.ID), min(l.Until, f.job.Start+place)
	}
	l.fills = len(o.Claims) < len(flights) && !c.isSingle(key.Slot)
	window := c.window(beside.like.jobs, len(flights), place, beside.others, l.fills)
	if longer := window - c.s.StartSlack/2; longer > 0 {
		l.Until, l.Served = c.undisturbed(o.Ad, flights, beside.like, l.Until, min(now+place+longer, end))
	}
	l.Last = now + window
	// Jobs that end by then are in nobody's way.
	ends := l.Until - c.s.StartSlack + c.s.StartSlack/2 - skew
	switch {
	case window == 0 || min(l.Last-skew, ends-c.estimate(spec)) <= now:
		return nil
	case lends(o.Ad):
		return c.lendByStart(l, ends, flights, q.scavengers)
	}
	return c.lendByTime(l, ends, flights, o, alone, beside)
}

// lendByStart lends a slot whose START heeds leases, to jobs that end by a time.
func (c *State) lendByStart(l *lending, ends backfill.Time, flights []*flight, scavenge bool) *lending {
	l.ad = l.ad.Clone()
	if err := l.ad.SetExpr(leaseAttribute, c.leaseText(l.Last-skew, ends, flights, scavenge)); err != nil {
		c.log.Error("a lease cannot be written; the claim is locked to its job", "slot", l.Slot, "error", err)
		return nil
	}
	return l
}

// lendByTime lends a slot whose START knows nothing of leases, to jobs that end by a time: until it
// would be too late for the longest job that its schedd could take. The result is nil if the schedd
// could take one that should not use it.
//
// The schedd fills what is left of the slot with whatever it likes if nobody else waits, and else
// with as many jobs as were planned there. It may get cores that others free meanwhile. That breaks
// no guarantee, as there are none, and whoever has a reservation there needs no more than one
// claim, and is next. Jobs of a submitter who has reached his ceiling, or his group's quota, get a
// claim each: the schedd knows nothing of these, and would fill the slot beyond them.
func (c *State) lendByTime(
	l *lending, ends backfill.Time, flights []*flight, o *Offer, alone bool, beside *company,
) *lending {
	takers, now, spec := beside.whole, backfill.Time(c.now.Unix()), flights[0].job.Spec
	if partitionable, _ := l.ad.Literal("PartitionableSlot").Bool(); partitionable {
		takers = beside.part
	}
	last := min(l.Last-skew, ends-takers.longest)
	if takers.barred || c.hidden || last <= now {
		return nil
	}
	l.lock = fmt.Sprintf("time() > %d", last)
	bounded := c.limits.Bounds(flights[0].job)
	switch inOrder := !c.guarantees || beside.like.least == beside.like.most; {
	case l.fills && !bounded && alone && beside.alone && inOrder:
	case l.fills && !bounded && !c.guarantees && !beside.wider && c.narrow(l.Slot, spec):
		l.lock = fmt.Sprintf("PartitionableSlot =?= true && ((Cpus > %d) =!= true || time() > %d) || %s",
			o.Free[0]-int64(len(flights))*spec.Request[0], now+filling, l.lock)
	case beside.like.jobs == 0:
		return nil
	default:
		l.fills, l.lock = false, "PartitionableSlot =?= true || "+l.lock
	}
	l.Last = last + skew
	return l
}

// window returns for how long claims may take up more jobs, given how many jobs like these wait,
// for how many flights the claims are, how long a job's place is, and whether others wait; 0: they
// are not lent. What fills a slot has a moment for that.
func (c *State) window(like, flights int, place backfill.Time, others, fills bool) backfill.Time {
	window := min(backfill.Time(c.lease/time.Second), backfill.Time((like+flights-1)/flights)*place)
	switch {
	case like == 0 && !fills:
		return 0
	case like == 0:
		return filling
	case others:
		window = min(window, contended)
	}
	if fills {
		window = max(window, filling)
	}
	return window
}

// narrow tells whether no reservation on a slot needs more than a job of a Spec.
func (c *State) narrow(slot string, spec *observe.Spec) bool {
	return !slices.ContainsFunc(c.planned[slot], func(r reservation) bool {
		j := c.belief.Job(r.job)
		return j == nil || !j.FitsIn(spec)
	})
}

// undisturbed returns until when a slot can be lent for flights, not beyond the time wanted: until
// somebody else has a reservation there, but not before the flights' places end. Under a policy
// that gives guarantees it also returns which jobs like these have reservations there until then,
// and when: the schedd starts them by that time. Jobs of which that is not sure count like others.
func (c *State) undisturbed(
	slot *classad.ClassAd, flights []*flight, like waiting, end, wanted backfill.Time,
) (backfill.Time, map[backfill.JobID]backfill.Time) {
	var mine []reservation
	spec, name, until := flights[0].job.Spec, flights[0].rest[0].Slot, wanted
	suits := c.suits(slot, spec)
	for _, r := range c.planned[name] {
		j := c.belief.Job(r.job)
		switch {
		case j == nil || !alike(spec, j.Group.Spec) || j.Group.Deferral.Time > 0, c.belief.Early(j),
			c.guarantees && (like.least != like.most || !suits(j.Group.Spec)):
			until = min(until, r.start)
		case c.guarantees:
			mine = append(mine, r)
		}
	}
	until = min(until, c.asPlanned(mine, flights))
	// A job that would end after the lease keeps its reservation, and the lease ends before it. The
	// last to end comes first, so one pass is enough.
	slices.SortFunc(mine, func(a, b reservation) int { return cmp.Compare(b.end, a.end) })
	for _, r := range mine {
		if r.start < until && r.end > until {
			until = r.start
		}
	}
	if until <= end {
		return end, nil
	}
	served := map[backfill.JobID]backfill.Time{}
	for _, r := range mine {
		if r.start < until {
			served[r.job] = r.start
		}
	}
	return until, served
}

// asPlanned returns until when jobs start as planned if their schedd gives the claims of flights,
// as they become free, to one job after the other in its own order. The plan can have another
// order, or more jobs at once: on what jobs without a lease leave of the slot.
func (c *State) asPlanned(planned []reservation, flights []*flight) backfill.Time {
	key := func(r reservation) observe.JobKey { return c.belief.Job(r.job).Key }
	slices.SortFunc(planned, func(a, b reservation) int {
		return cmp.Or(cmp.Compare(a.start, b.start), key(a).Compare(key(b)))
	})
	// When each claim is free, if all jobs take as long as they may: as the plan has it, which
	// leaves the start slack for handing over.
	free, now := make([]backfill.Time, len(flights)), c.belief.Snapshot().Now
	for i, f := range flights {
		free[i] = max(f.job.Start+c.s.StartSlack, now) + c.estimate(f.job.Spec)
	}
	for i, r := range planned {
		if i > 0 && key(r).Compare(key(planned[i-1])) < 0 {
			return planned[i-1].start
		}
		first := slices.Index(free, slices.Min(free))
		if free[first] > r.start {
			return r.start
		}
		free[first] += r.end - r.start
	}
	return backfill.Forever
}

// suits returns a function that tells whether a lent claim meets the Requirements of a Spec: they
// may be true of a partitionable slot, and not of the part of it that the first job requested.
func (c *State) suits(slot *classad.ClassAd, spec *observe.Spec) func(*observe.Spec) bool {
	part, known := slot.Clone(), map[*observe.Spec]bool{}
	negotiator.FollowClock(part)
	if whole, _ := slot.Literal("PartitionableSlot").Bool(); whole {
		part.SetBool("PartitionableSlot", false)
		part.SetBool("DynamicSlot", true)
		part.SetString("SlotType", "Dynamic")
		for i, resource := range c.s.Schema.Resources {
			if resource != observe.Claims {
				part.SetInt(negotiator.Attribute(resource), spec.Request[i])
			}
		}
	}
	return func(s *observe.Spec) bool {
		suits, found := known[s]
		if !found {
			suits = c.wants(part, s.Ad, c.now)
			known[s] = suits
		}
		return suits
	}
}

// leaseText returns an expression that is true of a job that may use a claim lent for these
// flights, which are alike: it starts by the time last, ends by the time ends, and is like them.
// What is left of a partitionable slot is for the flights alone. Scavenge says that scavengers wait.
func (c *State) leaseText(last, ends backfill.Time, flights []*flight, scavenge bool) string {
	spec, estimate := flights[0].job.Spec, "undefined"
	if c.s.DefaultEstimate > 0 {
		estimate = strconv.FormatInt(int64(c.s.DefaultEstimate), 10)
	}
	for _, name := range slices.Backward(c.s.Schema.Estimates) {
		estimate = fmt.Sprintf("ifThenElse((TARGET.%s > 0) =?= true, TARGET.%s, %s)", name, name, estimate)
	}
	terms := []string{
		fmt.Sprintf("time() <= %d && time() + %s <= %d", last, estimate, ends),
		"TARGET.DeferralTime =?= undefined", // its claim would be idle first
		// The schedd compares limits as well, unless it is told not to, or they are an expression.
		`(TARGET.ConcurrencyLimits =?= undefined || TARGET.ConcurrencyLimits == "")`,
	}
	if scavenge {
		terms = append(terms, "(TARGET.BackfillScavenger || false) =!= true") // it would not make way
	}
	for i, resource := range c.s.Schema.Resources {
		request, amount := "TARGET.Request"+negotiator.Attribute(resource), spec.Request[i]
		switch {
		case resource == observe.Claims:
		case amount == 0:
			terms = append(terms, fmt.Sprintf("(%s =?= undefined || %s == 0)", request, request))
		case resource == "memory" || resource == "disk":
			terms = append(terms, fmt.Sprintf("%s <= %d", request, amount))
		default:
			terms = append(terms, fmt.Sprintf("%s == %d", request, amount))
		}
	}
	terms = append(terms, "(MY.PartitionableSlot =!= true || "+areOf(flights)+")")
	return "(" + strings.Join(terms, " && ") + ") =?= true"
}

// areOf returns an expression that is true of the jobs of flights. Procs that follow each other are
// one term, so that it is short.
func areOf(flights []*flight) string {
	keys := make([]observe.JobKey, len(flights))
	for i, f := range flights {
		keys[i] = f.job.Key
	}
	slices.SortFunc(keys, observe.JobKey.Compare)
	var terms []string
	for len(keys) > 0 {
		n := 1
		for n < len(keys) && keys[n].Cluster == keys[0].Cluster && keys[n].Proc == keys[0].Proc+int64(n) {
			n++
		}
		terms = append(terms, fmt.Sprintf("TARGET.ClusterId == %d && TARGET.ProcId >= %d && TARGET.ProcId <= %d",
			keys[0].Cluster, keys[0].Proc, keys[n-1].Proc))
		keys = keys[n:]
	}
	return strings.Join(terms, " || ")
}
