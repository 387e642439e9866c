package server

import (
	"context"
	"maps"
	"runtime"
	"sync"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// Sending bounds how fast answers are sent, and so the processor time that sending takes: an asker has
// so many bytes a second, which no tool notices, and all of them together a number that takes about
// a tenth of half of the processors. An asker is a host or, of the users who have authenticated,
// one of them there. Its long answers go on one piece after the other, in the order in which they
// ask for their next; no asker has two pieces before another one that waits has one. The zero value
// is ready; nil means no bounds.
type Sending struct {
	line turns

	mu   sync.Mutex
	next map[asker]time.Time // when they have used up what they may have until then
	all  time.Time           // the same of all
}

// The bounds of a [Sending] in bytes a second: for one asker, and for all if there are up to three
// processors. To send a byte takes 0.7 ns of a processor of 2024, 1.1 ns if it is encrypted.
const (
	sendingOfOne = 16 << 20
	sendingOfAll = 64 << 20
)

// freeBytes are sent of each answer without waiting, so that long answers never delay short ones.
const freeBytes = 64 << 10

// unused is for how long what was not sent may be sent later, at once.
const unused = 100 * time.Millisecond

// Pay waits until an asker may be sent so many bytes more; an error says that the context has
// ended.
func (s *Sending) Pay(ctx context.Context, peer security.Peer, bytes int) error {
	if s == nil {
		return nil
	}
	defer waits(ctx)()
	who := askerOf(peer)
	if err := s.line.await(ctx, who, 0); err != nil {
		return err
	}
	defer s.line.leave(who)
	if err := pauseUntil(ctx, s.ofOne(time.Now(), who, bytes)); err != nil {
		return err
	}
	return pauseUntil(ctx, s.ofAll(time.Now(), bytes))
}

// ofOne returns when an asker may have these bytes by its own bound.
func (s *Sending) ofOne(now time.Time, who asker, bytes int) (at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	const many = 1024
	if len(s.next) >= many {
		maps.DeleteFunc(s.next, func(_ asker, next time.Time) bool { return next.Before(now.Add(-unused)) })
	}
	if s.next == nil {
		s.next = map[asker]time.Time{}
	}
	at, s.next[who] = spend(now, s.next[who], bytes, sendingOfOne)
	return at
}

// ofAll returns when an asker may have these bytes by the bound of all.
func (s *Sending) ofAll(now time.Time, bytes int) (at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, s.all = spend(now, s.all, bytes, sendingOfAll*max(1, runtime.GOMAXPROCS(0)/2))
	return at
}

// spend returns when bytes may be sent at a rate, and what next is after them.
func spend(now, next time.Time, bytes, rate int) (at, after time.Time) {
	if least := now.Add(-unused); next.Before(least) {
		next = least
	}
	return next, next.Add(time.Duration(bytes) * time.Second / time.Duration(rate))
}

// pauseUntil waits until a time or the end of the context, which is an error.
func pauseUntil(ctx context.Context, at time.Time) error {
	wait := time.Until(at)
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
