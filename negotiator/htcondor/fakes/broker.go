package fakes

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

// Commands of brokers (CCB), and of those who call each other through them.
const (
	ccbRegister       = 67
	ccbRequest        = 68
	ccbReverseConnect = 69
)

// Broker has daemons that nobody can connect to connect to others, as a collector does for CCB.
type Broker struct {
	Daemon

	mu      sync.Mutex
	targets map[string]*target
	last    int
	wishes  []*classad.ClassAd
	answer  func(wish *classad.ClassAd) *classad.ClassAd
}

// target is a daemon that has registered, with its stream, to which one writes at a time.
type target struct {
	mu      sync.Mutex
	stream  *cedar.Stream
	results map[string]chan *classad.ClassAd
	gone    chan struct{}
}

// NewBroker starts a broker that knows no daemons.
func NewBroker(tb testing.TB) *Broker {
	tb.Helper()
	b := &Broker{targets: map[string]*target{}}
	b.start(tb, "COLLECTOR", map[int]server.Handler{
		ccbRegister: {Name: "CCB_REGISTER", Serve: b.register},
		ccbRequest:  {Name: "CCB_REQUEST", Serve: b.request},
	})
	return b
}

// Wishes returns what the broker was asked for.
func (b *Broker) Wishes() []*classad.ClassAd {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]*classad.ClassAd(nil), b.wishes...)
}

// Answer has a function answer wishes, instead of the daemons; if it returns nil, the broker hangs up.
func (b *Broker) Answer(answer func(wish *classad.ClassAd) *classad.ClassAd) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = answer
}

// register keeps a daemon that registers, and tells it its number: Command, CCBID = "host:port#7" and
// ClaimId, by which it would have the number again. Then the daemon says what became of wishes.
func (b *Broker) register(_ context.Context, call *security.Call) error {
	_, err := call.Ad()
	if err == nil {
		err = call.End()
	}
	if err != nil {
		return err
	}
	t := &target{stream: call.Stream, results: map[string]chan *classad.ClassAd{}, gone: make(chan struct{})}
	defer close(t.gone)
	b.mu.Lock()
	b.last++
	id := strconv.Itoa(b.last)
	b.targets[id] = t
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.targets, id)
	}()
	ad := classad.New()
	ad.SetInt("Command", ccbRegister)
	ad.SetString("CCBID", strings.Trim(b.Address().String(), "<>")+"#"+id)
	ad.SetString("ClaimId", "again")
	if err = t.say(ad); err != nil {
		return err
	}
	for {
		var said *classad.ClassAd
		if said, err = call.Ad(); err == nil {
			err = call.End()
		}
		if hungUp(err) {
			return nil
		}
		if err != nil {
			return err
		}
		number, _ := said.Text("RequestID")
		t.mu.Lock()
		if result, awaited := t.results[number]; awaited {
			result <- said
			delete(t.results, number)
		}
		t.mu.Unlock()
	}
}

func (t *target) say(ad *classad.ClassAd) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stream.PutAd(ad)
	return t.stream.Send()
}

// request passes a wish on to a daemon, and answers with Result, and ErrorString if the daemon does
// not connect.
func (b *Broker) request(ctx context.Context, call *security.Call) error {
	wish, err := call.Ad()
	if err == nil {
		err = call.End()
	}
	if err != nil {
		return err
	}
	id, _ := wish.Text("CCBID")
	b.mu.Lock()
	b.wishes = append(b.wishes, wish)
	answer, t, number := b.answer, b.targets[id], strconv.Itoa(len(b.wishes))
	b.mu.Unlock()
	if answer != nil {
		said := answer(wish)
		if said == nil {
			return nil
		}
		call.PutAd(said)
		return call.Send()
	}
	said := classad.New()
	said.SetBool("Result", false)
	said.SetString("ErrorString", fmt.Sprintf("CCB server rejecting request for ccbid %s because no daemon is currently "+
		"registered with that id (perhaps it recently disconnected).", id))
	if t != nil {
		result := make(chan *classad.ClassAd, 1)
		t.mu.Lock()
		t.results[number] = result
		t.mu.Unlock()
		passed := wish.Clone()
		passed.Delete("CCBID")
		passed.SetInt("Command", ccbRequest)
		passed.SetString("RequestID", number)
		if err = t.say(passed); err != nil {
			return err
		}
		select {
		case said = <-result:
		case <-t.gone:
		case <-ctx.Done():
		}
	}
	call.PutAd(said)
	_ = call.Send() // who has what it wants does not wait for it
	return nil
}

// unreachable is an address at which nothing answers (RFC 5737).
const unreachable = "192.0.2.1"

// Hide has the daemon listen nowhere: it can be reached through the broker alone, with which it
// registers. Its address changes.
func (d *Daemon) Hide(b *Broker) {
	d.t.Helper()
	d.Stop()
	ctx, cancel := context.WithCancel(context.Background())
	registered, err := Client().Start(ctx, b.Address(), ccbRegister, nil)
	require.NoError(d.t, err)
	wish := classad.New()
	wish.SetInt("Command", ccbRegister)
	wish.SetString("Name", d.guard.Name)
	registered.PutAd(wish)
	require.NoError(d.t, registered.Send())
	told, err := registered.Ad()
	require.NoError(d.t, err)
	require.NoError(d.t, registered.End())
	contact, _ := told.Text("CCBID")
	d.address = cedar.Address{Host: unreachable, Port: 9, NoUDP: true, Brokers: []string{contact}}
	called := &hidden{conns: make(chan net.Conn), over: make(chan struct{})}
	stopPort := d.serveAt(called)
	var listening sync.WaitGroup
	listening.Go(func() { called.heed(ctx, registered) })
	d.stop = sync.OnceFunc(func() {
		cancel()
		registered.Close()
		listening.Wait()
		stopPort()
	})
}

// hidden is a listener whose connections were made from here.
type hidden struct {
	conns chan net.Conn
	over  chan struct{}
	once  sync.Once
}

// heed connects to whoever the broker names, until it hangs up.
func (h *hidden) heed(ctx context.Context, broker *cedar.Stream) {
	broker.Limit(-1)
	for {
		wish, err := broker.Ad()
		if err == nil {
			err = broker.End()
		}
		if err != nil {
			return
		}
		result := wish.Clone()
		result.Delete("Command")
		err = h.connect(ctx, wish)
		result.SetBool("Result", err == nil)
		if err != nil {
			result.SetString("ErrorString", "failed to connect")
		}
		broker.PutAd(result)
		if broker.Send() != nil {
			return
		}
	}
}

// connect connects to whoever wishes it, says so in plain, and serves the connection.
func (h *hidden) connect(ctx context.Context, wish *classad.ClassAd) error {
	to, _ := wish.Text("MyAddress")
	a, err := cedar.ParseAddress(to)
	if err != nil {
		return err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(a.Host, strconv.Itoa(a.Port)))
	if err != nil {
		return err
	}
	s := cedar.NewStream(conn, time.Minute)
	hello := classad.New()
	for _, name := range []string{"ClaimId", "RequestID", "MyAddress"} {
		text, _ := wish.Text(name)
		hello.SetString(name, text)
	}
	s.PutInt(ccbReverseConnect)
	s.PutAd(hello)
	if err = s.Send(); err == nil {
		conn, err = s.Release()
	}
	if err != nil {
		s.Close()
		return err
	}
	select {
	case h.conns <- conn:
	case <-h.over:
		_ = conn.Close()
	}
	return nil
}

func (h *hidden) Accept() (net.Conn, error) {
	select {
	case conn := <-h.conns:
		return conn, nil
	case <-h.over:
		return nil, net.ErrClosed
	}
}

func (h *hidden) Close() error {
	h.once.Do(func() { close(h.over) })
	return nil
}

func (h *hidden) Addr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(unreachable), Port: 9} }
