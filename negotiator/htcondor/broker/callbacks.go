package broker

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

// Callbacks has daemons connect to us. After its fields are set it is safe for concurrent use.
type Callbacks struct {
	// Address is that of the command port that serves Handler, as in ads.
	Address string
	// Name identifies us in the logs of brokers and daemons.
	Name string
	// Random is the source of secrets; nil means the system's.
	Random io.Reader
	// Logger tells of connections that nobody waits for, once a minute at most; nil means no log.
	Logger hclog.Logger
	// Now is the clock by which Logger tells of them; without a Logger it may be nil.
	Now func() time.Time

	mu      sync.Mutex
	waiting map[digest]*awaited
	brokers map[string]int // how many daemons are waited for, by broker
	calls   int64
	strays  int64
	untold  int       // strays since the log told
	told    time.Time // when it told
}

// awaited is a daemon that is to connect.
type awaited struct {
	id     string // the secret by which it is known
	key    digest
	broker string
	calls  chan net.Conn // has room for one; closed if what came is no good
}

// digest stands for a secret. Who looks for it in a map learns nothing of the secret from the time
// that it takes.
type digest [sha256.Size]byte

// mostAwaited is how many daemons are waited for at once. A broker may have as many of them as are
// left, so that one where nobody answers leaves half of them to others.
const mostAwaited = 1000

// idSize is how many random bytes a secret has.
const idSize = 20

// helloPatience is how long a connection may take to say whose it is.
const helloPatience = 20 * time.Second

// maxHello is how many bytes it may say.
const maxHello = 8 << 10

// await begins to wait for a daemon.
func (c *Callbacks) await(broker string) (*awaited, error) {
	random := c.Random
	if random == nil {
		random = rand.Reader
	}
	var raw [idSize]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return nil, err
	}
	a := &awaited{id: hex.EncodeToString(raw[:]), broker: broker, calls: make(chan net.Conn, 1)}
	a.key = sha256.Sum256([]byte(a.id))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.brokers[broker] >= mostAwaited-len(c.waiting) {
		return nil, fmt.Errorf("%d daemons behind brokers are waited for, %d of them behind %s: too many at once",
			len(c.waiting), c.brokers[broker], broker)
	}
	if c.waiting == nil {
		c.waiting, c.brokers = map[digest]*awaited{}, map[string]int{}
	}
	c.waiting[a.key] = a
	c.brokers[broker]++
	return a, nil
}

// drop ends the wait for a daemon, if it has not ended. It needs the lock.
func (c *Callbacks) drop(a *awaited) {
	if c.waiting[a.key] != a {
		return
	}
	delete(c.waiting, a.key)
	if c.brokers[a.broker]--; c.brokers[a.broker] == 0 {
		delete(c.brokers, a.broker)
	}
}

// forget ends the wait for a daemon, and returns the connection that came meanwhile, or nil.
func (c *Callbacks) forget(a *awaited) net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(a)
	select {
	case conn := <-a.calls:
		return conn
	default:
		return nil
	}
}

// Handler serves the connections of daemons.
func (c *Callbacks) Handler() server.Handler {
	return server.Handler{
		Name: "CCB_REVERSE_CONNECT", Needs: []security.Permission{security.Anybody}, Payload: maxHello, Serve: c.serve,
	}
}

// serve hands a connection to whoever waits for it. Anybody may connect, so it has to come with a
// secret, which is good once; who the daemon is shows in the handshake that follows.
func (c *Callbacks) serve(ctx context.Context, call *security.Call) error {
	ctx, cancel := context.WithTimeout(ctx, helloPatience)
	defer cancel()
	call.Bind(ctx)
	ad, err := call.Ad()
	if err == nil {
		err = call.End()
	}
	if err != nil {
		return err
	}
	id, _ := ad.Literal("ClaimId").Text()
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.waiting[sha256.Sum256([]byte(id))]
	if a == nil {
		c.tellStray(call.Peer.Address)
		return nil
	}
	c.drop(a)
	c.calls++
	conn, err := call.Release()
	if err != nil {
		close(a.calls)
		return err
	}
	if guest, ok := conn.(*server.Guest); ok {
		conn = guest.Leave()
	}
	a.calls <- conn // has room
	return nil
}

// tellStray counts a connection that nobody waits for, and tells of them once a minute at most. It
// needs the lock.
func (c *Callbacks) tellStray(address string) {
	c.strays++
	c.untold++
	if c.Logger == nil {
		return
	}
	if now := c.Now(); now.Sub(c.told) >= time.Minute {
		c.Logger.Info("connections by way of brokers that nobody waits for are closed: they come too late, or are made up",
			"since_last_told", c.untold, "one_of", address)
		c.told, c.untold = now, 0
	}
}

// Counts returns how many daemons connected that had been asked to, since the start, and how many
// connections nobody waited for: they came too late, or with a made-up secret.
func (c *Callbacks) Counts() (calls, strays int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls, c.strays
}
