package main

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

func TestSlowestSpeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		pace := scaled(1e-300)
		require.NoError(t, pace(ctx, 0))
		require.ErrorIs(t, pace(ctx, 1000), context.DeadlineExceeded)
	})
}

func TestScaled(t *testing.T) {
	require.Nil(t, scaled(math.Inf(1)), "as fast as it can")
	synctest.Test(t, func(t *testing.T) {
		pace := scaled(1000)
		began := time.Now()
		for _, at := range []backfill.Time{500, 500, 520, 540} {
			require.NoError(t, pace(t.Context(), at))
		}
		require.Equal(t, 40*time.Millisecond, time.Since(began), "from the first instant on")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, pace(ctx, 1_000_000), context.Canceled)
	})
}
