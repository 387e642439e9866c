package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// whatIfPatience is how long a question may take: then it is answered as far as it was found out.
// What it costs the cycles is the time to copy the schedule: jobs and slots are matched beside
// them.
const whatIfPatience = 10 * time.Second

// whatIfJobs is how long a queue may be that is asked about.
const whatIfJobs = 5000

// whatIfMemory is how many bytes of candidate sets one question may make.
const whatIfMemory = 64 << 20

// whatIfPlan is how many bytes its plan may take beside these.
const whatIfPlan = 32 << 20

// WhatIf answers a question, as JSON, about a plan that is made on a copy of the schedule. The ad
// has the Answer as JSON, or BadQuestion, why there is none, or why it Failed. Policies decide that
// are linked in, or a twin of the one in charge: no question starts what a path names.
func (d *Daemon) WhatIf(ctx context.Context, question string) *classad.ClassAd {
	ctx, done := context.WithTimeout(ctx, whatIfPatience)
	defer done()
	ad := classad.New()
	q, err := whatif.Read(question)
	if err == nil && q.Options != nil {
		err = &whatif.BadQuestion{Err: errors.New("options of policies can be asked about in simulations only: " +
			"some make a plan as expensive as they like")}
	}
	if err == nil {
		var a *whatif.Answer
		d.mu.Lock()
		order := d.status.order // the policy itself may be replaced meanwhile
		d.mu.Unlock()
		s := whatif.Schedule{
			Look: d.look, Twins: &d.asking, Order: order, Complete: d.complete, Jobs: whatIfJobs, Memory: whatIfMemory,
			Plan: whatIfPlan, Charge: d.charge,
		}
		if a, err = s.Answer(ctx, q); err == nil {
			var text []byte
			if text, err = json.Marshal(a); err == nil {
				ad.SetString("Answer", string(text))
				return ad
			}
		}
	}
	if _, bad := errors.AsType[*whatif.BadQuestion](err); bad {
		ad.SetString("BadQuestion", err.Error())
	} else {
		ad.SetString("Failed", err.Error())
	}
	return ad
}

// look calls the callback between two cycles. It waits for the cycle under way until the context
// ends.
func (d *Daemon) look(ctx context.Context, look func(*negotiator.Negotiator) error) error {
	leave, err := d.visit(ctx)
	if err != nil {
		return fmt.Errorf("a cycle is under way, and goes on for longer than a question may take: %w", err)
	}
	defer leave()
	if d.n == nil || d.lastCycle.Load() == nil {
		return ErrNoPlan
	}
	return look(d.n)
}

// charge sets what a job that is only asked about takes of limits. The caller has the lock of cycles.
func (d *Daemon) charge(j *negotiator.Job) ([]negotiator.Limit, error) {
	return (*d.pool.Load()).Charge(j)
}

// complete adds to a job's ad what is not in the ads of users: that it takes one claim.
func (d *Daemon) complete(ad *classad.ClassAd) {
	if slices.Contains(d.o.Negotiator.Schema.Resources, observe.Claims) {
		ad.SetInt("Request"+negotiator.Attribute(observe.Claims), 1)
	}
}
