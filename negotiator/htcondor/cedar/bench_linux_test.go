package cedar_test

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// BenchmarkSend sends the report of 25,000 submitters, 17 MB, to a reader that takes it as fast as
// it can, and measures the processor time of the sender, with that of the kernel for it.
func BenchmarkSend(b *testing.B) {
	var report cedar.Lines
	for i := range 25_000 {
		for k := range 16 {
			report = fmt.Appendf(report, "WeightedAccumulatedUsage%d = %d.%015d\n", i, k, i)
		}
	}
	for name, key := range map[string][]byte{"plain": nil, "encrypted": make([]byte, cedar.KeySize)} {
		b.Run(name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(b, err)
			defer listener.Close() //nolint:errcheck // a test's
			go func() {
				room := make([]byte, 1<<20)
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					_, _ = io.CopyBuffer(io.Discard, struct{ io.Reader }{conn}, room)
					_ = conn.Close()
				}
			}()
			b.SetBytes(int64(len(report)))
			b.ReportAllocs()
			var spent time.Duration
			for b.Loop() {
				conn, err := net.Dial("tcp", listener.Addr().String())
				require.NoError(b, err)
				s := cedar.NewStream(conn, time.Minute)
				if key != nil {
					require.NoError(b, s.Encrypt(key))
				}
				s.StayPlain()
				before := threadTime(b)
				s.PutBareLines(report)
				require.NoError(b, s.Send())
				spent += threadTime(b) - before
				s.Close()
			}
			b.ReportMetric(float64(spent)/float64(b.N)/1e6, "cpu-ms/op")
			b.ReportMetric(float64(spent)/float64(b.N)/float64(len(report)), "cpu-ns/B")
		})
	}
}

// threadTime returns the processor time that this thread has had.
func threadTime(b *testing.B) time.Duration {
	b.Helper()
	var used unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_THREAD, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
