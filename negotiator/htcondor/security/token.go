package security

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // what the protocol says; as an HMAC it is no weakness
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// token is an IDTOKEN: a JSON Web Token whose signature is never sent; it is the secret that both
// sides know.
type token struct {
	Issuer    string `json:"iss"`
	Subject   string `json:"sub"`
	Expires   int64  `json:"exp"`
	NotBefore int64  `json:"nbf"`
	IssuedAt  int64  `json:"iat"`
	Scope     string `json:"scope"`
	keyID     string
	signed    string // header.payload
	secret    []byte // the signature
}

// parseToken parses a token. Errors do not quote it.
func parseToken(text string) (t token, err error) {
	parts := strings.Split(strings.TrimSpace(text), ".")
	if len(parts) != 3 {
		return t, errors.New("a token must have three parts with dots between them")
	}
	var header struct {
		KeyID string `json:"kid"`
		Alg   string `json:"alg"`
	}
	for i, into := range []any{&header, &t} {
		part, wrong := base64.RawURLEncoding.DecodeString(parts[i])
		if wrong == nil {
			wrong = json.Unmarshal(part, into)
		}
		if wrong != nil {
			return t, fmt.Errorf("part %d of the token is no JSON in base64url", i+1)
		}
	}
	if t.secret, err = base64.RawURLEncoding.DecodeString(parts[2]); err != nil || len(t.secret) == 0 {
		return t, errors.New("the token's signature is no base64url")
	}
	if header.Alg != "HS256" {
		return t, fmt.Errorf("the token is signed by %.80q: must be HS256", header.Alg)
	}
	if t.Subject == "" {
		return t, errors.New("the token has no subject (sub)")
	}
	t.keyID, t.signed = header.KeyID, parts[0]+"."+parts[1]
	if t.keyID == "" {
		t.keyID = "POOL"
	}
	return t, nil
}

// fits reports whether a server that trusts this domain and has these keys may accept the token. An
// empty domain or list of keys excludes nothing.
func (t token) fits(domain string, keys []string, now time.Time) bool {
	switch {
	case domain != "" && t.Issuer != domain,
		len(keys) > 0 && !slices.Contains(keys, t.keyID),
		t.expired(now),
		t.NotBefore != 0 && now.Unix() < t.NotBefore:
		return false
	default:
		return true
	}
}

func (t token) expired(now time.Time) bool { return t.Expires != 0 && now.Unix() >= t.Expires }

// readTokens reads the tokens in files and folders, by name, as HTCondor does: a file may have
// several lines, and # starts a comment. The error names the files with invalid tokens; the valid
// tokens are returned as well.
func readTokens(places []string) (tokens []token, err error) {
	var wrong []error
	for _, place := range places {
		files := []string{place}
		if info, err := os.Stat(place); err != nil {
			if !errors.Is(err, os.ErrNotExist) {
				wrong = append(wrong, err)
			}
			continue
		} else if info.IsDir() {
			files = nil
			entries, err := os.ReadDir(place)
			if err != nil {
				wrong = append(wrong, err)
			}
			for _, e := range entries {
				if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
					files = append(files, filepath.Join(place, e.Name()))
				}
			}
		} else if !info.Mode().IsRegular() { // nobody may ever write to a pipe
			wrong = append(wrong, fmt.Errorf("%s is no regular file", place))
			continue
		}
		for _, file := range files {
			found, err := readTokenFile(file)
			tokens, wrong = append(tokens, found...), append(wrong, err)
		}
	}
	return tokens, errors.Join(wrong...)
}

func readTokenFile(file string) (tokens []token, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		t, err := parseToken(text)
		if err != nil {
			return tokens, fmt.Errorf("%s:%d: %w", file, n, err)
		}
		tokens = append(tokens, t)
	}
	return tokens, lines.Err()
}

// nonceSize is the length of each side's nonce, and macSize that of an HMAC-SHA1, in bytes.
const (
	nonceSize = 256
	macSize   = 20
)

// key returns the key of the MACs with which both sides prove that they know the token's signature.
func (t token) key() []byte {
	return expand(t.secret, string(tokenSeed)+t.signed, "master ka")
}

func mac(key []byte, parts ...string) []byte {
	m := hmac.New(sha1.New, key)
	for _, p := range parts {
		m.Write([]byte(p))
	}
	return m.Sum(nil)
}

// exchange proves to the server that we have the token, and checks that the server has the key that
// signed it (AKEP2). It returns the server's name.
func (t token) exchange(s *cedar.Stream, random io.Reader) (server string, err error) {
	ours := make([]byte, nonceSize)
	if err = draw(random, ours); err != nil {
		return "", err
	}
	s.PutInt(0)
	s.PutInt(int64(len(t.Subject)))
	s.PutString(t.Subject)
	s.PutString(t.signed)
	s.PutInt(nonceSize)
	s.PutBytes(ours)
	if err = s.Send(); err != nil {
		return "", err
	}
	key := t.key()
	server, theirs, err := t.readProof(s, key, ours)
	if err != nil {
		return "", errors.Join(err, giveUp(s))
	}
	s.PutInt(0)
	s.PutInt(int64(len(t.Subject)))
	s.PutString(t.Subject)
	s.PutInt(nonceSize)
	s.PutBytes(theirs)
	s.PutInt(macSize)
	s.PutBytes(mac(key, t.Subject, "\x00", string(theirs)))
	return server, s.Send()
}

// readProof reads the server's answer, checks that the server knows the token's signature, and
// returns the server's name and nonce. ours is our nonce.
func (t token) readProof(s *cedar.Stream, key, ours []byte) (server string, theirs []byte, err error) {
	status, err := s.Int()
	if err != nil {
		return "", nil, err
	}
	names, echoes := [2]string{}, [2][]byte{}
	for i := range names {
		if _, err = s.IntIn("the length of a name", 0, 1<<16); err == nil {
			names[i], err = s.Text()
		}
		if err != nil {
			return "", nil, err
		}
	}
	for i := range echoes {
		if echoes[i], err = readBytes(s); err != nil {
			return "", nil, err
		}
	}
	proof, err := readBytes(s)
	if err != nil {
		return "", nil, err
	}
	if err = s.End(); err != nil {
		return "", nil, err
	}
	good := mac(key, names[0], " ", names[1], "\x00", string(echoes[0]), string(echoes[1]))
	switch {
	case status != 0:
		return "", nil, fmt.Errorf("the server refuses the token of %.80s", t.Subject)
	case names[0] != t.Subject || !hmac.Equal(echoes[0], ours) || !hmac.Equal(proof, good) ||
		len(echoes[1]) != nonceSize:
		return "", nil, errors.New("the server does not know the key that the token was signed with")
	}
	return names[1], echoes[1], nil
}

// noToken runs an exchange that fails, as we have no token. All messages are exchanged
// nevertheless, so that both sides can go on with another method.
func noToken(s *cedar.Stream) error {
	s.PutInt(-1)
	s.PutInt(0)
	s.PutString("")
	s.PutString("")
	s.PutInt(0)
	if err := s.Send(); err != nil {
		return err
	}
	if _, err := s.Int(); err != nil { // whatever the answer
		return err
	}
	if err := s.End(); err != nil {
		return err
	}
	return giveUp(s)
}

// giveUp sends the last message of a failed exchange.
func giveUp(s *cedar.Stream) error {
	s.PutInt(-1)
	s.PutInt(0)
	s.PutString("")
	s.PutInt(0)
	s.PutInt(0)
	return s.Send()
}

// readBytes reads bytes that are preceded by their number, at most 4096.
func readBytes(s *cedar.Stream) ([]byte, error) {
	n, err := s.IntIn("a number of bytes", 0, 4096)
	if err != nil {
		return nil, err
	}
	return s.Bytes(n)
}

// tokenSeed is a constant of the protocol.
var tokenSeed = func() []byte {
	seed, err := hex.DecodeString(
		"3e4a502047d5f4e5dc7c69bb5210cbb6167add8084f7dd9ef3ad2cca71d283dd" +
			"114a4fbb7b1ee90adfa862c44304de5473a3172f735c2cbb6e775b5d40d39fac" +
			"e873182523f9252b623be0d4b167a3a8040cacfee9ee3da02c0abbf4d9d8b11f" +
			"89004c943923ce5d9508bb3f04bc66a3fa20a13a416c5e6f4e0d3187d45fc783" +
			"35c5e485db2c5a3717970cc26e7b6b9d1965b47a67df77a31f22f08a6c0ba570" +
			"97a21a9ca7c60424f72739ab5cb915a4185bd109828e35e42108ab851c08a3df" +
			"fde0e3b06f3d3938cdad6df6ef9a6f6dc2cb74f0228512eb7a3d6823010684b0" +
			"15c12ac3014c4f9f938e384dad1e3bd745ff8c141fd70b465ba8af5d1b98b4b1")
	if err != nil {
		panic(err) // a constant
	}
	return seed
}()
