package security

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/internal/tape"
)

// scripted is a connection on which everything that the other side sends is given in advance.
type scripted struct {
	*tape.Tape
	said io.Reader
}

func (s scripted) Read(b []byte) (int, error)  { return s.said.Read(b) }
func (s scripted) Write(b []byte) (int, error) { return len(b), nil }

// endless returns zeros, so that the other side's keys are known.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 1
	}
	return len(b), nil
}

// seeds adds one side of each recorded conversation to the corpus.
func seeds(f *testing.F, dir string) {
	f.Helper()
	for _, folder := range []string{"testdata/recorded", "../server/testdata/recorded"} {
		for _, r := range tape.Read(f, folder) {
			f.Add(r.Said(f, dir))
		}
	}
}

func FuzzServer(f *testing.F) {
	seeds(f, "client")
	f.Fuzz(func(t *testing.T, said []byte) {
		s := &Server{
			Methods:   []Method{ClaimToBe, Token, FS},
			Keys:      map[string]SigningKey{"POOL": NewSigningKey("POOL", []byte("k"))},
			Directory: t.TempDir(), Needs: func(int) []Permission { return []Permission{Read} }, Commands: []int{1},
			Allow:  everyone,
			Random: endless{}, Timeout: time.Minute,
		}
		call, err := s.Accept(t.Context(), scripted{newTape(t, "", nil), bytes.NewReader(said)})
		if err == nil && call != nil {
			call.Close()
		}
	})
}

func FuzzClient(f *testing.F) {
	seeds(f, "server")
	f.Fuzz(func(t *testing.T, said []byte) {
		c := &Client{
			Methods: []Method{FS, Token, ClaimToBe}, User: "u", Random: endless{},
			makeDirectory: func(string, *Owner) error { return nil },
			Connect: func(context.Context, string) (net.Conn, error) {
				return scripted{newTape(t, "", nil), bytes.NewReader(said)}, nil
			},
		}
		for _, with := range []*Key{nil, {ID: "x", secret: "y"}} {
			if s, err := c.Start(t.Context(), cedar.Address{Host: "h", Port: 1}, 5, with); err == nil {
				s.Close()
			}
		}
	})
}

func FuzzKey(f *testing.F) {
	f.Add(`<127.0.0.1:9718?sock=n1>#1795172514#1#[Integrity="YES";Encryption="YES";CryptoMethodsList=` +
		`"AES.BLOWFISH";SessionExpires=17;]086833f3`)
	f.Add("#")
	f.Add("a#[b]")
	f.Fuzz(func(t *testing.T, text string) {
		k, err := ParseKey(text)
		if err != nil {
			return
		}
		k.Expires()
		require.NotEmpty(t, k.ID)
		require.Len(t, k.session(), cedar.KeySize)
	})
}

func FuzzToken(f *testing.F) {
	k := NewSigningKey("POOL", []byte("k"))
	text, err := k.Sign("POOL", "pool.test", "condor@pool.test", 1, Read)
	require.NoError(f, err)
	f.Add(text)
	f.Add("a.b.c")
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := parseToken(text)
		if err != nil {
			return
		}
		require.NotEmpty(t, parsed.Subject)
		parsed.limits()
		parsed.key()
		_, _ = (&Server{Keys: map[string]SigningKey{"POOL": k}}).verify(parsed.signed)
	})
}

// No value that can be printed reveals a secret.
func TestSecretsAreNotShown(t *testing.T) {
	const secret = "5ec4e7"
	key, err := ParseKey("<1.2.3.4:5>#1#2#[Encryption=\"YES\";]" + secret)
	require.NoError(t, err)
	signing := SigningKey{[]byte(secret)}
	signed, err := signing.Sign("POOL", "pool.test", "condor@pool.test", 1)
	require.NoError(t, err)
	signature := signed[strings.LastIndexByte(signed, '.')+1:]
	tokens := filepath.Join(t.TempDir(), "t")
	require.NoError(t, os.WriteFile(tokens, []byte(signed[:len(signed)-3]+"!!!"+signature), 0o600))

	client := &Client{Family: &key, Tokens: []string{tokens}}
	server := &Server{Family: &key, Keys: map[string]SigningKey{"POOL": signing}}
	server.Admit(key, Peer{})
	client.negotiated.keep("a", []int{1}, &session{id: "x", key: []byte(secret)}, time.Unix(1, 0))
	stream := cedar.NewStream(scripted{
		newTape(t, "", nil),
		strings.NewReader("\x00\x00\x00\x00\x10" + secret + secret + "\x00\x00\x00\x00"),
	}, 0)
	_, err = stream.Bytes(2)
	require.NoError(t, err)
	_, wrong := client.token("pool.test", "POOL")
	require.Error(t, wrong)
	hidden := []string{secret, hex.EncodeToString([]byte(secret)), strings.Trim(fmt.Sprintf("%d", []byte(secret)),
		"[]"), string(key.session()), hex.EncodeToString(key.session()), signature}
	lines := cedar.Lines("Name = \"a\"\nClaimId = \"" + secret + "\"\n")
	for _, v := range []any{
		key, &key, signing, &signing, client, server, stream, &Call{Stream: stream}, lines, wrong,
		struct{ K Key }{key},
		map[string]any{"k": key, "l": lines},
		[]Key{key},
	} {
		texts := []string{}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			texts = append(texts, fmt.Sprintf(verb, v))
		}
		if text, unfit := json.Marshal(v); unfit == nil {
			texts = append(texts, string(text))
		}
		for _, text := range texts {
			for _, h := range hidden {
				require.NotContains(t, text, h, "%v", reflect.TypeOf(v))
			}
		}
	}
	require.NotContains(t, PublicClaim("<1>#2#"+secret), secret)
	require.NotContains(t, PublicClaim("<1>#2#"+secret+" <1>#3#"+secret), secret)
	require.NotContains(t, PublicClaim(secret), secret)
	for _, text := range []string{secret, "#" + secret, "a#[" + secret, secret + "#"} {
		_, err = ParseKey(text)
		require.Error(t, err)
		require.NotContains(t, err.Error(), secret)
	}
}
