package livepage

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/access"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
)

// TestDifferences checks that a viewer who has a picture makes each later one of it, also if he was away
// for a while, and is told to begin again if he was away for long or comes from another server.
func TestDifferences(t *testing.T) {
	h := newHub("e")
	defer h.close()
	_, err := h.encoded()
	require.ErrorIs(t, err, errNothing)
	h.show(scene(1, 3))
	_, err = h.encoded() // somebody looks
	require.NoError(t, err)
	for now := int64(2); now < 10; now++ {
		h.show(scene(now, 3))
	}
	events, version, _, known := h.since(3)
	require.True(t, known)
	require.Equal(t, 9, version)
	require.Len(t, events, 6)
	require.True(t, bytes.HasPrefix(events[0], []byte("id: e.4\nevent: difference\ndata: {\"version\":4,")))
	events, _, _, known = h.since(9)
	require.True(t, known)
	require.Empty(t, events)
	_, _, _, known = h.since(10)
	require.False(t, known, "it is of the future")
	for now := int64(10); now < 10+mostKept; now++ {
		h.show(scene(now, 3))
	}
	_, _, _, known = h.since(3)
	require.False(t, known, "it was long ago")
	require.Len(t, h.kept, mostKept)
}

// TestKeptBytes checks that the differences that are kept are bounded in bytes, but the last one stays.
func TestKeptBytes(t *testing.T) {
	h := newHub("e")
	for i := range 5 {
		h.keep(change{i, make([]byte, mostKeptBytes/2)})
	}
	require.Equal(t, []int{3, 4}, []int{h.kept[0].version, h.kept[1].version})
	h.keep(change{5, make([]byte, 2*mostKeptBytes)})
	require.Len(t, h.kept, 1)
	require.Equal(t, 5, h.kept[0].version)
}

// TestPace checks that pictures that come too fast for many viewers are left out, that the last one is
// shown in the end, and that nobody pays where nobody looks.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub("e")
		for now := range int64(100) {
			h.show(scene(now, 3))
		}
		require.Equal(t, 100, h.version)
		require.Empty(t, h.kept)
		for range 200 {
			h.seats.take("x")
		}
		began := time.Now()
		for now := range int64(1000) {
			h.show(scene(now, 300))
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		h.mu.Lock()
		shown := h.version - 100
		bytes := shown * 200 * len(h.kept[len(h.kept)-1].event)
		h.mu.Unlock() // a picture is shown later, too
		rate := bytes / int(time.Since(began)/time.Second)
		require.Less(t, rate, bytesASecond)
		require.Greater(t, shown, 5, "still some a second")
		time.Sleep(longestPeriod)
		synctest.Wait()
		require.EqualValues(t, 999, h.last.Head.Now)
		h.show(scene(1000, 300))
		h.show(scene(1001, 300))
		h.close()
		time.Sleep(longestPeriod)
		synctest.Wait()
		require.EqualValues(t, 1000, h.last.Head.Now, "it was closed")
	})
}

// serveAll serves a server to everybody on this machine.
func serveAll(t *testing.T, h http.Handler) (address string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	url, wait, err := Serve(ctx, access.Options{Address: "127.0.0.1:0", Clock: time.Now}, h, hclog.NewNullLogger())
	require.NoError(t, err)
	t.Cleanup(func() {
		cancel()
		wait()
	})
	return strings.TrimPrefix(url, "http://")
}

// watch opens a stream of events from a version, and returns it behind the header.
func watch(t *testing.T, address, version string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	_, err = fmt.Fprintf(conn, "GET /api/v1/events?epoch=e&version=%s HTTP/1.1\r\nHost: localhost\r\n\r\n", version)
	require.NoError(t, err)
	in := bufio.NewReader(conn)
	status, err := in.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, status, "200")
	for line := ""; line != "\r\n"; {
		line, err = in.ReadString('\n')
		require.NoError(t, err)
	}
	return conn, in
}

// TestWatch checks what a viewer gets over the network, and that he is told to begin again if what he has
// is of another server.
func TestWatch(t *testing.T) {
	s, _ := served(t)
	s.Show(scene(1, 3))
	address := serveAll(t, s)
	conn, in := watch(t, address, "1")
	poll.Equal(t, 1, s.hub.seats.number)
	s.Show(scene(2, 3))
	until(t, in, `"now":2`)
	require.NoError(t, conn.Close())
	poll.Equal(t, 0, s.hub.seats.number)
	conn, in = watch(t, address, "x")
	until(t, in, "event: reset")
	require.NoError(t, conn.Close())
}

// until reads a stream until it has said something.
func until(t *testing.T, in *bufio.Reader, what string) {
	t.Helper()
	for {
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		if strings.Contains(line, what) {
			return
		}
	}
}

// TestSlowViewers checks that viewers who take nothing hold up neither pictures nor others, and keep no
// more memory than what all are told.
func TestSlowViewers(t *testing.T) {
	s, _ := served(t)
	s.Show(scene(0, 300))
	address := serveAll(t, s)
	for range 50 {
		conn, _ := watch(t, address, "1")
		defer conn.Close() //nolint:errcheck // a test's
		require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4096))
	}
	conn, in := watch(t, address, "1")
	defer conn.Close() //nolint:errcheck // a test's
	began := time.Now()
	for now := int64(1); now <= 20; now++ {
		s.Show(scene(now, 300))
		s.hub.publish()
	}
	until(t, in, `"now":20`)
	require.Less(t, time.Since(began), poll.Patience)
}

// TestManyViewers has 200 viewers see a pool of 300 bars change each second, and prints what the server
// takes of a processor. It asserts no time.
func TestManyViewers(t *testing.T) {
	const viewers = 200
	seconds := 3
	s, _ := served(t)
	s.Show(busy(0))
	address := serveAll(t, s)
	var read, got atomic.Int64
	var readers sync.WaitGroup
	defer readers.Wait()
	for range viewers {
		conn, in := watch(t, address, "1")
		defer conn.Close() //nolint:errcheck // a test's
		readers.Go(func() {
			for {
				line, err := in.ReadSlice('\n')
				read.Add(int64(len(line)))
				if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
					return
				}
				if bytes.HasPrefix(line, []byte("event: difference")) {
					got.Add(1)
				}
			}
		})
	}
	poll.Equal(t, viewers, s.hub.seats.number)
	before, began := processor(), time.Now()
	for now := range seconds {
		s.Show(busy(int64(now + 1)))
		time.Sleep(time.Second)
	}
	took, passed := processor()-before, time.Since(began)
	poll.Equal(t, int64(viewers*seconds), got.Load)
	t.Logf("%d viewers: %.2f %% of a processor for server and viewers together, %.0f KB/s, %d goroutines",
		viewers, 100*took.Seconds()/passed.Seconds(), float64(read.Load())/1e3/passed.Seconds(), runtime.NumGoroutine())
}

// busy is a picture of 300 bars, of which a tenth has changed.
func busy(now int64) *picture.Picture {
	p := scene(now, 300)
	for i := range p.Jobs {
		p.Jobs[i].At = []picture.Piece{{Slot: 0, Cpus: 1}}
		if int64(i%10) != now%10 {
			p.Jobs[i].Start = picture.At(100)
		}
	}
	return p
}

// processor is the time that this process has taken of processors.
func processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestPackedPicture checks that the whole is encoded once for all who ask, and that it is the same in gzip.
func TestPackedPicture(t *testing.T) {
	s, _ := served(t)
	require.Equal(t, 503, ask(s, "GET", "http://localhost/api/v1/picture", "").Code)
	s.Show(scene(1, 3))
	plain := ask(s, "GET", "http://localhost/api/v1/picture", "")
	require.Regexp(t, `^{"epoch":"e","version":1,"head":{.*"slots":\[.*"jobs":\[`, text(t, plain))
	first, err := s.hub.encoded()
	require.NoError(t, err)
	s.Show(scene(2, 3))
	again, err := s.hub.encoded()
	require.NoError(t, err)
	require.Same(t, first, again, "differences lead from it to the present")
}
