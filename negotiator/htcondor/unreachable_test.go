package htcondor

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/broker"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

func TestDeadSchedd(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	running := w.submit(&sleeper{cpus: 2, seconds: 1000, estimate: 1000})
	w.pass(10)
	require.Equal(t, 1, running.runs)
	waiting := w.submit(&sleeper{cpus: 4, seconds: 10, estimate: 10})
	w.pass(4)
	w.schedd.Stop()
	for range 3 {
		w.now += 4
		d, _ := w.cycle()
		require.Empty(t, d.Completed)
		require.Empty(t, d.Removed)
	}
	require.Equal(t, 1, w.n.State().RunningJobs())
	require.Equal(t, 1, w.n.State().Waiting())
	require.NotEmpty(t, w.pool.Last().Problems)
	w.schedd.Start()
	w.vacate(running)
	running.done = true
	w.capable = "" // the old one is void now
	w.pass(30)
	require.True(t, waiting.done)
}

// callBack has daemons that are behind brokers connect to the world's negotiator.
func (w *world) callBack() *broker.Callbacks {
	w.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(w.t, err)
	at, err := server.AddressOf(listener)
	require.NoError(w.t, err)
	callbacks := &broker.Callbacks{Address: at.String(), Name: "TEST"}
	port := &server.Port{
		Security: &security.Server{Name: "TEST"}, Handlers: map[int]server.Handler{broker.ReverseConnect: callbacks.Handler()},
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- port.Serve(ctx, listener) }()
	w.t.Cleanup(func() {
		cancel()
		require.NoError(w.t, <-ended)
	})
	w.pool.s.Security.Reverse = callbacks.Reverse
	return callbacks
}

// TestScheddBehindABroker: jobs of a schedd that can be reached through a broker alone run as others
// do, also after it had to register again.
func TestScheddBehindABroker(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	callbacks, ccb := w.callBack(), fakes.NewBroker(t)
	w.schedd.Hide(ccb)
	w.publish()
	first := w.submit(&sleeper{cpus: 1, seconds: 5, estimate: 5})
	w.pass(20)
	require.True(t, first.done)
	require.Empty(t, w.pool.Last().Problems)
	calls, strays := callbacks.Counts()
	require.Positive(t, calls)
	require.Zero(t, strays)
	require.EqualValues(t, len(ccb.Wishes()), calls)

	w.schedd.Hide(ccb)
	w.capable = "" // the old one is void now
	second := w.submit(&sleeper{cpus: 1, seconds: 5, estimate: 5})
	w.pass(60)
	require.True(t, second.done)
	require.Empty(t, w.pool.Last().Problems)
}

// TestScheddBehindABrokerThatIsDown: such a schedd is reported as a problem, with what to do, and
// holds up nobody; when its broker is back, its jobs run.
func TestScheddBehindABrokerThatIsDown(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.callBack()
	far, ccb := fakes.NewSchedd(t, "far@test"), fakes.NewBroker(t)
	far.Hide(ccb)
	w.strangers = []string{"Name = \"far@test\"\nMyAddress = \"" + far.Address().String() + "\""}
	ccb.Stop()
	w.pool.s.Security.Connect = func(ctx context.Context, place string) (net.Conn, error) {
		if strings.HasPrefix(place, far.Address().Host) {
			return nil, errors.New("no route to host")
		}
		return new(net.Dialer).DialContext(ctx, "tcp", place)
	}
	j := w.submit(&sleeper{cpus: 1, seconds: 5, estimate: 5})
	w.pass(20)
	require.True(t, j.done, "nobody else waits for it")
	require.Len(t, w.pool.Last().Problems, 1)
	for _, want := range []string{
		far.Address().String(), "it is behind a broker (CCB): its broker cannot be asked (is it up,", ccb.Address().String(), "no route to host",
	} {
		require.Contains(t, w.pool.Last().Problems[0], want)
	}
	require.Equal(t, 1, strings.Count(w.log.String(), "a schedd does not tell its queue"))
	ccb.Start()
	far.Hide(ccb)
	w.strangers = []string{"Name = \"far@test\"\nMyAddress = \"" + far.Address().String() + "\""}
	w.pass(300)
	require.Empty(t, w.pool.Last().Problems, "there is a way to it now")
}

// TestScheddsOfOnePrivateAddress: two hosts behind brokers may have the same private address, and
// are two schedds.
func TestScheddsOfOnePrivateAddress(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.callBack()
	ccb := fakes.NewBroker(t)
	w.schedd.Hide(ccb)
	w.publish()
	far := fakes.NewSchedd(t, "far@test")
	far.Hide(ccb)
	require.Equal(t, w.schedd.Address().Host, far.Address().Host)
	require.Equal(t, w.schedd.Address().Port, far.Address().Port)
	w.strangers = []string{"Name = \"far@test\"\nMyAddress = \"" + far.Address().String() + "\""}
	j := w.submit(&sleeper{cpus: 1, seconds: 5, estimate: 5})
	w.pass(20)
	require.True(t, j.done)
	require.Empty(t, w.pool.Last().Problems)
	require.Len(t, w.pool.last.Schedds, 2)
}

// holdQueue makes the schedd wait for a release before each answer to a query of its queue.
func (w *world) holdQueue(release <-chan struct{}) {
	w.schedd.Before(func(ctx context.Context, command int) error {
		if command != 516 {
			return nil
		}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	})
}

func TestSlowScheddHoldsNobody(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10})
	release := make(chan struct{})
	setHold(w.pool, 50*time.Millisecond)
	w.holdQueue(release)
	w.step()
	d, _ := w.cycle()
	require.Empty(t, d.Submitted)
	require.Contains(t, w.pool.Last().Problems[0], "has not told its queue")
	close(release)
	poll.Equal(t, 1, func() int { // what it answered late serves a later look
		d, _ = w.cycle()
		return len(d.Submitted)
	})
}

// TestScheddThatIsAlwaysSlow: a look waits only once for a schedd that is always slow to send its
// queue.
func TestScheddThatIsAlwaysSlow(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	release := make(chan struct{}, 1)
	setHold(w.pool, 50*time.Millisecond)
	w.holdQueue(release)
	late := func() bool {
		w.cycle()
		return w.pool.last.Schedds[w.schedd.Name].Late
	}
	w.step()
	require.True(t, late())
	release <- struct{}{} // for its jobs
	release <- struct{}{} // for those that were stopped
	poll.Equal(t, false, late)
	setHold(w.pool, time.Hour) // one that is waited for would have the test run out of time
	require.True(t, late())
	close(release)
	poll.Equal(t, false, late)
}

// written is a writer that calls a function with what is written.
type written func(string)

func (w written) Write(p []byte) (int, error) { w(string(p)); return len(p), nil }

func TestCollectorDown(t *testing.T) {
	w := newWorld(t, "easy", small(4))
	w.collector.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), poll.Patience)
	defer cancel()
	log := ""
	w.pool.log = hclog.New(&hclog.LoggerOptions{Output: written(func(text string) {
		if log += text; strings.Contains(text, "[WARN]") {
			cancel()
		}
	})})
	_, err := w.pool.lookPatiently(ctx)
	require.ErrorIs(t, err, context.Canceled, "it warned of nothing")
	require.Contains(t, log, "the pool cannot be looked at")
	require.NotEmpty(t, w.pool.Last().Problems)
	w.collector.Start()
	w.publish()
	l, err := w.pool.lookPatiently(context.Background())
	require.NoError(t, err)
	require.NotNil(t, l)
}

// TestNothingOldAfterCollectorDown: what a schedd answered while the collector was down is not used
// once the collector is back: it would be out of date.
func TestNothingOldAfterCollectorDown(t *testing.T) {
	w := newWorld(t, "conservative", small(4))
	j := w.submit(&sleeper{cpus: 4, seconds: 20, estimate: 40})
	w.pass(10)
	require.EqualValues(t, 2, j.status)
	release := make(chan struct{})
	w.schedd.Before(func(ctx context.Context, _ int) error { // it answers when the look is over
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	})
	w.collector.Stop()
	for range 2 {
		_, err := w.pool.look(t.Context())
		require.Error(t, err)
	}
	close(release)
	for !j.done {
		w.step()
	}
	w.collector.Start()
	w.publish()
	d, _ := w.cycle()
	require.Len(t, d.Completed, 1, "it has ended meanwhile")
}
