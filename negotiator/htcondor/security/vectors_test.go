package security

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/internal/tape"
)

// vectors are recorded conversations between a client and HTCondor's daemons.
const vectors = "../../../../shared/design/htcondor-wire-vectors.json"

type conversation struct {
	Frames     []frame `json:"frames"`
	Resumed    []frame `json:"resumed_frames"`
	Answer     string  `json:"answer"`
	ECDH       string  `json:"client_ecdh_private"`
	Key        string  `json:"session_key"`
	RA         string  `json:"ra"`
	Token      string  `json:"token_header_payload"`
	Signature  string  `json:"token_signature"`
	Capability string  `json:"submitter_ad_capability"`
	KA         string  `json:"ka"`
	SharedX    string  `json:"ecdh_shared_x"`
	ServerECDH string  `json:"server_ecdh_public"`
}

func readVectors(t *testing.T) map[string]conversation {
	t.Helper()
	text, err := os.ReadFile(vectors)
	if err != nil {
		t.Skip("the recorded conversations are not there: ", err)
	}
	var file struct {
		Conversations map[string]conversation `json:"conversations"`
	}
	require.NoError(t, json.Unmarshal(text, &file))
	return file.Conversations
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	require.NoError(t, err)
	return b
}

// iv returns the client's IV: the start of its first encrypted frame.
func iv(t *testing.T, frames []frame, dir string) []byte {
	t.Helper()
	for _, f := range frames {
		if f.Dir == dir && f.Plain != "" {
			return f.Bytes(t)[5:21]
		}
	}
	return nil
}

// replay gives a client the connection of a recorded conversation. In its first message, to the
// shared port, the client's name is replaced.
func replay(t *testing.T, c *Client, frames []frame, random ...[]byte) *tape.Tape {
	t.Helper()
	recorded := newTape(t, "client", frames)
	c.Name = "NEGOTIATOR"
	c.Random = bytes.NewReader(bytes.Join(random, nil))
	c.Connect = func(context.Context, string) (net.Conn, error) { return renamed{recorded}, nil }
	return recorded
}

// renamed is a tape on which we are called "probe" at the shared port.
type renamed struct{ *tape.Tape }

func (r renamed) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("\x00NEGOTIATOR\x00")) && b[12] == 75 {
		whole := bytes.Replace(b, []byte("NEGOTIATOR\x00"), []byte("probe\x00"), 1)
		whole[4] = byte(len(whole) - 5)
		_, err := r.Tape.Write(whole)
		return len(b), err
	}
	return r.Tape.Write(b)
}

// ask replays the rest of a conversation: a query and its answer.
func ask(t *testing.T, c *Client, answer string) {
	t.Helper()
	a, err := cedar.ParseAddress("<127.0.0.1:9718?sock=collector>")
	require.NoError(t, err)
	s, err := c.Start(t.Context(), a, 5, nil)
	require.NoError(t, err)
	defer s.Close()
	s.PutLines(cedar.Lines("MyType = \"Query\"\nTargetType = \"Machine\"\n" +
		"Requirements = Name == \"slot1@n1@pool.test\"\nProjection = \"Name Cpus\"\n"))
	require.NoError(t, s.Send())
	more, err := s.Int()
	require.NoError(t, err)
	require.EqualValues(t, 1, more)
	got, err := s.AppendLines(nil)
	require.NoError(t, err)
	require.Equal(t, answer, string(got))
	more, err = s.Int()
	require.NoError(t, err)
	require.Zero(t, more)
}

func pidOf(t *testing.T, f frame) (pid int) {
	t.Helper()
	found := regexp.MustCompile(`ServerPid = (\d+)`).FindSubmatch(f.Bytes(t))
	require.NotNil(t, found)
	require.NoError(t, json.Unmarshal(found[1], &pid))
	return pid
}

// Our client sends byte for byte what the recorded client sent, if it draws the same numbers, and
// understands what HTCondor's daemons answered.
func TestClientSaysWhatWasRecorded(t *testing.T) {
	all := readVectors(t)
	noted := Wishes{Authentication: Required, Encryption: Optional, Integrity: Optional}
	t.Run("without authentication", func(t *testing.T) {
		v := all["query_negotiated_without_authentication"]
		c := &Client{Methods: []Method{FS}, Wishes: Wishes{Never, Never, Never}, pid: pidOf(t, v.Frames[1])}
		// The private key of this handshake was not recorded, so the public key is replaced below.
		public := regexp.MustCompile(`ECDHPublicKey = "([^"]+)"`).FindSubmatch(v.Frames[1].Bytes(t))[1]
		private, err := newECDH(bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
		require.NoError(t, err)
		ours := base64.StdEncoding.EncodeToString(private.PublicKey().Bytes())
		v.Frames[1].Wire = hex.EncodeToString(bytes.Replace(v.Frames[1].Bytes(t), public, []byte(ours), 1))
		recorded := replay(t, c, v.Frames, bytes.Repeat([]byte{7}, 32))
		ask(t, c, v.Answer)
		recorded.Done()
	})
	t.Run("FS, and resumed", func(t *testing.T) {
		v := all["query_fs"]
		c := &Client{Methods: []Method{FS}, Wishes: noted, pid: pidOf(t, v.Frames[1])}
		made := ""
		c.makeDirectory = func(name string, _ *Owner) error { made = name; return nil }
		recorded := replay(t, c, v.Frames, unhex(t, v.ECDH), iv(t, v.Frames, "client"))
		ask(t, c, v.Answer)
		recorded.Done()
		require.Equal(t, "/tmp/FS_XXXEbrjBx", made)

		nonce := regexp.MustCompile(`Nonce = "([^"]+)"`).FindSubmatch(v.Resumed[1].Bytes(t))[1]
		raw, err := base64.StdEncoding.DecodeString(string(nonce))
		require.NoError(t, err)
		recorded = replay(t, c, v.Resumed, raw, iv(t, v.Resumed, "client"))
		ask(t, c, v.Answer)
		recorded.Done()
	})
	t.Run("IDTOKENS", func(t *testing.T) {
		v := all["query_idtokens"]
		file := filepath.Join(t.TempDir(), "token")
		signature := base64.RawURLEncoding.EncodeToString(unhex(t, v.Signature))
		require.NoError(t, os.WriteFile(file, []byte("# a token\n"+v.Token+"."+signature+"\n"), 0o600))
		c := &Client{
			Methods: []Method{Token}, Wishes: noted, Tokens: []string{file}, pid: pidOf(t, v.Frames[1]),
			Clock: func() time.Time { return time.Unix(1795172500, 0) },
		}
		recorded := replay(t, c, v.Frames, unhex(t, v.ECDH), unhex(t, v.RA), iv(t, v.Frames, "client"))
		ask(t, c, v.Answer)
		recorded.Done()
	})
	t.Run("capability", func(t *testing.T) {
		v := all["negotiate"]
		key, err := ParseKey(v.Capability)
		require.NoError(t, err)
		c := &Client{Clock: func() time.Time { return time.Unix(1795172500, 0) }}
		nonce := regexp.MustCompile(`Nonce = "([^"]+)"`).FindSubmatch(v.Frames[1].Bytes(t))[1]
		raw, err := base64.StdEncoding.DecodeString(string(nonce))
		require.NoError(t, err)
		recorded := replay(t, c, v.Frames[:3], raw, iv(t, v.Frames, "client"))
		a, err := cedar.ParseAddress(key.ID[:bytes.IndexByte([]byte(key.ID), '#')])
		require.NoError(t, err)
		s, err := c.Start(t.Context(), a, 416, &key)
		require.NoError(t, err)
		defer s.Close()
		recorded.Done()
		require.True(t, s.Encrypted())
	})
}

// messages are the values in each message of the recorded conversations: i an integer, s a text, a
// an ad, n bytes with their number, q ads with a 1 before each and a 0 at the end.
var messages = map[string][]string{
	"query_raw": {"issii", "ia", "q"},
	"query_negotiated_without_authentication": {"issii", "ia", "a", "a", "a", "q"},
	"query_fs":         {"issii", "ia", "a", "i", "i", "s", "i", "i", "i", "a", "a", "q"},
	"query_fs resumed": {"issii", "ia", "a", "a", "q"},
	"query_idtokens":   {"issii", "ia", "a", "i", "i", "iissn", "iisisnnn", "iisnn", "i", "a", "a", "q"},
	"negotiate":        {"issii", "ia", "a", "a", "ii", "ia", "i", "isa", "is", "i"},
}

// The streams of both sides read every recorded frame and write it again byte for byte.
func TestStreamsReadAndWriteWhatWasRecorded(t *testing.T) {
	seen := 0
	for name, v := range readVectors(t) {
		for part, frames := range map[string][]frame{name: v.Frames, name + " resumed": v.Resumed} {
			if len(frames) == 0 {
				continue
			}
			seen++
			t.Run(part, func(t *testing.T) { rewrite(t, frames, messages[part], unhex(t, v.Key)) })
		}
	}
	require.Equal(t, len(messages), seen)
}

func rewrite(t *testing.T, frames []frame, kinds []string, key []byte) {
	t.Helper()
	tapes := map[string]*tape.Tape{
		"client": newTape(t, "client", frames[1:]),
		"server": newTape(t, "server", frames[1:]),
	}
	streams := map[string]*cedar.Stream{}
	for side, recorded := range tapes {
		streams[side] = cedar.NewStream(recorded, 0)
		streams[side].Random = bytes.NewReader(iv(t, frames, side))
		if iv(t, frames, side) == nil {
			streams[side].Random = bytes.NewReader(make([]byte, 16)) // this side sends nothing
		}
	}
	// The message to the shared port is not part of the daemons' conversation.
	plain := &collected{Tape: newTape(t, "", nil)}
	_, _ = plain.Write(frames[0].Bytes(t))
	values, err := take(cedar.NewStream(plain, 0), kinds[0])
	require.NoError(t, err)
	again := &collected{Tape: newTape(t, "", nil)}
	w := cedar.NewStream(again, 0)
	give(w, values)
	require.NoError(t, w.Send())
	require.Equal(t, frames[0].Bytes(t), again.Bytes())
	other := map[string]string{"client": "server", "server": "client"}
	at := 1
	for _, kind := range kinds[1:] {
		f := frames[at]
		if f.Plain != "" {
			for _, s := range streams {
				require.NoError(t, s.Encrypt(key))
			}
		}
		values, err := take(streams[other[f.Dir]], kind)
		require.NoError(t, err, f.Note)
		give(streams[f.Dir], values)
		require.NoError(t, streams[f.Dir].Send(), f.Note)
		for at++; f.Bytes(t)[0] == 0; at++ { // a message of several frames
			f = frames[at]
		}
	}
	require.Equal(t, len(frames), at)
	for _, recorded := range tapes {
		recorded.Done()
	}
}

// collected is a connection that keeps what is written to it.
type collected struct {
	*tape.Tape
	bytes.Buffer
}

func (c *collected) Read(b []byte) (int, error)  { return c.Buffer.Read(b) }
func (c *collected) Write(b []byte) (int, error) { return c.Buffer.Write(b) }

func take(s *cedar.Stream, kind string) (values []any, err error) {
	for _, k := range kind {
		var v any
		switch k {
		case 'i':
			v, err = s.Int()
		case 's':
			v, err = s.Text()
		case 'a':
			v, err = s.AppendLines(nil)
		case 'n':
			v, err = readBytes(s)
		default:
			var ads []cedar.Lines
			for {
				var more int64
				if more, err = s.Int(); err != nil || more == 0 {
					break
				}
				var l cedar.Lines
				if l, err = s.AppendLines(nil); err != nil {
					break
				}
				ads = append(ads, l)
			}
			v = ads
		}
		if err != nil {
			return values, err
		}
		values = append(values, v)
	}
	if more, err := s.More(); err != nil || more {
		return values, errHangUp
	}
	return values, s.End()
}

func give(s *cedar.Stream, values []any) {
	for _, v := range values {
		switch v := v.(type) {
		case int64:
			s.PutInt(v)
		case string:
			s.PutString(v)
		case cedar.Lines:
			s.PutLines(v)
		case []byte:
			s.PutInt(int64(len(v)))
			s.PutBytes(v)
		case []cedar.Lines:
			for _, l := range v {
				s.PutInt(1)
				s.PutLines(l)
			}
			s.PutInt(0)
		}
	}
}
