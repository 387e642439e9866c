package cedar

import (
	"bytes"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestCountLines counts lines with empty ones among them, and without an end.
func TestCountLines(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "\n": 0, "\n\n": 0, "a": 1, "a\n": 1, "\na\n": 1, "a\nb": 2, "a\nb\n": 2, "a\n\nb\n": 2, "a\nb\n\n": 2,
	} {
		require.Equal(t, want, Lines(text).Count().n, "%q", text)
	}
}

// recorder is a connection that keeps what is written.
type recorder struct {
	net.Conn
	written []byte
}

func (r *recorder) Write(b []byte) (int, error) {
	r.written = append(r.written, b...)
	return len(b), nil
}

// TestLinesAreSentAsTexts: lines arrive as the same bytes as if each were sent by itself, wherever
// frames end, with empty lines and without.
func TestLinesAreSentAsTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 1, 7, 40, 40, 1000, 4000, 4089, 4090, 4091, 9000}), 0, 40)
		var text strings.Builder
		for i, n := range lengths.Draw(t, "lengths") {
			text.WriteString(strings.Repeat(string(rune('a'+i%26)), n) + "\n")
		}
		lines := Lines(text.String())
		if rapid.Bool().Draw(t, "no end") {
			lines = bytes.TrimSuffix(lines, lineFeed)
		}
		encrypted := rapid.Bool().Draw(t, "encrypted")
		sent := func(put func(s *Stream)) []byte {
			var conn recorder
			s := NewStream(&conn, 0)
			s.Random = bytes.NewReader(make([]byte, 1<<10))
			if encrypted {
				require.NoError(t, s.Encrypt(make([]byte, KeySize)))
			}
			s.PutInt(7)
			put(s)
			s.PutString("after")
			require.NoError(t, s.Send())
			return conn.written
		}
		want := sent(func(s *Stream) {
			all := strings.FieldsFunc(string(lines), func(r rune) bool { return r == '\n' })
			s.PutInt(int64(len(all)))
			for _, line := range all {
				s.PutString(line)
			}
		})
		require.Equal(t, want, sent(func(s *Stream) { s.PutBareLines(lines) }))
	})
}
