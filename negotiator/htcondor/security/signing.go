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

// SigningKey is a key that a pool's tokens are signed with. It prints as nothing.
type SigningKey struct{ key []byte }

// Format shows nothing of the key.
func (SigningKey) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "signing key") }

// poolKey is the name of the key that signs where no other is named.
const poolKey = "POOL"

// maxKeyFile bounds a key's file.
const maxKeyFile = 64 << 10

// NewSigningKey makes a key of what its file holds.
func NewSigningKey(name string, file []byte) SigningKey {
	mask := [4]byte{0xde, 0xad, 0xbe, 0xef}
	secret := make([]byte, len(file))
	for i, c := range file {
		secret[i] = c ^ mask[i%4]
	}
	if name == poolKey { // as it has been since it was a password
		secret = append(secret, secret...)
	}
	return SigningKey{expand(secret, "htcondor", "master jwt")}
}

// ReadSigningKeys reads the pool's key from its file (SEC_TOKEN_POOL_SIGNING_KEY_FILE)
// and all others from their folder (SEC_PASSWORD_DIRECTORY). What is not there, or
// cannot be read by us, is left out: its tokens are not accepted.
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
		entries, _ := os.ReadDir(folder) // one that cannot be read has no keys for us
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

// sign is the signature of a token's first two parts.
func (k SigningKey) sign(signed string) []byte {
	m := hmac.New(sha256.New, k.key)
	m.Write([]byte(signed))
	return m.Sum(nil)
}

// Sign makes a token for a subject, which may do what the permissions say; none:
// anything that the subject may. At is the time of issue in seconds since 1970.
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

// errHangUp is a failure after which there is nothing to say.
var errHangUp = errors.New("the conversation is over")

const scopePrefix = "condor:/"

// limits are the permissions that a token is good for; none: any.
func (t token) limits() (limits []Permission) {
	for scope := range strings.FieldsSeq(t.Scope) {
		if level, ok := strings.CutPrefix(scope, scopePrefix); ok {
			limits = append(limits, Permission(level))
		}
	}
	if t.Scope != "" && limits == nil {
		limits = []Permission{"NONE"} // it is for something else
	}
	return limits
}

// serverName is what HTCondor's servers call themselves in this exchange.
const serverName = "condor@password"

// checkToken is the server's side of a token's exchange: the other side shows that it
// has the signature, which we make anew.
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
	t, wrong := s.vouch(signed)
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
			_, _, err = readRest(stream) // it goes on to the end in any case
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
		// It waits for us now, and would not try anything else.
		return "", nil, fmt.Errorf("it does not have the signature of the token for %q: %w", t.Subject, errHangUp)
	}
	return t.Subject, t.limits(), nil
}

// readSubject begins to read what the other side says.
func readSubject(stream *cedar.Stream) (status int64, subject string, err error) {
	if status, err = stream.Int(); err == nil {
		if _, err = stream.IntIn("the length of a name", 0, 1<<16); err == nil {
			subject, err = stream.Text()
		}
	}
	return status, subject, err
}

// readRest reads the last message: our nonce and a MAC.
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

// refuse says that the exchange has failed.
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

// vouch reads what a token says of its bearer, and makes its signature.
func (s *Server) vouch(signed string) (token, error) {
	if strings.Count(signed, ".") != 1 {
		return token{}, errors.New("it shows no token")
	}
	t, err := parseToken(signed + ".AA") // a signature that is replaced below
	if err != nil {
		return token{}, err
	}
	key, ok := s.Keys[t.keyID]
	if !ok || !t.fits(s.TrustDomain, nil, s.now()) {
		return token{}, fmt.Errorf("its token is by key %q of %q, is over or has not begun", t.keyID, t.Issuer)
	}
	if !isUser(t.Subject) {
		return token{}, errors.New("its token is for no user")
	}
	t.secret = key.sign(signed)
	return t, nil
}
