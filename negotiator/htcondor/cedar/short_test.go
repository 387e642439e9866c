package cedar_test

import (
	"fmt"
	"math"
	"net"
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

// Streams share an allowance beyond what each may read alone, and give it back at their end.
func TestAllowance(t *testing.T) {
	allowance := cedar.NewAllowance(10_000)
	say := func(size int) (*cedar.Stream, error) {
		to := &sink{}
		w := cedar.NewStream(to, 0)
		w.PutString(strings.Repeat("x", size))
		require.NoError(t, w.Send())
		conn, peer := net.Pipe()
		go func() { _, _ = peer.Write(to.said.Bytes()) }()
		s := cedar.NewStream(conn, 0)
		s.Limit(1000)
		s.Share(8000, allowance)
		_, err := s.Text()
		return s, err
	}
	_, err := say(900)
	require.NoError(t, err)
	long, err := say(9500)
	require.ErrorContains(t, err, "more is said than is allowed")
	long.Close()
	for range 3 {
		one, err := say(6000)
		require.NoError(t, err)
		other, err := say(6000)
		require.ErrorContains(t, err, "too many peers say too much at once")
		other.Close()
		_, err = say(900)
		require.NoError(t, err)
		one.Close()
		one.Close()
	}
}

// An ad of more names, constants and signs than a conversation needs is not parsed.
func TestAdsThatAreSaidAreBounded(t *testing.T) {
	for elements, whole := range map[int]bool{500: true, 5000: false} {
		to := &sink{}
		w := cedar.NewStream(to, 0)
		w.PutLines(cedar.Lines("Requirements = {" + strings.Repeat("1,", elements) + "1}"))
		require.NoError(t, w.Send())
		_, err := reader(to.said.Bytes()).Ad()
		if whole {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "names, constants and signs: at most 2048 are allowed")
		}
	}
}

// However many short attributes an ad has, no more than twice the room is kept, and the one named.
func TestManyShortAttributes(t *testing.T) {
	to := &sink{}
	w := cedar.NewStream(to, 0)
	w.PutInt(2001)
	for i := range 2000 {
		w.PutString(fmt.Sprintf("A%d = %s", i, strings.Repeat("1", 500)))
	}
	w.PutString("JobIds = \"1.0\"")
	w.PutString("")
	w.PutString("")
	require.NoError(t, w.Send())
	lines, left, err := reader(to.said.Bytes()).AppendShort(nil, 10_000, "JobIds")
	require.NoError(t, err)
	require.Less(t, len(lines), 22_000)
	require.Greater(t, left, 900_000)
	require.True(t, strings.HasSuffix(string(lines), "\nJobIds = \"1.0\"\n"))
}
