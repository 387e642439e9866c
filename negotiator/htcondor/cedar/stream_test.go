package cedar_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a connection from which recorded bytes are read.
type memory struct {
	net.Conn
	said *bytes.Reader
}

func (m memory) Read(b []byte) (int, error)      { return m.said.Read(b) }
func (m memory) RemoteAddr() net.Addr            { return &net.TCPAddr{} }
func (m memory) SetReadDeadline(time.Time) error { return nil }

// sink is a connection that keeps what is written to it.
type sink struct {
	net.Conn
	said bytes.Buffer
}

func (s *sink) Write(b []byte) (int, error) { return s.said.Write(b) }

func reader(said []byte) *cedar.Stream {
	return cedar.NewStream(memory{said: bytes.NewReader(said)}, 0)
}

// pair returns a connection with a stream at each end.
func pair(t *testing.T) (a, b *cedar.Stream) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	here, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	there, err := listener.Accept()
	require.NoError(t, err)
	a, b = cedar.NewStream(here, 10*time.Second), cedar.NewStream(there, 10*time.Second)
	t.Cleanup(a.Close)
	t.Cleanup(b.Close)
	return a, b
}

func TestValues(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var key []byte
		if rapid.Bool().Draw(r, "encrypted") {
			key = bytes.Repeat([]byte{9}, cedar.KeySize)
		}
		to := &sink{}
		w := cedar.NewStream(to, 0)
		if key != nil {
			require.NoError(r, w.Encrypt(key))
		}
		text := rapid.StringMatching(`[^\x00]{0,3}`)
		var check []func(*cedar.Stream)
		for range rapid.IntRange(1, 5).Draw(r, "messages") {
			for range rapid.IntRange(1, 5).Draw(r, "values") {
				switch rapid.IntRange(0, 3).Draw(r, "kind") {
				case 0:
					v := rapid.Int64().Draw(r, "int")
					w.PutInt(v)
					check = append(check, func(s *cedar.Stream) {
						got, err := s.Int()
						require.NoError(r, err)
						require.Equal(r, v, got)
					})
				case 1:
					v := strings.Repeat(text.Draw(r, "text"), rapid.IntRange(0, 5000).Draw(r, "times"))
					if v == "\xad" {
						v = ""
						w.PutNull()
					} else {
						w.PutString(v)
					}
					check = append(check, func(s *cedar.Stream) {
						got, err := s.Text()
						require.NoError(r, err)
						require.Equal(r, v, got)
					})
				case 2:
					v := rapid.SliceOfN(rapid.Byte(), 1, 10_000).Draw(r, "bytes")
					w.PutBytes(v)
					check = append(check, func(s *cedar.Stream) {
						got, err := s.Bytes(len(v))
						require.NoError(r, err)
						require.Equal(r, v, got)
					})
				default:
					v := cedar.Lines(fmt.Sprintf("A = %d\nB = %q\n", rapid.Int64().Draw(r, "a"),
						rapid.StringMatching(`[a-z]{0,9}`).Draw(r, "b")))
					w.PutLines(v)
					check = append(check, func(s *cedar.Stream) {
						got, err := s.AppendLines(nil)
						require.NoError(r, err)
						require.Equal(r, string(v), string(got))
					})
				}
			}
			require.NoError(r, w.Send())
			check = append(check, func(s *cedar.Stream) {
				more, err := s.More()
				require.NoError(r, err)
				require.False(r, more)
				require.NoError(r, s.End())
			})
		}
		s := reader(to.said.Bytes())
		if key != nil {
			require.NoError(r, s.Encrypt(key))
		}
		for _, c := range check {
			c(s)
		}
		_, err := s.Int()
		require.ErrorIs(r, err, io.EOF)
	})
}

func TestReals(t *testing.T) {
	for _, v := range []float64{0, 1, -1, 5, 1000, 0.5, 123.5, 1e10, -7.25, 1e-9, 12345.678} {
		to := &sink{}
		w := cedar.NewStream(to, 0)
		w.PutReal(v)
		require.NoError(t, w.Send())
		got, err := reader(to.said.Bytes()).Real()
		require.NoError(t, err)
		require.InDelta(t, v, got, 0)
	}
	to := &sink{}
	w := cedar.NewStream(to, 0)
	w.PutReal(math.NaN())
	w.PutReal(math.Inf(1))
	require.ErrorContains(t, w.Send(), "cannot be sent")
}

// A text in an ad arrives as it was sent, except for line feeds; HTCondor's daemons behave the same
// way.
func TestTextsInAds(t *testing.T) {
	for text, want := range map[string]string{
		`a\b"c`: "", `end\`: "", `quote"`: "", `\"`: "", "grüße ✓": "", `two\\`: "", "tab\there": "",
		"new\nline": "new line", "": "",
	} {
		if want == "" {
			want = text
		}
		ad := classad.New()
		ad.SetString("Text", text)
		to := &sink{}
		w := cedar.NewStream(to, 0)
		w.PutAd(ad)
		require.NoError(t, w.Send())
		got, err := reader(to.said.Bytes()).Ad()
		require.NoError(t, err)
		s, _ := got.Text("Text")
		require.Equal(t, want, s)
	}
}

func TestSecretAttributes(t *testing.T) {
	to := &sink{}
	w := cedar.NewStream(to, 0)
	w.PutInt(2)
	for _, text := range []string{"ZKM", `ClaimId = "<1>#2#s"`, "Cpus = 1", "", ""} {
		w.PutString(text)
	}
	require.NoError(t, w.Send())
	lines, err := reader(to.said.Bytes()).AppendLines(nil)
	require.NoError(t, err)
	require.Equal(t, "ClaimId = \"<1>#2#s\"\nCpus = 1\n", string(lines))
	claim, ok := lines.Find("claimid")
	require.True(t, ok)
	require.Equal(t, `"<1>#2#s"`, string(claim))
	require.Equal(t, "ClaimId = …\nCpus = 1\n", fmt.Sprintf("%v", lines))
	_, err = cedar.Lines("ClaimId = (\"topsecret\"\n").Ad()
	require.Error(t, err)
	require.NotContains(t, err.Error(), "topsecret")
}

func TestBadFrames(t *testing.T) {
	for name, c := range map[string]struct {
		said []byte
		read func(*cedar.Stream) error
		want string
	}{
		"end":        {nil, integer, "EOF"},
		"half":       {[]byte{1, 0, 0, 0, 8, 1}, integer, "unexpected EOF"},
		"between":    {[]byte{0, 0, 0, 0, 1, 1}, integer, "unexpected EOF"},
		"empty":      {[]byte{1, 0, 0, 0, 0}, integer, "no frame of a message"},
		"kind":       {[]byte{11, 0, 0, 0, 1, 1}, integer, "no frame of a message"},
		"long":       {[]byte{1, 0, 0x20, 0, 0}, integer, "no frame of a message"},
		"short":      {[]byte{1, 0, 0, 0, 1, 1}, integer, "ends before its time"},
		"open text":  {[]byte{1, 0, 0, 0, 1, 'a'}, text, "ends before its time"},
		"attributes": {[]byte{1, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0}, ad, "number of an ad's attributes"},
	} {
		require.ErrorContains(t, c.read(reader(c.said)), c.want, name)
	}
}

func integer(s *cedar.Stream) error { _, err := s.Int(); return err }
func text(s *cedar.Stream) error    { _, err := s.Text(); return err }
func ad(s *cedar.Stream) error      { _, err := s.Ad(); return err }

func TestOtherKey(t *testing.T) {
	a, b := pair(t)
	require.NoError(t, a.Encrypt(make([]byte, cedar.KeySize)))
	require.NoError(t, b.Encrypt(bytes.Repeat([]byte{1}, cedar.KeySize)))
	a.PutInt(1)
	require.NoError(t, a.Send())
	_, err := b.Int()
	require.ErrorContains(t, err, "cannot be decrypted")
}

func TestLimit(t *testing.T) {
	a, b := pair(t)
	b.Limit(13)
	a.PutInt(1)
	require.NoError(t, a.Send())
	a.PutInt(2)
	require.NoError(t, a.Send())
	_, err := b.Int()
	require.NoError(t, err)
	require.NoError(t, b.End())
	_, err = b.Int()
	require.ErrorContains(t, err, "more is said")
	b.Limit(-1)
}

// A peer that closes its side for writing has sent everything and can still be answered.
func TestHalfClosed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	d := cedar.Dialer{Timeout: time.Minute, Connect: func(ctx context.Context, place string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", place)
	}}
	s, err := d.Dial(t.Context(), cedar.Address{
		Host: "127.0.0.1",
		Port: listener.Addr().(*net.TCPAddr).Port, Sock: "x",
	})
	require.NoError(t, err)
	defer s.Close()
	conn, err := listener.Accept()
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	_, err = s.Int()
	require.ErrorIs(t, err, io.EOF)
	s.PutInt(7)
	require.NoError(t, s.Send())
	peer := cedar.NewStream(conn, 10*time.Second)
	command, err := peer.Int()
	require.NoError(t, err)
	require.EqualValues(t, 75, command)
	require.NoError(t, peer.End())
	seven, err := peer.Int()
	require.NoError(t, err)
	require.EqualValues(t, 7, seven)
}

func FuzzStream(f *testing.F) {
	to := &sink{}
	w := cedar.NewStream(to, 0)
	w.PutLines(cedar.Lines("A = 1\nB = \"x\"\n"))
	require.NoError(f, w.Send())
	f.Add(to.said.Bytes(), []byte("aistrb"), false)
	to = &sink{}
	w = cedar.NewStream(to, 0)
	require.NoError(f, w.Encrypt(make([]byte, cedar.KeySize)))
	w.PutLines(cedar.Lines("A = 1\nB = \"x\"\n"))
	w.PutInt(1)
	w.PutString("text")
	require.NoError(f, w.Send())
	f.Add(to.said.Bytes(), []byte("ais"), true)
	f.Fuzz(func(t *testing.T, said, kinds []byte, encrypted bool) {
		if encrypted { // make the input decrypt, or nothing after it is reached
			to := &sink{}
			w := cedar.NewStream(to, 0)
			require.NoError(t, w.Encrypt(make([]byte, cedar.KeySize)))
			w.PutBytes(said)
			if w.Send() != nil {
				return
			}
			said = to.said.Bytes()
		}
		s := reader(said)
		s.Limit(1 << 20)
		if encrypted {
			require.NoError(t, s.Encrypt(make([]byte, cedar.KeySize)))
		}
		for _, k := range kinds {
			var err error
			switch k {
			case 'a':
				_, err = s.Ad()
			case 'i':
				_, err = s.Int()
			case 's':
				_, err = s.Text()
			case 'r':
				_, err = s.Real()
			case 'b':
				_, err = s.Bytes(100)
			default:
				err = s.End()
			}
			if err != nil {
				return
			}
		}
	})
}
