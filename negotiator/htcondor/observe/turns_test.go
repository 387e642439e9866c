package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// crowdedPort is a port at which a host claims to have many schedds: it hangs up on all but those
// that are really there.
type crowdedPort struct {
	asked, now, most atomic.Int64
}

// connect opens connections to others as ever.
func (c *crowdedPort) connect(ctx context.Context, at string) (net.Conn, error) {
	if !strings.HasPrefix(at, "10.0.0.2:") {
		return new(net.Dialer).DialContext(ctx, "tcp", at)
	}
	c.asked.Add(1)
	defer c.now.Add(-1)
	for now := c.now.Add(1); now > c.most.Load(); {
		c.most.Store(now)
	}
	time.Sleep(time.Millisecond)
	return nil, io.ErrUnexpectedEOF
}

// crowded is a site with an honest schedd, and ads of many schedds at one port.
func crowded(t *testing.T, many int) (p *site, port *crowdedPort, look func(first int) *Snapshot) {
	t.Helper()
	p, port = newSite(t, "honest@test"), &crowdedPort{}
	p.s.Security = &security.Client{Connect: port.connect, Methods: p.s.Security.Methods, User: p.s.Security.User}
	return p, port, func(first int) *Snapshot {
		t.Helper()
		p.at = p.at.Add(time.Second)
		p.publish()
		ads := []string{p.schedds[0].Ad()}
		for i := range many {
			ads = append(ads, fmt.Sprintf("MyType = \"Scheduler\"\nName = \"s%d@evil\"\nMyAddress = \"<10.0.0.2:9618?sock=s%d>\"",
				first+i, first+i))
		}
		p.collector.Set("Scheduler", ads...)
		s, err := p.Look(t.Context())
		require.NoError(t, err)
		require.True(t, s.Schedds["honest@test"].Read)
		return s
	}
}

// TestScheddsOfOnePortHaveTurns says that however many schedds are advertised at one port, a look
// asks a few, a few at once, and all in the end, and that it tells so.
func TestScheddsOfOnePortHaveTurns(t *testing.T) {
	const many = 3*mostOfPort + 10
	p, port, see := crowded(t, many)
	for i := range 4 {
		look := see(0)
		require.LessOrEqual(t, port.asked.Load(), int64((i+1)*mostOfPort))
		if i == 0 {
			require.Contains(t, fmt.Sprint(look.Problems),
				"more than 50 schedds are advertised at 10.0.0.2:9618: 110 wait for their turns to be asked")
		}
	}
	require.LessOrEqual(t, port.most.Load(), int64(atOnceOfPort))
	for _, s := range p.Observer.schedds {
		require.True(t, s.answered || s.Failed != nil, s.Name)
	}
	poll.Equal(t, 0, func() int { // who was refused may be about to leave
		p.turns.mu.Lock()
		defer p.turns.mu.Unlock()
		return len(p.turns.all)
	})
}

// TestKnownScheddsHaveTheirOwnTurns says that a schedd which has told its queue is asked in each
// look, whatever else is advertised at its port, and also for a while when it failed.
func TestKnownScheddsHaveTheirOwnTurns(t *testing.T) {
	o := quiet()
	add := func(name string, answered bool) *schedd {
		s := &schedd{Schedd: Schedd{Name: name, Address: cedar.Address{Host: "10.0.0.1", Port: 9618}}, answered: answered}
		o.schedds[name] = s
		return s
	}
	for i := range 10 * mostOfPort {
		add("a"+strconv.Itoa(i), false)
	}
	known := add("z", true)
	for _, failed := range []error{nil, errors.New("it restarts")} {
		known.Failed, known.failing = failed, o.now()
		o.beginTurns()
		asked := 0
		for _, s := range o.schedds {
			if o.isTurnOf(s) {
				asked++
			}
		}
		require.True(t, o.isTurnOf(known))
		require.Equal(t, mostOfPort+1, asked)
	}
}

// TestRefusalsLetRest says that a schedd that hangs up again and again is asked less often, at last
// once a minute, until it answers.
func TestRefusalsLetRest(t *testing.T) {
	p, port, see := crowded(t, 1)
	for range freeFailures {
		see(0)
	}
	require.EqualValues(t, freeFailures, port.asked.Load())
	for range 1000 {
		see(0)
	}
	asked := port.asked.Load()
	require.InDelta(t, freeFailures+5+1000/65, asked, 5)
	s := p.Observer.schedds["s0@evil"]
	p.accept(s, reading{question: question{jobs: p.wantedJobs()}})
	require.Zero(t, s.failures)
}

// TestInventedNamesAreForgotten says that schedds which are advertised under new names in each look
// take no memory when they are not any more.
func TestInventedNamesAreForgotten(t *testing.T) {
	p, _, see := crowded(t, 200)
	for i := range 5 {
		see(200 * i)
		require.LessOrEqual(t, len(p.Observer.schedds), 201+2*mostOfPort)
	}
}

// TestPlaces says that no more are in a room than have a place, that all who wait come in, that who
// gives up does not, and that nothing is kept of them.
func TestPlaces(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		many := rapid.IntRange(1, 4).Draw(r, "many")
		waits := rapid.SliceOfN(rapid.IntRange(0, 3), 0, 30).Draw(r, "users")
		synctest.Test(t, func(*testing.T) {
			p := &places{}
			var all sync.WaitGroup
			var in [3]atomic.Int64
			var came, gaveUp atomic.Int64
			for i, which := range waits {
				ctx, cancel := context.WithCancel(context.Background())
				if which == 3 {
					which = 0
					gaveUp.Add(1)
					cancel()
				}
				all.Go(func() {
					defer cancel()
					rooms := []room{{strconv.Itoa(which), many}, {"", 2 * many}}
					p.within(ctx, rooms, func() {
						if in[which].Add(1) > int64(many) {
							r.Errorf("too many in room %d", which)
						}
						time.Sleep(time.Duration(i+1) * time.Second)
						in[which].Add(-1)
						came.Add(1)
					})
				})
			}
			all.Wait()
			require.GreaterOrEqual(r, came.Load(), int64(len(waits))-gaveUp.Load())
			require.Empty(r, p.all)
		})
	})
}
