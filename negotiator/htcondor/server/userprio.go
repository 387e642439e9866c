package server

import (
	"context"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// accounting adds the commands of condor_userprio. HTCondor lets users with WRITE change factors if
// a map file says so; here that is reserved for administrators, like the rest.
func (n *Negotiator) accounting(all handlers) {
	a := n.Accountant
	all.bare(451, "GET_PRIORITY", n.report(false), security.Read)
	all.bare(514, "GET_PRIORITY_ROLLUP", n.report(true), security.Read)
	all.bare(512, "GET_PRIORITY_ROLLUP_OLD", n.report(true), security.Read)
	all.add(78, "QUERY_ACCOUNTING_ADS", n.accountingAds, security.Read)
	all.add(449, "SET_PRIORITY", setReal(a.SetPriority), security.Administrator)
	all.add(459, "SET_PRIORITYFACTOR", setFactor(a.SetFactor), security.Administrator)
	all.add(494, "SET_ACCUMUSAGE", setReal(a.SetUsage), security.Administrator)
	all.add(495, "SET_BEGINTIME", setInt(a.SetBegin), security.Administrator)
	all.add(496, "SET_LASTTIME", setInt(a.SetLast), security.Administrator)
	all.add(525, "SET_CEILING", setInt(a.SetCeiling), security.Administrator)
	all.add(530, "SET_FLOOR", setInt(a.SetFloor), security.Administrator)
	all.add(482, "DELETE_USER", named(a.Delete), security.Administrator)
	all.add(458, "RESET_USAGE", named(func(name string) error { return a.ResetUsage(n.now(), name) }),
		security.Administrator)
	all.bare(460, "RESET_ALL_USAGE", func(context.Context, *security.Call) error { return a.ResetAll(n.now()) },
		security.Administrator)
}

func (n *Negotiator) now() time.Time {
	if n.Clock != nil {
		return n.Clock()
	}
	return time.Now()
}

func (n *Negotiator) report(rollup bool) Serve {
	return func(_ context.Context, call *security.Call) error {
		call.PutBareAd(n.Accountant.Report(rollup))
		return call.Send()
	}
}

func (n *Negotiator) accountingAds(ctx context.Context, call *security.Call) error {
	q, err := ReadQuery(call)
	if err != nil {
		return err
	}
	return n.answer(ctx, call, q, NewAds(n.Accountant.Ads()...))
}

func setReal(set func(string, float64) error) Serve {
	return func(_ context.Context, call *security.Call) error {
		name, v, err := readReal(call)
		if err != nil {
			return err
		}
		return set(name, v)
	}
}

func setInt(set func(string, int64) error) Serve {
	return func(_ context.Context, call *security.Call) error {
		name, v, err := readInt(call)
		if err != nil {
			return err
		}
		return set(name, v)
	}
}

func named(do func(string) error) Serve {
	return func(_ context.Context, call *security.Call) error {
		name, err := readName(call)
		if err == nil {
			err = call.End()
		}
		if err != nil {
			return err
		}
		return do(name)
	}
}

// setFactor returns the handler of SET_PRIORITYFACTOR, the only one of the set commands with an
// answer: an ad with ErrorCode and ErrorString.
func setFactor(set func(string, float64) error) Serve {
	return func(_ context.Context, call *security.Call) error {
		name, v, err := readReal(call)
		if err != nil {
			return err
		}
		wrong := set(name, v)
		answer := classad.New()
		answer.SetInt("ErrorCode", 0)
		if wrong != nil {
			answer.SetInt("ErrorCode", 4)
			answer.SetString("ErrorString", wrong.Error())
		}
		call.PutAd(answer)
		if err = call.Send(); err != nil {
			return err
		}
		return wrong
	}
}
