package rehearsal

import (
	"context"
	"fmt"
	"math"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// WhatIf answers about the simulation at an instant. The policy must be linked in, so that there can be
// more than one.
func (p *Rehearsal) WhatIf(ctx context.Context, at backfill.Time, q whatif.Question) (*whatif.Answer, error) {
	var last *negotiator.Negotiator
	if err := condorsim.RunTo(ctx, p.Workload, p.config, at, lastOf{&last}, p); err != nil {
		return nil, err
	}
	if last == nil {
		return nil, cli.Bad(fmt.Errorf("nothing has happened by %s: the first job is submitted at %s", p.text(at),
			p.text(backfill.Time(p.Clock().First))))
	}
	var twins outlook.Twins
	defer twins.Close()
	s := whatif.Schedule{
		Look:  func(_ context.Context, look func(*negotiator.Negotiator) error) error { return look(last) },
		Twins: &twins, Order: p.Settings.Order, Rounds: math.MaxInt32, Complete: p.complete,
		Charge: func(j *negotiator.Job) ([]negotiator.Limit, error) { return nil, p.Workload.Charge(j) },
	}
	a, err := s.Answer(ctx, q)
	if err == nil && p.over(last.State()) {
		a.Notes = append(a.Notes, allEnded)
	}
	return a, err
}

// readAsked reads a job that is asked about, as far as the pool is to be ready for it; nil: none is.
func readAsked(job *whatif.Job) (*negotiator.Job, error) {
	if job == nil {
		return nil, nil
	}
	ad, err := classad.ParseOld(job.Ad)
	if err != nil {
		return nil, fmt.Errorf("the job's ad cannot be read: %w", err)
	}
	return &negotiator.Job{Name: "asked", Ad: ad, Nodes: 1}, nil
}

// complete adds to the job that is asked about what it requests in this pool: kinds of devices.
func (p *Rehearsal) complete(ad *classad.ClassAd) {
	if p.asked == nil {
		return
	}
	for name, e := range p.asked.Ad.All() {
		if _, has := ad.Lookup(name); !has {
			ad.Set(name, e)
		}
	}
}

// lastOf keeps the negotiator of the last cycle.
type lastOf struct{ n **negotiator.Negotiator }

// Cycle keeps the negotiator.
func (l lastOf) Cycle(r *negotiator.Report) error {
	*l.n = r.Negotiator()
	return nil
}
