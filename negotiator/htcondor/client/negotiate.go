package client

import (
	"context"
	"fmt"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// Commands of a negotiation.
const (
	negotiate          = 416
	noMoreJobs         = 418
	jobInfo            = 419
	endNegotiate       = 425
	permissionAndAd    = 472
	rejectedWithReason = 476
	requestList        = 518
)

// Submitter is the user, group user or gang scheduler in whose name jobs are negotiated.
type Submitter struct {
	// Name is the name in the submitter's ad, Tag its SubmitterTag.
	Name, Tag string
	// Significant lists the job attributes that slots and we refer to.
	Significant []string
}

// Negotiation is a conversation with a schedd about submitters' jobs.
type Negotiation struct {
	stream *cedar.Stream
	name   string // of the negotiator
}

// Negotiate starts a negotiation. The key is the capability from a submitter ad of this schedd; if
// it is nil, a session of ours is used. The connection is closed when the context ends.
func (s Schedd) Negotiate(ctx context.Context, who Submitter, with *security.Key) (*Negotiation, error) {
	stream, err := s.Security.Start(ctx, s.Address, negotiate, with)
	if err != nil {
		return nil, err
	}
	n := &Negotiation{stream, s.Negotiator}
	if err = n.header(who); err != nil {
		n.Close()
		return nil, fmt.Errorf("negotiate with %v for %s: %w", s.Address, who.Name, err)
	}
	return n, nil
}

// Next continues with another submitter of the same schedd. Call End first.
func (n *Negotiation) Next(who Submitter) error {
	n.stream.PutInt(negotiate)
	return n.header(who)
}

// header sends the ad that begins a submitter's part. It must not have MatchCaps: schedds since 24.4
// would then expect an ad after the reason of a rejection.
func (n *Negotiation) header(who Submitter) error {
	ad := classad.New()
	ad.SetString("Owner", who.Name)
	ad.SetString("AutoClusterAttrs", strings.Join(who.Significant, ","))
	ad.SetString("SubmitterTag", who.Tag)
	ad.SetBool("MatchClaimedPslots", true)
	if n.name != "" {
		ad.SetString("NegotiatorName", n.name) // schedds since 24.4 heed it
	}
	n.stream.PutAd(ad)
	return n.stream.Send()
}

// Requests asks the schedd for the ads of jobs that want slots, and returns no more of them than
// the given number, without those that cannot be read.
func (n *Negotiation) Requests(most int) ([]*classad.ClassAd, error) {
	n.stream.PutInt(requestList)
	n.stream.PutInt(int64(most))
	if err := n.stream.Send(); err != nil {
		return nil, err
	}
	var all []*classad.ClassAd
	for range most {
		code, err := n.stream.Int()
		if err != nil {
			return all, err
		}
		switch code {
		case noMoreJobs:
			return all, n.stream.End()
		case jobInfo:
			lines, _, err := n.stream.AppendShort(nil, maxJob, "")
			if err == nil {
				err = n.stream.End()
			}
			if err != nil {
				return all, err
			}
			if ad, wrong := lines.Ad(); wrong == nil {
				all = append(all, ad)
			}
		default:
			return all, fmt.Errorf("the schedd answers a question for jobs with %d", code)
		}
	}
	return all, nil
}

// Grant is a match: a job and the slot that it gets.
type Grant struct {
	Cluster, Proc int64
	// Claim is the slot's claim id, which is a secret.
	Claim string
	// Slot is the slot's whole ad. It is not modified.
	Slot *classad.ClassAd
	// Limits are the job's concurrency limits, if any.
	Limits string
	// Lock is an expression over the slot's ad, as its startd last told the schedd. While it is true,
	// the schedd uses the claim, and the rest of a partitionable slot, for no other job; "": never.
	Lock string
}

// Format prints a match without the claim.
func (g Grant) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "job %d.%d on claim %s", g.Cluster, g.Proc, security.PublicClaim(g.Claim))
}

// MarshalText returns a match without the claim.
func (g Grant) MarshalText() ([]byte, error) { return fmt.Append(nil, g), nil }

// Nobody is the user that a locked claim is restricted to, besides the job that it names. The schedd
// evaluates whether it is restricted each time that it looks for a job.
const Nobody = "nobody@backfill"

// Match gives a slot to a job. The schedd does not answer.
func (n *Negotiation) Match(g Grant) error {
	ad := g.Slot.Clone()
	for name := range g.Slot.All() {
		if classad.Private(name) {
			ad.Delete(name)
		}
	}
	ad.SetInt("_condor_RESOURCE_CLUSTER", g.Cluster)
	ad.SetInt("_condor_RESOURCE_PROC", g.Proc)
	ad.SetString("RemoteNegotiatingGroup", "<none>")
	ad.SetBool("RemoteAutoregroup", false)
	if g.Lock != "" {
		if err := ad.SetExpr("RestrictToAuthenticatedIdentity", g.Lock); err != nil {
			return fmt.Errorf("the lock of a claim: %w", err)
		}
		ad.SetString("AuthenticatedIdentity", Nobody)
	}
	if g.Limits != "" {
		ad.SetString("MatchedConcurrencyLimits", strings.ToLower(g.Limits))
	}
	n.stream.PutInt(permissionAndAd)
	n.stream.PutString(g.Claim)
	n.stream.PutAd(ad)
	return n.stream.Send()
}

// Reject tells the schedd why a job must wait. The schedd writes each reason to its job queue, so
// send only new ones.
func (n *Negotiation) Reject(cluster, proc int64, reason string) error {
	n.stream.PutInt(rejectedWithReason)
	n.stream.PutString(fmt.Sprintf("%s |-1|%d.%d|", strings.ReplaceAll(reason, "|", "/"), cluster, proc))
	return n.stream.Send()
}

// End ends the negotiation for a submitter.
func (n *Negotiation) End() error {
	n.stream.PutInt(endNegotiate)
	return n.stream.Send()
}

// Close closes the connection.
func (n *Negotiation) Close() { n.stream.Close() }
