package host

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// endless is a pipe that always holds more of the same.
type endless struct {
	text  []byte
	spent int // of the pace
	end   time.Time
}

func (e *endless) Read(b []byte) (n int, err error) {
	if !e.end.IsZero() && !time.Now().Before(e.end) {
		return 0, io.EOF
	}
	for n+len(e.text) <= len(b) {
		n += copy(b[n:], e.text)
	}
	e.spent += n + lineCost*bytes.Count(b[:n], []byte{'\n'})
	return n, nil
}

// TestAFloodOfOutputWaits: whatever a plugin prints, in lines or not, no more is read in a second
// than the log may get, from both its pipes together.
func TestAFloodOfOutputWaits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := []byte(rapid.StringMatching(`[ax]{0,20}\n{1,3}|x{1,100}`).Draw(rt, "text"))
		seconds := rapid.IntRange(1, 20).Draw(rt, "seconds")
		synctest.Test(t, func(t *testing.T) {
			var log logged
			p := &pace{log: log.logger(hclog.Info)}
			end := time.Now().Add(time.Duration(seconds) * time.Second)
			pipes := []*endless{{text: text, end: end}, {text: text, end: end}}
			for _, pipe := range pipes {
				go func() { _, _ = io.Copy(io.Discard, p.limit(pipe)) }()
			}
			time.Sleep(time.Until(end) - 1)
			synctest.Wait()
			const last = 2 * step * (1 + lineCost) // reads that wait
			require.LessOrEqual(t, pipes[0].spent+pipes[1].spent, seconds*maxLog+last)
			require.Contains(t, log.String(), "it is held up")
			time.Sleep(time.Minute)
		})
	})
}

// TestLastWordsAreReadAtOnce: what a process wrote before its end may be more than it may write in a
// second.
func TestLastWordsAreReadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		var log logged
		p := &pace{log: log.logger(hclog.Info), ended: ended}
		begun := time.Now()
		time.AfterFunc(time.Minute, func() { close(ended) })
		p.pay(1000 * maxLog)
		held := strings.Repeat("\n", 1<<13) + "panic: last words\n"
		read, err := io.ReadAll(p.limit(strings.NewReader(held)))
		require.NoError(t, err)
		require.Equal(t, held, string(read))
		require.Equal(t, time.Minute, time.Since(begun))
		_, err = io.Copy(io.Discard, p.limit(&endless{text: []byte("x")}))
		require.NoError(t, err, "what another process writes there is not read for ever")
	})
}
