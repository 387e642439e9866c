package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// behind returns an address at which something listens that is no daemon.
func behind(t *testing.T, talk func(net.Conn)) cedar.Address {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, ended := listener.Accept()
			if ended != nil {
				return
			}
			talk(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); <-ended })
	a, err := server.AddressOf(listener)
	require.NoError(t, err)
	return a
}

func dead(t *testing.T) cedar.Address {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	a, err := server.AddressOf(listener)
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return a
}

func names(t *testing.T, c *client.Collector) (names []string, err error) {
	t.Helper()
	err = c.Query(t.Context(), []client.AdType{{Name: "Machine"}}, func(l cedar.Lines) error {
		name, _ := l.Find("Name")
		names = append(names, string(name))
		return nil
	})
	return names, err
}

func TestSeveralCollectors(t *testing.T) {
	good := fakes.NewCollector(t)
	good.Set("Machine", `Name = "a"`)
	garbage := behind(t, func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") })
	c := &client.Collector{Security: fakes.Client(), Addresses: []cedar.Address{dead(t), garbage, good.Address()}}
	got, err := names(t, c)
	require.NoError(t, err)
	require.Equal(t, []string{`"a"`}, got)

	// The collector that answered is asked first from then on.
	var asked atomic.Int32
	c.Security.Connect = func(ctx context.Context, place string) (net.Conn, error) {
		asked.Add(1)
		return new(net.Dialer).DialContext(ctx, "tcp", place)
	}
	_, err = names(t, c)
	require.NoError(t, err)
	require.EqualValues(t, 1, asked.Load())

	good.Stop()
	_, err = names(t, c)
	for _, a := range c.Addresses {
		require.ErrorContains(t, err, a.String())
	}
	good.Start()
	ad := classad.New()
	ad.SetString("Name", "n")
	err = c.UpdateNegotiator(t.Context(), ad)
	require.ErrorContains(t, err, "refused")
	poll.Equal(t, 1, func() int { return len(good.Ads("Negotiator")) })
	_, err = names(t, &client.Collector{Security: fakes.Client()})
	require.Error(t, err)
}

// TestCollectorMoves checks that a collector whose address has the port 0 is looked for each time,
// while the others are not.
func TestCollectorMoves(t *testing.T) {
	first, second := fakes.NewCollector(t), fakes.NewCollector(t)
	first.Set("Machine", `Name = "a"`)
	second.Set("Machine", `Name = "b"`)
	moving := first.Address()
	moving.Port = 0
	found, lost := first.Address(), error(nil)
	c := &client.Collector{
		Security: fakes.Client(), Addresses: []cedar.Address{moving},
		Locate: func() (cedar.Address, error) { return found, lost },
	}
	ad := classad.New()
	ad.SetString("Name", "n")
	for _, at := range []*fakes.Collector{first, second} {
		found = at.Address()
		require.NoError(t, c.UpdateNegotiator(t.Context(), ad))
		poll.Equal(t, 1, func() int { return len(at.Ads("Negotiator")) })
	}
	got, err := names(t, c)
	require.NoError(t, err)
	require.Equal(t, []string{`"b"`}, got)
	lost = errors.New("no address is written down")
	_, err = names(t, c)
	require.ErrorIs(t, err, lost)
	require.ErrorIs(t, c.UpdateNegotiator(t.Context(), ad), lost)
	c.Relocate([]cedar.Address{first.Address()})
	got, err = names(t, c)
	require.NoError(t, err)
	require.Equal(t, []string{`"a"`}, got)
}

// A collector that hangs does not delay updates to the others, and QueryEach finds what only one of
// them knows.
func TestOneOfTheCollectors(t *testing.T) {
	hangs, first, second := fakes.NewCollector(t), fakes.NewCollector(t), fakes.NewCollector(t)
	release := make(chan struct{})
	hangs.Before(func(ctx context.Context, _ int) error {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	})
	first.Set("Machine", `Name = "a"`)
	second.Set("Machine", `Name = "b"`)
	c := &client.Collector{
		Security:  fakes.Client(),
		Addresses: []cedar.Address{hangs.Address(), first.Address(), second.Address()},
	}
	ad := classad.New()
	ad.SetString("Name", "n")
	require.NoError(t, c.UpdateNegotiator(t.Context(), ad))
	for _, collector := range []*fakes.Collector{first, second} {
		poll.Equal(t, 1, func() int { return len(collector.Ads("Negotiator")) })
	}
	close(release)
	each := func() (names []string, err error) {
		err = c.QueryEach(t.Context(), []client.AdType{{Name: "Machine"}}, func(l cedar.Lines) error {
			name, _ := l.Find("Name")
			names = append(names, string(name))
			return nil
		})
		return names, err
	}
	got, err := each()
	require.NoError(t, err)
	require.Equal(t, []string{`"a"`, `"b"`}, got)
	first.Stop()
	got, err = each()
	require.NoError(t, err)
	require.Equal(t, []string{`"b"`}, got)
	second.Stop()
	hangs.Stop()
	_, err = each()
	require.ErrorContains(t, err, second.Address().String())
	second.Start()
	c.Relocate([]cedar.Address{second.Address()})
	got, err = each()
	require.NoError(t, err)
	require.Equal(t, []string{`"b"`}, got)
	c.Relocate(nil)
	_, err = each()
	require.Error(t, err)
}

// TestCollectorsInAnotherOrder: the first is asked first, one that answered in its place goes on being
// asked, and a new order counts at once.
func TestCollectorsInAnotherOrder(t *testing.T) {
	first, second := fakes.NewCollector(t), fakes.NewCollector(t)
	first.Set("Machine", `Name = "a"`)
	second.Set("Machine", `Name = "b"`)
	order := []cedar.Address{first.Address(), second.Address()}
	c := &client.Collector{Security: fakes.Client(), Addresses: order}
	ask := func(want string) {
		got, err := names(t, c)
		require.NoError(t, err)
		require.Equal(t, []string{want}, got)
	}
	ask(`"a"`)
	first.Stop()
	ask(`"b"`)
	first.Start()
	order[0] = first.Address()
	c.Relocate(order)
	ask(`"b"`)
	c.Relocate([]cedar.Address{order[1], order[0]})
	ask(`"b"`)
	c.Relocate(order)
	ask(`"a"`)
}

// After some ads have arrived no other collector is asked, or ads would arrive twice.
func TestCollectorBreaksInTheMiddle(t *testing.T) {
	first, second := fakes.NewCollector(t), fakes.NewCollector(t)
	first.Set("Machine", `Name = "a"`, `Name = "b"`)
	second.Set("Machine", `Name = "a"`)
	c := &client.Collector{Security: fakes.Client(), Addresses: []cedar.Address{first.Address(), second.Address()}}
	wrong := errors.New("enough")
	count := 0
	err := c.Query(t.Context(), []client.AdType{{Name: "Machine"}}, func(cedar.Lines) error { count++; return wrong })
	require.ErrorIs(t, err, wrong)
	require.Equal(t, 1, count)
}

// An answer without an end is cut off when the context ends.
func TestEndlessAnswer(t *testing.T) {
	guard := &security.Server{
		Needs: func(int) []security.Permission { return []security.Permission{security.Read} },
	}
	ctx, cancel := context.WithCancel(t.Context())
	a := behind(t, func(conn net.Conn) {
		call, err := guard.Accept(context.Background(), conn)
		if err != nil {
			return
		}
		defer call.Close()
		for range 100_000 {
			call.PutInt(1)
			call.PutLines(cedar.Lines("Name = \"a\"\n"))
		}
		_, _ = call.Int() // until it hangs up
	})
	c := &client.Collector{Security: &security.Client{Timeout: time.Minute}, Addresses: []cedar.Address{a}}
	count := 0
	err := c.Query(ctx, []client.AdType{{Name: "Machine"}}, func(cedar.Lines) error {
		if count++; count == 1000 {
			cancel()
		}
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
}

func TestScheddAnswersWithAnError(t *testing.T) {
	s := fakes.NewSchedd(t, "s")
	s.Before(func(context.Context, int) error { return errors.New("no") })
	_, err := client.Schedd{Security: fakes.Client(), Address: s.Address()}.Jobs(t.Context(), client.JobQuery{},
		func(cedar.Lines) error { return nil })
	require.ErrorContains(t, err, "query the queue")
	_, err = client.Schedd{Security: fakes.Client(), Address: s.Address()}.Jobs(t.Context(),
		client.JobQuery{Requirements: "a +"}, nil)
	require.Error(t, err)
}

func TestMaster(t *testing.T) {
	said := make(chan string, 2)
	guard := &security.Server{
		Methods: []security.Method{security.ClaimToBe}, Domain: "d",
		Allow: func(security.Peer, security.Permission) bool { return true },
	}
	port := &server.Port{Security: guard, Handlers: map[int]server.Handler{
		60008: {
			Name: "ALIVE", Needs: []security.Permission{security.Daemon},
			Serve: func(_ context.Context, call *security.Call) error {
				pid, _ := call.Int()
				seconds, _ := call.Int()
				lock, err := call.Real()
				said <- fmt.Sprint(pid, " ", seconds, " ", lock)
				return err
			},
		},
		60043: {
			Name: "READY", Needs: []security.Permission{security.Daemon},
			Serve: func(_ context.Context, call *security.Call) error {
				ad, err := call.Ad()
				said <- ad.String()
				return err
			},
		},
	}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	a, err := server.AddressOf(listener)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- port.Serve(ctx, listener) }()
	m := client.Master{Security: fakes.Client(), Address: func() cedar.Address { return a }}
	require.NoError(t, m.Alive(t.Context(), 12, 10*time.Minute))
	require.Equal(t, "12 600 0", <-said)
	require.NoError(t, m.Ready(t.Context(), 12, "NEGOTIATOR"))
	require.Contains(t, <-said, `DaemonState = "Ready"`)
	cancel()
	require.NoError(t, <-ended)
}

// A negotiation's header has what schedds of all versions understand. MatchCaps is not among it: with
// it, those since 24.4 would want an ad after the reason of a rejection, which others would not read.
func TestHeaderOfNegotiations(t *testing.T) {
	for name, more := range map[string][]string{"": nil, "us.test": {"NegotiatorName"}} {
		schedd := fakes.NewSchedd(t, "s")
		to := client.Schedd{Security: fakes.Client(), Address: schedd.Address(), Negotiator: name}
		n, err := to.Negotiate(t.Context(), client.Submitter{Name: "alice@test"}, nil)
		require.NoError(t, err)
		require.NoError(t, n.Reject(1, 2, "it waits"))
		require.NoError(t, n.End())
		n.Close()
		poll.Equal(t, 1, func() int { return len(schedd.Rejections()) })
		var names []string
		for name := range schedd.Headers()[0].All() {
			names = append(names, name)
		}
		require.ElementsMatch(t, append(more, "Owner", "AutoClusterAttrs", "SubmitterTag", "MatchClaimedPslots"), names)
	}
}

func TestGrantHidesItsClaim(t *testing.T) {
	g := client.Grant{Cluster: 1, Proc: 2, Claim: "<1>#2#5ec4e7"}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		for _, text := range []string{
			fmt.Sprintf(verb, g), fmt.Sprintf(verb, &g),
			fmt.Sprintf(verb, []client.Grant{g}),
		} {
			require.NotContains(t, text, "5ec4e7")
			require.Contains(t, text, "job 1.2 on claim <1>#2#...")
		}
	}
}
