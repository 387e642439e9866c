package metrics_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		seconds  float64
		decimals int
		want     string
	}{
		{0, 0, "0 s"},
		{999.96, 1, "1,000.0 s"},
		{7199, 0, "7,199 s"},
		{7200, 0, "7,200 s (2.0 h)"},
		{389891.8, 1, "389,891.8 s (4.5 d)"},
		{62293404, 0, "62,293,404 s (721 d)"},
		{-1234567.5, 1, "-1,234,567.5 s"},
		{math.NaN(), 1, "NaN s"},
	} {
		require.Equal(t, c.want, metrics.Duration(c.seconds, c.decimals))
	}
}

func TestSpoken(t *testing.T) {
	for seconds, want := range map[float64]string{
		0: "0 s", 0.06: "0.1 s", 119: "119 s", 120: "2.0 min", 7199: "120 min", 7200: "2.0 h", 172799: "48.0 h",
		172800: "2.0 d", 8639999: "100.0 d", 8640000: "100 d",
	} {
		require.Equal(t, want, metrics.Spoken(seconds), seconds)
	}
}

// Without commas the seconds are the number that was given.
func TestDurationHasTheNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Int64Range(-1e15, 1e15).Draw(t, "seconds")
		number, _, _ := strings.Cut(metrics.Duration(float64(seconds), 0), " ")
		require.Equal(t, strconv.FormatInt(seconds, 10), strings.ReplaceAll(number, ",", ""))
		for i, group := range strings.Split(strings.TrimPrefix(number, "-"), ",") {
			require.True(t, len(group) == 3 || i == 0 && len(group) <= 3, number)
		}
	})
}
