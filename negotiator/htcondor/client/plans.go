package client

import (
	"context"
	"fmt"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// queryNegotiator is the command that queries a negotiator for ads; the type of ads with start
// times is our own extension.
const (
	queryNegotiator = 50
	jobPlan         = "JobPlan"
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
	_, err = query(ctx, n.Security, n.Address, queryNegotiator, ad, func(l cedar.Lines) error {
		plan, wrong := l.Ad()
		plans = append(plans, plan)
		return wrong
	})
	if err != nil {
		return nil, fmt.Errorf("ask the negotiator at %v for start times: %w", n.Address, err)
	}
	return plans, nil
}
