package client

import (
	"context"
	"fmt"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// queryNegotiator is the command that queries a negotiator for ads; the types of ads with start
// times, and with answers to what-ifs, are our own extension.
const (
	queryNegotiator = 50
	jobPlan         = "JobPlan"
	whatIf          = "WhatIf"
)

// Negotiator is one of our negotiators, which knows when jobs will start.
type Negotiator struct {
	Security *security.Client
	Address  cedar.Address
}

// Plans returns ads with the start times of waiting jobs. requirements is an expression over each
// ad; empty means all.
func (n Negotiator) Plans(ctx context.Context, requirements string) ([]*classad.ClassAd, error) {
	return n.plans(ctx, requirements, "")
}

// Explain returns all that is known about a job ("12.0" or "12.0@schedd"): one ad for each job of
// that name, which may be none.
func (n Negotiator) Explain(ctx context.Context, job string) ([]*classad.ClassAd, error) {
	return n.plans(ctx, "", job)
}

func (n Negotiator) plans(ctx context.Context, requirements, job string) (plans []*classad.ClassAd, err error) {
	ad := classad.New()
	ad.SetString("MyType", "Query")
	ad.SetString("TargetType", jobPlan)
	if err = ad.SetExpr("Requirements", orTrue(requirements)); err != nil {
		return nil, fmt.Errorf("ask for start times: requirements %q: %w", requirements, err)
	}
	if job != "" {
		ad.SetString("Explain", job)
	}
	_, err = query(ctx, n.Security, n.Address, queryNegotiator, ad, maxAnswer, func(l cedar.Lines) error {
		if plan, wrong := l.Ad(); wrong == nil { // what users wrote into a job hides no other job
			plans = append(plans, plan)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ask the negotiator at %v for start times: %w", n.Address, err)
	}
	return plans, nil
}

// Reply is a reply to a what-if: one of its texts is set.
type Reply struct {
	// Answer is the answer as JSON.
	Answer string
	// Bad is why the question has no answer, and Failed why it could not be answered.
	Bad, Failed string
}

// WhatIf asks what would be if something were otherwise. The question is JSON.
func (n Negotiator) WhatIf(ctx context.Context, question string) (reply Reply, err error) {
	ad := classad.New()
	ad.SetString("MyType", "Query")
	ad.SetString("TargetType", whatIf)
	ad.SetBool("Requirements", true)
	ad.SetString("Question", question)
	replies := 0
	_, err = query(ctx, n.Security, n.Address, queryNegotiator, ad, maxAnswer, func(l cedar.Lines) error {
		if got, wrong := l.Ad(); wrong == nil {
			replies++
			reply.Answer, _ = got.Literal("Answer").Text()
			reply.Bad, _ = got.Literal("BadQuestion").Text()
			reply.Failed, _ = got.Literal("Failed").Text()
		}
		return nil
	})
	switch {
	case err != nil:
		err = fmt.Errorf("ask the negotiator at %v what if: %w", n.Address, err)
	case replies != 1 || reply == Reply{}:
		err = fmt.Errorf("ask the negotiator at %v what if: it does not know how to answer: it is of an earlier version", n.Address)
	}
	return reply, err
}
