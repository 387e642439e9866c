package server

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// asker is whose turn it is: a host's or, of the users who have authenticated, each one's on a
// host. A user who only claims to be one could be as many as he likes.
type asker struct {
	host netip.Prefix
	user string // "": all who have not authenticated
}

func askerOf(p security.Peer) asker {
	who := asker{host: hostOf(p)}
	if p.User != security.Unauthenticated && p.Method != security.ClaimToBe {
		who.user = p.User
	}
	return who
}

// hostOf returns the host of a peer; all without an IP address are one.
func hostOf(p security.Peer) netip.Prefix {
	a, err := netip.ParseAddr(p.Address)
	if err != nil {
		return netip.Prefix{}
	}
	return Host(a)
}

// turns lets each asker evaluate one query at a time, in the order in which they came, and all of
// them together use half of the processors, so that the rest is left to the cycles. The zero value
// is ready.
type turns struct {
	// rests has all who ask wait after each turn for as long as it took, so that they use a quarter
	// of the processors in the long run, and several kinds of questions not all of them together.
	rests bool

	mu    sync.Mutex
	busy  map[asker][]chan struct{} // who has a turn, and who waits for it: closed when theirs begins
	all   chan struct{}
	begin sync.Once
}

// mostWaiting may wait for an asker's turn before those who come are refused.
const mostWaiting = 8

// errManyWait says that a query is not answered.
var errManyWait = errors.New("too many queries of this user or machine wait for their turn: ask again later")

// take waits for an asker's turn. The caller ends it with done.
func (t *turns) take(ctx context.Context, who asker) (done func(), err error) {
	return t.takeAmong(ctx, who, mostWaiting)
}

// takeFor is take for a call. It no longer waits for a turn when the client has hung up.
func (t *turns) takeFor(ctx context.Context, call *security.Call) (done func(), err error) {
	ctx, stop := whileHeard(ctx, call.Stream)
	defer stop()
	return t.take(ctx, askerOf(call.Peer))
}

// during calls the callback in a turn of a call.
func (t *turns) during(ctx context.Context, call *security.Call, do func()) error {
	done, err := t.takeFor(ctx, call)
	if err != nil {
		return err
	}
	defer done()
	do()
	return nil
}

// goOn is takeFor for a call that has been answered in part: it is not refused.
func (t *turns) goOn(ctx context.Context, call *security.Call) (done func(), err error) {
	ctx, stop := whileHeard(ctx, call.Stream)
	defer stop()
	return t.takeAmong(ctx, askerOf(call.Peer), 0)
}

// takeAmong is take, unless so many wait already; 0 means any number.
func (t *turns) takeAmong(ctx context.Context, who asker, most int) (done func(), err error) {
	defer waits(ctx)()
	if err = t.await(ctx, who, most); err != nil {
		return nil, err
	}
	return t.share(ctx, who)
}

// await waits until an asker's turn begins, which leave ends.
func (t *turns) await(ctx context.Context, who asker, most int) error {
	t.prepare()
	turn, err := t.enter(who, most)
	if turn == nil {
		return err
	}
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		t.quit(who, turn)
		return context.Cause(ctx)
	}
}

func (t *turns) prepare() {
	t.begin.Do(func() {
		t.busy = map[asker][]chan struct{}{}
		t.all = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))
	})
}

// share waits until not too many have their turns. It ends the asker's turn if the context ends.
func (t *turns) share(ctx context.Context, who asker) (done func(), err error) {
	select {
	case t.all <- struct{}{}:
		began := time.Now()
		return func() {
			if t.rests {
				time.AfterFunc(time.Since(began), func() { <-t.all })
			} else {
				<-t.all
			}
			t.leave(who)
		}, nil
	case <-ctx.Done():
		t.leave(who)
		return nil, context.Cause(ctx)
	}
}

// enter begins an asker's turn, or returns a channel that is closed when it begins.
func (t *turns) enter(who asker, most int) (turn chan struct{}, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting, busy := t.busy[who]
	switch {
	case !busy:
		t.busy[who] = nil
		return nil, nil
	case most > 0 && len(waiting) >= most:
		return nil, errManyWait
	}
	turn = make(chan struct{})
	t.busy[who] = append(waiting, turn)
	return turn, nil
}

// try begins an asker's turn if none is under way.
func (t *turns) try(who asker) (begun bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, busy := t.busy[who]; busy {
		return false
	}
	t.busy[who] = nil
	return true
}

// quit gives up a place among those who wait, or the turn if it has begun meanwhile.
func (t *turns) quit(who asker, turn chan struct{}) {
	t.mu.Lock()
	at := slices.Index(t.busy[who], turn)
	if at >= 0 {
		t.busy[who] = slices.Delete(t.busy[who], at, at+1)
	}
	t.mu.Unlock()
	if at < 0 {
		t.leave(who)
	}
}

// leave ends an asker's turn: that of the first who waits begins.
func (t *turns) leave(who asker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting := t.busy[who]
	if len(waiting) == 0 {
		delete(t.busy, who)
		return
	}
	close(waiting[0])
	t.busy[who] = slices.Delete(waiting, 0, 1)
}
