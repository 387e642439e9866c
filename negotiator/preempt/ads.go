package preempt

import (
	"regexp"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

// decorated is a claim's ad with the attributes that only a negotiator can supply.
type decorated struct {
	raw, ad *classad.ClassAd // ad: nil: it is not made yet
	user    string
	rank    float64
	others  map[string]string // by prefix, such as slot2_, who has the machine's other slots
	epoch   int               // of what it says is in use; -1: it has to be said anew
}

// otherUser is the attribute by which a startd tells in one slot's ad who has another.
var otherUser = regexp.MustCompile(`(?i)^(slot[0-9]+_)RemoteUser$`)

// decorate returns the ad of claims as expressions see it.
func (s *Search) decorate(c *claim) *decorated {
	if d, known := s.ads.get(c.Ad); known && d.user == c.User && d.rank == c.Rank {
		d.epoch = -1
		return d
	}
	d := &decorated{raw: c.Ad, user: c.User, rank: c.Rank, epoch: -1}
	s.ads.put(c.Ad, d)
	return d
}

// of returns the ad with the standings as they are now.
func (d *decorated) of(s *Search) *classad.ClassAd {
	if d.ad == nil {
		d.ad = d.raw.Clone()
		d.ad.SetReal("CurrentRank", d.rank) // that of a claim that waits counts, if there is one
		if s.rules.CrossSlotPrios {
			d.others = map[string]string{}
			for name := range d.raw.All() {
				if m := otherUser.FindStringSubmatch(name); m != nil {
					d.others[strings.ToLower(m[1])], _ = d.raw.Text(name)
				}
			}
		}
	}
	if d.epoch != s.epoch {
		d.epoch = s.epoch
		s.describeUser(d.ad, "", d.user)
		for prefix, user := range d.others {
			s.describeUser(d.ad, prefix, user)
		}
	}
	return d.ad
}

// describeUser sets what a slot's ad says of who has the slot, or of who has the one of this prefix.
func (s *Search) describeUser(ad *classad.ClassAd, prefix, user string) {
	if user == "" {
		return
	}
	st := s.standing(user)
	ad.SetReal(prefix+"RemoteUserPrio", st.Prio)
	ad.SetReal(prefix+"RemoteUserFloor", st.Floor)
	ad.SetReal(prefix+"RemoteUserResourcesInUse", st.InUse+s.inUse[user])
	if st.Group == "" {
		return
	}
	ad.SetString(prefix+"RemoteGroup", st.Group)
	ad.SetReal(prefix+"RemoteGroupResourcesInUse", st.GroupInUse+s.inUse[st.Group])
	ad.SetReal(prefix+"RemoteGroupQuota", st.GroupQuota)
}

// jobAd returns the ad of a shape's jobs as expressions see it.
func (s *Search) jobAd(sh *shape) *classad.ClassAd {
	if sh.decorated != nil {
		return sh.decorated
	}
	ad := sh.ad.Clone()
	if sh.submitter != "" {
		st := s.standing(sh.submitter)
		ad.SetReal("SubmitterUserPrio", st.Prio)
		ad.SetReal("SubmittorPrio", st.Prio)
		ad.SetReal("SubmitterUserResourcesInUse", st.InUse+s.inUse[sh.submitter])
		ad.SetString("SubmitterNegotiatingGroup", st.NegotiatingGroup)
		ad.SetBool("SubmitterAutoregroup", st.Autoregroup)
		if st.Group != "" {
			ad.SetString("SubmitterGroup", st.Group)
			ad.SetReal("SubmitterGroupResourcesInUse", st.GroupInUse+s.inUse[st.Group])
			ad.SetReal("SubmitterGroupQuota", st.GroupQuota)
		}
	}
	sh.decorated = ad
	return ad
}

// asksInUse reports whether an expression of the rules refers to amounts that follow the cycle's
// matches.
func (r *Rules) asksInUse() bool {
	return slices.ContainsFunc([]*classad.Expr{r.Requirements, r.Rank, r.PreJobRank, r.PostJobRank}, func(e *classad.Expr) bool {
		if e == nil {
			return false
		}
		_, names, _ := e.Refs(nil)
		return slices.ContainsFunc(names, isInUse)
	})
}
