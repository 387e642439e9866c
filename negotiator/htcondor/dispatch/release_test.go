package dispatch

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// silent is a daemon that takes calls and says nothing. It counts them.
func silent(t *testing.T) (at cedar.Address, calls chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	calls = make(chan struct{}, 10)
	ended := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, refused := listener.Accept()
			if refused != nil {
				return
			}
			calls <- struct{}{}
			all.Go(func() {
				<-ended
				_ = c.Close()
			})
		}
	})
	t.Cleanup(func() {
		close(ended)
		_ = listener.Close()
		all.Wait()
	})
	at, err = cedar.ParseAddress("<" + listener.Addr().String() + ">")
	require.NoError(t, err)
	return at, calls
}

// ended has a gang run on slot a and end, which leaves its claims with its schedd.
func (d *desk) ended() {
	d.t.Helper()
	d.hand(d.submit(1, specOf(d.t, 2, "true")), "a", "<n0>#1#1#[]", "<n0>#1#2#[]")
	d.edit(func(g *observe.Group) {
		g.Status, g.Hosts, g.Started = observe.Running, []string{"a", "a"}, d.snapshot.Now
	})
	require.Len(d.t, d.look().Arrived, 1)
	d.schedd.Groups = nil
	require.Len(d.t, d.look().Ended, 1)
	require.True(d.t, d.leftover())
}

// leftover tells whether s is still to be told that the claims of a gang have ended.
func (d *desk) leftover() bool { return len(d.claims.Leftovers(d.at)["s"]) == 1 }

// TestReleaseBesideTheCycle says that nobody waits for a schedd that hangs while it is told of
// claims that have ended. It is told once at a time, and again until it was told.
func TestReleaseBesideTheCycle(t *testing.T) {
	d := newDesk(t, "a")
	d.ask(fakes.NewCollector(t))
	at, calls := silent(t)
	d.schedd.Address = at
	d.look()
	d.ended()
	ctx, cancel := context.WithCancel(t.Context())
	d.HandOver(ctx)
	<-calls
	d.HandOver(ctx)
	require.True(t, d.leftover())
	require.Equal(t, Status{Releasing: true}, d.Status("s"))
	require.Empty(t, calls, "it is being told")
	cancel()
	poll.Equal(t, true, func() bool { return d.Status("s").Answered })
	d.hearReleased()
	require.Equal(t, Status{Answered: true}, d.Status("s"))
	require.True(t, d.leftover(), "it was not told")
	d.at = d.at.Add(6 * time.Second)
	require.False(t, d.leftover())
}

// TestRelease says that a schedd is told of claims that have ended, unless a startd still has them.
func TestRelease(t *testing.T) {
	for name, held := range map[string]bool{"ended": false, "held": true} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "a")
			c, s := fakes.NewCollector(t), fakes.NewSchedd(t, "s")
			if d.ask(c); held {
				c.Set("Machine", "Name = \"slot1_1@n0\"\nPublicClaimId = \"<n0>#1#1#...\"")
			}
			d.schedd.Address = s.Address()
			d.look()
			d.ended()
			d.HandOver(t.Context())
			poll.Equal(t, true, func() bool { return d.Status("s").Answered })
			d.hearReleased()
			require.Equal(t, held, d.leftover())
			if held {
				require.Empty(t, s.Released())
				return
			}
			poll.Equal(t, 2, func() int { return len(s.Released()) })
		})
	}
}

// TestNoReleaseToASlowSchedd says that no claims are released to a schedd that is busy or silent.
func TestNoReleaseToASlowSchedd(t *testing.T) {
	d := newDesk(t, "a")
	d.ask(fakes.NewCollector(t))
	d.schedd.Address = fakes.NewSchedd(t, "s").Address()
	d.look()
	d.ended()
	for name, busy := range map[string]func(l *line, s *observe.Schedd){
		"slow":               func(l *line, _ *observe.Schedd) { l.slow = true },
		"told of matches":    func(l *line, _ *observe.Schedd) { l.telling = make(chan matched) },
		"told of claims":     func(l *line, _ *observe.Schedd) { l.releasing = make(chan released) },
		"late":               func(_ *line, s *observe.Schedd) { s.Late = true },
		"does not answer":    func(_ *line, s *observe.Schedd) { s.Failed = errors.New("it is dead") },
		"nobody knows of it": func(_ *line, s *observe.Schedd) { s.Name = "z" },
	} {
		l, healthy := &line{}, *d.schedd
		busy(l, d.schedd)
		d.look()
		*d.schedd, d.lines["s"] = healthy, l
		before := *l
		d.release(t.Context())
		require.Equal(t, before, *l, name)
	}
	d.lines = map[string]*line{}
	d.look()
	d.release(t.Context())
	require.True(t, d.Status("s").Releasing)
	poll.Equal(t, true, func() bool { return d.Status("s").Answered })
}
