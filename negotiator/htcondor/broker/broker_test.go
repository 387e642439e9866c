package broker_test

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/broker"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// caller is a daemon of ours: a command port, and a client whom others can call back.
type caller struct {
	*broker.Callbacks
	client  *security.Client
	address cedar.Address
	log     *lines
}

// newCaller opens a command port that has so many places; 0: as many as usual.
func newCaller(t *testing.T, places int, more ...func(*security.Server)) *caller {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &caller{client: fakes.Client(), log: &lines{}}
	c.address, err = server.AddressOf(listener)
	require.NoError(t, err)
	c.Callbacks = &broker.Callbacks{
		Address: c.address.String(), Name: "TEST", Logger: hclog.New(&hclog.LoggerOptions{Output: c.log}),
		Now: func() time.Time { return time.Unix(1_000_000_000, 0) },
	}
	c.client.Reverse = c.Reverse
	guard := &security.Server{
		Name: "TEST", Methods: []security.Method{security.ClaimToBe}, Domain: "test",
		Allow: func(security.Peer, security.Permission) bool { return false },
	}
	for _, change := range more {
		change(guard)
	}
	port := &server.Port{
		Security: guard, MaxConnections: places, Handlers: map[int]server.Handler{broker.ReverseConnect: c.Handler()},
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- port.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return c
}

// counts are how many connections were asked for, and how many were not.
type counts struct{ calls, strays int64 }

func (c *caller) counts() counts {
	calls, strays := c.Counts()
	return counts{calls, strays}
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

const idle = "ClusterId = 1\nProcId = 0\nJobStatus = 1\nUser = \"alice@test\"\nOwner = \"alice\""

// hidden makes a schedd that can be reached through a broker alone.
func hidden(t *testing.T) (*fakes.Schedd, *fakes.Broker) {
	t.Helper()
	b, s := fakes.NewBroker(t), fakes.NewSchedd(t, "far@test")
	s.SetJobs(idle)
	s.Hide(b)
	return s, b
}

// jobs asks a schedd for its queue.
func (c *caller) jobs(ctx context.Context, a cedar.Address) (n int, err error) {
	_, err = client.Schedd{Security: c.client, Address: a}.Jobs(ctx, client.JobQuery{}, func(cedar.Lines) error {
		n++
		return nil
	})
	return n, err
}

// TestAllCallsByABroker asks, matches and releases at a schedd that nobody can connect to.
func TestAllCallsByABroker(t *testing.T) {
	s, b := hidden(t)
	c := newCaller(t, 0)
	for range 3 { // with a handshake, and on its session
		n, err := c.jobs(t.Context(), s.Address())
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
	schedd := client.Schedd{Security: c.client, Address: s.Address()}
	_, err := schedd.Submitted(t.Context())
	require.NoError(t, err)
	n, err := schedd.Negotiate(t.Context(), client.Submitter{Name: "alice@test"}, nil)
	require.NoError(t, err)
	requests, err := n.Requests(5)
	require.NoError(t, err)
	require.Len(t, requests, 1)
	slot := classad.New()
	slot.SetString("Name", "slot1@n1")
	require.NoError(t, n.Match(client.Grant{Cluster: 1, Claim: "<1.2.3.4:5>#6#secret", Slot: slot}))
	require.NoError(t, n.End())
	poll.Equal(t, 1, func() int { return len(s.Matches()) })
	n.Close()
	require.NoError(t, schedd.Release(t.Context(), "<1.2.3.4:5>#6#secret"))
	poll.Equal(t, 1, func() int { return len(s.Released()) })
	require.Equal(t, counts{int64(len(b.Wishes())), 0}, c.counts())
	wish := b.Wishes()[0]
	require.Equal(t, "TEST "+c.address.String(), text(wish, "Name"))
	require.Equal(t, c.address.String(), text(wish, "MyAddress"))
	require.Equal(t, "1", text(wish, "CCBID"))
	secrets := map[string]bool{}
	for _, wish := range b.Wishes() {
		raw, err := hex.DecodeString(text(wish, "ClaimId"))
		require.NoError(t, err)
		require.Len(t, raw, 20)
		secrets[string(raw)] = true
	}
	require.Len(t, secrets, len(b.Wishes()), "each is good once")
}

func text(ad *classad.ClassAd, name string) string {
	said, _ := ad.Text(name)
	return said
}

// TestManyAtOnce: each connection is for the daemon that it was asked of, and takes no place of the
// command port.
func TestManyAtOnce(t *testing.T) {
	c := newCaller(t, 2)
	b := fakes.NewBroker(t)
	all := make([]*fakes.Schedd, 8)
	for i := range all {
		all[i] = fakes.NewSchedd(t, strconv.Itoa(i))
		all[i].SetJobs(slices.Repeat([]string{idle}, i)...)
		all[i].Hide(b)
	}
	held := make([]*client.Negotiation, len(all))
	for i, s := range all {
		n, err := client.Schedd{Security: c.client, Address: s.Address()}.
			Negotiate(t.Context(), client.Submitter{Name: "alice@test"}, nil)
		require.NoError(t, err)
		held[i] = n
	}
	var asking sync.WaitGroup
	for i, s := range all {
		asking.Go(func() {
			n, err := c.jobs(t.Context(), s.Address())
			if err != nil || n != i {
				t.Errorf("schedd %d tells of %d jobs (%v)", i, n, err)
			}
		})
	}
	asking.Wait()
	for i, n := range held {
		requests, err := n.Requests(len(all))
		require.NoError(t, err)
		require.Len(t, requests, i)
		n.Close()
	}
}

// TestNextBroker: if a broker is of no use, the next one is asked, and of many some.
func TestNextBroker(t *testing.T) {
	c := newCaller(t, 0)
	s, b := hidden(t)
	useless := fakes.NewBroker(t)
	useless.Answer(func(*classad.ClassAd) *classad.ClassAd { return nil })
	a := s.Address()
	own, contact := a.Brokers[0], strings.Trim(useless.Address().String(), "<>")+"#1"
	a.Brokers = []string{"no contact", contact, own}
	n, err := c.jobs(t.Context(), a)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Len(t, useless.Wishes(), 1)
	require.Len(t, b.Wishes(), 1)

	a.Brokers = append(slices.Repeat([]string{contact}, 20), own)
	a.Addrs, a.Host, a.Port = nil, "127.0.0.1", 1 // where nobody listens
	_, err = c.jobs(t.Context(), a)
	require.ErrorIs(t, err, cedar.ErrBrokered)
	require.Len(t, useless.Wishes(), 5)
	require.Len(t, b.Wishes(), 1)
}

// TestWhyNot: an error says what is wrong where, and what to do.
func TestWhyNot(t *testing.T) {
	c := newCaller(t, 0)
	b, down := fakes.NewBroker(t), fakes.NewBroker(t)
	down.Stop()
	says := func(reason string) func(*classad.ClassAd) *classad.ClassAd {
		ad := classad.New()
		ad.SetBool("Result", false)
		ad.SetString("ErrorString", reason)
		return func(*classad.ClassAd) *classad.ClassAd { return ad }
	}
	comes := classad.New()
	comes.SetBool("Result", true)
	at := func(b *fakes.Broker) string { return strings.Trim(b.Address().String(), "<>") }
	for _, wrong := range []struct {
		contact string
		answer  func(*classad.ClassAd) *classad.ClassAd
		want    []string
	}{
		{at(b) + "#77", nil, []string{
			at(b), "no daemon is currently registered with that id", "connect to its broker again within a minute",
		}},
		{at(down) + "#1", nil, []string{at(down), "connection refused", "its broker cannot be asked (is it up,"}},
		{at(b) + "#1", says("failed to connect"), []string{at(b), `says "failed to connect"`, "open a way", c.address.String()}},
		{at(b) + "#1", func(*classad.ClassAd) *classad.ClassAd { return nil }, []string{at(b), "hangs up, and tells no reason"}},
		{at(b) + "#1", func(*classad.ClassAd) *classad.ClassAd { return comes }, []string{
			at(b), "it did not within 200ms", c.address.String(), "open a way there from where it is",
		}},
		{"1.2.3.4:9?CCBID=5.6.7.8:9%231#2", nil, []string{"broker <1.2.3.4:9", "is behind another one"}},
	} {
		b.Answer(wrong.answer)
		c.client.Timeout = 200 * time.Millisecond
		if wrong.answer == nil {
			c.client.Timeout = time.Minute
		}
		_, err := c.jobs(t.Context(), cedar.Address{Host: "127.0.0.1", Port: 1, Brokers: []string{wrong.contact}})
		require.ErrorIs(t, err, cedar.ErrBrokered)
		for _, want := range wrong.want {
			require.ErrorContains(t, err, want)
		}
	}
	require.Zero(t, c.counts())
}

// TestTheEndOfAWait: who waits no longer has the connection closed, and holds nobody.
func TestTheEndOfAWait(t *testing.T) {
	c := newCaller(t, 0)
	b := fakes.NewBroker(t)
	ctx, cancel := context.WithCancel(t.Context())
	b.Answer(func(*classad.ClassAd) *classad.ClassAd {
		cancel()
		return nil
	})
	_, err := c.jobs(ctx, cedar.Address{Host: "127.0.0.1", Port: 1, Brokers: []string{contactAt(b)}})
	require.ErrorIs(t, err, context.Canceled)
	c.hello(t, text(b.Wishes()[0], "ClaimId")).expectEnd(t)
	poll.Equal(t, counts{0, 1}, c.counts)
	require.Contains(t, c.log.String(), "nobody waits for are closed: they come too late, or are made up: "+
		"since_last_told=1 one_of=127.0.0.1")
	require.NotContains(t, c.log.String(), text(b.Wishes()[0], "ClaimId"))
}

func contactAt(b *fakes.Broker) string { return strings.Trim(b.Address().String(), "<>") + "#1" }

// peer is somebody who connects to a command port.
type peer struct{ *cedar.Stream }

// hello connects to the command port and says that it was asked to, with this secret.
func (c *caller) hello(t *testing.T, secret string) peer {
	t.Helper()
	d := cedar.Dialer{Timeout: time.Minute}
	s, err := d.Dial(t.Context(), c.address)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	ad := classad.New()
	ad.SetString("ClaimId", secret)
	s.PutInt(broker.ReverseConnect)
	s.PutAd(ad)
	require.NoError(t, s.Send())
	return peer{s}
}

// expectEnd expects the other side to hang up without a word.
func (p peer) expectEnd(t *testing.T) {
	t.Helper()
	_, err := p.Int()
	require.True(t, errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET), "%v", err)
}

// TestHijackers: nobody gets at a connection, or breaks one, without its secret, nor with it twice.
func TestHijackers(t *testing.T) {
	c := newCaller(t, 0)
	s, b := hidden(t)
	secret := make(chan string)
	b.Answer(func(wish *classad.ClassAd) *classad.ClassAd {
		secret <- text(wish, "ClaimId")
		<-secret
		return nil
	})
	asked := make(chan error, 1)
	go func() {
		_, err := c.jobs(t.Context(), s.Address())
		asked <- err
	}()
	known := <-secret
	for _, wrong := range []string{"", "x", known[:39], known + "0", strings.ToUpper(known) + " ", strings.Repeat("0", 40)} {
		c.hello(t, wrong).expectEnd(t)
	}
	honest := c.hello(t, known) // the next word is ours
	command, err := honest.Int()
	require.NoError(t, err)
	require.EqualValues(t, 60010, command)
	c.hello(t, known).expectEnd(t)
	require.Equal(t, counts{1, 7}, c.counts())
	honest.Close()
	secret <- ""
	require.Error(t, <-asked)
}

// TestRaw: the command is no command of handshakes and sessions, so that no rights come with it, not
// even to condor_master's daemons; and what is said by a handshake is heard by nobody.
func TestRaw(t *testing.T) {
	family, err := security.ParseKey("family#secret")
	require.NoError(t, err)
	c := newCaller(t, 0, func(guard *security.Server) {
		guard.Family, guard.Allow = &family, func(security.Peer, security.Permission) bool { return true }
	})
	for name, with := range map[string]*security.Key{"a handshake": nil, "the family's session": &family} {
		nop, failed := c.client.Start(t.Context(), c.address, 60011, with)
		require.NoError(t, failed, "%s is good for something", name)
		nop.Close()
		_, failed = c.client.Start(t.Context(), c.address, broker.ReverseConnect, with)
		require.Error(t, failed, name)
	}
	require.Zero(t, c.counts())
}

// TestTooManyAtOnce: a broker where nobody answers leaves half of the places to others.
func TestTooManyAtOnce(t *testing.T) {
	c := newCaller(t, 0)
	b, s := fakes.NewBroker(t), fakes.NewSchedd(t, "far@test")
	s.SetJobs(idle)
	s.Hide(b)
	var hung, refused atomic.Int64
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c.client.Connect = func(ctx context.Context, place string) (net.Conn, error) {
		if place != silent.Addr().String() {
			return new(net.Dialer).DialContext(ctx, "tcp", place)
		}
		hung.Add(1)
		ours, theirs := net.Pipe()
		context.AfterFunc(ctx, func() { _ = theirs.Close() })
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		return ours, nil
	}
	at := silent.Addr().String()
	require.NoError(t, silent.Close())
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	for range 600 {
		asking.Go(func() {
			_, failed := c.jobs(ctx, cedar.Address{Host: "127.0.0.1", Port: 1, Brokers: []string{at + "#1"}})
			if failed != nil && strings.Contains(failed.Error(), "too many at once") {
				refused.Add(1)
			}
		})
	}
	poll.Equal(t, 500, hung.Load)
	poll.Equal(t, 100, refused.Load)
	n, err := c.jobs(t.Context(), s.Address())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	cancel()
	asking.Wait()
}
