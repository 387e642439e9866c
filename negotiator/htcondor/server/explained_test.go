package server

import (
	"context"
	"fmt"
	"net"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// TestExplanationsCutOffNoList: whoever reads what is known of many clusters, slowly, ends nobody's
// answer about all jobs, but that of another cluster.
func TestExplanationsCutOffNoList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &Negotiator{Plans: func(context.Context, string) (*Ads, error) {
			return MakeAds(10_000, func(int) *classad.ClassAd { return classad.New() }), nil
		}}
		serve := n.Handlers()[50].Serve
		reader := func(more string) (ended chan error, hangUp func()) {
			ours, theirs := net.Pipe()
			call := &security.Call{
				Stream: cedar.NewStream(ours, 0), Command: 50, Peer: security.Peer{Address: "10.1.1.1", User: security.Unauthenticated},
			}
			ended = make(chan error, 1)
			go func() { ended <- serve(t.Context(), call) }()
			query := cedar.NewStream(theirs, 0)
			query.PutLines(cedar.Lines("TargetType = \"" + JobPlan + "\"\n" + more))
			require.NoError(t, query.Send())
			synctest.Wait()
			return ended, func() { call.Close(); query.Close() }
		}
		ended, hangUp := reader("")
		var all []func()
		for i := range 2 * mostAnswers {
			_, also := reader(fmt.Sprintf("Explain = \"%d\"", i+1))
			all = append(all, also)
		}
		synctest.Wait()
		select {
		case err := <-ended:
			require.NoError(t, err, "the list was cut off")
			require.FailNow(t, "the list was not read")
		default:
		}
		require.Len(t, n.explained.sending, mostAnswers)
		hangUp()
		for _, also := range all {
			also()
		}
	})
}
