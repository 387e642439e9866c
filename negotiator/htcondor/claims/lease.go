package claims

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// leaseAttribute is the attribute of a match by which a claim is lent. The schedd evaluates the
// START of the claim's slot for each further job that it considers for the claim, and START refers
// to the attribute. The startd itself never has it.
const leaseAttribute = "NegotiatorMatchExprBackfillLease"

// In seconds.
const (
	// contended is for how long claims are lent, beyond the time that the first job may take, while
	// jobs of others wait: long enough that matching anew costs little of it.
	contended = 15
	// filling is for how long a schedd may start jobs with one match, where nothing else extends the
	// lease.
	filling = 5
	// skew is by how many seconds a schedd's clock may differ from ours. The lease that it is told
	// of is shorter by so much.
	skew = 2
)

// lend returns how a slot is lent for flights that are alike; nil if it is not.
func (c *State) lend(key track.LeaseKey, flights []*flight, o *Offer, q queue) *lending {
	spec, now := flights[0].job.Spec, c.belief.Snapshot().Now
	longest := backfill.Time(0)
	for _, f := range flights {
		longest = max(longest, f.job.Spec.Estimate)
	}
	place, most := longest+c.s.StartSlack, backfill.Time(c.lease/time.Second)
	like, others := q.like(spec)
	switch fills := len(o.Claims) < len(flights) && !c.single[key.Slot]; {
	case like.jobs == 0 && !fills:
		return nil
	case like.jobs == 0:
		most = 0
	case others:
		most = min(most, place+contended)
	default: // until all that is alike is done, if each takes as long as it may
		most = min(most, backfill.Time((like.jobs+len(flights)-1)/len(flights)+1)*place)
	}
	wanted, before := now+max(most, place)+filling, c.granted(key)
	until, served := c.undisturbed(o.Ad, flights, like, wanted, before)
	if until < before || until <= now+place+skew {
		return nil
	}
	l := &lending{Lease: track.Lease{LeaseKey: key, Until: until, Served: served}}
	for _, f := range flights {
		l.Jobs = append(l.Jobs, f.job.ID)
	}
	l.ad = o.Ad.Clone()
	if err := l.ad.SetExpr(leaseAttribute, c.leaseText(min(wanted, until), flights)); err != nil {
		c.log.Error("a lease cannot be written; the claim is locked to its job", "slot", key.Slot, "error", err)
		return nil
	}
	return l
}

// undisturbed returns until when a slot can be lent for flights, not beyond the time wanted: until
// somebody else has a reservation there. Under a policy that gives guarantees it also returns which
// jobs like these have reservations there until then, and when: the schedd starts them by that
// time. Jobs of which that is not sure count like others, unless the slot was lent for as long
// before.
func (c *State) undisturbed(
	slot *classad.ClassAd, flights []*flight, like waiting, wanted, before backfill.Time,
) (backfill.Time, map[backfill.JobID]backfill.Time) {
	var mine []reservation
	spec, name, until := flights[0].job.Spec, flights[0].rest[0].Slot, max(wanted, before)
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
	until = min(until, max(c.asPlanned(mine, flights), before))
	// A job that would end after the lease keeps its reservation, and the lease ends before it. The
	// last to end comes first, so one pass is enough.
	slices.SortFunc(mine, func(a, b reservation) int { return cmp.Compare(b.end, a.end) })
	for _, r := range mine {
		if r.start < until && r.end > until {
			until = r.start
		}
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
		free[i] = max(f.job.Start+f.job.Spec.Estimate+c.s.StartSlack, now+f.job.Spec.Estimate)
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
	if whole, _ := slot.Bool("PartitionableSlot"); whole {
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
			suits = classad.Pair{Left: s.Ad, Right: part, MaxSteps: classad.FewSteps}.RightMatchesLeft()
			known[s] = suits
		}
		return suits
	}
}

// granted returns until when a lease was granted before; 0 if it was not.
func (c *State) granted(key track.LeaseKey) backfill.Time {
	until := c.belief.Lease(key)
	for _, g := range c.leases {
		if g.LeaseKey == key {
			until = max(until, g.Until)
		}
	}
	return until
}

// leaseText returns an expression that is true of a job that may use a claim lent for these
// flights, which are alike: it ends before the lease does, and it is like them. What is left of a
// partitionable slot is for the flights alone.
func (c *State) leaseText(until backfill.Time, flights []*flight) string {
	spec, estimate := flights[0].job.Spec, "undefined"
	for _, name := range slices.Backward(c.s.Schema.Estimates) {
		estimate = fmt.Sprintf("ifThenElse((TARGET.%s > 0) =?= true, TARGET.%s, %s)", name, name, estimate)
	}
	terms := []string{
		fmt.Sprintf("time() + %s <= %d", estimate, until-c.s.StartSlack-skew),
		"TARGET.DeferralTime =?= undefined", // its claim would be idle first
		// The schedd compares limits as well, unless it is told not to, or they are an expression.
		`(TARGET.ConcurrencyLimits =?= undefined || TARGET.ConcurrencyLimits == "")`,
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
