package server

import (
	"context"
	"sync"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// accounting adds the commands of condor_userprio. HTCondor lets users with WRITE change factors if
// a map file says so; here that is reserved for administrators, like the rest.
func (n *Negotiator) accounting(all handlers) {
	a := n.Accountant
	all.add(451, "GET_PRIORITY", security.Unproven, n.report(false), security.Read)
	all.add(514, "GET_PRIORITY_ROLLUP", security.Unproven, n.report(true), security.Read)
	all.add(512, "GET_PRIORITY_ROLLUP_OLD", security.Unproven, n.report(true), security.Read)
	all.add(78, "QUERY_ACCOUNTING_ADS", security.ByPayload, n.accountingAds, security.Read)
	all.add(449, "SET_PRIORITY", security.ByPayload, setReal(a.SetPriority), security.Administrator)
	all.add(459, "SET_PRIORITYFACTOR", security.ByPayload, setFactor(a.SetFactor), security.Administrator)
	all.add(494, "SET_ACCUMUSAGE", security.ByPayload, setReal(a.SetUsage), security.Administrator)
	all.add(495, "SET_BEGINTIME", security.ByPayload, setInt(a.SetBegin), security.Administrator)
	all.add(496, "SET_LASTTIME", security.ByPayload, setInt(a.SetLast), security.Administrator)
	all.add(525, "SET_CEILING", security.ByPayload, setInt(a.SetCeiling), security.Administrator)
	all.add(530, "SET_FLOOR", security.ByPayload, setInt(a.SetFloor), security.Administrator)
	all.add(482, "DELETE_USER", security.ByPayload, named(a.Delete), security.Administrator)
	all.add(458, "RESET_USAGE", security.ByPayload,
		named(func(name string) error { return a.ResetUsage(n.now(), name) }), security.Administrator)
	all.add(460, "RESET_ALL_USAGE", security.ByHandshake,
		func(context.Context, *security.Call) error { return a.ResetAll(n.now()) }, security.Administrator)
}

func (n *Negotiator) now() time.Time {
	if n.Clock != nil {
		return n.Clock()
	}
	return time.Now()
}

func (n *Negotiator) report(rollup bool) Serve {
	return func(ctx context.Context, call *security.Call) error {
		var lines []byte
		if err := n.making.during(ctx, call, func() { lines = n.Accountant.Report(rollup) }); err != nil {
			return err
		}
		return n.send(call, &n.reports, lines)
	}
}

func (n *Negotiator) accountingAds(ctx context.Context, call *security.Call) error {
	q, err := ReadQuery(call)
	if err != nil {
		return err
	}
	var ads *Ads
	if err = n.making.during(ctx, call, func() { ads = n.accounts.of(n.Accountant.Accounts()).written() }); err != nil {
		return err
	}
	defer n.accounts.readers.Begin(ads, call.Close)()
	return n.answer(ctx, call, q, ads)
}

// accounts are the Accounting ads of which queries were answered last.
type accounts struct {
	readers Readers
	mu      sync.Mutex
	last    List
	ads     *Ads
}

// of returns these ads. They are written once, and remember what was wanted of them, until there
// are others.
func (a *accounts) of(all List) *Ads {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ads == nil || a.last != all {
		a.last, a.ads = all, WriteAds(all.Len(), all.At)
	}
	return a.ads
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
		name, err := readAlone(call)
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
