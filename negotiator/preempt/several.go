package preempt

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// wantsSeveral is the attribute of jobs for which several dynamic slots may make way, see [Rules].Asked.
const wantsSeveral = "WantPslotPreemption"

// several finds dynamic slots of a partitionable one that make way together: the lowest CurrentRank
// first, as far as each of them may, until the job fits beside the rest. Those are then left alone without
// which it fits all the same.
func (s *Search) several(sh *shape, id backfill.SlotID, w *Waiting) (o option, ok bool) {
	all := slices.DeleteFunc(slices.Clone(s.at[id]), func(i int) bool {
		return s.claims[i].taken || s.reason(sh, s.claims[i].bucket) == 0
	})
	slices.SortStableFunc(all, func(i, j int) int { return cmp.Compare(s.claims[i].Rank, s.claims[j].Rank) })
	retired := slices.DeleteFunc(slices.Clone(all), func(i int) bool { return s.claims[i].until > 0 })
	victims := s.enough(id, retired, w)
	if victims == nil {
		if waits := s.enough(id, all, w); waits != nil {
			until := backfill.Time(0)
			for _, i := range waits {
				until = max(until, s.claims[i].until)
			}
			sh.wait(s.claims[waits[0]].Host, len(waits), until)
		}
		return o, false
	}
	o = option{reason: StartdRank, claim: -1, host: id, victims: victims}
	for n, i := range victims {
		c := &s.claims[i]
		o.reason = min(o.reason, sh.verdicts[c.bucket].reason)
		if rank := s.preemptionRank(sh, c); n == 0 || rank < o.last {
			o.last = rank
		}
	}
	if !s.mayAsk(sh) {
		return o, false
	}
	before := sh.meter.Steps()
	o.prefers = s.ranks(sh, s.enlarged(id, victims), s.jobAd(sh))
	s.settle(sh, before)
	return o, true
}

// enough returns the first of these claims that are enough for the job, without those that are not
// needed; nil: they are not enough.
func (s *Search) enough(id backfill.SlotID, claims []int, w *Waiting) []int {
	for n := 1; n <= len(claims); n++ {
		if !s.fits(id, claims[:n], w, false) {
			continue
		}
		victims := slices.Clone(claims[:n])
		for i := n - 1; i >= 0; i-- { // the one that the machine prefers most is the first to be left
			if without := slices.Delete(slices.Clone(victims), i, i+1); len(without) > 0 && s.fits(id, without, w, false) {
				victims = without
			}
		}
		return victims
	}
	return nil
}

// enlarged returns the ad of a partitionable slot with what it has once these claims are free.
func (s *Search) enlarged(id backfill.SlotID, victims []int) *classad.ClassAd {
	_, ad, _ := s.pool.Slot(id)
	ad = ad.Clone()
	for k, name := range s.resources {
		room := s.host(id).free[k]
		for _, v := range victims {
			room += s.claims[v].request[k]
		}
		ad.SetInt(name, max(room, 0)) // names of attributes do not depend on case
	}
	return ad
}
