// Package tape replays recorded conversations between daemons: a [Tape] is a
// connection for one of the sides.
package tape

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Frame is one frame of a recorded conversation. Wire is the frame in hexadecimal digits, header
// included.
type Frame struct {
	Dir   string `json:"dir"` // client or server
	Note  string `json:"note,omitempty"`
	Wire  string `json:"wire"`
	Plain string `json:"plain,omitempty"`
}

// Bytes returns what was on the wire.
func (f Frame) Bytes(tb testing.TB) []byte {
	tb.Helper()
	b, err := hex.DecodeString(f.Wire)
	require.NoError(tb, err)
	return b
}

// Tape is a connection that replays a recorded conversation for one of its sides. A frame of the
// other side can be read once all frames before it were written or read. What this side writes must
// be what it wrote when the conversation was recorded, or the test fails.
type Tape struct {
	tb     testing.TB
	us     string
	frames []Frame
	local  net.Addr
	remote net.Addr

	mu     sync.Mutex
	unread []byte // of the frame that is being read
	unsaid []byte // of the frame that is being written
	at     int
}

// New returns the connection for the side us, client or server. The address counts as the
// connection's local and remote one.
func New(tb testing.TB, us, at string, frames []Frame) *Tape {
	tb.Helper()
	address, err := net.ResolveTCPAddr("tcp", at)
	require.NoError(tb, err)
	return &Tape{tb: tb, us: us, frames: frames, local: address, remote: address}
}

// Read returns what the other side wrote; the error is io.EOF if it is this side's turn or nothing
// is left.
func (c *Tape) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.unread) == 0 {
		if len(c.unsaid) > 0 || c.at == len(c.frames) || c.frames[c.at].Dir == c.us {
			return 0, io.EOF
		}
		c.unread = c.frames[c.at].Bytes(c.tb)
		c.at++
	}
	n := copy(b, c.unread)
	c.unread = c.unread[n:]
	return n, nil
}

// Write fails the test unless this side wrote the same when the conversation was recorded.
func (c *Tape) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for rest := b; len(rest) > 0; {
		if len(c.unsaid) == 0 {
			require.Less(c.tb, c.at, len(c.frames), "more is said than was recorded: % x", rest)
			require.Equal(c.tb, c.us, c.frames[c.at].Dir, "it is not our turn: %s", c.frames[c.at].Note)
			c.unsaid = c.frames[c.at].Bytes(c.tb)
			c.at++
		}
		n := min(len(rest), len(c.unsaid))
		require.Equal(c.tb, c.unsaid[:n], rest[:n], "%s: %q", c.frames[c.at-1].Note, rest[:n])
		c.unsaid, rest = c.unsaid[n:], rest[n:]
	}
	return len(b), nil
}

// Done fails the test unless all frames were written or read.
func (c *Tape) Done() {
	c.tb.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	require.Empty(c.tb, c.unread)
	require.Empty(c.tb, c.unsaid)
	require.Equal(c.tb, len(c.frames), c.at, "frames")
}

// Close does nothing.
func (c *Tape) Close() error { return nil }

// LocalAddr is the recorded address.
func (c *Tape) LocalAddr() net.Addr { return c.local }

// RemoteAddr is the recorded address.
func (c *Tape) RemoteAddr() net.Addr { return c.remote }

// SetDeadline does nothing: nothing takes time.
func (c *Tape) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (c *Tape) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (c *Tape) SetWriteDeadline(time.Time) error { return nil }

// Recording is a recorded conversation, and what our side needs to write the same again.
type Recording struct {
	About string `json:"about"`
	// Seed is the seed of the generator from which our side drew random numbers.
	Seed  byte  `json:"seed"`
	Clock int64 `json:"clock"`
	// Pid was our process ID, and Address the address that was called.
	Pid     int     `json:"pid"`
	Address string  `json:"address"`
	Frames  []Frame `json:"frames"`
	// Resumed is a second conversation, on the session that the first one made.
	Resumed []Frame `json:"resumed"`
}

// Read reads all recordings in a folder, by name.
func Read(tb testing.TB, folder string) map[string]Recording {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	require.NoError(tb, err)
	require.NotEmpty(tb, files)
	all := map[string]Recording{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(tb, err)
		var r Recording
		require.NoError(tb, json.Unmarshal(text, &r), file)
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = r
	}
	return all
}

// Random returns the source of the random numbers that our side drew.
func (r Recording) Random() io.Reader { return rand.NewChaCha8([32]byte{r.Seed}) }

// Said returns all that one side, client or server, wrote.
func (r Recording) Said(tb testing.TB, dir string) (said []byte) {
	tb.Helper()
	for _, f := range r.Frames {
		if f.Dir == dir {
			said = append(said, f.Bytes(tb)...)
		}
	}
	return said
}
