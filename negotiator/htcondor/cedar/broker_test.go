package cedar_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// behind is a daemon behind a broker, with two addresses of its own.
var behind = cedar.Address{
	Host: "::1", Port: 1, Addrs: []string{"[::1]:1", "10.0.0.1:2"}, Brokers: []string{"1.2.3.4:5#6"}, Network: "home",
}

// TestDial: a daemon behind a broker is called through it, else directly.
func TestDial(t *testing.T) {
	var tried []string
	d := cedar.Dialer{Connect: func(_ context.Context, place string) (net.Conn, error) {
		tried = append(tried, place)
		return nil, errors.New("refused")
	}}
	_, err := d.Dial(t.Context(), behind)
	require.ErrorIs(t, err, cedar.ErrBrokered)
	require.ErrorContains(t, err, "this process has no port for that")
	require.ErrorContains(t, err, "refused")
	require.Equal(t, []string{"[::1]:1", "10.0.0.1:2"}, tried)

	asked := 0
	d.Reverse = func(_ context.Context, a cedar.Address) (net.Conn, error) {
		require.Equal(t, behind, a)
		asked++
		return nil, errors.New("its broker is down")
	}
	_, err = d.Dial(t.Context(), behind)
	require.ErrorContains(t, err, "it is behind a broker (CCB): its broker is down")
	require.Equal(t, 1, asked)
	require.Len(t, tried, 4, "there may be a way")

	d.Network = "home"
	_, err = d.Dial(t.Context(), behind)
	require.Error(t, err)
	require.NotErrorIs(t, err, cedar.ErrBrokered)
	require.Equal(t, 1, asked, "there is no need in one network")
	require.Len(t, tried, 6)
}

// TestDialThroughABroker: what called back is asked to pass the connection on if it is a shared port.
func TestDialThroughABroker(t *testing.T) {
	ours, theirs := net.Pipe()
	d := cedar.Dialer{Name: "TEST", Reverse: func(context.Context, cedar.Address) (net.Conn, error) { return ours, nil }}
	a := behind
	a.Sock = "schedd_1"
	go func() {
		s, err := d.Dial(t.Context(), a)
		if err != nil {
			return
		}
		s.PutInt(7)
		_ = s.Send()
	}()
	peer := cedar.NewStream(theirs, time.Minute)
	defer peer.Close()
	command, err := peer.Int()
	require.NoError(t, err)
	require.EqualValues(t, 75, command)
	name, err := peer.Text()
	require.NoError(t, err)
	require.Equal(t, "schedd_1", name)
	require.NoError(t, peer.End())
	seven, err := peer.Int()
	require.NoError(t, err)
	require.EqualValues(t, 7, seven)
}

// TestDialBehindABrokerIsQuick: where nothing answers, a look does not wait for long.
func TestDialBehindABrokerIsQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := cedar.Dialer{Timeout: time.Minute, Connect: func(ctx context.Context, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		began := time.Now()
		_, err := d.Dial(t.Context(), behind)
		require.ErrorIs(t, err, cedar.ErrBrokered)
		require.Equal(t, 3*time.Second, time.Since(began))
	})
}

// TestRelease: a connection goes on without its stream, unless the other side has said more already.
func TestRelease(t *testing.T) {
	pair := func() (*cedar.Stream, net.Conn) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer listener.Close() //nolint:errcheck // a test's
		theirs, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		ours, err := listener.Accept()
		require.NoError(t, err)
		t.Cleanup(func() { _, _ = theirs.Close(), ours.Close() })
		peer := cedar.NewStream(theirs, time.Minute)
		peer.PutInt(1)
		require.NoError(t, peer.Send())
		return cedar.NewStream(ours, time.Minute), theirs
	}
	s, theirs := pair()
	ctx, cancel := context.WithCancel(t.Context())
	s.Bind(ctx)
	_, err := s.Int()
	require.NoError(t, err)
	_, err = s.Release()
	require.ErrorContains(t, err, "more is said", "the message has not been read")
	require.NoError(t, s.End())
	conn, err := s.Release()
	require.NoError(t, err)
	s.Close()
	cancel()
	_, err = theirs.Write([]byte("x"))
	require.NoError(t, err)
	said := make([]byte, 1)
	_, err = io.ReadFull(conn, said)
	require.NoError(t, err, "neither the stream's end nor the context's closes it")

	to := &sink{}
	two := cedar.NewStream(to, 0)
	for range 2 {
		two.PutInt(2)
		require.NoError(t, two.Send())
	}
	s, theirs = pair()
	_, err = s.Int()
	require.NoError(t, err)
	require.NoError(t, s.End())
	_, err = theirs.Write(to.said.Bytes())
	require.NoError(t, err)
	_, err = s.Int()
	require.NoError(t, err)
	require.NoError(t, s.End())
	_, err = s.Release()
	require.ErrorContains(t, err, "more is said")

	s, _ = pair()
	_, err = s.Int()
	require.NoError(t, err)
	require.NoError(t, s.End())
	s.Bind(ctx) // it is over
	_, err = s.Release()
	require.ErrorIs(t, err, net.ErrClosed)
}
