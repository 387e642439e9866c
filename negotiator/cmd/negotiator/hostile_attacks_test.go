package main

import (
	"context"
	crand "crypto/rand"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/classadtest"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

// corpus is the worst that is known.
var corpus = sync.OnceValue(classadtest.Worst)

// worst returns lines of an ad, among them the attribute of this name, that cost as much as is known:
// an expression of the corpus, or one that refers to many others in the ad.
func worst(random *rand.Rand, attribute string) string {
	if all := corpus(); random.IntN(2) == 0 {
		return attribute + " = " + all[random.IntN(len(all))]
	}
	digits := strings.Repeat("7", 1000)
	chain := []struct{ each, last, asks string }{
		{"$ + $", "1", "W0 > 0"},                                          // a tree with 2^n leaves
		{"strcat($, $)", `"aaaaaaaaaaaaaaaa"`, "size(W0) > 0"},            // a text that is doubled n times
		{`real(strcat("` + digits + `", $)) + $`, "1", "W0 > 0"},          // numbers of many digits
		{"ifThenElse(TARGET.Memory > $, $, $ + 1)", "1", "W0 =!= TARGET"}, // by slot
	}[random.IntN(4)]
	n := 8 + random.IntN(24)
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "W%d = %s\n", i, strings.ReplaceAll(chain.each, "$", fmt.Sprintf("W%d", i+1)))
	}
	return fmt.Sprintf("%sW%d = %s\n%s = %s", b.String(), n, chain.last, attribute, chain.asks)
}

// attack torments a negotiator until the context ends, and then takes back what it did.
type attack struct {
	name string
	do   func(ctx context.Context, h *siege)
}

func attacks() []attack {
	return []attack{
		{"jobs with the worst expressions", expressions},
		{"jobs that refer to others' attributes", references},
		{"slots with the worst expressions", badSlots},
		{"a flood of expensive queries", queries},
		{"silent connections, slow readers", silence},
		{"schedds that never end, or babble", badSchedds},
	}
}

// together is these attacks, all at once.
func together(these []attack) attack {
	return attack{"all at once", func(ctx context.Context, h *siege) {
		var all sync.WaitGroup
		for _, a := range these {
			all.Go(func() { a.do(ctx, h) })
		}
		all.Wait()
	}}
}

// repeat calls a function at once and then after each pause, until the context ends.
func repeat(ctx context.Context, pause time.Duration, do func()) {
	for ctx.Err() == nil {
		do()
		wait, cancel := context.WithTimeout(ctx, pause)
		<-wait.Done()
		cancel()
	}
}

// expressions has fifty jobs with other worst expressions every five seconds.
func expressions(ctx context.Context, h *siege) {
	withdraw := func() {}
	repeat(ctx, 5*time.Second, func() {
		withdraw()
		var extras []string
		for range 50 {
			name := []string{"Requirements", "Requirements", "Rank", "RequestMemory", "AllowedExecuteDuration", "JobPrio"}
			extras = append(extras, h.drawn(func(r *rand.Rand) string { return worst(r, name[r.IntN(len(name))]) }))
		}
		withdraw = h.pool.submit(extras...)
	})
	withdraw()
}

// references has jobs whose Requirements tell every slot and every job from every other.
func references(ctx context.Context, h *siege) {
	var extras []string
	for i := range 200 {
		extras = append(extras, fmt.Sprintf("Requirements = TARGET.Name != \"slot1@n%d\" && TARGET.Environment =?= undefined "+
			"&& TARGET.ClusterId =!= %d && TARGET.GlobalJobId =!= \"%d\"", i, i, i))
	}
	withdraw := h.pool.submit(extras...)
	<-ctx.Done()
	withdraw()
}

// badSlots makes the tenth part of the slots ask for the worst of each job.
func badSlots(ctx context.Context, h *siege) {
	h.pool.restart(func(i int) string {
		if i%10 != 0 {
			return mildStart
		}
		return h.drawn(func(r *rand.Rand) string { return worst(r, "START") })
	})
	<-ctx.Done()
	h.pool.restart(func(int) string { return mildStart })
}

// queries asks for ads under the worst constraints, and does not wait for the answers.
func queries(ctx context.Context, h *siege) {
	ask := peer()
	repeat(ctx, 200*time.Millisecond, func() {
		ad := parsed(h.t, h.drawn(func(r *rand.Rand) string { return worst(r, "Requirements") }))
		ad.SetString("MyType", "Query")
		ad.SetString("TargetType", []string{"Negotiator", "JobPlan"}[h.number(2)])
		stream, err := ask.Start(ctx, h.where().command, 50, nil)
		if err != nil {
			return
		}
		stream.PutAd(ad)
		_ = stream.Send() // it hangs up anyway
		stream.Close()
	})
}

// silence holds connections on which nothing is said, and others on which nothing is read.
func silence(ctx context.Context, h *siege) {
	var all sync.WaitGroup
	at := h.where()
	for i := range 240 {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, byte(1+i%8), 0, 1)}, Timeout: time.Second}
		to, say := net.JoinHostPort(at.command.Host, strconv.Itoa(at.command.Port)), ""
		if i%6 == 0 {
			to = strings.TrimPrefix(at.web, "http://")
			say = "GET /start-times HTTP/1.1\r\nHost: " + to + "\r\n\r\n"
		}
		all.Go(func() {
			repeat(ctx, time.Second, func() {
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

// badSchedds shows three schedds: one says nothing, one sends rubbish, and the queue of one never
// ends.
func badSchedds(ctx context.Context, h *siege) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for name, talk := range map[string]func(context.Context, net.Conn){
		"silent@test": func(ctx context.Context, _ net.Conn) { <-ctx.Done() },
		"babble@test": func(_ context.Context, c net.Conn) { _, _ = io.Copy(c, crand.Reader) },
	} {
		defer h.rogue(ctx, name, func(l net.Listener) error { return listen(ctx, l, talk) })()
	}
	endless := &server.Port{Security: lax(), Handlers: map[int]server.Handler{516: {
		Name: "QUERY_JOB_ADS", Needs: []security.Permission{security.Read}, Serve: endlessQueue,
	}}}
	defer h.rogue(ctx, "endless@test", func(l net.Listener) error { return endless.Serve(ctx, l) })()
	<-ctx.Done()
	h.pool.hide()
	cancel() // before the schedds are waited for
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

// endlessQueue answers a query for jobs with different ones, without end.
func endlessQueue(ctx context.Context, call *security.Call) error {
	if _, err := server.ReadQuery(call); err != nil {
		return err
	}
	for i := 1; ctx.Err() == nil; i++ {
		ad := classad.New()
		ad.SetInt("ClusterId", int64(i))
		ad.SetInt("ProcId", 0)
		ad.SetString("JobIds", fmt.Sprintf("%d.0", i))
		ad.SetString("User", mallory+"@test")
		ad.SetInt("JobStatus", 1)
		ad.SetString("Environment", strings.Repeat("x", 4000))
		call.PutAd(ad)
		if err := call.Send(); err != nil {
			return err
		}
	}
	return ctx.Err()
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

// rogue runs a schedd and shows it to the pool; wait waits for its end.
func (h *siege) rogue(ctx context.Context, name string, serve func(net.Listener) error) (wait func()) {
	h.t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	require.NoError(h.t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = serve(l) // whatever it does is meant
	}()
	at := "<" + l.Addr().String() + ">"
	h.pool.show("Scheduler", fmt.Sprintf("MyType = \"Scheduler\"\nName = %q\nMyAddress = %q\nScheddIpAddr = %q\n"+
		"MyCurrentTime = %d\n", name, at, at, time.Now().Unix()))
	h.pool.show("Submitter", fmt.Sprintf("MyType = \"Submitter\"\nName = \"mallory@test\"\nScheddName = %q\n"+
		"ScheddIpAddr = %q\nMyAddress = %q\nIdleJobs = 1\nRunningJobs = 0\n", name, at, at))
	return func() { <-done }
}

// peer is a client that may read.
func peer() *security.Client {
	return &security.Client{
		Name: "TOOL", Timeout: time.Minute, Methods: []security.Method{security.ClaimToBe}, User: "condor@test",
	}
}

// visit asks the negotiator twice, as a command-line tool and as a browser would, and returns the
// longer wait.
func (h *siege) visit(ctx context.Context, tool *security.Client) (waited time.Duration, err error) {
	at := h.where()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	began := time.Now()
	if err = askAd(ctx, tool, at.command); err != nil {
		return time.Since(began), fmt.Errorf("QUERY_NEGOTIATOR_ADS: %w", err)
	}
	waited = time.Since(began)
	began = time.Now()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.web+"/start-times", http.NoBody)
	if err != nil {
		return waited, err
	}
	request.Close = true // a new connection each time
	response, err := http.DefaultClient.Do(request)
	if err == nil {
		_, err = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			err = fmt.Errorf("GET /start-times: %s", response.Status)
		}
	}
	return max(waited, time.Since(began)), err
}

// askAd asks for the Negotiator ad.
func askAd(ctx context.Context, tool *security.Client, at cedar.Address) error {
	stream, err := tool.Start(ctx, at, 50, nil)
	if err != nil {
		return err
	}
	defer stream.Close()
	stop := context.AfterFunc(ctx, stream.Close)
	defer stop()
	ad := classad.New()
	ad.SetString("MyType", "Query")
	ad.SetString("TargetType", "Negotiator")
	stream.PutAd(ad)
	if err = stream.Send(); err != nil {
		return err
	}
	_, err = stream.Int()
	return err
}
