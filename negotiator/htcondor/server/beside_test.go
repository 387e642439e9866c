package server_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

// BenchmarkBesideReaders computes while 300 hosts take a report of 17 MB again and again, with and
// without a bound, and while nobody does. The readers are in the same process.
func BenchmarkBesideReaders(b *testing.B) {
	accounts := large{&book{}, bytes.Repeat([]byte("WeightedAccumulatedUsage1 = 1234.5\n"), 17_000_000/35)}
	for _, c := range []struct {
		name    string
		readers int
		sending *server.Sending
	}{{"alone", 0, nil}, {"unlimited", 300, nil}, {"limited", 300, new(server.Sending)}} {
		b.Run(c.name, func(b *testing.B) {
			port := &server.Port{
				Security: guard(), Handlers: (&server.Negotiator{Accountant: accounts}).Handlers(), Sending: c.sending,
			}
			a := listen(b, port)
			at := net.JoinHostPort(a.Host, strconv.Itoa(a.Port))
			var taken atomic.Int64
			ctx, cancel := context.WithCancel(b.Context())
			var all sync.WaitGroup
			for i := range c.readers {
				d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+i/200), byte(2+i%200))}}
				all.Go(func() {
					for ctx.Err() == nil {
						conn, err := d.DialContext(ctx, "tcp", at)
						if err != nil {
							if ctx.Err() == nil {
								b.Error(err)
							}
							return
						}
						stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
						s := cedar.NewStream(conn, 0)
						s.PutInt(451)
						_ = s.Send()
						n, _ := io.Copy(io.Discard, conn)
						taken.Add(n)
						stop()
						_ = conn.Close()
					}
				})
			}
			text := make([]byte, 1<<20)
			for b.Loop() {
				sha256.Sum256(text)
			}
			cancel()
			all.Wait()
			if c.readers > 0 {
				require.Positive(b, taken.Load())
				b.ReportMetric(float64(taken.Load())/b.Elapsed().Seconds()/(1<<20), "MiB-sent/s")
			}
		})
	}
}
