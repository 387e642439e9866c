package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
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

const piece = 32 << 10

// reader takes one piece after the other of an answer until the context ends, and returns how many
// bytes that were.
func reader(ctx context.Context, p *Sending, host string) (taken int) {
	peer := security.Peer{Address: host, User: security.Unauthenticated}
	for p.Pay(ctx, peer, piece) == nil {
		taken += piece
	}
	return taken
}

// together lets so many connections of each of some hosts read for ten seconds, and returns what
// each host got, and all.
func together(t *testing.T, p *Sending, hosts, connections int) (each []int, all int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	got := make(chan [2]int, hosts*connections)
	for i := range hosts * connections {
		go func() { got <- [2]int{i % hosts, reader(ctx, p, fmt.Sprintf("10.1.%d.%d", i%hosts/250, i%hosts%250))} }()
	}
	each = make([]int, hosts)
	for range hosts * connections {
		g := <-got
		each[g[0]] += g[1]
		all += g[1]
	}
	require.Empty(t, p.line.busy)
	return each, all
}

// TestManyWhoAskForMuchShareARate: what 300 hosts are sent together in ten seconds is bounded, and
// so is what one gets that is alone; each gets a like part, however many connections it has.
func TestManyWhoAskForMuchShareARate(t *testing.T) {
	const seconds, slack = 10, 1.02
	most := float64(sendingOfAll * max(1, runtime.GOMAXPROCS(0)/2))
	for _, c := range []struct {
		hosts, connections int
		all                float64 // bytes a second
	}{
		{300, 1, most}, {300, 2, most}, {1, 1, sendingOfOne}, {1, 50, sendingOfOne},
	} {
		synctest.Test(t, func(t *testing.T) {
			each, all := together(t, new(Sending), c.hosts, c.connections)
			bound := c.all * (seconds + unused.Seconds())
			require.LessOrEqual(t, float64(all), slack*bound, c)
			require.GreaterOrEqual(t, float64(all), 0.9*bound, c)
			for _, got := range each {
				require.InDelta(t, all/c.hosts, got, 1.1*sendingOfOne*unused.Seconds(), c)
			}
		})
	}
}

// TestHostsHaveTurnsOfTheirOwn: a host with a hundred long answers delays the one of another host
// by one piece at most, for each of its pieces.
func TestHostsHaveTurnsOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Sending
		ctx, cancel := context.WithCancel(t.Context())
		for i := range 700 {
			go reader(ctx, &p, fmt.Sprintf("10.1.1.%d", i%7))
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		began := time.Now()
		const pieces = 32
		for range pieces {
			require.NoError(t, p.Pay(t.Context(), security.Peer{Address: "10.9.9.9", User: security.Unauthenticated}, piece))
		}
		require.LessOrEqual(t, time.Since(began), pieces*8*piece*time.Second/sendingOfAll)
		cancel()
	})
}

// TestShortAnswersWaitForNoLongOne asks for reports while all that may be sent for a minute is
// spoken for: the short one is there at once, and the long one comes then.
func TestShortAnswersWaitForNoLongOne(t *testing.T) {
	line := []byte("Name1 = \"alice@pool.test\"\n")
	for lines, want := range map[int]time.Duration{100: 0, (freeBytes - 1024) / len(line): 0, 10_000: time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			var n Negotiator
			port := &Port{
				Security: &security.Server{Name: "NEGOTIATOR"}, Sending: &Sending{all: time.Now().Add(time.Minute)},
				Handlers: map[int]Handler{451: {
					Needs: []security.Permission{security.Read}, Proof: security.Unproven,
					Serve: func(_ context.Context, call *security.Call) error {
						return n.send(call, &n.reports, bytes.Repeat(line, lines))
					},
				}},
			}
			port.prepare()
			ours, theirs := net.Pipe()
			go port.serve(t.Context(), ours)
			client := cedar.NewStream(theirs, 0)
			client.PutInt(451)
			require.NoError(t, client.Send())
			began := time.Now()
			got, err := client.Int()
			require.NoError(t, err)
			require.EqualValues(t, lines, got)
			require.Zero(t, time.Since(began))
			_, err = io.Copy(io.Discard, theirs)
			require.NoError(t, err)
			require.Equal(t, want, time.Since(began).Truncate(time.Second))
		})
	}
}

// slow is an accountant and planner that takes a second for each answer, and counts how many it
// makes at a time.
type slow struct {
	Accountant
	now, most atomic.Int32
}

func (s *slow) take() {
	now := s.now.Add(1)
	defer s.now.Add(-1)
	most := s.most.Load()
	for now > most && !s.most.CompareAndSwap(most, now) {
		most = s.most.Load()
	}
	time.Sleep(time.Second)
}

func (s *slow) Report(bool) []byte                 { s.take(); return []byte("A = 1\n") }
func (s *slow) Accounts() List                     { s.take(); return (*slowList)(s) }
func (s *slow) plans(context.Context, string) *Ads { s.take(); return NewAds() }

type slowList slow

func (s *slowList) Len() int                { return 1 }
func (s *slowList) At(int) *classad.ClassAd { return classad.New() }

// TestAnswersAreMadeInTurns: however many ask for what has changed, half of the processors make it.
func TestAnswersAreMadeInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		n := &Negotiator{Accountant: s, Plans: func(ctx context.Context, job string) (*Ads, error) {
			return s.plans(ctx, job), nil
		}}
		say := func(q *cedar.Stream) {
			q.PutLines(cedar.Lines("TargetType = \"" + JobPlan + "\""))
			_ = q.Send() // it may be gone
		}
		handlers := n.Handlers()
		var all sync.WaitGroup
		for i := range 40 {
			for command, payload := range map[int]func(*cedar.Stream){451: nil, 514: nil, 78: say, 50: say} {
				ours, theirs := net.Pipe()
				call := &security.Call{
					Stream: cedar.NewStream(ours, 0), Command: command,
					Peer: security.Peer{Address: fmt.Sprintf("10.1.1.%d", i), User: security.Unauthenticated},
				}
				all.Go(func() {
					if err := handlers[command].Serve(t.Context(), call); err != nil {
						t.Error(err)
					}
					call.Close()
				})
				all.Go(func() {
					if payload != nil {
						payload(cedar.NewStream(theirs, 0))
					}
					_, _ = io.Copy(io.Discard, theirs) // until it is hung up
				})
			}
		}
		all.Wait()
		require.EqualValues(t, max(1, runtime.GOMAXPROCS(0)/2), s.most.Load())
	})
}

// TestLongAnswersAreCountedOnce: the same lines are counted when they are first sent. A few of the
// last counts are kept, and none of the lines.
func TestLongAnswersAreCountedOnce(t *testing.T) {
	long := func(line string) cedar.Lines { return bytes.Repeat([]byte(line), fewBytes) }
	var c counts
	first, other := long("a\n"), long("a\nb\n")
	require.Equal(t, first.Count(), c.of(first))
	require.Equal(t, other.Count(), c.of(other))
	c.last[0].count = cedar.Count{}
	require.Equal(t, cedar.Count{}, c.of(first), "it is not counted again")
	require.Equal(t, other.Count(), c.of(other))
	require.Equal(t, first.Count(), c.of(bytes.Clone(first)), "equal lines are not the same")
	for range 2 * mostAnswers {
		c.of(long("c\n"))
	}
	require.Len(t, c.last, mostAnswers)
	c.of(cedar.Lines("A = 1\n"))
	require.Len(t, c.last, mostAnswers, "short ones are not kept")
	c.of(long("d\n"))
	kept := c.last[len(c.last)-1].lines
	runtime.GC()
	require.Nil(t, kept.Value())
}
