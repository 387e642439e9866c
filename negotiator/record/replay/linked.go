package replay

import (
	"context"
	"errors"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/negotiator/record"
	"github.com/condor-backfill/condor-backfill/negotiator/record/recordv1"
)

// ErrNotLinked says that a record was decided by a policy that is not linked in.
var ErrNotLinked = errors.New("the policy of the record is not linked in")

// Linked makes the policies of a record in this process, as [Deciders]. The error is [ErrNotLinked] for a plugin's.
func Linked(_ context.Context, p *recordv1.Policy, _ []string) (main, fallback backfill.Decider, err error) {
	spec, err := policies.Named(p.GetName())
	if err != nil {
		return nil, nil, ErrNotLinked
	}
	if main, err = backfill.Link(spec, record.MapOf(p.GetOptions())); err != nil {
		return nil, nil, err
	}
	if spec, err = policies.FallbackNamed(p.GetFallback(), spec); err != nil {
		return nil, nil, err
	}
	fallback, err = backfill.Link(spec, nil)
	return main, fallback, err
}
