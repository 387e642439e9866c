package security

import (
	"io"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// say sends bytes to a server and waits until the server hangs up.
func say(t *testing.T, s *serving, talk func(net.Conn)) {
	t.Helper()
	conn, err := net.Dial("tcp", net.JoinHostPort(s.address.Host, strconv.Itoa(s.address.Port)))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	talk(conn)
	_, _ = io.Copy(io.Discard, conn)
}

// late matches the errors about peers that are too slow.
const late = "timeout|deadline"

func TestHostileClients(t *testing.T) {
	const promised = 4000
	drops := 0
	for name, c := range map[string]struct {
		talk func(net.Conn)
		want string
	}{
		"nothing":       {func(net.Conn) {}, late},
		"half a header": {func(c net.Conn) { _, _ = c.Write([]byte{1, 0}) }, late},
		"drop by drop": {func(c net.Conn) {
			_, _ = c.Write([]byte{1, 0, 0, promised >> 8, promised & 0xff})
			for ; drops < promised; drops++ {
				if _, err := c.Write([]byte{0}); err != nil {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		}, late},
		"too much":    {func(c net.Conn) { _, _ = c.Write([]byte{0, 0, 8, 0, 0}) }, "more is said"},
		"garbage":     {func(c net.Conn) { _, _ = c.Write([]byte("GET / HTTP/1.1\r\n\r\n")) }, "no frame"},
		"empty frame": {func(c net.Conn) { _, _ = c.Write([]byte{1, 0, 0, 0, 0}) }, "no frame"},
		"raw and not allowed": {func(c net.Conn) {
			s := cedar.NewStream(c, 0)
			s.PutInt(ruling)
			_ = s.Send()
		}, "without a handshake"},
		"closes at once": {func(c net.Conn) { _ = c.Close() }, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			patience := poll.Patience
			if c.want == late {
				patience = 200 * time.Millisecond
			}
			s := serve(t, &Server{Timeout: patience})
			say(t, s, c.talk)
			refused := poll.Until(t, "a refusal", func() ([]error, bool) {
				s.mu.Lock()
				defer s.mu.Unlock()
				return s.refused, len(s.refused) > 0
			})
			require.Len(t, refused, 1)
			require.Regexp(t, c.want, refused[0].Error())
			if name == "drop by drop" {
				require.Less(t, drops, promised, "it was heard out")
			}
		})
	}
}
