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

// Frame is one of a recorded conversation, header included.
type Frame struct {
	Dir   string `json:"dir"` // client or server
	Note  string `json:"note,omitempty"`
	Wire  string `json:"wire"`
	Plain string `json:"plain,omitempty"`
}

// Bytes is what was on the wire.
func (f Frame) Bytes(tb testing.TB) []byte {
	tb.Helper()
	b, err := hex.DecodeString(f.Wire)
	require.NoError(tb, err)
	return b
}

// Tape is a connection on which the other side says what it said when it was
// recorded, once this side has said what it said before that; and everything that this
// side says must be what it said then.
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

// New is the connection of one side, client or server, which is called from, and is
// at, the address.
func New(tb testing.TB, us, at string, frames []Frame) *Tape {
	tb.Helper()
	address, err := net.ResolveTCPAddr("tcp", at)
	require.NoError(tb, err)
	return &Tape{tb: tb, us: us, frames: frames, local: address, remote: address}
}

// Read hears the other side.
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

// Write says what must have been said.
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

// Done requires that everything was said and heard.
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

// Recording is a recorded conversation, and what is needed to say the same again.
type Recording struct {
	About string `json:"about"`
	// Seed is of the generator from which our side drew its numbers.
	Seed  byte  `json:"seed"`
	Clock int64 `json:"clock"`
	// Pid was our process, and Address the one that was called.
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

// Random draws the numbers that our side drew.
func (r Recording) Random() io.Reader { return rand.NewChaCha8([32]byte{r.Seed}) }

// Said is all that one side said.
func (r Recording) Said(tb testing.TB, dir string) (said []byte) {
	tb.Helper()
	for _, f := range r.Frames {
		if f.Dir == dir {
			said = append(said, f.Bytes(tb)...)
		}
	}
	return said
}
