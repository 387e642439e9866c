package observe

import (
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

// ranks are the expressions of [config.Ranks]; nil for none. Each becomes an attribute of every slot.
type ranks struct {
	pre, post *classad.Expr
	alike     bool // for all jobs: see [config.Ranks]
}

// rankBy has all slots ranked by these expressions. Slots are asked for the attributes that the
// expressions refer to, and jobs for those that a slot does not have, as for any attribute of a slot. An
// expression that cannot be parsed ranks nothing.
func (o *Observer) rankBy(r config.Ranks) {
	o.ranks = ranks{o.rank(r.PreJobRank), o.rank(r.PostJobRank), r.IgnoreJob}
}

func (o *Observer) rank(text string) *classad.Expr {
	e, err := classad.ParseExpr(text)
	if err != nil {
		return nil
	}
	o.slotAttributes.referTo(e)
	return e
}

// put puts the ranks into a slot's ad, and removes what its startd says under their names.
func (r ranks) put(ad *classad.ClassAd, host *classad.Host) {
	for _, one := range []struct {
		name string
		e    *classad.Expr
	}{{negotiator.PreJobRank, r.pre}, {negotiator.PostJobRank, r.post}} {
		switch {
		case one.e == nil:
			ad.Delete(one.name)
		case r.alike:
			ad.Delete(one.name) // or the startd could rank by itself
			putRank(ad, one.name, one.e.Eval(classad.Scope{My: ad, Host: host, MaxSteps: slotSteps}))
		default:
			ad.Set(one.name, one.e)
		}
	}
}

// putRank puts a rank's value into a slot's ad.
func putRank(ad *classad.ClassAd, name string, v classad.Value) {
	n, isNumber := v.Number()
	truth, isTruth := v.Bool()
	switch {
	case isTruth:
		ad.SetBool(name, truth)
	case isNumber:
		ad.SetReal(name, n)
	default:
		_ = ad.SetExpr(name, "undefined") // which is an expression; it ranks the slot last
	}
}

var preJobRank, postJobRank = strings.ToLower(negotiator.PreJobRank), strings.ToLower(negotiator.PostJobRank)

// isRank reports whether an attribute, in lower case, is one of the ranks.
func isRank(name string) bool { return name == preJobRank || name == postJobRank }
