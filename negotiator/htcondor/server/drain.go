package server

import (
	"context"
	"errors"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// Drains is the TargetType of queries for the slots that are drained, which use the command of queries
// for Negotiator ads. It is answered by one ad.
const Drains = "Drains"

// drain serves DRAIN_JOBS, with which condor_drain asks a startd: here it is about any slots, and about
// an instant. The payload is an ad whose attribute Request says what is asked for.
func (n *Negotiator) drain(ctx context.Context, call *security.Call) error {
	ad, err := call.Ad()
	if err == nil {
		err = call.End()
	}
	if err != nil {
		return err
	}
	ctx, stop := whileHeard(ctx, call.Stream)
	defer stop()
	request, _ := ad.Literal("Request").Text()
	call.PutAd(n.Drain(ctx, call.Peer.User, request))
	return call.Send()
}

func (n *Negotiator) listDrains(ctx context.Context, call *security.Call) (*Ads, error) {
	if n.Drains == nil {
		return nil, errors.New("nobody drains slots here")
	}
	heard, stop := whileHeard(ctx, call.Stream)
	defer stop()
	done, err := n.explanations.take(heard, askerOf(call.Peer))
	if err != nil {
		return nil, err
	}
	defer done()
	return NewAds(n.Drains(heard)), nil
}
