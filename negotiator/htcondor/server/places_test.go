package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

// network is a listener, and the connections to it, in virtual time. Connections that were not
// accepted yet wait in line, as in the system's queue.
type network struct {
	line   chan net.Conn
	closed chan struct{}
}

func newNetwork() *network {
	return &network{line: make(chan net.Conn, 5000), closed: make(chan struct{})}
}

func (n *network) Accept() (net.Conn, error) {
	select {
	case conn := <-n.line:
		return conn, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error {
	select {
	case <-n.closed:
	default:
		close(n.closed)
	}
	return nil
}

func (n *network) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 9618} }

// from is a connection from an address.
type from struct {
	net.Conn
	remote net.Addr
}

func (f from) RemoteAddr() net.Addr { return f.remote }

// dial connects from an IP address and returns the client's side.
func (n *network) dial(ip string) net.Conn {
	ours, theirs := net.Pipe()
	n.line <- from{theirs, &net.TCPAddr{IP: net.ParseIP(ip), Port: 1 + len(n.line)}}
	return ours
}

// as is a client at an IP address.
func (n *network) as(user, ip string) *security.Client {
	c := as(user)
	c.Connect = func(context.Context, string) (net.Conn, error) { return n.dial(ip), nil }
	return c
}

// serve runs a port in this network until the test ends.
func (n *network) serve(t *testing.T, p *server.Port) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(ctx, n) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
}

// report asks for the report of condor_userprio, and returns how long that took.
func report(t *testing.T, c *security.Client) time.Duration {
	t.Helper()
	before := time.Now()
	s, err := c.Start(t.Context(), cedar.Address{Host: "10.0.0.1", Port: 9618}, 451, nil)
	require.NoError(t, err)
	defer s.Close()
	_, err = s.BareAd()
	require.NoError(t, err)
	return time.Since(before)
}

// dribble writes a byte each second until the connection is closed.
func dribble(conn net.Conn) {
	for {
		if _, err := conn.Write([]byte{0}); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
}

// TestFloodOfConnections checks that an honest client waits for less than a second, wherever it is,
// while others connect and say nothing, or one byte a second, again and again.
func TestFloodOfConnections(t *testing.T) {
	for _, flood := range []struct {
		connections int
		dribbles    bool
	}{{200, false}, {1000, false}, {1000, true}} {
		t.Run(fmt.Sprint(flood), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var dribbling sync.WaitGroup
				t.Cleanup(dribbling.Wait)
				n := newNetwork()
				n.serve(t, &server.Port{
					Security: guard(), Handlers: (&server.Negotiator{Accountant: &book{}}).Handlers(),
				})
				attack := func() {
					for i := range flood.connections {
						conn := n.dial("10.1.1." + strconv.Itoa(1+i%4))
						t.Cleanup(func() { _ = conn.Close() })
						if flood.dribbles {
							dribbling.Go(func() { dribble(conn) })
						}
					}
				}
				for _, honest := range []string{"10.2.2.2", "10.1.1.9", "10.1.1.1"} {
					attack()
					require.Less(t, report(t, n.as("boss", honest)), time.Second, "a stranger")
					attack()
					time.Sleep(5 * time.Second)
					attack()
					require.Less(t, report(t, n.as("boss", honest)), time.Second, "known by now")
				}
			})
		})
	}
}

// TestPlaces checks who is dropped or refused, of eight places. A second passes after each
// connection; one with "!" authenticates at once, and the others say nothing.
func TestPlaces(t *testing.T) {
	for name, c := range map[string]struct {
		comes string
		gone  []int // their indexes
	}{
		"a network has half of what strangers may have": {"10.1.1.1 10.1.1.2 10.1.1.3 10.1.1.4", []int{0}},
		"another network has room":                      {"10.1.1.1 10.1.1.2 10.1.1.3 10.1.2.1", nil},
		"the fullest network gives up": {
			"10.1.2.1 10.1.1.1 10.1.1.2 10.1.3.1 10.1.4.1 10.1.5.1 10.1.6.1", []int{1},
		},
		"IPv6 counts by its first half": {"2001:db8::1 2001:db8::2 2001:db8::3 2001:db8::4", []int{0}},
		"IPv4 may be mapped":            {"10.1.1.1 ::ffff:10.1.1.2 10.1.1.3 ::ffff:10.1.1.4", []int{0}},
		"who authenticated stays":       {"10.1.1.1! 10.1.1.2 10.1.1.3 10.1.1.4 10.1.1.5", []int{1}},
		"a host has half of all":        {"10.1.1.1! 10.1.1.1! 10.1.1.1! 10.1.1.1! 10.1.1.1!", []int{4}},
		"a known host drops its own":    {"10.1.1.1! 10.1.1.1 10.1.1.1! 10.1.1.1! 10.1.1.1! 10.1.1.1!", []int{0, 1}},
		"strangers go before known hosts": {
			"10.1.1.1! 10.1.1.1 10.1.1.1 10.1.2.1 10.1.3.1 10.1.4.1 10.1.5.1 10.9.9.9! 10.9.9.9", []int{3},
		},
		"strangers drop strangers only": {
			"10.1.1.1! 10.1.1.1 10.1.2.1! 10.1.2.1 10.1.3.1! 10.1.4.1 10.1.5.1 10.1.6.1 10.1.7.1", []int{5},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { require.Equal(t, c.gone, gone(t, c.comes)) })
		})
	}
}

// TestNobodyHoldsAllPlaces checks that hosts which have authenticated, and then say nothing, cannot keep
// others out, be they strangers.
func TestNobodyHoldsAllPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		n.serve(t, &server.Port{
			Security: guard(), Handlers: (&server.Negotiator{Accountant: &book{}}).Handlers(),
		})
		for host, share := range []int{250, 125, 63, 31, 16, 8, 4, 2, 1} {
			for range share {
				s, err := n.as("boss", "10.1.1."+strconv.Itoa(1+host)).
					Start(t.Context(), cedar.Address{Host: "10.0.0.1", Port: 9618}, 449, nil)
				require.NoError(t, err)
				t.Cleanup(s.Close) // the command's payload never comes
			}
		}
		for _, honest := range []string{"10.2.2.2", "10.2.2.2", "10.1.1.1"} {
			require.Less(t, report(t, n.as("boss", honest)), 10*time.Second)
		}
	})
}

// gone returns which of these connections to a listener with eight places are closed.
func gone(t *testing.T, comes string) (all []int) {
	t.Helper()
	n := newNetwork()
	places := server.NewPlaces(n, 8, nil)
	vouch := make(chan bool, 1)
	go func() {
		for {
			conn, err := places.Accept()
			if err != nil {
				return
			}
			if <-vouch {
				conn.(*server.Guest).Vouch()
			}
			go func() { _, _ = conn.Read(make([]byte, 1)) }()
		}
	}()
	var clients []net.Conn
	for address := range strings.FieldsSeq(comes) {
		ip, vouched := strings.CutSuffix(address, "!")
		clients = append(clients, n.dial(ip))
		vouch <- vouched
		time.Sleep(time.Second)
		select {
		case <-vouch: // it was refused
		default:
		}
	}
	for i, conn := range clients {
		_ = conn.SetReadDeadline(time.Now().Add(time.Second)) // fails if it is closed
		if _, err := conn.Read(make([]byte, 1)); errors.Is(err, io.EOF) {
			all = append(all, i)
		}
		require.NoError(t, conn.Close())
	}
	require.NoError(t, places.Close())
	return all
}

// TestAPlaceForOne checks that whoever was told all is dropped for another one at once, and not before
// it has kept us waiting.
func TestAPlaceForOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		places := server.NewPlaces(n, 1, nil)
		accepted := func() (conn net.Conn, after time.Duration) {
			began := time.Now()
			conn, err := places.Accept()
			require.NoError(t, err)
			return conn, time.Since(began)
		}
		for range 3 {
			t.Cleanup(func() func() { c := n.dial("10.1.1.1"); return func() { _ = c.Close() } }())
		}
		first, _ := accepted()
		told, ok := first.(interface{ CloseWrite() error })
		require.True(t, ok, "a server of HTTP waits after it, and does nothing for the client")
		require.NoError(t, told.CloseWrite())
		second, after := accepted()
		require.Zero(t, after)
		go func() { _, _ = second.Read(make([]byte, 1)) }()
		third, after := accepted()
		require.Equal(t, 50*time.Millisecond, after)
		require.NoError(t, errors.Join(third.Close(), places.Close()))
	})
}
