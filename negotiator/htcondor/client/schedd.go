package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

const (
	queryJobs    = 516
	releaseClaim = 443
)

// Schedd is a daemon with a queue of jobs.
type Schedd struct {
	Security *security.Client
	Address  cedar.Address
	// Negotiator is our name, which users see beside the reason why a job waits; "" tells none.
	Negotiator string
}

// JobQuery says which jobs are wanted, and which of their attributes.
type JobQuery struct {
	// Requirements is an expression over each job's ad; empty means all jobs.
	Requirements string
	// Projection lists the wanted attributes; empty means all.
	Projection []string
	// Group asks for one ad, with JobCount and JobIds, for all jobs that are equal in the projected
	// attributes.
	Group bool
	// Long is called, in place of the callback for all others, with an ad of more than 2 MiB: with
	// those of its lines that were kept, short ones among them, and with its length. If it is nil,
	// the callback gets these lines.
	Long func(lines cedar.Lines, size int) error
	// Most is how many bytes the answer may have, whatever is kept of it; 0 means 4 GiB. One that has
	// more ends with [cedar.ErrTooMuch], as does one of too many ads.
	Most int64
}

// Jobs calls the callback for one job ad after another; the lines are valid only during the call.
// The result is the summary ad at the end of the answer, with ServerTime.
func (s Schedd) Jobs(ctx context.Context, q JobQuery, each func(cedar.Lines) error) (*classad.ClassAd, error) {
	summary, err := s.jobs(ctx, q, each)
	if err != nil {
		return nil, fmt.Errorf("query the queue at %v: %w", s.Address, errors.Join(err, ctx.Err()))
	}
	return summary, nil
}

// maxJob is up to how many bytes the ad of a job, or of alike jobs with their IDs, is surely kept
// whole. Users can write ads of any length; IDs are kept even of millions of jobs.
const maxJob = 2 << 20

// maxJobIDs is the maximum number of job IDs in the ad of a group: more than any queue has.
const maxJobIDs = 10_000_000

func (s Schedd) jobs(ctx context.Context, q JobQuery, each func(cedar.Lines) error) (*classad.ClassAd, error) {
	ad := classad.New()
	if err := ad.SetExpr("Requirements", orTrue(q.Requirements)); err != nil {
		return nil, err
	}
	if len(q.Projection) > 0 {
		ad.SetString("Projection", strings.Join(q.Projection, "\n"))
	}
	if q.Group {
		ad.SetBool("ProjectionIsGroupBy", true)
		ad.SetInt("MaxReturnedJobIds", maxJobIDs)
	}
	stream, err := s.Security.Start(ctx, s.Address, queryJobs, nil)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	stream.Limit(cmp.Or(q.Most, maxAnswer))
	stream.PutAd(ad)
	if err = stream.Send(); err != nil {
		return nil, err
	}
	var lines cedar.Lines
	for count := 0; ; count++ {
		if count == maxAds {
			return nil, fmt.Errorf("the answer does not end after %d jobs: %w", count, cedar.ErrTooMuch)
		}
		left := 0
		if lines, left, err = stream.AppendShort(lines[:0], maxJob, "JobIds"); err == nil {
			err = stream.End()
		}
		if err != nil {
			return nil, err
		}
		if left == 0 && isLast(lines) {
			return readSummary(lines)
		}
		if left > 0 && q.Long != nil {
			err = q.Long(lines, left+len(lines))
		} else {
			err = each(lines)
		}
		if err != nil {
			return nil, err
		}
	}
}

// ofJobs are attributes of which each ad of jobs has some, and the summary none: a schedd itself
// puts the last two into each ad of a group, after what users wrote, and the first two into each
// job.
var ofJobs = []string{"ClusterId", "ProcId", "JobIds", "JobCount"}

// isLast reports whether the ad is the summary, not a job: its Owner is the number 0, and it has
// nothing that makes it a job, which no user can take away. The Owner alone is no proof: whoever
// may write it into a job would hide all jobs that follow.
func isLast(lines cedar.Lines) bool {
	owner, ok := lines.Find("Owner")
	return ok && string(owner) == "0" && !slices.ContainsFunc(ofJobs, func(name string) bool {
		_, has := lines.Find(name)
		return has
	})
}

func readSummary(lines cedar.Lines) (*classad.ClassAd, error) {
	summary, err := lines.Ad()
	if err != nil {
		return nil, err
	}
	if code, given := summary.Literal("ErrorCode").Int(); given && code != 0 {
		text, _ := summary.Literal("ErrorString").Text()
		return nil, fmt.Errorf("the schedd answers with error %d: %.200s", code, text)
	}
	return summary, nil
}

// Release tells the schedd that a claim has ended, as a startd does when it gives up a claim. The
// schedd does not answer.
func (s Schedd) Release(ctx context.Context, claim string) error {
	stream, err := s.Security.Start(ctx, s.Address, releaseClaim, nil)
	if err != nil {
		return fmt.Errorf("release claim %s at %v: %w", security.PublicClaim(claim), s.Address, err)
	}
	defer stream.Close()
	stream.PutString(claim)
	return stream.Send()
}
