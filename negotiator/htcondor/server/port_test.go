package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// book is an accountant that records its calls.
type book struct {
	mu    sync.Mutex
	lines []string
}

func (b *book) note(format string, a ...any) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, fmt.Sprintf(format, a...))
	return nil
}

func (b *book) noted() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := fmt.Sprint(b.lines)
	b.lines = nil
	return text
}

func (b *book) Report(rollup bool) []byte {
	ad := classad.New()
	ad.SetBool("Rollup", rollup)
	ad.SetInt("NumSubmittors", 0)
	return ad.AppendFormat(nil, classad.Lines)
}

func (b *book) Accounts() server.List {
	var ads list
	for _, name := range []string{"alice@test", "bob@test"} {
		ad := classad.New()
		ad.SetString("MyType", "Accounting")
		ad.SetString("Name", name)
		ad.SetString("Capability", "secret")
		ads = append(ads, ad)
	}
	return &ads
}

// list is a list of ads, of which no two are equal.
type list []*classad.ClassAd

func (l *list) Len() int { return len(*l) }

func (l *list) At(i int) *classad.ClassAd { return (*l)[i] }

func (b *book) SetFactor(name string, v float64) error {
	if v < 1 {
		return errors.New("a factor must be at least 1")
	}
	return b.note("factor %s %v", name, v)
}

func (b *book) SetPriority(name string, v float64) error { return b.note("priority %s %v", name, v) }

func (b *book) SetUsage(name string, v float64) error { return b.note("usage %s %v", name, v) }

func (b *book) SetBegin(name string, v int64) error { return b.note("begin %s %v", name, v) }

func (b *book) SetLast(name string, v int64) error { return b.note("last %s %v", name, v) }

func (b *book) SetCeiling(name string, v int64) error { return b.note("ceiling %s %v", name, v) }

func (b *book) SetFloor(name string, v int64) error { return b.note("floor %s %v", name, v) }

func (b *book) Lease(now time.Time, what string, name string, v float64, seconds int64) error {
	return b.note("lease %d %s %s %v %d", now.Unix(), what, name, v, seconds)
}

func (b *book) CancelLease(now time.Time, what string, name string) error {
	if name != "bob@test" {
		return errors.New("none in effect")
	}
	return b.note("cancel %d %s %s", now.Unix(), what, name)
}

func (b *book) ResetUsage(now time.Time, name string) error {
	return b.note("reset %s %d", name, now.Unix())
}

func (b *book) ResetAll(now time.Time) error { return b.note("reset all %d", now.Unix()) }

func (b *book) Delete(name string) error { return b.note("delete %s", name) }

// listen runs a port and returns its address.
func listen(tb testing.TB, p *server.Port) cedar.Address {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	address, err := server.AddressOf(listener)
	require.NoError(tb, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(ctx, listener) }()
	tb.Cleanup(func() {
		cancel()
		require.NoError(tb, <-ended)
	})
	return address
}

func guard() *security.Server {
	return &security.Server{
		Name: "TEST", Timeout: time.Minute, Methods: []security.Method{security.ClaimToBe}, Domain: "test",
		Allow: func(p security.Peer, need security.Permission) bool {
			return need == security.Read || p.User == "boss@test"
		},
	}
}

func as(user string) *security.Client {
	return &security.Client{
		Name: "TOOL", Timeout: time.Minute,
		Methods: []security.Method{security.ClaimToBe}, User: user,
	}
}

func TestNobodyListensAfterServe(t *testing.T) {
	for range 200 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		require.NoError(t, (&server.Port{Security: guard()}).Serve(ctx, listener))
		require.ErrorIs(t, listener.Close(), net.ErrClosed, "it was closed before")
	}
}

func TestAddressOf(t *testing.T) {
	a := listen(t, &server.Port{Security: guard()})
	require.Equal(t, fmt.Sprintf("<127.0.0.1:%d?noUDP>", a.Port), a.String())
}

// The messages of condor_userprio, according to its source.
func TestUserprio(t *testing.T) {
	b := &book{}
	n := &server.Negotiator{Accountant: b, Clock: func() time.Time { return time.Unix(77, 0) }}
	a := listen(t, &server.Port{Security: guard(), Handlers: n.Handlers()})
	boss := as("boss")
	tell := func(command int, say func(*cedar.Stream)) *cedar.Stream {
		s, err := boss.Start(t.Context(), a, command, nil)
		require.NoError(t, err)
		t.Cleanup(s.Close)
		if say != nil {
			say(s)
			require.NoError(t, s.Send())
		}
		return s
	}
	hangsUp := func(s *cedar.Stream) {
		_, err := s.Int()
		require.ErrorIs(t, err, io.EOF)
	}
	named := func(s *cedar.Stream) { s.PutString("bob@test") }
	number := func(s *cedar.Stream) { named(s); s.PutInt(12) }
	amount := func(s *cedar.Stream) { named(s); s.PutReal(2.5) }
	for _, c := range []struct {
		command int
		say     func(*cedar.Stream)
		want    string
	}{
		{449, amount, "[priority bob@test 2.5]"},
		{494, amount, "[usage bob@test 2.5]"},
		{495, number, "[begin bob@test 12]"},
		{496, number, "[last bob@test 12]"},
		{525, number, "[ceiling bob@test 12]"},
		{530, number, "[floor bob@test 12]"},
		{458, named, "[reset bob@test 77]"},
		{460, nil, "[reset all 77]"},
		{482, named, "[delete bob@test]"},
		{482, func(s *cedar.Stream) { s.PutString("") }, "[]"},
		{482, func(s *cedar.Stream) { s.PutString("a\nb") }, "[]"},
		{449, named, "[]"},
	} {
		hangsUp(tell(c.command, c.say))
		require.Equal(t, c.want, b.noted(), c.command)
	}
	for factor, want := range map[float64]string{5: "", 0.5: "a factor must be at least 1"} {
		s := tell(459, func(s *cedar.Stream) { named(s); s.PutReal(factor) })
		ad, err := s.Ad()
		require.NoError(t, err)
		code, _ := ad.Int("ErrorCode")
		text, _ := ad.Text("ErrorString")
		require.Equal(t, want, text)
		require.Equal(t, want != "", code != 0)
	}
	require.Equal(t, "[factor bob@test 5]", b.noted())
	lease := func(command int, lines string) (success bool, wrong string) {
		s := tell(command, func(s *cedar.Stream) {
			ad, err := classad.ParseOld(lines)
			require.NoError(t, err)
			s.PutAd(ad)
		})
		ad, err := s.Ad()
		require.NoError(t, err)
		success, _ = ad.Bool("Success")
		wrong, _ = ad.Text("ErrorString")
		return success, wrong
	}
	const bob = "Submitter = \"bob@test\"\n"
	for _, c := range []struct {
		command     int
		lines       string
		want, wrong string
	}{
		{532, bob + "Action = \"set\"\nCeiling = 5\nDuration = 60", "[lease 77 ceiling bob@test 5 60]", ""},
		{533, bob + "Action = \"SET\"\nFloor = 5\nDuration = 60", "[lease 77 floor bob@test 5 60]", ""},
		{
			534, bob + "Action = \"set\"\nPriorityFactor = 2.5\nDuration = 60",
			"[lease 77 priority-factor bob@test 2.5 60]", "",
		},
		{532, bob + "Action = \"cancel\"", "[cancel 77 ceiling bob@test]", ""},
		{532, "Submitter = \"eve@test\"\nAction = \"cancel\"", "[]", "none in effect"},
		{532, "Action = \"cancel\"", "[]", "request is missing Submitter"},
		{532, bob, "[]", `unknown Action "": must be set or cancel`},
		{532, bob + "Action = \"set\"\nDuration = 60", "[]", "set action requires Ceiling"},
		{532, bob + "Action = \"set\"\nCeiling = 5", "[]", "set action requires Duration"},
	} {
		success, wrong := lease(c.command, c.lines)
		require.Equal(t, c.wrong == "", success, c.lines)
		require.Equal(t, c.wrong, wrong)
		require.Equal(t, c.want, b.noted())
	}
	for command, rollup := range map[int]bool{451: false, 514: true} {
		ad, err := tell(command, nil).BareAd()
		require.NoError(t, err)
		got, _ := ad.Bool("Rollup")
		require.Equal(t, rollup, got)
	}
	s := tell(78, func(s *cedar.Stream) {
		q := classad.New()
		require.NoError(t, q.SetExpr("Requirements", `Name == "bob@test"`))
		q.SetString("Projection", "Name Capability")
		s.PutAd(q)
	})
	require.NoError(t, integer(s, 1))
	ad, err := s.Ad()
	require.NoError(t, err)
	require.Equal(t, `[ Name = "bob@test" ]`, ad.String(), "without what is private")
	require.NoError(t, integer(s, 0))

	_, err = as("worker").Start(t.Context(), a, 482, nil)
	var denied *security.DeniedError
	require.ErrorAs(t, err, &denied)
}

func integer(s *cedar.Stream, want int64) error {
	got, err := s.Int()
	if err == nil && got != want {
		err = fmt.Errorf("%d instead of %d", got, want)
	}
	return err
}

func TestNegotiator(t *testing.T) {
	said := make(chan string, 10)
	ad := classad.New()
	ad.SetString("Name", "here")
	n := &server.Negotiator{
		Ad:         func() *classad.ClassAd { return ad },
		Reschedule: func() { said <- "reschedule" },
		Reconfig:   func() { said <- "reconfig" },
		Off:        func(how server.Stop) { said <- fmt.Sprint("off ", how) },
		Resources:  func(name string) []byte { return fmt.Appendf(nil, "Name1 = %q\n", name) },
		Plans: func(_ context.Context, job string) (*server.Ads, error) {
			if job == "9.9" {
				return nil, errors.New("no such job")
			}
			var plans []*classad.ClassAd
			for i := range 3 {
				plan := classad.New()
				plan.SetString("Job", fmt.Sprintf("1.%d", i))
				plan.SetString("Asked", job)
				plans = append(plans, plan)
			}
			return server.NewAds(plans...), nil
		},
	}
	a := listen(t, &server.Port{Security: guard(), Handlers: n.Handlers()})
	for command, want := range map[int]string{
		421: "reschedule", 60004: "reconfig", 60012: "reconfig", 60005: "off 0",
		60006: "off 1", 60015: "off 2",
	} {
		s, err := as("boss").Start(t.Context(), a, command, nil)
		require.NoError(t, err)
		s.Close()
		require.Equal(t, want, <-said)
	}
	s, err := as("boss").Start(t.Context(), a, 463, nil)
	require.NoError(t, err)
	defer s.Close()
	s.PutString("alice@test")
	require.NoError(t, s.Send())
	list, err := s.BareAd()
	require.NoError(t, err)
	require.Equal(t, `[ Name1 = "alice@test" ]`, list.String())

	asked := client.Negotiator{Security: as("worker"), Address: a}
	plans, err := asked.Plans(t.Context(), `Job != "1.1"`)
	require.NoError(t, err)
	require.Len(t, plans, 2)
	plans, err = asked.Explain(t.Context(), "12.0@schedd")
	require.NoError(t, err)
	job, _ := plans[0].Text("Asked")
	require.Equal(t, "12.0@schedd", job)
	_, err = asked.Plans(t.Context(), "a +")
	require.ErrorContains(t, err, "requirements")
	_, err = asked.Explain(t.Context(), "9.9")
	require.ErrorContains(t, err, "start times")
}

// No command holds a connection for ever.
func TestMaxTime(t *testing.T) {
	a := listen(t, &server.Port{Security: guard(), MaxTime: 50 * time.Millisecond, Handlers: map[int]server.Handler{1: {
		Name: "WAIT", Needs: []security.Permission{security.Read},
		Serve: func(_ context.Context, call *security.Call) error { _, err := call.Int(); return err },
	}}})
	s, err := as("boss").Start(t.Context(), a, 1, nil)
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Int()
	require.ErrorIs(t, err, io.EOF)
}

// A waiting handler does not delay the end of the port.
func TestHandlersEndWithTheContext(t *testing.T) {
	began := make(chan struct{})
	a := listen(t, &server.Port{Security: guard(), Handlers: map[int]server.Handler{1: {
		Name: "HANG", Needs: []security.Permission{security.Read},
		Serve: func(_ context.Context, call *security.Call) error {
			close(began)
			_, err := call.Int() // nothing comes
			return err
		},
	}}})
	s, err := as("boss").Start(t.Context(), a, 1, nil)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	<-began
}

// TestExpensiveQuery checks that a query ends at its limit of steps or when its client has hung up,
// and that the client of an expensive one gets no part of an answer.
func TestExpensiveQuery(t *testing.T) {
	var plans []*classad.ClassAd
	for i := range 5000 {
		plan := classad.New()
		plan.SetString("Job", fmt.Sprintf("%d.0", i))
		plans = append(plans, plan)
	}
	log, asked, gone := &lines{}, make(chan struct{}), make(chan struct{})
	n := &server.Negotiator{Plans: func(context.Context, string) (*server.Ads, error) {
		asked <- struct{}{}
		<-gone
		return server.NewAds(plans...), nil
	}}
	a := listen(t, &server.Port{
		Security: guard(), Handlers: n.Handlers(), Logger: hclog.New(&hclog.LoggerOptions{Output: log}),
	})
	ask := func(ctx context.Context) error {
		_, err := client.Negotiator{Security: as("worker"), Address: a}.Plans(ctx,
			`sum({`+strings.Repeat("1,", 900)+`1}) > 0`)
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- ask(t.Context()) }()
	<-asked
	gone <- struct{}{}
	require.ErrorIs(t, <-failed, io.EOF)
	poll.Contains(t, "its constraint takes too many steps", log.String)

	ctx, hangUp := context.WithCancel(t.Context())
	go func() { failed <- ask(ctx) }()
	<-asked
	hangUp()
	require.Error(t, <-failed)
	gone <- struct{}{}
	poll.Contains(t, "the client does not wait for the answer", log.String)
}

// TestQueriesByTheClock checks that a constraint sees when it is asked, each time anew.
func TestQueriesByTheClock(t *testing.T) {
	var plans []*classad.ClassAd
	for i := range 5 {
		plan := classad.New()
		plan.SetInt("EstimatedStart", int64(1000+i))
		plans = append(plans, plan)
	}
	all := server.NewAds(plans...)
	var now atomic.Int64
	n := &server.Negotiator{
		Plans: func(context.Context, string) (*server.Ads, error) { return all, nil },
		Clock: func() time.Time { return time.Unix(now.Load(), 0) },
	}
	asked := client.Negotiator{Security: as("worker"), Address: listen(t, &server.Port{Security: guard(), Handlers: n.Handlers()})}
	for at, want := range map[int64]int{999: 0, 1000: 1, 1003: 4, 2000: 5} {
		now.Store(at)
		for _, constraint := range []string{"EstimatedStart <= time()", "CurrentTime >= TARGET.EstimatedStart"} {
			found, err := asked.Plans(t.Context(), constraint)
			require.NoError(t, err)
			require.Len(t, found, want, "%s at %d", constraint, at)
		}
	}
}

// lines is a log that may be written and read concurrently.
type lines struct {
	mu  sync.Mutex
	all strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}
