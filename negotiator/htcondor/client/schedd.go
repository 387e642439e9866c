package client

import (
	"context"
	"errors"
	"fmt"
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
}

// JobQuery says which jobs are wanted, and what of them.
type JobQuery struct {
	// Requirements is an expression over each job's ad; "": all.
	Requirements string
	// Projection are the attributes that are wanted; none: all.
	Projection []string
	// Group has jobs that are equal in the projected attributes told as one ad, with
	// JobCount and JobIds.
	Group bool
}

// Jobs hands the jobs of the queue over, one ad after another; its lines hold
// until each returns. The result is the summary at the end, with ServerTime.
func (s Schedd) Jobs(ctx context.Context, q JobQuery, each func(cedar.Lines) error) (*classad.ClassAd, error) {
	summary, err := s.jobs(ctx, q, each)
	if err != nil {
		return nil, fmt.Errorf("query the queue at %v: %w", s.Address, errors.Join(err, ctx.Err()))
	}
	return summary, nil
}

// maxJobIDs is how many IDs a group of jobs may name: all.
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
	stream.PutAd(ad)
	if err = stream.Send(); err != nil {
		return nil, err
	}
	var lines cedar.Lines
	for told := 0; ; told++ {
		if told == maxAds {
			return nil, fmt.Errorf("the answer does not end after %d jobs", told)
		}
		if lines, err = stream.AppendLines(lines[:0]); err == nil {
			err = stream.End()
		}
		if err != nil {
			return nil, err
		}
		if isLast(lines) {
			return readSummary(lines)
		}
		if err = each(lines); err != nil {
			return nil, err
		}
	}
}

// isLast tells the summary from a job: its Owner is the number 0.
func isLast(lines cedar.Lines) bool {
	owner, ok := lines.Find("Owner")
	return ok && string(owner) == "0"
}

func readSummary(lines cedar.Lines) (*classad.ClassAd, error) {
	summary, err := lines.Ad()
	if err != nil {
		return nil, err
	}
	if code, given := summary.Int("ErrorCode"); given && code != 0 {
		text, _ := summary.Text("ErrorString")
		return nil, fmt.Errorf("the schedd answers with error %d: %s", code, text)
	}
	return summary, nil
}

// Release tells the schedd that a claim has ended, as a startd does that gives one up. The
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
