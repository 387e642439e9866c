//go:build unix

package host

import (
	"bytes"
	"context"
	"io"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// floods returns a mebibyte of each kind of frames that nobody asked for.
func floods(tb testing.TB) map[string][]byte {
	tb.Helper()
	const nobody = 999 // no stream has this number
	var packed bytes.Buffer
	require.NoError(tb, hpack.NewEncoder(&packed).WriteField(hpack.HeaderField{Name: "a", Value: strings.Repeat("b", 4000)}))
	headers := func(f *http2.Framer, end bool, block ...byte) error {
		return f.WriteHeaders(http2.HeadersFrameParam{
			StreamID: nobody, EndHeaders: true, EndStream: end, BlockFragment: block,
		})
	}
	all := map[string][]byte{}
	for name, frame := range map[string]func(f *http2.Framer) error{
		"ping":     func(f *http2.Framer) error { return f.WritePing(false, [8]byte{}) },
		"settings": func(f *http2.Framer) error { return f.WriteSettings() },
		"window":   func(f *http2.Framer) error { return f.WriteWindowUpdate(0, 1) },
		"data":     func(f *http2.Framer) error { return f.WriteData(1, false, nil) },
		"reset":    func(f *http2.Framer) error { return f.WriteRSTStream(nobody, http2.ErrCodeCancel) },
		"unknown":  func(f *http2.Framer) error { return f.WriteRawFrame(99, 0, 1, nil) },
		"headers":  func(f *http2.Framer) error { return headers(f, false, 0x88) },
		"trailers": func(f *http2.Framer) error { return headers(f, true, 0x88) },
		// The first header, of 4,000 bytes, again and again: a byte each.
		"bomb": func(f *http2.Framer) error {
			return headers(f, false, append(bytes.Clone(packed.Bytes()), bytes.Repeat([]byte{0x80 | 62}, 10_000)...)...)
		},
	} {
		var out bytes.Buffer
		framer := http2.NewFramer(&out, nil)
		for out.Len() < 1<<20 {
			require.NoError(tb, frame(framer))
		}
		all[name] = out.Bytes()
	}
	return all
}

// flooded returns the plugin's end of a connection of which the other end is as a host's.
func flooded(tb testing.TB) net.Conn {
	tb.Helper()
	c, err := newCell("/bin/true", Options{})
	require.NoError(tb, err)
	tb.Cleanup(c.remove)
	p := &process{supervised: newSupervised(nil, c, Options{}, hclog.NewNullLogger())}
	p.network, p.address = "unix", filepath.Join(c.dir, "socket")
	listener, err := net.Listen(p.network, p.address)
	require.NoError(tb, err)
	defer listener.Close() //nolint:errcheck // the connection stays
	conn, err := grpc.NewClient("passthrough:plugin", append(p.config(Options{}, p.log).GRPCDialOptions,
		grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	require.NoError(tb, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = policyv1.NewPolicyServiceClient(conn).Describe(context.Background(), &policyv1.DescribeRequest{})
	}()
	plugin, err := listener.Accept()
	require.NoError(tb, err)
	tb.Cleanup(func() {
		_, _ = plugin.Close(), conn.Close()
		p.end()
		<-ended
	})
	_, err = io.ReadFull(plugin, make([]byte, len(http2.ClientPreface)))
	require.NoError(tb, err)
	go func() { _, _ = io.Copy(io.Discard, plugin) }()
	require.NoError(tb, http2.NewFramer(plugin, nil).WriteSettings())
	return plugin
}

// Frames that nobody asked for wait in the plugin's socket.
func TestAFloodOfFramesIsSlowedDown(t *testing.T) {
	for name, flood := range floods(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plugin := flooded(t)
			begun := time.Now()
			for range idleRoom>>20 + 1 {
				_, err := plugin.Write(flood)
				require.NoError(t, err)
			}
			const buffers = 512 << 10 // of the socket, and of the reader
			require.Greater(t, time.Since(begun), time.Second*(1<<20-buffers)/idleRate)
		})
	}
}

// BenchmarkFlood measures what a mebibyte of frames costs the host, as far as it reads them.
func BenchmarkFlood(b *testing.B) {
	used := func() time.Duration {
		var u syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	for name, flood := range floods(b) {
		b.Run(name, func(b *testing.B) {
			plugin := flooded(b)
			before := used()
			read, begun := 0, time.Now()
			for b.Loop() {
				n, err := plugin.Write(flood)
				if read += n; err != nil {
					break
				}
			}
			b.ReportMetric((used()-before).Seconds()*1e3/(float64(read)/(1<<20)), "cpu-ms/MiB")
			b.ReportMetric(float64(read)/(1<<20)/time.Since(begun).Seconds(), "MiB/s")
		})
	}
}

// Without questions a plugin may send little, and for each question an answer, however they follow
// each other.
func TestWhatAPluginMaySend(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			f, begun, came, questions := newInflow(), time.Now(), 0, 0
			for range rapid.IntRange(1, 30).Draw(rt, "steps") {
				answered := func() {}
				if rapid.Bool().Draw(rt, "asked") {
					answered = f.question()
					questions++
					n, _ := f.take(wire.MaxAnswer)
					require.Equal(t, wire.MaxAnswer, n, "an answer comes at once")
					f.giveBack(n)
				}
				time.Sleep(time.Duration(rapid.IntRange(0, 20_000).Draw(rt, "ms")) * time.Millisecond)
				n, _ := f.take(rapid.IntRange(0, 2*askedRoom).Draw(rt, "bytes"))
				came += n
				answered()
				most := idleRoom + questions*askedRoom + int(time.Since(begun).Seconds()*idleRate)
				require.LessOrEqual(t, came, most)
			}
		})
	})
}

// A question wakes a read that waits, and so does the end.
func TestAReadWaitsForAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newInflow()
		here, there := net.Pipe()
		conn := f.limit(here)
		begun := time.Now()
		f.take(idleRoom)
		go func() { _, _ = there.Write([]byte("an answer")) }()
		answered := f.question()
		n, err := conn.Read(make([]byte, 100))
		require.NoError(t, err)
		require.Equal(t, len("an answer"), n)
		answered()
		require.Equal(t, begun, time.Now(), "nothing waited")
		f.take(idleRoom)
		go func() { _ = conn.Close() }()
		_, err = conn.Read(make([]byte, 100))
		require.ErrorIs(t, err, net.ErrClosed)
	})
}
