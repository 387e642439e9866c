package server

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// Accountant is the user accounting that condor_userprio shows and changes. Its errors are sent to
// the client where the protocol allows it.
type Accountant interface {
	Reporter
	Factors
	Limits
	Leases
	Resetter
}

// Reporter reports priorities and use.
type Reporter interface {
	// Report returns the reply to GET_PRIORITY or, with rollup, to GET_PRIORITY_ROLLUP: an ad as
	// lines, with attributes numbered from 1. It is the same text until something changes.
	Report(rollup bool) []byte
	// Accounts returns the Accounting ads, one for each submitter and group: the same list, by ==,
	// until something changes.
	Accounts() List
}

// List is a list of ads that does not change. At makes one of them.
type List = interface {
	Len() int
	At(i int) *classad.ClassAd
}

// Factors sets what a submitter's priority follows from.
type Factors interface {
	SetFactor(submitter string, factor float64) error
	SetPriority(submitter string, priority float64) error
	SetUsage(submitter string, seconds float64) error
	SetBegin(submitter string, unix int64) error
	SetLast(submitter string, unix int64) error
}

// Limits sets how much a submitter may have at most, and what it is given first; in weighted slots.
type Limits interface {
	SetCeiling(submitter string, weight int64) error
	SetFloor(submitter string, weight int64) error
}

// Leases sets for a time what a submitter may have, or what its priority follows from.
type Leases interface {
	Lease(now time.Time, what string, submitter string, value float64, seconds int64) error
	CancelLease(now time.Time, what string, submitter string) error
}

// Resetter forgets use, or a submitter.
type Resetter interface {
	ResetUsage(now time.Time, submitter string) error
	ResetAll(now time.Time) error
	Delete(submitter string) error
}

// Stop is how a daemon is asked to end.
type Stop int

// The ways to end.
const (
	Graceful Stop = iota
	Fast
	Peaceful
)

// JobPlan is the TargetType of queries for start times, which use the command of queries for
// Negotiator ads.
const JobPlan = "JobPlan"

// Negotiator serves the commands of HTCondor's negotiator. Commands whose field is nil are not
// served.
type Negotiator struct {
	// Reschedule asks for a cycle soon, because a schedd has new jobs.
	Reschedule func()
	// Accountant serves condor_userprio.
	Accountant Accountant
	// Ad returns the Negotiator ad.
	Ad func() *classad.ClassAd
	// Plans returns ads with the start times of all waiting jobs or, for one job ("12.0",
	// "12.0@schedd"), with all that is known about it. For all waiting jobs it is the same list
	// until there is another plan.
	Plans func(ctx context.Context, job string) (*Ads, error)
	// WhatIf answers a question, in an ad that clients of package client read.
	WhatIf func(ctx context.Context, question string) *classad.ClassAd
	// Drain has slots drained, or ends that, for a user, and Drains tells which are: each in an ad that
	// clients of package client read.
	Drain  func(ctx context.Context, user, request string) *classad.ClassAd
	Drains func(ctx context.Context) *classad.ClassAd
	// Resources returns the slots that a submitter uses: an ad as lines, with attributes numbered
	// from 1: Name1, StartTime1. It is the same text until something changes.
	Resources func(submitter string) []byte
	// Reconfig reads the configuration again.
	Reconfig func()
	// Off ends the daemon.
	Off func(Stop)
	// Configuration serves condor_config_val.
	Configuration Configuration
	// Clock returns the time; nil means time.Now.
	Clock func() time.Time

	turns        turns   // of queries
	making       turns   // of answers that are made once for all who ask
	explanations turns   // of jobs, which wait for the end of a cycle: queries do not
	questions    turns   // of what-ifs
	reports      Readers // of priorities and use
	lists        Readers // of start times
	explained    Readers // of what is known of the jobs of a cluster: each such list has one
	slots        Readers // of what submitters use
	counts       counts  // of lines of reports and slots
	accounts     accounts
}

// Handlers returns the handlers by command number.
func (n *Negotiator) Handlers() map[int]Handler {
	n.turns.rests, n.explanations.rests, n.questions.rests = true, true, true
	all := handlers{}
	if n.Reschedule != nil {
		all.add(421, "RESCHEDULE", security.Unproven, done(n.Reschedule),
			security.Daemon, security.AdvertiseSchedd, security.Administrator)
	}
	if n.Reconfig != nil {
		all.add(60004, "DC_RECONFIG", security.ByHandshake, done(n.Reconfig), security.Write)
		all.add(60012, "DC_RECONFIG_FULL", security.ByHandshake, done(n.Reconfig), security.Write)
	}
	if n.Off != nil {
		all.add(60005, "DC_OFF_GRACEFUL", security.ByHandshake, done(func() { n.Off(Graceful) }), security.Administrator)
		all.add(60006, "DC_OFF_FAST", security.ByHandshake, done(func() { n.Off(Fast) }), security.Administrator)
		all.add(60015, "DC_OFF_PEACEFUL", security.ByHandshake, done(func() { n.Off(Peaceful) }), security.Administrator)
	}
	if n.Drain != nil {
		all.add(515, "DRAIN_JOBS", security.ByPayload, n.drain, security.Administrator)
	}
	if n.Ad != nil || n.Plans != nil || n.WhatIf != nil || n.Drains != nil {
		all.add(50, "QUERY_NEGOTIATOR_ADS", security.ByPayload, n.query, security.Read)
	}
	if n.Resources != nil {
		all.add(463, "GET_RESLIST", security.ByPayload, n.resources, security.Read)
	}
	if n.Accountant != nil {
		n.accounting(all)
	}
	if n.Configuration != nil {
		n.configuration(all)
	}
	return all
}

// handlers are handlers by command number.
type handlers map[int]Handler

func (h handlers) add(command int, name string, proof security.Proof, serve Serve, needs ...security.Permission) {
	h[command] = Handler{Name: name, Needs: needs, Proof: proof, Payload: payload(name, proof), Serve: serve}
}

// How many bytes a command's payload may have on the wire: nothing but the frames, a name with a
// number, or a query, whose projection, question or request has at most 64 KiB, written with escapes.
const (
	noPayload    = 1 << 10
	namePayload  = 4 << 10
	queryPayload = 192 << 10
)

// payload returns the bound of a command's payload.
func payload(name string, proof security.Proof) int64 {
	switch {
	case proof != security.ByPayload:
		return noPayload
	case strings.HasPrefix(name, "QUERY_"), name == "DRAIN_JOBS":
		return queryPayload
	default:
		return namePayload
	}
}

// done returns a handler for a command without payload and answer.
func done(do func()) Serve {
	return func(context.Context, *security.Call) error {
		do()
		return nil
	}
}

// Answers of so many ads, or bytes, or less are not counted by [Readers]: all connections together
// do not need much memory for them.
const (
	fewAds   = 100
	fewBytes = 64 << 10
)

// query answers queries for the Negotiator ad and for plans, and what-ifs.
func (n *Negotiator) query(ctx context.Context, call *security.Call) error {
	q, err := ReadQuery(call)
	if err != nil {
		return err
	}
	ads := NewAds()
	switch types := q.Types(); {
	case len(types) == 1 && types[0] == JobPlan:
		readers := &n.lists
		if q.explains() != "" {
			readers = &n.explained
		}
		if ads, err = n.plans(ctx, call, q); err == nil && ads.n > fewAds {
			defer readers.Begin(ads, call.Close)()
		}
	case len(types) == 1 && types[0] == WhatIf:
		q.Requirements = nil // there is one answer
		ads, err = n.whatIf(ctx, call, q)
	case len(types) == 1 && types[0] == Drains:
		ads, err = n.listDrains(ctx, call)
	case n.Ad != nil:
		ads = NewAds(n.Ad())
	}
	if err != nil {
		return err
	}
	return n.answer(ctx, call, q, ads)
}

// longestJob is how many bytes the name of a job may have, with that of its schedd.
const longestJob = 1024

// explains returns the job that a query for plans asks for; "" for all.
func (q Query) explains() string {
	job, _ := q.Ad.Literal("Explain").Text()
	return job
}

func (n *Negotiator) plans(ctx context.Context, call *security.Call, q Query) (ads *Ads, wrong error) {
	if n.Plans == nil {
		return nil, errors.New("there are no plans here")
	}
	job := q.explains()
	if job != "" {
		heard, stop := whileHeard(ctx, call.Stream)
		defer stop()
		return n.AnswerExplain(heard, call.Peer, job)
	}
	if err := n.making.during(ctx, call, func() {
		if ads, wrong = n.Plans(ctx, ""); wrong == nil {
			ads.written()
		}
	}); err != nil {
		return nil, err
	}
	return ads, wrong
}

func (n *Negotiator) resources(ctx context.Context, call *security.Call) error {
	name, err := readAlone(call)
	if err != nil {
		return err
	}
	done, err := n.turns.takeFor(ctx, call)
	if err != nil {
		return err
	}
	lines := n.Resources(name)
	done()
	return n.send(call, &n.slots, lines)
}

// send sends an ad that is given as lines. All who ask share them, so that one who reads slowly
// only holds a reference.
func (n *Negotiator) send(call *security.Call, readers *Readers, lines []byte) error {
	if len(lines) > fewBytes {
		defer readers.Begin(&lines[0], call.Close)()
	}
	call.PutCounted(lines, n.counts.of(lines))
	return call.Send()
}
