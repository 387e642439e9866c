package cedar_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// TestAppendShort says which attributes of an ad are read that strangers made long, with and without
// encryption: all for which there is room, then short ones, and always the one that is named.
func TestAppendShort(t *testing.T) {
	long := func(name string, size int) string { return name + " = " + strings.Repeat("1", size-len(name)-3) }
	ids := long("JobIds", 5<<20)
	for name, c := range map[string]struct {
		sent, kept []string
		left       int
	}{
		"it fits":       {[]string{"A = 1", long("B", 9000)}, []string{"A = 1", long("B", 9000)}, 0},
		"one is long":   {[]string{"A = 1", long("B", 3<<20), "C = 2"}, []string{"A = 1", "C = 2"}, 3 << 20},
		"no room":       {[]string{long("A", 9000), long("B", 2000), "C = 2"}, []string{long("A", 9000), "C = 2"}, 2000},
		"always whole":  {[]string{long("A", 9000), ids, "C = 2"}, []string{long("A", 9000), ids, "C = 2"}, 0},
		"another name":  {[]string{long("JobIdsX", 20_000), "C = 2"}, []string{"C = 2"}, 20_000},
		"beyond a text": {[]string{long("A", 20<<20), "C = 2"}, []string{"C = 2"}, 20 << 20},
		"a secret":      {[]string{"ZKM", long("ClaimId", 20_000), "ZKM", "D = 3"}, []string{"D = 3"}, 20_000},
	} {
		for _, encrypted := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", encrypted: ", encrypted), func(t *testing.T) {
				to := &sink{}
				w := cedar.NewStream(to, 0)
				if encrypted {
					require.NoError(t, w.Encrypt(make([]byte, cedar.KeySize)))
				}
				w.PutInt(int64(len(c.sent) - strings.Count(strings.Join(c.sent, "\n"), "ZKM")))
				for _, line := range append(c.sent, "", "") {
					w.PutString(line)
				}
				require.NoError(t, w.Send())
				s := reader(to.said.Bytes())
				if encrypted {
					require.NoError(t, s.Encrypt(make([]byte, cedar.KeySize)))
				}
				lines, left, err := s.AppendShort(nil, 10_000, "JobIds")
				require.NoError(t, err)
				require.NoError(t, s.End())
				require.Equal(t, strings.Join(c.kept, "\n")+"\n", string(lines))
				require.Equal(t, c.left, left)
			})
		}
	}
	for _, n := range []int64{-1, math.MaxInt64} {
		to := &sink{}
		w := cedar.NewStream(to, 0)
		w.PutInt(n)
		require.NoError(t, w.Send())
		_, _, err := reader(to.said.Bytes()).AppendShort(nil, 10_000, "JobIds")
		require.ErrorContains(t, err, "the number of an ad's attributes")
	}
}
