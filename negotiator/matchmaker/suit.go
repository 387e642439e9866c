package matchmaker

import (
	"context"
	"fmt"
	"math"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// Suited is what is found of a job that is only asked about.
type Suited struct {
	Candidates backfill.Candidates
	// Request is what each of its chunks requests; nil: what its ad alone tells.
	Request backfill.Vector
	// WhyNone is why it has no candidates; "" if it has some.
	WhyNone string
}

// Suit finds the candidates of a job that is not there, by its ad: no autocluster is made for it,
// and no user pays. It takes no more steps than [Limits].Cluster, and compares no more attributes
// of slots than [Limits].User has steps; else the job has no candidates. The error is that of the
// context.
func (c *Copy) Suit(ctx context.Context, ad *classad.ClassAd) (s Suited, err error) {
	m := c.m
	job := &autocluster{ad: ad, read: -1, expires: never, wakes: never, view: m.viewOf(ad)}
	job.depends = len(m.bundles) == 0 && RequestsBySlot(ad, m.resources)
	defer m.leave(job.view)
	if names := len(job.view.names); int64(names) > m.mostOfUser()/int64(max(1, len(m.slots))) {
		s.WhyNone = fmt.Sprintf("its Requirements are too expensive: they and Rank refer to %d attributes of %d slots",
			names, len(m.slots))
		return s, nil
	}
	if err = m.classify(ctx, job.view); err != nil {
		return s, err
	}
	look := search{trial: trial{m: m, limit: m.limits.Evaluation}, c: job, most: m.mostOfOne(), ended: ctx.Err}
	found := look.settle(look.all())
	switch {
	case look.stopped:
		s.WhyNone = "its Requirements are too expensive: " + Cost(look.steps())
	case job.unlike != "":
		s.WhyNone = job.unlike
	case none(found):
		left := m.mostOfOne()
		s.WhyNone = "matches no slot: " + m.fitOf(job, func(backfill.SlotID) bool { return true }, &left).WhyNone()
	default:
		s.Candidates, s.Request = found, job.Request
		m.found = backfill.Candidates{}
	}
	return s, ctx.Err()
}

// classify brings a new view up to date, and looks at the context meanwhile.
func (m *Matchmaker) classify(ctx context.Context, v *view) error {
	for id := range m.slots {
		if id%256 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		v.ofSlot = append(v.ofSlot, m.class(v, backfill.SlotID(id)))
	}
	v.seen = m.changed.end()
	m.renew(v) // the bundles
	return nil
}

// mostOfOne is how many steps one autocluster may take.
func (m *Matchmaker) mostOfOne() int64 {
	if m.limits.Cluster == 0 {
		return math.MaxInt64
	}
	return m.limits.Cluster
}

// Would returns a function that tells whether the jobs of an autocluster match a slot with an ad
// that is in none of the pool's slots. All its calls together take no more steps than a quarter of
// [Limits].User; after that nothing matches. Limits that depend on the slot must have room now.
func (m *Matchmaker) Would() func(id int, ad *classad.ClassAd) bool {
	s, most := search{trial: trial{m: m, limit: m.limits.Evaluation}}, m.mostOfUser()/4
	return func(id int, ad *classad.ClassAd) bool {
		if s.c = m.clusters[id]; s.c.ad != nil && s.meter.Steps() < most {
			if _, known := m.ownSteps[ad]; !known {
				defer m.disown(ad)
			}
			o := offer{ad: ad, m: m}
			return s.match(o) == matches && (!s.c.bySlot || s.noRoom(o) == "")
		}
		return false
	}
}

// mostOfUser is how many steps the jobs of one user may take.
func (m *Matchmaker) mostOfUser() int64 {
	if m.limits.User == 0 {
		return math.MaxInt64
	}
	return m.limits.User
}

// disown forgets what was measured of a slot's ad that is in no slot.
func (m *Matchmaker) disown(ad *classad.ClassAd) {
	if m.ownSteps[ad] < 0 {
		m.unbearable--
	}
	delete(m.ownSteps, ad)
}
