package cedar_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// TestHungUp checks that a closed connection is noticed, even behind bytes that nobody has read.
func TestHungUp(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close() //nolint:errcheck // a test's
	for _, said := range []string{"", "more than was asked for"} {
		theirs, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		ours, err := listener.Accept()
		require.NoError(t, err)
		s := cedar.NewStream(ours, time.Minute)
		require.False(t, s.HungUp())
		_, err = theirs.Write([]byte(said))
		require.NoError(t, err)
		require.False(t, s.HungUp(), "it may say more")
		require.NoError(t, theirs.Close())
		poll.Equal(t, true, s.HungUp)
		s.Close()
		require.True(t, s.HungUp(), "closed here")
	}
	pipe, _ := net.Pipe()
	require.False(t, cedar.NewStream(pipe, 0).HungUp(), "it is no socket")
}
