package host

import (
	"net"
	"sync"
	"time"

	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// How many bytes a plugin may send over gRPC, whatever is in them: frames that ask for nothing cost
// the host up to 40 ms of a processor for each MiB. The others wait in the plugin's socket.
const (
	idleRate  = 256 << 10              // a second without a question, such as what it prints
	idleRoom  = 2 << 20                // at once without a question
	askedRoom = wire.MaxAnswer + 8<<20 // for one question, with what acknowledges the question's bytes
	// maxHeaders is the maximum size of a call's headers. Few bytes may unpack to many.
	maxHeaders = 64 << 10
)

// inflow counts what a plugin may still send over gRPC.
type inflow struct {
	mu    sync.Mutex
	left  int           // bytes
	since time.Time     // when left was right
	asked chan struct{} // closed, and replaced, by a question
}

func newInflow() *inflow {
	return &inflow{left: idleRoom, since: time.Now(), asked: make(chan struct{})}
}

// question lets the plugin send an answer, until answered is called.
func (f *inflow) question() (answered func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left += askedRoom
	close(f.asked)
	f.asked = make(chan struct{})
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.left = min(f.left, idleRoom)
	}
}

// take takes up to so many bytes. If there are none, more is closed when a question is asked.
func (f *inflow) take(most int) (n int, more <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if f.left < idleRoom {
		passed := min(now.Sub(f.since), time.Minute) // in which the room is full again
		f.left = min(f.left+int(passed.Seconds()*idleRate), idleRoom)
	}
	f.since = now
	n = min(most, f.left)
	f.left -= n
	return n, f.asked
}

// giveBack returns what was taken and did not come.
func (f *inflow) giveBack(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left += n
}

// limit returns the connection with its reads limited.
func (f *inflow) limit(conn net.Conn) net.Conn {
	return &limitedConn{Conn: conn, inflow: f, closed: make(chan struct{})}
}

type limitedConn struct {
	net.Conn
	inflow *inflow
	once   sync.Once
	closed chan struct{}
}

// Read waits until the plugin may send.
func (c *limitedConn) Read(into []byte) (int, error) {
	const pause = 100 * time.Millisecond
	for {
		room, more := c.inflow.take(len(into))
		if room > 0 || len(into) == 0 {
			n, err := c.Conn.Read(into[:room])
			c.inflow.giveBack(room - n)
			return n, err
		}
		select {
		case <-more:
		case <-time.After(pause):
		case <-c.closed:
			return 0, net.ErrClosed
		}
	}
}

// Close also ends a Read that waits.
func (c *limitedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
