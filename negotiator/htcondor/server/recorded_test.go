package server_test

import (
	"context"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/internal/tape"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

// once is a listener with a single connection.
type once struct {
	conn   net.Conn
	taken  sync.Once
	closed chan struct{}
	close  sync.Once
}

func (o *once) Accept() (conn net.Conn, err error) {
	o.taken.Do(func() { conn = o.conn })
	if conn != nil {
		return conn, nil
	}
	<-o.closed
	return nil, net.ErrClosed
}

func (o *once) Close() error   { o.close.Do(func() { close(o.closed) }); return nil }
func (o *once) Addr() net.Addr { return o.conn.LocalAddr() }

// ending is a connection that signals when it was closed.
type ending struct {
	*tape.Tape
	end func()
}

func (e ending) Close() error { e.end(); return nil }

// Our server repeats, byte for byte, recorded conversations with tools of HTCondor 23.9.6 when it
// receives what they sent. That pool and its key no longer exist. Frames with a note are not as
// they were recorded: they hold what the tools do not look into, such as the names of sessions. The
// conversation whose name ends in -25 was not recorded but written from the sources of 25.13.2
// (user_prio.cpp, and condor_secman.cpp: offers have AuthenticationNew).
func TestServerSaysItAgain(t *testing.T) {
	key, err := os.ReadFile("testdata/POOL")
	require.NoError(t, err)
	for name, r := range tape.Read(t, "testdata/recorded") {
		t.Run(name, func(t *testing.T) {
			clock := func() time.Time { return time.Unix(r.Clock, 0) }
			guard := &security.Server{
				Name: "NEGOTIATOR", Methods: []security.Method{security.Token}, Domain: "pool.test",
				TrustDomain: "pool.test",
				Keys:        map[string]security.SigningKey{"POOL": security.NewSigningKey("POOL", key)},
				Random:      r.Random(), Clock: clock,
				Allow: func(security.Peer, security.Permission) bool { return true },
			}
			said := tape.New(t, "server", r.Address, r.Frames)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			n := &server.Negotiator{Accountant: recorded{t: t}, Ad: recordedAd, Clock: clock}
			handlers := n.Handlers()
			for _, later := range []int{532, 533, 534} { // since 25.11: sessions list what they are good for
				if !strings.HasSuffix(name, "-25") {
					delete(handlers, later)
				}
			}
			port := &server.Port{Security: guard, Handlers: handlers}
			require.NoError(t, port.Serve(ctx, &once{conn: ending{said, cancel}, closed: make(chan struct{})}))
			said.Done()
		})
	}
}

func recordedAd() *classad.ClassAd {
	ad := classad.New()
	for _, name := range []string{"MyType", "Name", "Machine"} {
		ad.SetString(name, "pool.test")
	}
	ad.SetString("MyType", "Negotiator")
	at := cedar.Address{Host: "127.0.0.1", Port: 9731, NoUDP: true}
	ad.SetString("MyAddress", at.String())
	ad.SetString("NegotiatorIpAddr", at.String())
	ad.SetString("CondorVersion", security.Version)
	return ad
}

// recorded is the accountant of the recordings.
type recorded struct {
	*book
	t *testing.T
}

func (recorded) SetFactor(string, float64) error { return nil }

func (r recorded) Lease(now time.Time, what, submitter string, value float64, seconds int64) error {
	require.Equal(r.t, int64(1795314720), now.Unix())
	require.Equal(r.t, "ceiling of alice@pool.test", what+" of "+submitter)
	require.Equal(r.t, [2]float64{3, 600}, [2]float64{value, float64(seconds)})
	return nil
}

func (recorded) Report(bool) []byte {
	return []byte(`LastUpdate = 1795000000
Name1 = "alice@pool.test"
Priority1 = 500.0
PriorityFactor1 = 1000.0
NumSubmittors = 1
`)
}

func (recorded) Accounts() server.List {
	ad := classad.New()
	ad.SetString("MyType", "Accounting")
	ad.SetString("Name", "alice@pool.test")
	ad.SetReal("Priority", 500)
	ad.SetReal("PriorityFactor", 1000)
	ad.SetInt("LastUsageTime", 1795000000)
	return &list{ad}
}
