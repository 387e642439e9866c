package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
	for command, lease := range map[int]leasing{
		532: {"MANAGE_CEILING", "Ceiling", "ceiling"},
		533: {"MANAGE_FLOOR", "Floor", "floor"},
		534: {"MANAGE_PRIORITY_FACTOR", "PriorityFactor", "priority-factor"},
	} {
		all.add(command, lease.name, security.ByPayload, n.manage(lease), security.Administrator)
	}
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

// leasing is a command about leases: its name, the attribute that has the value, and what is
// leased.
type leasing struct {
	name, attribute, what string
}

// manage returns the handler of a command about leases, whose answer is an ad with Success and
// ErrorString.
func (n *Negotiator) manage(l leasing) Serve {
	return func(_ context.Context, call *security.Call) error {
		ad, err := call.Ad()
		if err == nil {
			err = call.End()
		}
		if err != nil {
			return err
		}
		wrong := n.lease(l, ad)
		answer := classad.New()
		answer.SetBool("Success", wrong == nil)
		answer.SetString("ErrorString", "")
		if wrong != nil {
			answer.SetString("ErrorString", wrong.Error())
		}
		call.PutAd(answer)
		if err = call.Send(); err != nil {
			return err
		}
		return wrong
	}
}

// lease carries out what an ad asks for.
func (n *Negotiator) lease(l leasing, ad *classad.ClassAd) error {
	submitter, _ := ad.Literal("Submitter").Text()
	action, _ := ad.Literal("Action").Text()
	value, given := ad.Literal(l.attribute).Number()
	seconds, lasting := ad.Literal("Duration").Int()
	switch set := strings.EqualFold(action, "set"); {
	case submitter == "":
		return errors.New("request is missing Submitter")
	case set && !given:
		return errors.New("set action requires " + l.attribute)
	case set && !lasting:
		return errors.New("set action requires Duration")
	case set:
		return n.Accountant.Lease(n.now(), l.what, submitter, value, seconds)
	case strings.EqualFold(action, "cancel"):
		return n.Accountant.CancelLease(n.now(), l.what, submitter)
	default:
		return fmt.Errorf("unknown Action %.20q: must be set or cancel", action)
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
