package dispatch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// leaseAttribute is the attribute of a match by which a claim is lent. The schedd evaluates the START
// of the claim's slot for each further job that it considers for the claim, and START refers to the
// attribute. The startd itself never has it.
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

// riding is how long a schedd has to fill a slot that was lent, until a look sees what it did.
const riding = 2 * time.Second

// reservation is a waiting job's place in the plan, on one slot.
type reservation struct {
	job        backfill.JobID
	start, end backfill.Time
}

// TakePlan takes in the plan, from which follows how long slots can be lent. Call it before
// HandOver.
func (d *Dispatcher) TakePlan(plan negotiator.Checkpoint) {
	clear(d.planned)
	clear(d.settled)
	d.guarantees = plan.Guarantees
	if d.lease == 0 {
		return
	}
	for _, j := range plan.Jobs {
		if j.Running {
			continue
		}
		if j.Held != "" || j.Placement != nil {
			d.settled[j.Job.ID] = true
		}
		for _, at := range j.Placement {
			for _, slot := range at.Slots() {
				d.planned[slot] = append(d.planned[slot], reservation{j.Job.ID, j.Start, j.End})
			}
		}
	}
}

// Lend sets for how long a claim is lent at most; 0: every claim is locked to its job.
func (d *Dispatcher) Lend(most time.Duration) {
	d.lease = most
	clear(d.single)
	if most == 0 {
		clear(d.deaf)
	}
}

// TakeLeases returns the leases that were granted since the last call. The negotiator must be told of
// them before anything else, see [track.Belief.Grant].
func (d *Dispatcher) TakeLeases() []track.Lease {
	granted := d.leases
	d.leases = nil
	return granted
}

// Granted tells whether there are leases to take.
func (d *Dispatcher) Granted() bool { return len(d.leases) > 0 }

// lending is a slot that is about to be lent, and for which flights.
type lending struct {
	track.Lease
	// ad is the slot's ad with leaseAttribute.
	ad *classad.ClassAd
	// granted says that a claim was granted: the schedd may fill the slot with the others.
	granted bool
}

// lendings chooses which slots are lent for the flights that are to start there now. A slot is lent
// if its START heeds leases, if more jobs like these wait or the slot has fewer claims than there
// are flights, and if nobody else has a place there before the lease ends.
func (d *Dispatcher) lendings(flights []*flight, offers map[string]*offer) map[*flight]*lending {
	if d.lease == 0 {
		return nil
	}
	groups, deaf := map[track.LeaseOf][]*flight{}, map[string]*observe.Spec{}
	for _, f := range flights {
		if !d.lendable(f) {
			continue
		}
		of := leaseOf(f)
		o, group := offers[of.Slot], groups[of]
		switch {
		case o == nil || !o.open:
		case !lends(o.ad):
			deaf[of.Slot] = f.job.Spec
		case len(group) == 0 || alike(group[0].job.Spec, f.job.Spec):
			groups[of] = append(group, f)
			delete(d.deaf, of.Slot)
		}
	}
	if len(groups)+len(deaf) == 0 {
		return nil
	}
	lent, queue := map[*flight]*lending{}, d.countWaiting()
	d.noteDeaf(deaf, queue)
	for of, group := range groups {
		if l := d.lend(of, group, offers[of.Slot], queue); l != nil {
			for _, f := range group {
				lent[f] = l
			}
		}
	}
	return lent
}

// lendable tells whether the claim of a flight's job may be lent.
func (d *Dispatcher) lendable(f *flight) bool {
	return borrows(f.job.Spec) && len(f.rest) == 1 && f.job.Group.Deferral.Time == 0 && !f.handed()
}

// borrows tells whether jobs of a Spec take part in leases. Those with concurrency limits do not:
// what counts the limits does not hear of a job that uses the claim of another.
func borrows(s *observe.Spec) bool {
	return !s.Parallel && s.Nodes == 1 && s.Limits == "" && s.Estimate > 0
}

// alike tells whether a job of the second Spec can take the place of a job of the first, whose
// claim is lent. Jobs of two schedds never have the same Spec.
func alike(a, b *observe.Spec) bool {
	return a == b || borrows(b) && a.Submitter() == b.Submitter() && slices.Equal(a.Request, b.Request) &&
		a.Schedd() == b.Schedd()
}

// queue counts the jobs that wait, by their Spec.
type queue map[*observe.Spec]*waiting

// waiting are the jobs of a Spec that wait: how many, how many of them are in the plan without a
// reservation, and the least and the largest of their JobPrio.
type waiting struct {
	jobs, open  int
	least, most int64
}

func (d *Dispatcher) countWaiting() queue {
	q := queue{}
	for j := range d.belief.Jobs() {
		if j.Phase != track.Waiting && !j.AwaitsLease() {
			continue
		}
		s, prio := j.Group.Spec, j.Group.Prio
		w := q[s]
		if w == nil {
			w = &waiting{least: prio, most: prio}
			q[s] = w
		}
		w.jobs++
		w.least, w.most = min(w.least, prio), max(w.most, prio)
		if j.Phase == track.Waiting && !d.settled[j.ID] {
			w.open++
		}
	}
	return q
}

// like returns the jobs that can take the place of one with this Spec, and whether any others wait
// for whatever becomes free.
func (q queue) like(is *observe.Spec) (like waiting, others bool) {
	for s, w := range q {
		switch {
		case !alike(is, s):
			others = others || w.open > 0
		case like.jobs == 0:
			like = *w
		default:
			like.jobs += w.jobs
			like.least, like.most = min(like.least, w.least), max(like.most, w.most)
		}
	}
	return like, others
}

// lend returns how a slot is lent for flights that are alike; nil if it is not.
func (d *Dispatcher) lend(of track.LeaseOf, flights []*flight, o *offer, q queue) *lending {
	is, now := flights[0].job.Spec, d.belief.Snapshot().Now
	longest := backfill.Time(0)
	for _, f := range flights {
		longest = max(longest, f.job.Spec.Estimate)
	}
	place, most := longest+d.s.StartSlack, backfill.Time(d.lease/time.Second)
	like, others := q.like(is)
	switch fills := len(o.claims) < len(flights) && !d.single[of.Slot]; {
	case like.jobs == 0 && !fills:
		return nil
	case like.jobs == 0:
		most = 0
	case others:
		most = min(most, place+contended)
	default: // until all that is alike is done, if each takes as long as it may
		most = min(most, backfill.Time((like.jobs+len(flights)-1)/len(flights)+1)*place)
	}
	wanted, before := now+max(most, place)+filling, d.granted(of)
	until, served := d.undisturbed(o.ad, flights, like, wanted, before)
	if until < before || until <= now+place+skew {
		return nil
	}
	l := &lending{Lease: track.Lease{LeaseOf: of, Until: until, Served: served}}
	for _, f := range flights {
		l.Jobs = append(l.Jobs, f.job.ID)
	}
	l.ad = o.ad.Clone()
	if err := l.ad.SetExpr(leaseAttribute, d.leaseText(min(wanted, until), flights)); err != nil {
		d.log.Error("a lease cannot be written; the claim is locked to its job", "slot", of.Slot, "error", err)
		return nil
	}
	return l
}

// undisturbed returns until when a slot can be lent for flights, not beyond the time wanted: until
// somebody else has a reservation there. Under a policy that gives guarantees it also returns which
// jobs like these have reservations there until then, and when: the schedd starts them by that
// time. Jobs of which that is not sure count like others, unless the slot was lent for as long
// before.
func (d *Dispatcher) undisturbed(
	slot *classad.ClassAd, flights []*flight, like waiting, wanted, before backfill.Time,
) (backfill.Time, map[backfill.JobID]backfill.Time) {
	var mine []reservation
	is, name, until := flights[0].job.Spec, flights[0].rest[0].Slot, max(wanted, before)
	suits := d.suits(slot, is)
	for _, r := range d.planned[name] {
		j := d.belief.Job(r.job)
		switch {
		case j == nil || !alike(is, j.Group.Spec) || j.Group.Deferral.Time > 0,
			d.guarantees && (like.least != like.most || !suits(j.Group.Spec)):
			until = min(until, r.start)
		case d.guarantees:
			mine = append(mine, r)
		}
	}
	until = min(until, max(d.asPlanned(mine, flights), before))
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
func (d *Dispatcher) asPlanned(planned []reservation, flights []*flight) backfill.Time {
	key := func(r reservation) observe.JobKey { return d.belief.Job(r.job).Key }
	slices.SortFunc(planned, func(a, b reservation) int {
		return cmp.Or(cmp.Compare(a.start, b.start), key(a).Compare(key(b)))
	})
	// When each claim is free, if all jobs take as long as they may: as the plan has it, which
	// leaves the start slack for handing over.
	free, now := make([]backfill.Time, len(flights)), d.belief.Snapshot().Now
	for i, f := range flights {
		free[i] = max(f.job.Start+f.job.Spec.Estimate+d.s.StartSlack, now+f.job.Spec.Estimate)
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
func (d *Dispatcher) suits(slot *classad.ClassAd, is *observe.Spec) func(*observe.Spec) bool {
	part, known := slot.Clone(), map[*observe.Spec]bool{}
	if whole, _ := slot.Bool("PartitionableSlot"); whole {
		part.SetBool("PartitionableSlot", false)
		part.SetBool("DynamicSlot", true)
		part.SetString("SlotType", "Dynamic")
		for i, resource := range d.s.Schema.Resources {
			if resource != observe.Claims {
				part.SetInt(negotiator.Attribute(resource), is.Request[i])
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
func (d *Dispatcher) granted(of track.LeaseOf) backfill.Time {
	until := d.belief.Lease(of)
	for _, g := range d.leases {
		if g.LeaseOf == of {
			until = max(until, g.Until)
		}
	}
	return until
}

// leaseText returns an expression that is true of a job that may use a claim lent for these flights,
// which are alike: it ends before the lease does, and it is like them. What is left of a partitionable
// slot is for the flights alone.
func (d *Dispatcher) leaseText(until backfill.Time, flights []*flight) string {
	is, estimate := flights[0].job.Spec, "undefined"
	for _, name := range slices.Backward(d.s.Schema.Estimates) {
		estimate = fmt.Sprintf("ifThenElse((TARGET.%s > 0) =?= true, TARGET.%s, %s)", name, name, estimate)
	}
	terms := []string{
		fmt.Sprintf("time() + %s <= %d", estimate, until-d.s.StartSlack-skew),
		"TARGET.DeferralTime =?= undefined", // its claim would be idle first
		// The schedd compares limits as well, unless it is told not to, or they are an expression.
		`(TARGET.ConcurrencyLimits =?= undefined || TARGET.ConcurrencyLimits == "")`,
	}
	for i, resource := range d.s.Schema.Resources {
		request, amount := "TARGET.Request"+negotiator.Attribute(resource), is.Request[i]
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

// areOf returns an expression that is true of the jobs of flights. Procs that follow each other are one
// term, so that it is short.
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

// lends tells whether a slot's START heeds leases.
func lends(ad *classad.ClassAd) bool {
	start, ok := ad.Lookup("Start")
	if !ok {
		start, ok = ad.Lookup("Requirements")
	}
	return ok && strings.Contains(strings.ToLower(start.String()), strings.ToLower(leaseAttribute))
}

// manyWaiting is how many more jobs than slots may wait until it matters that no claim is lent to
// them.
const manyWaiting = 20

// noteDeaf notes which of the slots, whose START does not heed leases, would be lent for a job with
// this Spec if it did: so many jobs like it wait that a match for each costs more than the jobs. It
// says so if there were no such slots before, since nobody else tells that a line is missing.
func (d *Dispatcher) noteDeaf(slots map[string]*observe.Spec, q queue) {
	if len(slots) == 0 {
		return
	}
	many := manyWaiting
	for _, s := range d.belief.Snapshot().Slots {
		if !s.Dynamic {
			many++
		}
	}
	told := len(d.deaf) > 0
	for _, name := range slices.Sorted(maps.Keys(slots)) {
		is := slots[name]
		like, _ := q.like(is)
		if like.jobs <= many || is.Estimate+d.s.StartSlack > backfill.Time(d.lease/time.Second) {
			continue
		}
		if d.deaf[name] = true; !told {
			d.log.Warn("START of a slot does not heed leases, so each of many short jobs there waits for a match of its own: "+
				"add the line of the guide's section Leases to the startds' configuration, after all others about START, "+
				"and run condor_reconfig there; or set BACKFILL_LEASE_TIME = 0, if that is how it should be",
				"slot", name, "submitter", is.Submitter(), "waiting", like.jobs)
			told = true
		}
	}
}

// forgetDeaf forgets the slots whose START heeds leases by now, and those that are gone.
func (d *Dispatcher) forgetDeaf() {
	slots := d.belief.Snapshot().Slots
	maps.DeleteFunc(d.deaf, func(name string, _ bool) bool {
		s := slots[name]
		return s == nil || s.Ad != nil && lends(s.Ad.Ad)
	})
}

// ride notes that the schedd is expected to start a flight's job on what is left of a slot that was
// lent to it.
func (d *Dispatcher) ride(f *flight) {
	f.rides, f.moved = d.now(), d.now()
	f.why = "its schedd is filling slot " + f.rest[0].Slot
}

// stopRiding lets flights have claims of their own that the last look should have seen to run, on
// slots that were lent. If their schedd has filled nothing there, CLAIM_PARTITIONABLE_LEFTOVERS must be
// off, and nothing rides there again.
func (d *Dispatcher) stopRiding() {
	began := d.belief.Snapshot().Began
	for _, f := range d.flights {
		if f.rides.IsZero() || began.Sub(f.rides) < riding {
			continue
		}
		if of := leaseOf(f); d.belief.Lent(of) < 2 {
			d.single[of.Slot] = true
		}
		f.rides = time.Time{}
	}
}

// Single tells whether each job on a slot gets a claim of its own, since its schedds do not fill it.
func (d *Dispatcher) Single(slot string) bool { return d.single[slot] }

// leaseOf names the lease under which a flight's job may start.
func leaseOf(f *flight) track.LeaseOf {
	return track.LeaseOf{Slot: f.rest[0].Slot, Schedd: f.job.Key.Schedd, Submitter: f.job.Submitter()}
}
