package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// querySchedd asks a schedd itself for the ad that it sends to collectors now and then.
const querySchedd = 6

// maxScheddAnswer bounds the bytes of the answer: the ad has some thousand.
const maxScheddAnswer = 1 << 20

var (
	errOneIsEnough = errors.New("one ad is enough")
	errUncounted   = errors.New("the schedd does not tell how many jobs were submitted")
)

// Submitted returns how many jobs were submitted to the schedd since it started, up to this moment.
// The answer costs the schedd little: it looks at no job, and starts no process as for a query of
// its queue.
func (s Schedd) Submitted(ctx context.Context) (int64, error) {
	ad := classad.New()
	ad.SetString("MyType", "Query")
	ad.SetString("TargetType", "Scheduler")
	ad.SetBool("Requirements", true)
	ad.SetString("STATISTICS_TO_PUBLISH", "SCHEDD:1!R") // whatever is configured, and no others
	submitted, wrong := int64(0), errUncounted
	_, err := query(ctx, s.Security, s.Address, querySchedd, ad, maxScheddAnswer, func(lines cedar.Lines) error {
		if count, told := lines.Find("JobsSubmitted"); told {
			submitted, wrong = strconv.ParseInt(string(count), 10, 64)
		}
		return errOneIsEnough
	})
	if err == nil || errors.Is(err, errOneIsEnough) {
		err = wrong
	}
	if err != nil {
		return 0, fmt.Errorf("ask the schedd at %v for its submits: %w", s.Address, errors.Join(err, ctx.Err()))
	}
	return submitted, nil
}
