package track

import (
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// roomNow is what slots have free now, from which jobs take what they would start on, one after the
// other: as HTCondor's negotiator would match them, without a plan. It only tells for whom a limit
// is of use now.
type roomNow struct {
	host  *classad.Host
	slots []freeSlot
	kinds map[*observe.Spec]*kindOfJob
	spent map[string]int64 // steps, by user
	all   int64
}

type freeSlot struct {
	ad   *classad.ClassAd
	free backfill.Vector
}

// kindOfJob is what is known of jobs of one Spec: no slot before from is of use to them any more,
// and the slot at fits, if it is not -1, accepts them and is accepted.
type kindOfJob struct{ from, fits int }

// mostSteps bounds the search in one cycle: a slot that is looked at counts as one step, a chunk
// that is placed as one, and an evaluation of Requirements as those that it takes. A user may spend
// his [accountant.Allowance]. Further jobs of his count as such that cannot start now.
const mostSteps = 4_000_000

// roomNow returns what slots have free now.
func (b *Belief) roomNow() *roomNow {
	r := &roomNow{host: b.s.World.Host(b.now.Began), kinds: map[*observe.Spec]*kindOfJob{}, spent: map[string]int64{}}
	at := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(b.slots)) {
		s, o := b.slots[name], b.Slot(name)
		if s.up && o != nil && !o.Dynamic && len(o.Free) == len(b.s.Schema.Resources) {
			at[name] = len(r.slots)
			r.slots = append(r.slots, freeSlot{s.reported.Ad, slices.Clone(o.Free)})
		}
	}
	for _, j := range b.all {
		if j.Phase != Running || j.Group.Runs() || j.Spec == nil {
			continue
		}
		for _, p := range j.Places { // it is on its way there
			if i, known := at[p.Slot]; known {
				r.slots[i].free.AddScaled(j.Spec.Request, -int64(p.Chunks))
			}
		}
	}
	return r
}

// start takes what a job would start on now, and reports whether there is that much.
func (r *roomNow) start(spec *observe.Spec) bool {
	user := spec.User()
	if spec.Wrong != nil || r.spent[user] >= accountant.Allowance(mostSteps, r.all, r.spent[user]) {
		return false
	}
	k := r.kinds[spec]
	if k == nil {
		k = &kindOfJob{fits: -1}
		r.kinds[spec] = k
	}
	var meter classad.Meter
	looked := int64(0)
	var taken []int
	for i := k.from; i < len(r.slots) && len(taken) < spec.Nodes; i++ {
		s := &r.slots[i]
		looked++
		before := len(taken)
		for len(taken) < spec.Nodes && spec.Request.Within(s.free) && (k.fits == i || s.accepts(spec, r.host, &meter)) {
			k.fits = i
			s.free.AddScaled(spec.Request, -1)
			taken = append(taken, i)
		}
		if len(taken) == before && k.from == i {
			k.from++
		}
	}
	steps := looked + int64(len(taken)) + meter.Steps()
	r.spent[user] += steps
	r.all += steps
	if len(taken) == spec.Nodes {
		return true
	}
	for _, i := range taken {
		r.slots[i].free.AddScaled(spec.Request, 1)
	}
	return false
}

// accepts tells whether a slot and a job accept each other.
func (s *freeSlot) accepts(spec *observe.Spec, host *classad.Host, meter *classad.Meter) bool {
	return classad.Pair{Left: spec.Ad, Right: s.ad, Host: host, MaxSteps: classad.FewSteps, Meter: meter}.Match()
}
