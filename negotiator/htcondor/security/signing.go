package security

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// SigningKey is a key that signs a pool's tokens. Printing it reveals nothing.
type SigningKey struct{ key []byte }

// Format prints nothing of the key.
func (SigningKey) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "signing key") }

// poolKey is the name of the key that signs tokens that name no key.
const poolKey = "POOL"

// maxKeyFile is the maximum size of a key file in bytes.
const maxKeyFile = 64 << 10

// NewSigningKey makes a key from the content of its file.
func NewSigningKey(name string, file []byte) SigningKey {
	mask := [4]byte{0xde, 0xad, 0xbe, 0xef}
	secret := make([]byte, len(file))
	for i, c := range file {
		secret[i] = c ^ mask[i%4]
	}
	if name == poolKey { // for compatibility: it once was the pool's password
		secret = append(secret, secret...)
	}
	return SigningKey{expand(secret, "htcondor", "master jwt")}
}

// ReadSigningKeys reads the pool's key from its file (SEC_TOKEN_POOL_SIGNING_KEY_FILE) and all
// others from their folder (SEC_PASSWORD_DIRECTORY). Keys that are missing or unreadable are left
// out; tokens signed by them are not accepted.
func ReadSigningKeys(pool, folder string) map[string]SigningKey {
	keys := map[string]SigningKey{}
	read := func(name, file string) {
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 || info.Size() > maxKeyFile {
			return
		}
		if content, err := os.ReadFile(file); err == nil {
			keys[name] = NewSigningKey(name, content)
		}
	}
	if folder != "" {
		entries, _ := os.ReadDir(folder) // if it cannot be read, there are no keys for us
		for _, e := range entries {
			if name := e.Name(); name != poolKey && !strings.HasPrefix(name, ".") {
				read(name, filepath.Join(folder, name))
			}
		}
	}
	if pool != "" {
		read(poolKey, pool)
	}
	return keys
}

// sign returns the signature of a token's first two parts.
func (k SigningKey) sign(signed string) []byte {
	m := hmac.New(sha256.New, k.key)
	m.Write([]byte(signed))
	return m.Sum(nil)
}

// Sign makes a token for a subject (user), limited to the permissions; none means no limit. name is
// the key's name, and at the time of issue as a Unix time.
func (k SigningKey) Sign(name, issuer, subject string, at int64, limits ...Permission) (string, error) {
	header, err := json.Marshal(map[string]string{"alg": "HS256", "kid": name})
	if err != nil {
		return "", err
	}
	claims := map[string]any{"iss": issuer, "sub": subject, "iat": at}
	if len(limits) > 0 {
		scopes := make([]string, len(limits))
		for i, l := range limits {
			scopes[i] = scopePrefix + string(l)
		}
		claims["scope"] = strings.Join(scopes, " ")
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	signed := base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString(payload)
	return signed + "." + base64.RawURLEncoding.EncodeToString(k.sign(signed)), nil
}

// errHangUp marks failures after which the connection must be closed without an answer.
var errHangUp = errors.New("the conversation is over")

const scopePrefix = "condor:/"

// limits returns the permissions that a token is limited to, those that are known here, once each:
// sessions keep them. nil means no limit.
func (t token) limits() (limits []Permission) {
	known := []Permission{Read, Write, Negotiator, Administrator, Daemon, AdvertiseStartd, AdvertiseSchedd}
	for scope := range strings.FieldsSeq(t.Scope) {
		level, ok := strings.CutPrefix(scope, scopePrefix)
		at := slices.Index(known, Permission(level))
		if ok && at >= 0 && !slices.Contains(limits, known[at]) {
			limits = append(limits, known[at])
		}
	}
	if t.Scope != "" && limits == nil {
		limits = []Permission{"NONE"} // its scope is for another system
	}
	return limits
}

// serverName is the name that HTCondor's servers use in this exchange.
const serverName = "condor@password"

// checkToken is the server's side of the token exchange: the other side proves that it knows the
// token's signature, which we compute ourselves.
func (s *Server) checkToken(stream *cedar.Stream) (user string, limits []Permission, err error) {
	status, subject, err := readSubject(stream)
	if err != nil {
		return "", nil, err
	}
	signed, err := stream.Text()
	if err != nil {
		return "", nil, err
	}
	theirs, err := readBytes(stream)
	if err == nil {
		err = stream.End()
	}
	if err != nil {
		return "", nil, err
	}
	t, wrong := s.verify(signed)
	switch {
	case wrong != nil:
	case status != 0:
		wrong = errors.New("it has no token that fits")
	case subject != t.Subject || len(theirs) != nonceSize:
		wrong = errors.New("what it says is not what its token says")
	}
	if wrong != nil {
		refuse(stream)
		if err = stream.Send(); err == nil {
			_, _, err = readRest(stream) // read the rest, so that another method can follow
		}
		return "", nil, errors.Join(wrong, err)
	}
	ours := make([]byte, nonceSize)
	if err = draw(s.Random, ours); err != nil {
		return "", nil, err
	}
	key := t.key()
	stream.PutInt(0)
	stream.PutInt(int64(len(subject)))
	stream.PutString(subject)
	stream.PutInt(int64(len(serverName)))
	stream.PutString(serverName)
	stream.PutInt(nonceSize)
	stream.PutBytes(theirs)
	stream.PutInt(nonceSize)
	stream.PutBytes(ours)
	stream.PutInt(macSize)
	stream.PutBytes(mac(key, subject, " ", serverName, "\x00", string(theirs), string(ours)))
	if err = stream.Send(); err != nil {
		return "", nil, err
	}
	status, rest, err := readRest(stream)
	if err != nil {
		return "", nil, err
	}
	good := append(slices.Clone(ours), mac(key, subject, "\x00", string(ours))...)
	if status != 0 {
		return "", nil, errors.New("it gave up: its token's signature is not by our key")
	}
	if !hmac.Equal(rest, good) {
		// The client waits for an answer and would not try another method.
		return "", nil, fmt.Errorf("it does not have the signature of the token for %.80q: %w", t.Subject, errHangUp)
	}
	return t.Subject, t.limits(), nil
}

// readSubject reads the start of a client's message: its status, 0 if it has a token, and the
// token's subject.
func readSubject(stream *cedar.Stream) (status int64, subject string, err error) {
	if status, err = stream.Int(); err == nil {
		if _, err = stream.IntIn("the length of a name", 0, 1<<16); err == nil {
			subject, err = stream.Text()
		}
	}
	return status, subject, err
}

// readRest reads the client's last message: a status, then our nonce and a MAC, which it returns
// joined.
func readRest(stream *cedar.Stream) (status int64, rest []byte, err error) {
	if status, _, err = readSubject(stream); err != nil {
		return 0, nil, err
	}
	for range 2 {
		part, err := readBytes(stream)
		if err != nil {
			return 0, nil, err
		}
		rest = append(rest, part...)
	}
	return status, rest, stream.End()
}

// refuse writes the message that tells the client that the exchange has failed; the caller sends
// it.
func refuse(stream *cedar.Stream) {
	stream.PutInt(-1)
	for range 2 {
		stream.PutInt(0)
		stream.PutString("")
	}
	for range 3 {
		stream.PutInt(0)
	}
}

// verify parses a token without its signature (header.payload), checks its claims and computes the
// signature.
func (s *Server) verify(signed string) (token, error) {
	if strings.Count(signed, ".") != 1 {
		return token{}, errors.New("it shows no token")
	}
	t, err := parseToken(signed + ".AA") // with a dummy signature, which is replaced below
	if err != nil {
		return token{}, err
	}
	if s.TrustDomain == "" {
		return token{}, errors.New("no token is accepted, as TRUST_DOMAIN and UID_DOMAIN are empty: set one of them")
	}
	key, ok := s.Keys[t.keyID]
	if !ok || !t.fits(s.TrustDomain, nil, s.now()) {
		return token{}, fmt.Errorf("its token is by key %.80q of %.80q, is over or has not begun", t.keyID, t.Issuer)
	}
	if _, err = s.account(t.Subject); err != nil {
		return token{}, fmt.Errorf("its token: %w", err)
	}
	if err = s.stillGood(t); err != nil {
		return token{}, fmt.Errorf("its token for %.80s by key %.80q: %w", t.Subject, t.keyID, err)
	}
	t.secret = key.sign(signed)
	return t, nil
}
