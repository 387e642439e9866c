package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// The bounds of the file of tokens, in bytes and tokens. A token that is shorter could be guessed.
const (
	maxTokenFile  = 1 << 20
	mostTokens    = 1000
	shortestToken = 16
	longestName   = 256
)

// tokens are those of the file, as it is now.
type tokens struct {
	file  string
	clock func() time.Time
	warn  func(error)

	mu     sync.Mutex
	looked time.Time
	stamp  stamp
	known  []token
}

// token is one of the file's: its digest, so that comparing takes the same time for all.
type token struct {
	digest [sha256.Size]byte
	user   string
}

// read reads the file. On an error no token counts.
func (t *tokens) read() (err error) {
	t.looked, t.stamp, t.known = t.clock(), stampOf(t.file), nil
	defer func() {
		if err != nil {
			err = fmt.Errorf("--http-token: %w", err)
		}
	}()
	if err = private(t.file); err != nil {
		return err
	}
	f, err := os.Open(t.file)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(f, maxTokenFile+1))
	if err != nil {
		return err
	}
	if len(text) > maxTokenFile {
		return fmt.Errorf("%s is longer than 1 MiB", t.file)
	}
	if t.known, err = parseTokens(string(text)); err != nil {
		return fmt.Errorf("%s: %w", t.file, err)
	}
	return nil
}

// parseTokens reads TOKEN or USER: TOKEN in each line; # begins a comment. Errors quote no token.
func parseTokens(text string) (known []token, err error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		user, secret, named := strings.Cut(line, ":")
		if !named {
			user, secret = "", line
		}
		user, secret = strings.TrimSpace(user), strings.TrimSpace(secret)
		switch {
		case named && (user == "" || len(user) > longestName || strings.ContainsFunc(user, isOdd)):
			return nil, fmt.Errorf("line %d: no user before the colon: must be TOKEN or USER: TOKEN", number)
		case len(secret) < shortestToken:
			return nil, fmt.Errorf("line %d: a token needs %d characters at least, so that nobody guesses it: "+
				"openssl rand -hex 16 makes one", number, shortestToken)
		case strings.ContainsFunc(secret, isOdd):
			return nil, fmt.Errorf("line %d: a token has letters, digits and signs alone, no blanks", number)
		case len(known) == mostTokens:
			return nil, fmt.Errorf("line %d: more than %d tokens", number, mostTokens)
		}
		known = append(known, token{sha256.Sum256([]byte(secret)), user})
	}
	if len(known) == 0 {
		return nil, errors.New("there is no token in it: write TOKEN or USER: TOKEN in each line")
	}
	return known, nil
}

// isOdd reports whether a character has no place in a name or a token.
func isOdd(r rune) bool { return r <= ' ' || r >= 0x7f }

// user returns whose token this is.
func (t *tokens) user(secret string) (user string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.clock(); now.Sub(t.looked) >= lookAgain {
		t.looked = now
		if t.stamp != stampOf(t.file) {
			if err := t.read(); err != nil {
				t.warn(fmt.Errorf("no token of the file counts until it is right: %w", err))
			}
		}
	}
	digest := sha256.Sum256([]byte(secret))
	for i := range t.known {
		if subtle.ConstantTimeCompare(t.known[i].digest[:], digest[:]) == 1 {
			user, ok = t.known[i].user, true
		}
	}
	return user, ok
}
