package security

import (
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// Key is a session in the form of a claim id: "SID#[info]SECRET". Capabilities, the keys that
// condor_master hands down, and claim ids have this form.
type Key struct {
	// ID is the session's name, which is public.
	ID string
	// Info describes how the session is to be used: Encryption, ValidCommands…
	Info   map[string]string
	secret string
}

// ParseKey parses a key. Errors do not quote it.
func ParseKey(text string) (Key, error) {
	at := strings.LastIndexByte(text, '#')
	if at <= 0 {
		return Key{}, errors.New("a session's key has no # in it")
	}
	k := Key{ID: text[:at], Info: map[string]string{}, secret: text[at+1:]}
	if inner, ok := strings.CutPrefix(k.secret, "["); ok {
		end := strings.LastIndexByte(inner, ']')
		if end < 0 {
			return Key{}, errors.New("a session's key has a [ without its ]")
		}
		for pair := range strings.SplitSeq(inner[:end], ";") {
			if name, value, ok := strings.Cut(pair, "="); ok {
				k.Info[strings.TrimSpace(name)] = strings.Trim(strings.TrimSpace(value), `"`)
			}
		}
		k.secret = inner[end+1:]
	}
	if k.secret == "" {
		return Key{}, errors.New("a session's key has no secret")
	}
	return k, nil
}

// Expires returns when the session ends; zero if the key does not say.
func (k Key) Expires() time.Time {
	seconds, err := strconv.ParseInt(k.Info["SessionExpires"], 10, 64)
	if err != nil || seconds <= 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

// features returns what streams of the session have, as far as its maker says.
func (k Key) features() features {
	refused := func(name string) bool { return strings.EqualFold(k.Info[name], "NO") }
	encrypted := !refused("Encryption")
	return features{authentication: true, encryption: encrypted, integrity: encrypted || !refused("Integrity")}
}

// String returns the public part.
func (k Key) String() string { return k.ID + "#…" }

// Format prints the public part, whatever the verb.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

// MarshalText returns the public part.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// session returns the key that the stream is encrypted with.
func (k Key) session() []byte { return derive([]byte(k.secret)) }

// PublicClaim returns the public part of a claim id, as in the attribute PublicClaimId.
func PublicClaim(id string) string {
	if first, rest, several := strings.Cut(id, " "); several {
		return PublicClaim(first) + " " + PublicClaim(rest)
	}
	return id[:strings.LastIndexByte(id, '#')+1] + "..."
}

// derive computes a session key from a shared secret.
func derive(secret []byte) []byte {
	return expand(secret, "htcondor", "keygen")
}

// expand derives a key of [cedar.KeySize] bytes from a secret by HKDF with SHA-256.
func expand(secret []byte, salt, info string) []byte {
	key, err := hkdf.Key(sha256.New, secret, []byte(salt), info, cedar.KeySize)
	if err != nil {
		panic("HKDF of a fixed length failed: " + err.Error()) // it cannot
	}
	return key
}
