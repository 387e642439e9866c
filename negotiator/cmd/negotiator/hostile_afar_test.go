package main

import (
	"bufio"
	"context"
	crand "crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

// The attacks that need nothing of the pool run in a process of their own, on one processor and as
// nice as can be. So what they take themselves is not taken from the negotiator and the pool, and
// the negotiator's processor time is what they cost it.

// asAttacker is the environment variable that makes the test binary run as that process.
const asAttacker = "TEST_AS_ATTACKER"

// order is what the process is told, and told what it says: an ad that the collector is to show, or
// how often an attack has asked or answered something so far.
type (
	order struct {
		Seed         uint64
		Command, Web string
		Attacks      []string
	}
	told struct {
		Type, Ad string
		Attack   string
		Times    int
	}
)

// attackAfar makes the attacks of an order until standard input ends.
func attackAfar(text string) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	command, err := cedar.ParseAddress(o.Command)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() { defer stop(); _, _ = io.Copy(io.Discard, os.Stdin) }()
	var all sync.WaitGroup
	var writing sync.Mutex
	tell := func(what told) {
		writing.Lock()
		defer writing.Unlock()
		_ = json.NewEncoder(os.Stdout).Encode(what) // the reader may be gone
	}
	for _, a := range named(o.Attacks) {
		r := newRaid(o.Seed, a.name, place{command, o.Web})
		r.show = func(adType, ad string) { tell(told{Type: adType, Ad: ad}) }
		count := func() { tell(told{Attack: a.name, Times: int(r.times.Load())}) }
		all.Go(func() { repeat(ctx, time.Second, count) })
		all.Go(func() {
			a.do(ctx, r)
			count()
		})
	}
	all.Wait()
	return nil
}

// dispatchAfar starts the process. The function that it returns waits for its end, which comes with
// that of the context, and tells how much processor time it has had.
func (h *siege) dispatchAfar(ctx context.Context, names []string) (wait func() time.Duration) {
	h.t.Helper()
	at := h.where()
	text, err := json.Marshal(order{*hostileSeed, at.command.String(), at.web, names})
	require.NoError(h.t, err)
	cmd := exec.CommandContext(h.t.Context(), "nice", "-n", "19", os.Args[0], string(text))
	cmd.Env = append(os.Environ(), asAttacker+"=1", "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(h.t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(h.t, err)
	require.NoError(h.t, cmd.Start())
	context.AfterFunc(ctx, func() { _ = stdin.Close() })
	return func() time.Duration {
		lines := json.NewDecoder(bufio.NewReader(stdout))
		for {
			var what told
			if lines.Decode(&what) != nil {
				break
			}
			if what.Attack != "" {
				h.count(what)
			} else {
				h.pool.show(what.Type, what.Ad)
			}
		}
		early := ctx.Err() == nil
		_ = stdin.Close()
		if err := cmd.Wait(); (err != nil || early) && h.t.Context().Err() == nil {
			h.t.Errorf("the attackers' process ended before it was told to: %v", err)
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
}

func (h *siege) count(what told) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.times[what.Attack] = max(h.times[what.Attack], what.Times)
}

// pace is how often each address asks. It bounds what the attackers' own machine is busy with: a
// question is to be cheap, and then this many of them are.
const pace = 50 * time.Millisecond

// from returns a connection from one of many addresses.
func from(i int) func(ctx context.Context, to string) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+i/200), byte(2+i%200))}, Timeout: 10 * time.Second}
	return func(ctx context.Context, to string) (net.Conn, error) { return d.DialContext(ctx, "tcp", to) }
}

// each lets attackers at addresses of their own ask at their pace, until the context ends.
func each(ctx context.Context, n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { repeat(ctx, pace, func() { do(i) }) })
	}
	all.Wait()
}

// tools returns clients at addresses of their own.
func tools(n int) (all []*security.Client) {
	for i := range n {
		c := peer()
		c.Connect = from(i)
		all = append(all, c)
	}
	return all
}

// ask gives a command with a payload, and reads the answer or hangs up at once.
func (r *raid) ask(ctx context.Context, tool *security.Client, command int, say func(*cedar.Stream), listens bool) {
	r.times.Add(1)
	stream, err := tool.Start(ctx, r.at.command, command, nil)
	if err != nil {
		return
	}
	defer stream.Close()
	if say != nil {
		say(stream)
		err = stream.Send() // without a payload there is no message
	}
	if err != nil || !listens {
		return
	}
	for {
		if _, err = stream.Bytes(1); err != nil {
			return
		}
	}
}

// query writes an ad for a query, with more lines.
func query(adType string, more ...string) func(*cedar.Stream) {
	lines := append([]string{`MyType = "Query"`, "TargetType = " + strconv.Quote(adType)}, more...)
	return func(s *cedar.Stream) { s.PutLines(cedar.Lines(strings.Join(lines, "\n"))) }
}

// queries asks for ads under the worst constraints, and does not wait for the answers.
func queries(ctx context.Context, r *raid) {
	ask := tools(20)
	each(ctx, len(ask), func(i int) {
		lines := r.drawn(func(r *rand.Rand) string { return worst(r, "Requirements") })
		r.ask(ctx, ask[i], 50, query([]string{"Negotiator", "JobPlan"}[r.number(2)], lines), false)
	})
}

// silence holds connections on which nothing is said, and others on which nothing is read.
func silence(ctx context.Context, r *raid) {
	var all sync.WaitGroup
	for i := range 240 {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, byte(1+i%8), 0, 1)}, Timeout: time.Second}
		to, say := net.JoinHostPort(r.at.command.Host, strconv.Itoa(r.at.command.Port)), ""
		if i%6 == 0 {
			to = strings.TrimPrefix(r.at.web, "http://")
			say = "GET /start-times HTTP/1.1\r\nHost: " + to + "\r\n\r\n"
		}
		all.Go(func() {
			repeat(ctx, time.Second, func() {
				r.times.Add(1)
				conn, err := dialer.DialContext(ctx, "tcp", to)
				if err != nil {
					return
				}
				defer conn.Close()                          //nolint:errcheck // nothing is wanted
				_ = conn.(*net.TCPConn).SetReadBuffer(4096) //nolint:forcetypeassert // it is one
				if say != "" {
					_, _ = io.WriteString(conn, say)
					<-ctx.Done()
					return
				}
				stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
				defer stop()
				_, _ = conn.Read(make([]byte, 1)) // until it is hung up
			})
		})
	}
	all.Wait()
}

// largeAds logs in and sends queries of 8 MB.
func largeAds(ctx context.Context, r *raid) {
	ask, tree := tools(4), r.tree(8<<20)
	each(ctx, len(ask), func(i int) {
		r.ask(ctx, ask[i], 50, query("Negotiator", "Requirements = "+tree), true)
	})
}

// deepAds sends queries that are nested deeply, with and without a login, in commands of each kind.
func deepAds(ctx context.Context, r *raid) {
	ask := tools(4)
	ask[0].Wishes.Authentication, ask[1].Wishes.Authentication = security.Never, security.Never
	deep := []struct{ open, middle, shut string }{
		{"(", "1", ")"},
		{"{", "1", "}"},
		{"[a=", "1", "]"},
		{"!", "true", ""},
		{"-", "1", ""},
		{"size(", "1", ")"},
		{"1?1:", "1", ""},
		{"a.", "b", ""},
		{"a[", "1", "]"},
	}
	each(ctx, len(ask), func(i int) {
		d := deep[r.number(len(deep))]
		n := 20_000 / len(d.open)
		if i >= 2 { // more is allowed after a login
			n *= 50
		}
		text := strings.Repeat(d.open, n) + d.middle + strings.Repeat(d.shut, n)
		r.ask(ctx, ask[i], []int{50, 78}[r.number(2)], query("Negotiator", "Requirements = "+text), true)
	})
}

// crowd has jobs of as many invented groups, until the context ends and wait is called.
func (r *raid) crowd(ctx context.Context, groups int) (wait func()) {
	var all sync.WaitGroup
	all.Go(func() {
		r.queue(ctx, []string{"crowd@test"}, func(i int) string { return fmt.Sprintf(`AccountingGroup = "p%d.u"`, i) }, groups)
	})
	return all.Wait
}

// longReports asks for everybody's priorities on many connections at once, takes them as fast as it
// can, and asks again.
func longReports(ctx context.Context, r *raid) {
	defer r.crowd(ctx, 2000)()
	at := net.JoinHostPort(r.at.command.Host, strconv.Itoa(r.at.command.Port))
	each(ctx, 300, func(i int) {
		r.times.Add(1)
		c, err := from(i%20)(ctx, at)
		if err != nil {
			return
		}
		defer c.Close() //nolint:errcheck // nothing is wanted
		stop := context.AfterFunc(ctx, func() { _ = c.Close() })
		defer stop()
		s := cedar.NewStream(c, 0)
		s.PutInt(451)
		if s.Send() == nil {
			_, _ = io.Copy(io.Discard, c) // until it is hung up
		}
	})
}

// priorities asks for everybody's, among them those of two thousand invented groups.
func priorities(ctx context.Context, r *raid) {
	defer r.crowd(ctx, 2000)()
	ask := tools(20)
	each(ctx, len(ask), func(i int) { r.ask(ctx, ask[i], []int{451, 514, 512}[i%3], nil, i%4 != 0) })
}

// configuration asks for the names of knobs by patterns that are large inside.
func configuration(ctx context.Context, r *raid) {
	ask := tools(4)
	patterns := []string{
		strings.Repeat(`(\pL?){999}`, 80), strings.Repeat("(.?){999}", 100), strings.Repeat("((a*)*|b)*", 90),
		strings.Repeat("[^_]{0,999}", 80) + "$", "(" + strings.Repeat("(.*)*", 150) + ")$",
	}
	each(ctx, len(ask), func(i int) {
		pattern := patterns[r.number(len(patterns))]
		r.ask(ctx, ask[i], 60007, func(s *cedar.Stream) { s.PutString("?names:" + pattern) }, i%2 == 0)
	})
}

// everyQuestion asks whatever a reader may, well or badly, and hears the answer or hangs up.
func everyQuestion(ctx context.Context, r *raid) {
	ask := tools(20)
	text := func(t string) func(*cedar.Stream) { return func(s *cedar.Stream) { s.PutString(t) } }
	questions := []struct {
		command int
		say     func(*cedar.Stream)
	}{
		{50, query("Negotiator")},
		{50, query("JobPlan")},
		{50, query("JobPlan", `Projection = "Name"`, "LimitResults = 1")},
		{50, query("WhatIf", `Question = "{\"cpus\": 1}"`)},
		{50, query("WhatIf", `Question = "`+strings.Repeat("{", 9000)+`"`)},
		{78, query("Accounting")},
		{78, query("Accounting", `Requirements = Name == "alice@test"`)},
		{457, text("COLLECTOR_HOST")},
		{457, text(strings.Repeat("x", 1000))},
		{60007, text("?names")},
		{60007, text("?stats")},
		{60007, text("SEC_DEFAULT_AUTHENTICATION_METHODS")},
		{463, text("alice@test")},
		{463, text(strings.Repeat("y", 1000))},
		{451, nil},
		{514, nil},
		{512, nil},
		{60011, nil},
		{60020, nil},
		{50, query(strings.Repeat("Negotiator,", 2000))},
		{50, query("Negotiator", "Projection = \""+strings.Repeat("a ", 499)+"\"")},
	}
	each(ctx, len(ask), func(i int) {
		q := questions[r.number(len(questions))]
		r.ask(ctx, ask[i], q.command, q.say, r.number(3) > 0)
	})
}

// refused sends what is to be refused, with as much text as can be.
func refused(ctx context.Context, r *raid) {
	long := strings.Repeat("Z", 20_000)
	at := net.JoinHostPort(r.at.command.Host, strconv.Itoa(r.at.command.Port))
	shake := func(lines ...string) func(net.Conn) {
		return func(c net.Conn) {
			s := cedar.NewStream(c, 5*time.Second)
			s.PutInt(60010) // DC_AUTHENTICATE
			s.PutLines(cedar.Lines(strings.Join(append([]string{"Command = 50"}, lines...), "\n")))
			_ = s.Send() // it may be gone
		}
	}
	rubbish := []func(net.Conn){
		shake("Authentication = \"" + long + "\""), shake("Encryption = \"" + long + "\""), shake("Integrity = \"" + long + "\""),
		shake("AuthMethods = \""+long+"\"", `Authentication = "REQUIRED"`), shake("CryptoMethods = \""+long+"\"", `Encryption = "REQUIRED"`),
		shake(`UseSession = "YES"`, "Sid = \""+long+"\""), shake("RemoteVersion = \""+long+"\"", "Command = 449"),
		shake("Command = \"" + long + "\""), shake("Subsystem = \""+long+"\"", "Command = 999"), shake("NewSession = " + long),
		shake(`Authentication = "NEVER"`, "Command = 449", "ServerPid = \""+long+"\""),
		func(c net.Conn) { _, _ = io.WriteString(c, "GET /"+long+" HTTP/1.1\r\n\r\n") },
		func(c net.Conn) { _, _ = c.Write(append([]byte{1, 0, 0, 255, 255}, long...)) },
		func(c net.Conn) {
			s := cedar.NewStream(c, 5*time.Second)
			s.PutInt(449)
			s.PutString(long)
			_ = s.Send() // it may be gone
		},
		func(c net.Conn) {
			s := cedar.NewStream(c, 5*time.Second)
			s.PutInt(457)
			s.PutString(long)
			_ = s.Send() // it may be gone
		},
	}
	each(ctx, 20, func(i int) {
		r.times.Add(1)
		c, err := from(i)(ctx, at)
		if err != nil {
			return
		}
		defer c.Close() //nolint:errcheck // nothing is wanted
		rubbish[r.number(len(rubbish))](c)
		_ = c.SetReadDeadline(time.Now().Add(2 * time.Second))
		_, _ = io.Copy(io.Discard, io.LimitReader(c, 1<<20))
	})
}

// badSchedds shows three schedds: one says nothing, one sends rubbish, and the queue of one never
// ends.
func badSchedds(ctx context.Context, r *raid) {
	var all sync.WaitGroup
	for name, talk := range map[string]func(context.Context, net.Conn){
		"silent@test": func(ctx context.Context, _ net.Conn) { <-ctx.Done() },
		"babble@test": func(_ context.Context, c net.Conn) { _, _ = io.Copy(c, crand.Reader) },
	} {
		all.Go(func() { r.rogue(ctx, []string{name}, func(l net.Listener) error { return listen(ctx, l, talk) }) })
	}
	all.Go(func() {
		r.queue(ctx, []string{"endless@test"}, func(int) string {
			return "Environment = \"" + strings.Repeat("x", 4000) + "\""
		}, 1<<40)
	})
	all.Wait()
}

// hundredSchedds shows a hundred schedds at one address, each with a queue of 2 MB.
func hundredSchedds(ctx context.Context, r *raid) {
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("s%d@test", i))
	}
	text := strings.Repeat(`TARGET.Name != "`+strings.Repeat("x", 980)+`" && `, 100) + "true"
	r.queue(ctx, names, func(int) string { return "Requirements = " + text }, 20)
}

// hugeTrees has ten jobs whose expressions are large inside.
func hugeTrees(ctx context.Context, r *raid) {
	r.changing(ctx, 20*time.Second, func(i int) string {
		name := []string{"Requirements", "Rank", "RequestMemory", "AllowedExecuteDuration", "JobPrio"}[i%5]
		return name + " = " + r.tree(240_000)
	}, 10)
}

// manyLimits has jobs that want up to tens of thousands of concurrency limits.
func manyLimits(ctx context.Context, r *raid) {
	r.changing(ctx, 5*time.Second, func(i int) string {
		n := 30_000
		if i >= 3 {
			n = 1 << r.number(12)
		}
		var b strings.Builder
		first := r.number(1 << 20)
		for k := range n {
			fmt.Fprintf(&b, ",%x", first+k)
		}
		return "ConcurrencyLimits = \"" + b.String()[1:] + "\""
	}, 12)
}

// longReasons has jobs that match no slot, for reasons as long as can be.
func longReasons(ctx context.Context, r *raid) {
	r.changing(ctx, 20*time.Second, func(int) string {
		part := fmt.Sprintf(`TARGET.Memory > %d && TARGET.Name != "%s" && `, r.number(1<<20), strings.Repeat("\U0001F600", 500))
		return "Requirements = " + strings.Repeat(part, 95) + "false"
	}, 20)
}

// changing has jobs of a schedd, and others in their place again and again.
func (r *raid) changing(ctx context.Context, every time.Duration, lines func(i int) string, n int) {
	var mu sync.Mutex
	var now []string
	fresh := func() {
		made := make([]string, n)
		for i := range made {
			made[i] = lines(i)
		}
		mu.Lock()
		defer mu.Unlock()
		now = made
	}
	fresh()
	go repeat(ctx, every, fresh)
	r.queue(ctx, []string{"rogue@test"}, func(i int) string {
		mu.Lock()
		defer mu.Unlock()
		return now[i]
	}, n)
}

// queue runs a schedd under these names that answers each query for jobs with this many, which wait
// and have these lines. In the end it says that they are gone, as jobs of a schedd that is silent
// are kept: for a while after it is first asked then.
func (r *raid) queue(ctx context.Context, names []string, lines func(i int) string, n int) {
	later, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(10*time.Second, stop) })()
	answer := func(_ context.Context, call *security.Call) error {
		r.times.Add(1)
		left := n
		if ctx.Err() != nil {
			time.AfterFunc(3*time.Second, stop)
			left = 0
		}
		if _, err := server.ReadQuery(call); err != nil {
			return err
		}
		for i := range left {
			if ctx.Err() != nil { // a part of the jobs is not to be taken for all
				return ctx.Err()
			}
			call.PutLines(cedar.Lines(fmt.Sprintf("MyType = \"Job\"\nClusterId = %d\nProcId = 0\nJobIds = \"%d.0\"\nJobCount = 1\n"+
				"User = \"mallory@test\"\nOwner = \"mallory\"\nJobStatus = 1\nJobUniverse = 5\nQDate = 1700000000\nMinHosts = 1\n"+
				"MaxHosts = 1\nRequestCpus = 1\nRequestMemory = 100\nServerTime = %d\n"+
				"Requirements = TARGET.Barracks =?= true\n%s", i+1, i+1, time.Now().Unix(), lines(i))))
			if err := call.Send(); err != nil {
				return err
			}
		}
		call.PutLines(cedar.Lines(fmt.Sprintf("MyType = \"Summary\"\nOwner = 0\nErrorCode = 0\nServerTime = %d", time.Now().Unix())))
		return call.Send()
	}
	port := &server.Port{Security: lax(), Handlers: map[int]server.Handler{516: {
		Name: "QUERY_JOB_ADS", Needs: []security.Permission{security.Read}, Serve: answer,
	}}}
	r.rogue(ctx, names, func(l net.Listener) error { return port.Serve(later, l) })
}

// rogue runs a schedd and shows it to the pool under these names.
func (r *raid) rogue(ctx context.Context, names []string, serve func(net.Listener) error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return
	}
	at := "<" + l.Addr().String() + ">"
	for _, name := range names {
		r.show("Scheduler", fmt.Sprintf("MyType = \"Scheduler\"\nName = %q\nMyAddress = %q\nScheddIpAddr = %q\n"+
			"MyCurrentTime = %d\n", name, at, at, time.Now().Unix()))
		r.show("Submitter", fmt.Sprintf("MyType = \"Submitter\"\nName = \"mallory@test\"\nScheddName = %q\n"+
			"ScheddIpAddr = %q\nMyAddress = %q\nIdleJobs = 1\nRunningJobs = 0\n", name, at, at))
	}
	_ = serve(l) // whatever it does is meant
}

// lax is the security of a daemon that trusts everybody.
func lax() *security.Server {
	optional := security.Wishes{
		Authentication: security.Optional, Encryption: security.Optional, Integrity: security.Optional,
	}
	return &security.Server{
		Name: "SCHEDD", Timeout: time.Minute, Methods: []security.Method{security.ClaimToBe}, Domain: "test",
		TrustDomain: "test", Wishes: func(security.Permission) security.Wishes { return optional },
		Allow: func(security.Peer, security.Permission) bool { return true },
	}
}

// listen lets talk answer every caller until the context ends.
func listen(ctx context.Context, l net.Listener, talk func(context.Context, net.Conn)) error {
	var all sync.WaitGroup
	defer all.Wait()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	for {
		c, err := l.Accept()
		if err != nil {
			return nil //nolint:nilerr // it is closed
		}
		all.Go(func() {
			defer c.Close() //nolint:errcheck // it says what it likes
			stop := context.AfterFunc(ctx, func() { _ = c.Close() })
			defer stop()
			talk(ctx, c)
		})
	}
}

// peer is a client that may read.
func peer() *security.Client {
	return &security.Client{
		Name: "TOOL", Timeout: time.Minute, Methods: []security.Method{security.ClaimToBe}, User: "condor@test",
	}
}
