package htcondor

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// TestADeniedLook: a pool that denies us is reported with advice, as an error with Once, otherwise
// once in the log, however often the look is tried again.
func TestADeniedLook(t *testing.T) {
	collector := fakes.NewCollector(t)
	collector.Deny()
	as := fakes.Client()
	pool := func(once bool, log io.Writer) *Pool {
		return New(Settings{
			Collector: &client.Collector{Security: as, Addresses: []cedar.Address{collector.Address()}}, Security: as,
			Once: once, Logger: hclog.New(&hclog.LoggerOptions{Output: log}),
		})
	}
	const advice = "run as root or as HTCondor's user, or have ALLOW_NEGOTIATOR of the collector list condor@test"
	_, err := pool(true, io.Discard).Open(t.Context(), nil)
	require.ErrorContains(t, err, "denied")
	require.ErrorContains(t, err, advice)
	denied, ok := errors.AsType[*security.DeniedError](err)
	require.True(t, ok)

	synctest.Test(t, func(t *testing.T) { // the same denial again and again
		looks := 0
		as.Connect = func(context.Context, string) (net.Conn, error) { looks++; return nil, denied }
		ctx, cancel := context.WithTimeout(t.Context(), retry+retry/2)
		defer cancel()
		log := &strings.Builder{}
		_, err := pool(false, log).Open(ctx, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 2, looks)
		require.Equal(t, 1, strings.Count(log.String(), advice))
		require.Equal(t, 1, strings.Count(log.String(), "---------- Started Negotiation Cycle ----------\n"))
	})
}
