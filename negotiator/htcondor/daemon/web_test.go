package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/access"
)

// planned makes a daemon with a plan of many waiting jobs.
func planned(jobs int) (*Daemon, *buffer) {
	w, log := newWorld(), &buffer{}
	o := w.options("conservative")
	o.Logger = logTo(log)
	d := New(o)
	var pool Pool = w
	d.pool.Store(&pool)
	d.replan(1000, jobs)
	return d, log
}

// replan gives the daemon another plan.
func (d *Daemon) replan(now backfill.Time, jobs int) {
	plan := &Forecast{Now: now}
	for i := range jobs {
		plan.Jobs = append(plan.Jobs, JobForecast{
			Job: fmt.Sprintf("%d.0", i), Schedd: "submit.pool.test", Owner: "alice", Situation: "reserved",
			Start: seconds(now), Slots: "slot1@n2.pool.test", Reason: "reserved for <tomorrow> & later",
		})
	}
	f := new(forecaster)
	f.first.Do(func() { f.best.Store(plan) })
	d.lastCycle.Store(f)
	d.forgetAnswers()
}

// ask answers a request without a network.
func ask(handler http.Handler, method, target string, header ...string) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	out := httptest.NewRecorder()
	handler.ServeHTTP(out, r)
	return out.Result()
}

// anywhere is an address of this machine, where everybody on it may look.
var anywhere = access.Options{Address: "127.0.0.1:0", Clock: time.Now}

// behindGuard puts a guard before a handler, as it is on a host.
func behindGuard(t *testing.T, handler http.Handler, address, host string) http.Handler {
	t.Helper()
	guard, err := access.New(t.Context(), access.Options{Address: address, Host: host, Clock: time.Now})
	require.NoError(t, err)
	return guard.Guarded(handler)
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(text)
}

// TestStartTimes checks that a list is made once for all who ask, that its ETag tells whether it is
// still true, and that its pages and its compressed form say the same.
func TestStartTimes(t *testing.T) {
	d, _ := planned(10)
	w := behindGuard(t, &web{d: d}, "127.0.0.1:1", "here")
	first := ask(w, "GET", "http://localhost/start-times")
	tag, all := first.Header.Get("ETag"), body(t, first)
	require.Contains(t, all, "reserved for <tomorrow> & later")
	var list struct {
		Now, Total, Offset int
		Jobs               []JobForecast
	}
	require.NoError(t, json.Unmarshal([]byte(all), &list))
	require.Equal(t, []int{1000, 10, 10}, []int{list.Now, list.Total, len(list.Jobs)})

	packed := ask(w, "GET", "http://localhost/start-times", "Accept-Encoding", "br, gzip;q=0.5")
	require.Equal(t, "gzip", packed.Header.Get("Content-Encoding"))
	unpacked, err := gzip.NewReader(packed.Body)
	require.NoError(t, err)
	text, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	require.Equal(t, all, string(text))
	refused := ask(w, "GET", "http://localhost/start-times", "Accept-Encoding", "gzip;q=0")
	require.Empty(t, refused.Header.Get("Content-Encoding"))

	for _, same := range []string{tag, `"x", W/` + tag, "*", packed.Header.Get("ETag")} {
		again := ask(w, "GET", "http://localhost/start-times", "If-None-Match", same)
		require.Equal(t, http.StatusNotModified, again.StatusCode, same)
		require.Empty(t, body(t, again))
	}
	var jobs []JobForecast
	for offset := 0; ; offset += 4 {
		page := ask(w, "GET", fmt.Sprintf("http://localhost/start-times?offset=%d&limit=4", offset), "If-Match", tag)
		list.Jobs = nil
		require.NoError(t, json.Unmarshal([]byte(body(t, page)), &list))
		if jobs = append(jobs, list.Jobs...); len(list.Jobs) == 0 {
			break
		}
	}
	require.Len(t, jobs, 10)
	head := ask(w, "HEAD", "http://localhost/start-times")
	require.Equal(t, strconv.Itoa(len(all)), head.Header.Get("Content-Length"))
	require.Empty(t, body(t, head))

	d.replan(1001, 10)
	require.Equal(t, http.StatusPreconditionFailed,
		ask(w, "GET", "http://localhost/start-times?offset=4", "If-Match", tag).StatusCode, "of another plan")
	require.Equal(t, http.StatusOK,
		ask(w, "GET", "http://localhost/start-times", "If-None-Match", tag).StatusCode, "it is new")
}

// TestStartTimesWithoutNames checks that names are nowhere in a list if viewers may not see them.
func TestStartTimesWithoutNames(t *testing.T) {
	d, _ := planned(3)
	d.o.Aliases = access.NewAliases(access.Own)
	plan, err := d.Forecast()
	require.NoError(t, err)
	plan.Jobs[1].Preemption = "makes way for alice's job"
	text := body(t, ask(&web{d: d}, "GET", "http://localhost/start-times"))
	require.NotContains(t, text, "alice")
	require.Contains(t, text, `"owner":"user 1"`)
	require.Contains(t, text, "makes way for user 1's job")
	require.Equal(t, "alice", plan.Jobs[1].Owner, "others are told names")
}

// TestWebErrors checks that errors are JSON, and that nobody calls this machine by a name that is
// not its own.
func TestWebErrors(t *testing.T) {
	d, _ := planned(1)
	w := behindGuard(t, &web{d: d, metrics: http.NotFoundHandler()}, "127.0.0.1:9", "Here.pool.test")
	for request, want := range map[string]int{
		"GET http://here/start-times": 200, "GET http://HERE.pool.test.:8080/start-times": 200,
		"GET http://10.1.2.3:80/start-times": 200, "GET http://[::1]:80/start-times": 200,
		"GET http://[::1]/start-times":     200,
		"GET http://evil.test/start-times": 421, "GET http://10.1.2.3.evil.test/start-times": 421,
		"GET http://evil.test/": 421, "GET http://here/": 404, "GET http://here/start-times/x": 404,
		"GET http://here//start-times": 404, "POST http://here/start-times": 405, "OPTIONS http://here/metrics": 405,
		"GET http://here/start-times?limit=0": 400, "GET http://here/start-times?offset=-1": 400,
		"GET http://here/start-times?limit=1;offset=1": 400, "GET http://here/start-times?limit=1&%zz": 400,
		"GET http://here/start-times?limit=99999999999999999999": 400, "GET http://here/start-times?limit=": 400,
		"GET http://here/start-times?offset=9223372036854775807&limit=9223372036854775807": 200,
	} {
		method, target, _ := strings.Cut(request, " ")
		answer := ask(w, method, target)
		text := body(t, answer)
		require.Equal(t, want, answer.StatusCode, request+text)
		if want != 200 {
			require.Equal(t, "application/json", answer.Header.Get("Content-Type"))
			require.Regexp(t, `^{"error":".+"}\n$`, text)
		}
	}
	d.lastCycle.Store(nil)
	early := ask(w, "GET", "http://here/start-times")
	require.Equal(t, http.StatusServiceUnavailable, early.StatusCode)
	require.Regexp(t, `^{"error":".+"}\n$`, body(t, early))
}

// TestReadersThatDoNotRead checks that readers cost no memory while they take nothing, and that
// those of the oldest lists are cut off when there are too many lists.
func TestReadersThatDoNotRead(t *testing.T) {
	const readers, size = 20, 15 << 20
	d, log := planned(100_000)
	wait, err := d.Web(t.Context(), anywhere, nil)
	require.NoError(t, err)
	defer wait()
	address := strings.TrimPrefix(regexp.MustCompile(`http://\S+`).FindString(log.String()), "http://")
	answers, err := d.answers()
	require.NoError(t, err)
	require.Greater(t, len(answers.listing().jobs), size)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range readers {
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		defer conn.Close() //nolint:errcheck // a test's
		_, err = conn.Write([]byte("GET /start-times HTTP/1.1\r\nHost: localhost\r\n\r\n"))
		require.NoError(t, err)
		_, err = io.ReadFull(conn, make([]byte, 100))
		require.NoError(t, err)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(readers*200<<10), "they share the list")
	page := answers.listing().page(50_000, 10)
	require.Same(t, &answers.listing().jobs[answers.listing().at[50_000]], &page[1][0], "so do pages")
}

// TestCutOff checks that a reader who is cut off gets nothing more.
func TestCutOff(t *testing.T) {
	cut, out := make(chan struct{}), httptest.NewRecorder()
	send(out, [][]byte{bytes.Repeat([]byte("x"), 3*webChunk)}, cut, func(int) error { return nil })
	require.Equal(t, 3*webChunk, out.Body.Len())
	close(cut)
	send(out, [][]byte{{'y'}}, cut, nil)
	require.NotContains(t, out.Body.String(), "y")
}

// TestBusyClientsLetOthersIn: clients that ask without end, and read all, do not keep others out.
// They have more connections than there are places. One that comes later waits for those before it,
// each of which has one answer: how long that takes depends on the machine, how many it is does
// not.
func TestBusyClientsLetOthersIn(t *testing.T) {
	d, log := planned(1)
	wait, err := d.Web(t.Context(), anywhere, nil)
	require.NoError(t, err)
	defer wait()
	address := strings.TrimPrefix(regexp.MustCompile(`http://\S+`).FindString(log.String()), "http://")
	dialFrom := func(ctx context.Context, ip net.IP) (net.Conn, error) {
		return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: ip}}).DialContext(ctx, "tcp", address)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	defer busy.Wait()
	defer cancel()
	requests := bytes.Repeat([]byte("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"), 100)
	var served atomic.Int64
	for i := range 2 * livepage.MostConnections {
		busy.Go(func() {
			for ctx.Err() == nil {
				conn, failed := dialFrom(ctx, net.IPv4(127, byte(1+i%8), 0, 1))
				if failed != nil {
					continue
				}
				stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
				busy.Go(func() {
					for {
						if _, closed := conn.Write(requests); closed != nil {
							return
						}
					}
				})
				_, _ = io.Copy(counter{&served}, conn)
				stop()
				_ = conn.Close()
			}
		})
	}
	poll.Equal(t, true, func() bool { return served.Load() > 1<<17 }) // all places are taken
	honest := http.Client{Timeout: poll.Patience, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialFrom(ctx, net.IPv4(127, 99, 0, 1))
		},
	}}
	before := served.Load()
	answer, err := honest.Get("http://localhost/metrics")
	require.NoError(t, err)
	others := served.Load() - before
	size, err := io.Copy(io.Discard, answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Less(t, others, 4*2*livepage.MostConnections*size, "bytes for the others meanwhile")
}

// counter counts bytes.
type counter struct{ bytes *atomic.Int64 }

// Write counts bytes.
func (c counter) Write(b []byte) (int, error) {
	c.bytes.Add(int64(len(b)))
	return len(b), nil
}
