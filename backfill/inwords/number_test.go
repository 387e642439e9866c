package inwords_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
)

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		seconds  float64
		decimals int
		want     string
	}{
		{0, 0, "0 s (0.00 h)"},
		{999.96, 1, "1,000.0 s (0.28 h)"},
		{7200, 0, "7,200 s (2.00 h)"},
		{389891.8, 1, "389,891.8 s (108.30 h)"},
		{62293404, 0, "62,293,404 s (17,303.72 h)"},
		{-1234567.5, 1, "-1,234,567.5 s (-342.94 h)"},
		{math.NaN(), 1, "NaN s (NaN h)"},
	} {
		require.Equal(t, c.want, inwords.Duration(c.seconds, c.decimals))
	}
}

func TestWhole(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		require.Equal(t, want, inwords.Whole(n))
	}
}

// Without commas the seconds are the number that was given.
func TestDurationHasTheNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Int64Range(-1e15, 1e15).Draw(t, "seconds")
		number, _, _ := strings.Cut(inwords.Duration(float64(seconds), 0), " ")
		require.Equal(t, strconv.FormatInt(seconds, 10), strings.ReplaceAll(number, ",", ""))
		for i, group := range strings.Split(strings.TrimPrefix(number, "-"), ",") {
			require.True(t, len(group) == 3 || i == 0 && len(group) <= 3, number)
		}
	})
}
