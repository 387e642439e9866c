package access

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"sync"
	"time"
)

// The bounds of sessions: how many there are in all and of one token, and how long they last unused
// and at most.
const (
	mostSessions = 4096
	mostOfToken  = 64
	idleFor      = 24 * time.Hour
	lastsFor     = 30 * 24 * time.Hour
)

// sessions are those of browsers that signed in. Each stands for the token that was shown, which is
// checked anew at each request.
type sessions struct {
	random io.Reader

	mu  sync.Mutex
	all map[[sha256.Size]byte]*session // by the digest of the name
}

type session struct {
	credential string
	began      time.Time
	used       time.Time
}

func (s *session) over(now time.Time) bool {
	return now.Sub(s.used) > idleFor || now.Sub(s.began) > lastsFor
}

// begin makes a session for a token, and returns its name, which nobody can guess.
func (s *sessions) begin(credential string, now time.Time) (name string, err error) {
	var random [32]byte
	if _, err = io.ReadFull(s.random, random[:]); err != nil {
		return "", err
	}
	name = hex.EncodeToString(random[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[[sha256.Size]byte]*session{}
	}
	s.drop(now, mostOfToken, func(one *session) bool { return one.credential == credential })
	s.drop(now, mostSessions, func(*session) bool { return true })
	s.all[sha256.Sum256([]byte(name))] = &session{credential, now, now}
	return name, nil
}

// drop makes room for one more among the sessions that are meant: those that are over go, then the
// one that was unused for the longest time.
func (s *sessions) drop(now time.Time, most int, meant func(*session) bool) {
	var oldest [sha256.Size]byte
	number := 0
	for key, one := range s.all {
		switch {
		case one.over(now):
			delete(s.all, key)
		case meant(one):
			number++
			if last := s.all[oldest]; last == nil || one.used.Before(last.used) {
				oldest = key
			}
		}
	}
	if number >= most {
		delete(s.all, oldest)
	}
}

// credential returns the token that a session stands for.
func (s *sessions) credential(name string, now time.Time) (credential string, ok bool) {
	key := sha256.Sum256([]byte(name))
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[key]
	if one == nil {
		return "", false
	}
	if one.over(now) {
		delete(s.all, key)
		return "", false
	}
	one.used = now
	return one.credential, true
}

// end ends a session.
func (s *sessions) end(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, sha256.Sum256([]byte(name)))
}
