package server

import (
	"context"
	"io"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

var machine = asker{host: netip.MustParsePrefix("10.1.1.1/32")}

// queued begins to wait for a turn, and returns after that. The turn ends at once; then, or when it
// fails, the channel has the error.
func queued(ctx context.Context, t *turns, then func()) (ended chan error) {
	ended = make(chan error, 1)
	go func() {
		done, err := t.take(ctx, machine)
		if err == nil {
			then()
			done()
		}
		ended <- err
	}()
	synctest.Wait()
	return ended
}

// TestTurnsGoInOrder: a host's turns begin in the order in which they were asked for, so that one
// user of a machine who asks again and again keeps no other one out. Those who no longer wait are left
// out.
func TestTurnsGoInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all turns
		done, err := all.take(t.Context(), machine)
		require.NoError(t, err)
		var order []int
		ctx, cancel := context.WithCancel(t.Context())
		var ended [mostWaiting]chan error
		for i := range ended {
			waits := t.Context()
			if i == 2 {
				waits = ctx
			}
			ended[i] = queued(waits, &all, func() { order = append(order, i) })
		}
		cancel()
		require.ErrorIs(t, <-ended[2], context.Canceled)
		done()
		synctest.Wait()
		require.Equal(t, []int{0, 1, 3, 4, 5, 6, 7}, order)
		require.Empty(t, all.busy)
	})
}

// TestManyThatWaitAreRefused: one more than may wait for a host's turn is refused at once, as far as
// it has no answer yet, while a user of the host who has authenticated has turns of his own.
func TestManyThatWaitAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all turns
		all.begin.Do(func() {})
		all.busy, all.all = map[asker][]chan struct{}{}, make(chan struct{}, 2)
		done, err := all.take(t.Context(), machine)
		require.NoError(t, err)
		for range mostWaiting {
			queued(t.Context(), &all, func() {})
		}
		_, err = all.take(t.Context(), machine)
		require.ErrorIs(t, err, errManyWait)
		alice := askerOf(security.Peer{Address: "10.1.1.1", User: "alice@test", Method: security.FS})
		require.Equal(t, machine, askerOf(security.Peer{Address: "10.1.1.1", User: "eve@test", Method: security.ClaimToBe}))
		hers, err := all.take(t.Context(), alice)
		require.NoError(t, err)
		hers()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = all.takeAmong(ctx, machine, 0)
		require.ErrorIs(t, err, context.DeadlineExceeded, "it waits on")
		done()
		synctest.Wait()
		require.Empty(t, all.busy)
	})
}

// TestWhoHangsUpWaitsNoLonger: a client that has gone leaves its place among those who wait.
func TestWhoHangsUpWaitsNoLonger(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close() //nolint:errcheck // a test's
	client, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	ours, err := listener.Accept()
	require.NoError(t, err)
	defer ours.Close() //nolint:errcheck // a test's
	var all turns
	done, err := all.take(t.Context(), machine)
	require.NoError(t, err)
	defer done()
	require.NoError(t, client.Close())
	call := &security.Call{
		Stream: cedar.NewStream(ours, 0), Peer: security.Peer{Address: "10.1.1.1", User: security.Unauthenticated},
	}
	_, err = all.takeFor(t.Context(), call)
	require.ErrorContains(t, err, "the client does not wait for the answer")
	require.Empty(t, all.busy[machine])
}

// TestWholeAdsTakeNoTurn: whoever asks for all whole ads of a list that is written once does not wait
// for others, and if they are written for him, few turns suffice.
func TestWholeAdsTakeNoTurn(t *testing.T) {
	const many = 6000
	all := jobs(many)
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		var n Negotiator
		call := &security.Call{
			Stream: cedar.NewStream(ours, 0), Peer: security.Peer{Address: "10.1.1.1", User: security.Unauthenticated},
		}
		q := Query{Ad: classad.New()}
		q.Ad.SetString("Projection", "Owner")
		require.NoError(t, q.of(""))
		written := WriteAds(all.n, all.at)
		for _, ads := range []*Ads{all, written} {
			turns := 0
			for from := 0; from < many; turns++ {
				lines, err := n.write(t.Context(), call, q, ads, func(i int) int { return i }, from, many)
				require.NoError(t, err)
				from += len(lines)
			}
			require.LessOrEqual(t, turns, 2)
		}
		done, err := n.turns.take(t.Context(), machine)
		require.NoError(t, err)
		defer done()
		ended := make(chan error, 1)
		go func() {
			ended <- n.answer(t.Context(), call, Query{}, written)
			call.Close()
		}()
		_, err = io.Copy(io.Discard, theirs)
		require.NoError(t, err)
		require.NoError(t, <-ended)
	})
}

// TestQuestionsRest: however many ask without end, their turns take half of the time that they might.
func TestQuestionsRest(t *testing.T) {
	for rests, want := range map[bool]time.Duration{false: 100 * time.Second, true: 50 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			all := turns{rests: rests}
			var busy atomic.Int64
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
			defer cancel()
			var askers sync.WaitGroup
			for i := range 20 {
				who := asker{host: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 1, 1, byte(i)}), 32)}
				askers.Go(func() {
					for {
						done, err := all.take(ctx, who)
						if err != nil {
							return
						}
						if ctx.Err() != nil { // both had come
							done()
							return
						}
						time.Sleep(time.Second)
						busy.Add(int64(time.Second))
						done()
					}
				})
			}
			askers.Wait()
			time.Sleep(time.Second) // the last one's rest
			places := time.Duration(max(1, runtime.GOMAXPROCS(0)/2))
			require.InDelta(t, want*places, time.Duration(busy.Load()), float64(2*time.Second*places))
		})
	}
}
