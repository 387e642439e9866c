package host

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
)

// onSocket returns a session on a socket whose other end belongs to the test.
func onSocket(t *testing.T) (*session, net.Conn) {
	t.Helper()
	here, there := net.Pipe()
	s := &session{transport: newPiped(here), end: func(bool) {}}
	t.Cleanup(func() {
		s.close(false)
		_ = there.Close()
	})
	return s, there
}

func configuring(text string) *policyv1.HostMessage {
	return &policyv1.HostMessage{Message: &policyv1.HostMessage_Configure{
		Configure: &policyv1.Configure{Options: map[string]string{"k": text}},
	}}
}

// The deadline of a question limits both its sending and the wait for the answer, and the caller
// may give up.
func TestAQuestionOnASocketEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, reads := range map[string]int{"while it is sent": 1 << 10, "while its answer is awaited": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, there := onSocket(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				for left := reads; left > 0; {
					n, err := there.Read(make([]byte, min(left, 1<<10)))
					if left -= n; err != nil || left < 1<<19 {
						break
					}
				}
				cancel(context.DeadlineExceeded)
			}()
			_, err := s.ask(ctx, configuring(strings.Repeat("x", 1<<19)))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			_, err = s.ask(t.Context(), configuring("again"))
			require.Error(t, err, "an answer that comes late is for nobody")
		})
	}
}

func TestNonsenseOnASocketBreaksTheSession(t *testing.T) {
	t.Parallel()
	for want, answer := range map[string]string{
		"the plugin ended it, or its process died": "",
		"a message of 4294967295 bytes":            "\xff\xff\xff\xff",
		"unexpected EOF":                           "\x02\x00\x00\x00a",
		"decode":                                   "\x02\x00\x00\x00ab",
	} {
		s, there := onSocket(t)
		go func() {
			_, _ = there.Read(make([]byte, 1<<10))
			_, _ = there.Write([]byte(answer))
			_ = there.Close()
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := s.ask(ctx, configuring("x"))
		require.ErrorContains(t, err, "the session broke")
		require.ErrorContains(t, err, want)
	}
}
