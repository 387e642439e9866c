package observe

import (
	"regexp"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

// claiming says what claimed slots are asked for, so that their jobs may make way for others. The
// RANK of machines is always asked for where that is considered at all; the rest only if a job can
// make way: as a machine has a RANK, or PREEMPTION_REQUIREMENTS may be true.
type claiming struct {
	considered bool
	asked      bool
	ranked     bool // a machine has a RANK
	scavengers bool // there are any, so that it must be known how long they may take to leave
	scope      config.Preemption
}

const rank = "rank"

// ofClaims are the attributes of claimed slots that are always asked for then.
var ofClaims = []string{
	"CurrentRank", "PreemptingUser", "PreemptingAccountingGroup", "PreemptingRank", "RetirementTimeRemaining",
	machineVacate, "TotalJobRunTime", "TotalClaimRunTime", "SlotID", "RemoteUser",
}

// preempt has claimed slots asked for what preemption needs, from the next look on.
func (o *Observer) preempt(p config.Preemption) {
	c := &o.claiming
	c.scope, c.considered = p, p.ConsiderPreemption
	c.asked = c.considered && (c.ranked || p.Possible())
	beside := map[string]bool{}
	if c.considered {
		beside[rank] = true
	}
	if c.asked {
		for _, name := range ofClaims {
			beside[strings.ToLower(name)] = true
		}
		for _, text := range []string{p.PreemptionRequirements, p.PreemptionRank} {
			if e, err := classad.ParseExpr(text); err == nil {
				o.preemptBy(e, beside)
			}
		}
	}
	if c.scavengers {
		beside[strings.ToLower(machineVacate)] = true
	}
	o.slotAttributes.setBeside(beside)
}

// ofNeighbour is what a negotiator says in one slot's ad of who has another slot of the machine, and
// learns from that slot's RemoteUser, which startds tell there by their STARTD_SLOT_ATTRS.
var ofNeighbour = regexp.MustCompile(`^(slot[0-9]+_)remote(user|group)[a-z]+$`)

// preemptBy has slots and jobs asked for what an expression refers to: its attributes without a
// scope may be of either.
func (o *Observer) preemptBy(e *classad.Expr, beside map[string]bool) {
	internal, external, _ := e.Refs(nil) // a circular reference evaluates to error
	for _, names := range [][]string{internal, external} {
		for _, name := range names {
			name = strings.ToLower(name)
			if len(name) <= longestName && strings.IndexFunc(name, needsQuotes) < 0 {
				beside[name] = true
			}
			if m := ofNeighbour.FindStringSubmatch(name); m != nil && o.claiming.scope.CrossSlotPrios {
				beside[m[1]+"remoteuser"] = true
			}
		}
		o.jobAttributes.refer(names, always)
	}
}

// setBeside sets the attributes that are asked for and are in no ad that jobs are matched with.
func (w *wanted) setBeside(names map[string]bool) {
	if len(names) == 0 && len(w.beside) == 0 {
		return
	}
	w.beside, w.list = names, nil
}

// noteRank notes whether the machine of a slot has a RANK: a number prefers nobody. It reports
// whether claimed slots must be asked for more.
func (o *Observer) noteRank(t *slotText, ad *classad.ClassAd) (grew bool) {
	t.ranked = o.claiming.considered && prefers(rank, ad)
	if !t.ranked || o.claiming.ranked {
		return false
	}
	o.claiming.ranked = true
	before := o.claiming.asked
	o.preempt(o.claiming.scope)
	return !before
}

// prefers tells whether an attribute of a slot is a RANK that may prefer one job to another.
func prefers(name string, ad *classad.ClassAd) bool {
	if name != rank {
		return false
	}
	_, given := ad.Lookup(rank)
	_, plain := ad.Literal(rank).Number()
	return given && !plain
}

// forgetRanks notes if no machine has a RANK any more.
func (o *Observer) forgetRanks() {
	if !o.claiming.ranked {
		return
	}
	for _, t := range o.read {
		if t.ranked {
			return
		}
	}
	o.claiming.ranked = false
	o.preempt(o.claiming.scope)
}

// keepClaim keeps the whole ad of a claimed slot whose job may make way, as scavengers always may.
func (o *Observer) keepClaim(s *Slot, ad *classad.ClassAd) {
	s.Claim = nil
	if (o.claiming.asked || o.claiming.scavengers) && s.Claimed && !s.Data {
		s.Claim = ad.Clone()
	}
}
