package htcondor

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
)

// TestADeniedLook says what to do: at once if once is enough, else once in the log, however
// often it is tried.
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

	ctx, cancel := context.WithTimeout(t.Context(), retry+retry/2) // there are two looks in it
	defer cancel()
	log := &strings.Builder{}
	_, err = pool(false, log).Open(ctx, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, 1, strings.Count(log.String(), advice))
}
