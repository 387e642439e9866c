package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// queryNegotiator is the command that queries a negotiator for ads; the types of ads with start
// times, with answers to what-ifs, and with the slots that are drained are our own extension.
const (
	queryNegotiator = 50
	jobPlan         = "JobPlan"
	whatIf          = "WhatIf"
	drains          = "Drains"
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

// Reply is a reply to a what-if, or about drains: one of its texts is set.
type Reply struct {
	// Answer is the answer as JSON.
	Answer string
	// Bad is why the question has no answer, and Failed why it could not be answered.
	Bad, Failed string
}

// readReply reads a reply.
func readReply(ad *classad.ClassAd) (r Reply) {
	r.Answer, _ = ad.Literal("Answer").Text()
	r.Bad, _ = ad.Literal("BadQuestion").Text()
	r.Failed, _ = ad.Literal("Failed").Text()
	return r
}

// WhatIf asks what would be if something were otherwise. The question is JSON.
func (n Negotiator) WhatIf(ctx context.Context, question string) (reply Reply, err error) {
	return n.ask(ctx, whatIf, "what if", question)
}

// Drains asks which slots are drained.
func (n Negotiator) Drains(ctx context.Context) (Reply, error) {
	return n.ask(ctx, drains, "which slots are drained", "")
}

// ask asks for the one ad of a type. What is asked is for errors.
func (n Negotiator) ask(ctx context.Context, adType, what, question string) (reply Reply, err error) {
	ad := classad.New()
	ad.SetString("MyType", "Query")
	ad.SetString("TargetType", adType)
	ad.SetBool("Requirements", true)
	ad.SetString("Question", question)
	replies := 0
	_, err = query(ctx, n.Security, n.Address, queryNegotiator, ad, maxAnswer, func(l cedar.Lines) error {
		if got, wrong := l.Ad(); wrong == nil {
			replies++
			reply = readReply(got)
		}
		return nil
	})
	switch {
	case err != nil:
		err = fmt.Errorf("ask the negotiator at %v %s: %w", n.Address, what, err)
	case replies != 1 || reply == Reply{}:
		err = fmt.Errorf("ask the negotiator at %v %s: it does not know how to answer: it is of an earlier version",
			n.Address, what)
	}
	return reply, err
}

// drainJobs is the command that has slots drained.
const drainJobs = 515

// Drain asks for drains, or their end. The request is JSON. It takes the permission ADMINISTRATOR.
func (n Negotiator) Drain(ctx context.Context, request string) (Reply, error) {
	reply, err := n.drain(ctx, request)
	if err != nil {
		return reply, fmt.Errorf("ask the negotiator at %v to drain slots: %w", n.Address, errors.Join(err, ctx.Err()))
	}
	return reply, nil
}

func (n Negotiator) drain(ctx context.Context, request string) (reply Reply, err error) {
	ad := classad.New()
	ad.SetString("Request", request)
	s, err := n.Security.Start(ctx, n.Address, drainJobs, nil)
	if err != nil {
		return reply, err
	}
	defer s.Close()
	s.Limit(maxAdText)
	s.PutAd(ad)
	if err = s.Send(); err != nil {
		return reply, err
	}
	got, err := s.Ad()
	if err == nil {
		err = s.End()
	}
	if err != nil {
		return reply, err
	}
	return readReply(got), nil
}
