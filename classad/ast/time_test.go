package ast_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// A printed time is read back as the same time.
func TestTimeTexts(t *testing.T) {
	for _, seconds := range []int64{0, -1, 1, 1577934245, -2208988800, 253300000000, -30000000000, math.MaxInt32} {
		for _, offset := range []int{0, 60, -60, 19800, -43200, 50400, 356400} {
			text := string(ast.AppendAbsTime(nil, seconds, offset))
			gotSeconds, gotOffset, ok := ast.ParseAbsTime(text)
			require.True(t, ok, text)
			require.Equal(t, seconds, gotSeconds, text)
			require.Equal(t, offset, gotOffset, text)
		}
	}
	for _, seconds := range []float64{0, 1, -1, 59, 60, 3599.5, 3600, 86399, -86400, 93784.25, -93784, 1e9} {
		text := string(ast.AppendRelTime(nil, seconds))
		got, ok := ast.ParseRelTime(text)
		require.True(t, ok, text)
		require.InDelta(t, seconds, got, 0, text)
	}
}

func FuzzTimeTexts(f *testing.F) {
	for _, text := range []string{
		"2020-01-02T03:04:05+01:00", "2020Z", "1+02:03:04.5", "-1d 2h 3m 4s",
		"20x0+0100", " 5 ",
	} {
		f.Add(text, int64(len(text)), 3600.5)
	}
	f.Fuzz(func(t *testing.T, text string, seconds int64, relative float64) {
		if instant, offset, ok := ast.ParseAbsTime(text); ok {
			require.LessOrEqual(t, max(offset, -offset), 99*3600+99*60)
			require.Less(t, max(instant, -instant), int64(1)<<40)
			ast.AppendAbsTime(nil, instant, offset)
		}
		if span, ok := ast.ParseRelTime(text); ok {
			require.False(t, math.IsNaN(span))
		}
		ast.AppendAbsTime(nil, seconds, int(seconds%1000))
		require.Less(t, len(ast.AppendRelTime(nil, relative)), 40)
	})
}
