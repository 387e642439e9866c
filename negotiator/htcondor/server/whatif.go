package server

import (
	"context"
	"errors"
	"fmt"
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
	ad, err := n.AnswerWhatIf(ctx, call.Peer, question)
	if err != nil {
		return nil, err
	}
	return NewAds(ad), nil
}

// AnswerWhatIf answers a question that came on another way than the command port, at the same price: see
// whatIf.
func (n *Negotiator) AnswerWhatIf(ctx context.Context, from security.Peer, question string) (*classad.ClassAd, error) {
	done, busy, err := n.questions.tryFor(ctx, asker{host: hostOf(from)})
	switch {
	case busy:
		ad := classad.New()
		ad.SetString("Failed", busyText)
		return ad, nil
	case err != nil:
		return nil, err
	}
	defer done()
	return n.WhatIf(ctx, question), nil
}

// AnswerExplain tells what Plans tells of one job, to somebody who asks on another way than the command
// port, at the same price: a job is matched anew with all slots, when no cycle is under way.
func (n *Negotiator) AnswerExplain(ctx context.Context, from security.Peer, job string) (*Ads, error) {
	if len(job) > longestJob {
		return nil, fmt.Errorf("a job's name of %d bytes: at most %d are allowed", len(job), longestJob)
	}
	done, err := n.explanations.take(ctx, askerOf(from))
	if err != nil {
		return nil, err
	}
	defer done()
	return n.Plans(ctx, job)
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
