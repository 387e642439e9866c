package matchmaker

import (
	"context"
	"math"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// Suited is what is found of a job that is only asked about.
type Suited struct {
	// Request is what each of its chunks asks for.
	Request    backfill.Vector
	Candidates backfill.Candidates
	// WhyNone is why it has no candidates; "" if it has some.
	WhyNone string
}

// Suit finds the candidates of a job that is not there, by its ad: no autocluster is made for it, and
// no user pays. It takes no more steps than [Limits].Cluster; then the job has no candidates. The
// error is that of reading the request, or of the context.
func (m *Matchmaker) Suit(ctx context.Context, ad *classad.ClassAd) (s Suited, err error) {
	if s.Request, err = m.request(ad); err != nil {
		return s, err
	}
	c := &autocluster{ad: ad, read: -1, view: m.viewOf(ad)}
	defer m.leave(c.view)
	m.renew(c.view)
	look := search{trial: trial{m: m, limit: m.limits.Evaluation}, c: c, most: m.mostOfOne(), ended: ctx.Err}
	found := look.all()
	switch {
	case look.stopped:
		s.WhyNone = "its Requirements are too expensive: " + Cost(look.steps())
	case none(found):
		left := m.mostOfOne()
		s.WhyNone = "matches no slot: " + m.fitOf(c, func(backfill.SlotID) bool { return true }, &left).WhyNone()
	default:
		s.Candidates = backfill.Candidates{
			Slots: slices.Clone(found.Slots), Bundles: slices.Clone(found.Bundles), Rank: found.Rank,
		}
	}
	return s, ctx.Err()
}

// mostOfOne is how many steps one autocluster may take.
func (m *Matchmaker) mostOfOne() int64 {
	if m.limits.Cluster == 0 {
		return math.MaxInt64
	}
	return m.limits.Cluster
}

// Would returns a function that tells whether the jobs of an autocluster match a slot with an ad that
// is in none of the pool's slots. All its calls together take no more steps than [Limits].User; after
// that nothing matches.
func (m *Matchmaker) Would() func(id int, ad *classad.ClassAd) bool {
	t, most := trial{m: m, limit: m.limits.Evaluation}, m.mostOfUser()
	return func(id int, ad *classad.ClassAd) bool {
		if c := m.clusters[id]; c.ad != nil && t.meter.Steps() < most {
			if _, known := m.ownSteps[ad]; !known {
				defer m.disown(ad)
			}
			return offer{ad: ad, m: m}.match(&t, c.ad)
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

// Enlarge returns the candidate sets that change if slots come with this ad, and get the given IDs,
// ascending and above those of all slots; nothing is changed. It evaluates the ad once with the jobs
// of each autocluster, and takes no more steps than [Limits].User: further autoclusters, which it
// counts, get none of the slots. The pool must have no bundles.
func (m *Matchmaker) Enlarge(ad *classad.ClassAd, ids []backfill.SlotID) (sets []backfill.CandidateSet, untried int) {
	most := m.mostOfUser()
	if _, known := m.ownSteps[ad]; !known {
		defer m.disown(ad)
	}
	t, o := trial{m: m, limit: m.limits.Evaluation}, offer{ad: ad, m: m}
	for _, c := range m.clusters {
		switch {
		case len(c.users) == 0 || c.void || !c.complete:
			continue
		case t.meter.Steps() >= most:
			untried++
			continue
		}
		if o.match(&t, c.ad) {
			sets = append(sets, backfill.CandidateSet{ID: c.ID, Candidates: m.with(c, o.preference(&t, c.ad), ids)})
		}
	}
	return sets, untried
}

// disown forgets what was measured of a slot's ad that is in no slot.
func (m *Matchmaker) disown(ad *classad.ClassAd) {
	if m.ownSteps[ad] < 0 {
		m.unbearable--
	}
	delete(m.ownSteps, ad)
}

// with returns the candidates of an autocluster and further slots, all preferred alike.
func (m *Matchmaker) with(c *autocluster, rank preference, more []backfill.SlotID) backfill.Candidates {
	former := c.candidates.Slots
	ranks, classes := make([]preference, 0, len(former)+len(more)), m.classes(c.view)
	for _, id := range former {
		ranks = append(ranks, c.preference(classes[id]))
	}
	for range more {
		ranks = append(ranks, rank)
	}
	found := backfill.Candidates{Slots: slices.Concat(former, more)}
	distinct := slices.Clone(ranks)
	slices.SortFunc(distinct, preference.compare)
	if distinct = slices.Compact(distinct); len(distinct) == 1 {
		return found
	}
	found.Rank = make([]int32, len(ranks))
	for i, preferred := range ranks {
		n, _ := slices.BinarySearchFunc(distinct, preferred, preference.compare)
		found.Rank[i] = int32(n)
	}
	return found
}
