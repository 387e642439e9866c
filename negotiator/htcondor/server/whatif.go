package server

import (
	"context"
	"errors"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// WhatIf is the TargetType of questions about what would be if something were otherwise, which use
// the command of queries for Negotiator ads. The question is the attribute Question; it is answered
// by one ad.
const WhatIf = "WhatIf"

// busyText is what a host is told that asks while a question of its is under way.
const busyText = "busy: a question from your machine is being answered; ask again when it is"

// whatIf answers a question. A host has one at a time, and a second one is refused at once. Those
// of other hosts wait for their turn, since all of them together use half of the processors; none
// is given up for another. One whose client hangs up is.
func (n *Negotiator) whatIf(ctx context.Context, call *security.Call, q Query) (*Ads, error) {
	if n.WhatIf == nil {
		return nil, errors.New("nobody answers questions here")
	}
	ctx, stop := whileHeard(ctx, call.Stream)
	defer stop()
	question, _ := q.Ad.Literal("Question").Text()
	done, busy, err := n.questions.tryFor(ctx, asker{host: hostOf(call.Peer)})
	switch {
	case busy:
		ad := classad.New()
		ad.SetString("Failed", busyText)
		return NewAds(ad), nil
	case err != nil:
		return nil, err
	}
	defer done()
	return NewAds(n.WhatIf(ctx, question)), nil
}

// whileHeard returns a context that ends soon after the client has hung up; stop ends it before.
func whileHeard(ctx context.Context, s *cedar.Stream) (heard context.Context, stop func()) {
	const pause = 100 * time.Millisecond
	heard, end := context.WithCancelCause(ctx)
	go func() {
		for {
			if err := interest(heard, s)(); err != nil {
				end(err)
				return
			}
			select {
			case <-heard.Done():
			case <-time.After(pause):
			}
		}
	}()
	return heard, func() { end(nil) }
}

// tryFor is take for an asker who does not wait for its own turn: busy says that one is under way.
func (t *turns) tryFor(ctx context.Context, who asker) (done func(), busy bool, err error) {
	t.prepare()
	if !t.try(who) {
		return nil, true, nil
	}
	defer waits(ctx)()
	done, err = t.share(ctx, who)
	return done, false, err
}
