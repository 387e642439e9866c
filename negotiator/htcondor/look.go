package htcondor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// look looks at the pool once.
func (p *Pool) look(ctx context.Context) (*observe.Snapshot, error) {
	p.s.Before(ctx)
	if t := p.tuned.Swap(nil); t != nil && *t != p.s.Tuning {
		p.tune(*t)
	}
	p.looked = p.now()
	used := p.s.CPU()
	s, err := p.observer.Look(ctx)
	p.lookCPU = p.s.CPU() - used
	if s != nil {
		p.last, p.looked = s, s.Began
	}
	return s, err
}

// Started and Finished are the stock negotiator's lines around each cycle in its log, by which
// programs know a negotiator that works. A cycle starts with the look at the pool.
const (
	Started  = "---------- Started Negotiation Cycle ----------"
	Finished = "---------- Finished Negotiation Cycle ----------"
)

// lookPatiently looks at the pool until the collector answers; if Once is set, it returns the first
// error. The reason why the collector does not answer is logged when it changes.
func (p *Pool) lookPatiently(ctx context.Context) (*observe.Snapshot, error) {
	p.log.Info(Started)
	pause, logged := retry, ""
	for {
		s, err := p.look(ctx)
		if err == nil {
			return s, nil
		}
		if ctx.Err() != nil {
			return nil, errors.Join(context.Cause(ctx), ctx.Err())
		}
		if denied, ok := errors.AsType[*security.DeniedError](err); ok {
			err = fmt.Errorf("%w: run as root or as HTCondor's user, or have ALLOW_NEGOTIATOR of the collector list %s",
				err, denied.User)
		}
		if p.s.Once {
			return nil, err
		}
		if text := err.Error(); text != logged {
			p.log.Warn("the pool cannot be looked at; nothing is decided until it can, which is tried again and again",
				"error", err)
			logged = text
		}
		p.trouble(err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, 10*time.Second)
	}
}
