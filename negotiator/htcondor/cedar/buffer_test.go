package cedar_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// endless is a connection to a daemon that never stops talking, and keeps how much room there was
// for what it said.
type endless struct {
	net.Conn
	frames []byte
	rooms  []int
}

func (e *endless) Read(b []byte) (int, error) {
	e.rooms = append(e.rooms, len(b))
	n := copy(b, e.frames)
	e.frames = append(e.frames[n:], e.frames[:n]...)
	return n, nil
}

func (e *endless) Close() error { return nil }

// TestWhoSaysLittleTakesLittle says that a daemon that is dialled has a small buffer until it says
// much, which then comes in large pieces, whole.
func TestWhoSaysLittleTakesLittle(t *testing.T) {
	const body = 1000
	frame := append([]byte{1, 0, 0, body >> 8, body & 0xff}, strings.Repeat("x", body-1)...)
	talks := &endless{frames: append(frame, 0)}
	d := cedar.Dialer{Connect: func(context.Context, string) (net.Conn, error) { return talks, nil }}
	s, err := d.Dial(t.Context(), cedar.Address{Host: "10.0.0.1", Port: 9618})
	require.NoError(t, err)
	for i := range 1000 {
		text, err := s.Text()
		require.NoError(t, err)
		require.Equal(t, strings.Repeat("x", body-1), text)
		require.NoError(t, s.End())
		if i == 60 {
			require.LessOrEqual(t, slices.Max(talks.rooms), 4<<10)
		}
	}
	require.GreaterOrEqual(t, talks.rooms[len(talks.rooms)-1], 60<<10)
}
