package access

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
)

const (
	annsToken = "0123456789abcdef0123"
	anyToken  = "fedcba9876543210ffff"
)

// clock is a clock that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// tokenFile writes a file of tokens that only its owner can read.
func tokenFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// pair writes a certificate for a host and its key.
func pair(t *testing.T, folder, host string) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{host}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	certificate, key = filepath.Join(folder, "c.pem"), filepath.Join(folder, "k.pem")
	require.NoError(t, os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	return certificate, key
}

// whoami answers with the viewer's user.
var whoami = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
	v := Of(r.Context())
	_, _ = fmt.Fprintf(out, "%s|%v|%v", v.User, v.Signed, v.Good())
})

// guard makes a guard with a clock.
func guard(t *testing.T, o Options) (*Guard, *clock) {
	t.Helper()
	c := &clock{now: time.Unix(1000, 0)}
	o.Clock = c.time
	if o.Address == "" {
		o.Address = "127.0.0.1:9620"
	}
	g, err := New(t.Context(), o)
	require.NoError(t, err)
	return g, c
}

func ask(h http.Handler, method, target string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	out := httptest.NewRecorder()
	h.ServeHTTP(out, r)
	return out
}

// TestAddresses checks which addresses are served with what, and that a refusal says what is missing.
func TestAddresses(t *testing.T) {
	certificate, key := pair(t, t.TempDir(), "here.test")
	file := tokenFile(t, anyToken)
	pool := func(string, string) (string, error) { return "", errors.New("no") }
	for _, one := range []struct {
		o     Options
		wrong string
	}{
		{Options{Address: "localhost:9620"}, ""},
		{Options{Address: "127.0.0.1:0"}, ""},
		{Options{Address: "127.9.9.9:0"}, ""},
		{Options{Address: "[::1]:0"}, ""},
		{Options{Address: "[::ffff:127.0.0.1]:0"}, ""},
		{Options{Address: "localhost:9620", TokenFile: file}, ""},
		{Options{Address: ":9620"}, `--http :9620 .*missing: --http-token .* and --http-certificate .*localhost:9620`},
		{Options{Address: "0.0.0.0:9620"}, "missing: --http-token"},
		{Options{Address: "[::]:9620"}, "missing: --http-token"},
		{Options{Address: "10.0.0.1:9620", TokenFile: file}, "missing: --http-certificate"},
		{Options{Address: "10.0.0.1:9620", Bearer: pool}, "missing: --http-certificate"},
		{Options{Address: "10.0.0.1:9620", Certificate: certificate, Key: key}, "missing: --http-token .*TRUST_DOMAIN"},
		{Options{Address: ":9620", TokenFile: file, Certificate: certificate, Key: key}, ""},
		{Options{Address: "10.0.0.1:9620", Bearer: pool, Certificate: certificate, Key: key}, ""},
		{Options{Address: "localhost:9620", Certificate: certificate}, "go together"},
		{Options{Address: "localhost:9620", Key: key}, "go together"},
		{Options{Address: "localhost:9620", Certificate: key, Key: key}, "--http-certificate and --http-key: "},
		{Options{Address: "localhost:9620", TokenFile: file + "no"}, "--http-token: .*no such file"},
		{Options{Address: "localhost"}, "must be HOST:PORT"},
		{Options{Address: "no.such.host.invalid:1"}, "no such host"},
	} {
		one.o.Clock = time.Now
		_, err := New(t.Context(), one.o)
		if one.wrong == "" {
			require.NoError(t, err, one.o.Address)
			continue
		}
		require.Error(t, err, one.o.Address)
		require.Regexp(t, one.wrong, err.Error())
	}
}

// TestFileOfTokens checks what a file may say, and that errors tell of no token.
func TestFileOfTokens(t *testing.T) {
	for text, wrong := range map[string]string{
		"# all\n\n ann@pool.test :  " + annsToken + " \r\n" + anyToken: "",
		"":                            "no token in it",
		"# " + anyToken:               "no token in it",
		"short":                       "line 1: a token needs 16 characters",
		"ann: short":                  "line 1: a token needs 16",
		anyToken + "\n: " + annsToken: "line 2: no user before the colon",
		"ann b: " + annsToken:         "line 1: no user",
		"a\x01n: " + annsToken:        "line 1: no user",
		"ann: " + annsToken + " x":    "line 1: .*no blanks",
		strings.Repeat(anyToken+"\n", mostTokens+1): "line 1001: more than 1000",
		strings.Repeat("#", maxTokenFile+1):         "longer than 1 MiB",
	} {
		tok := &tokens{file: tokenFile(t, text), clock: time.Now}
		err := tok.read()
		if wrong == "" {
			require.NoError(t, err)
			require.Len(t, tok.known, 2)
			continue
		}
		require.Error(t, err, text[:min(len(text), 50)])
		require.Regexp(t, wrong, err.Error())
		require.NotContains(t, err.Error(), annsToken)
		require.NotContains(t, err.Error(), anyToken)
		require.Empty(t, tok.known)
	}
	for mode, good := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: true, 0o644: false, 0o604: false, 0o620: false, 0o602: false} {
		file := tokenFile(t, anyToken)
		require.NoError(t, os.Chmod(file, mode))
		err := (&tokens{file: file, clock: time.Now}).read()
		require.Equal(t, good, err == nil, "%o: %v", mode, err)
		if !good {
			require.ErrorContains(t, err, "chmod o=,g-w "+file)
		}
	}
	require.ErrorContains(t, (&tokens{file: t.TempDir(), clock: time.Now}).read(), "no regular file")
}

// TestTokensChange checks that the file counts as it is: what is added opens, what is taken out or
// cannot be read opens no more.
func TestTokensChange(t *testing.T) {
	file := tokenFile(t, anyToken)
	g, c := guard(t, Options{TokenFile: file})
	h := g.Guarded(whoami)
	status := func(token string) int {
		c.pass(time.Minute)
		return ask(h, "GET", "http://localhost/", "Authorization", "Bearer "+token).Code
	}
	write := func(text string, seconds int64) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		require.NoError(t, os.Chtimes(file, time.Unix(seconds, 0), time.Unix(seconds, 0)))
	}
	require.Equal(t, []int{200, 401}, []int{status(anyToken), status(annsToken)})
	write("ann: "+annsToken, 1)
	require.Equal(t, []int{401, 200}, []int{status(anyToken), status(annsToken)})
	require.NoError(t, os.Chmod(file, 0o644))
	write("ann: "+annsToken, 2)
	require.Equal(t, 401, status(annsToken), "others can read it")
	require.NoError(t, os.Chmod(file, 0o600))
	write("ann: "+annsToken, 3)
	require.Equal(t, 200, status(annsToken))
	require.NoError(t, os.Remove(file))
	require.Equal(t, 401, status(annsToken))
}

// TestOpen checks that on localhost everybody may look, by this machine's names alone, and that a
// pool's token tells who it is.
func TestOpen(t *testing.T) {
	g, _ := guard(t, Options{Host: "Here.pool.test", Bearer: func(token, address string) (string, error) {
		if token == "a.b.c" && address == "192.0.2.1" {
			return "ann@pool.test", nil
		}
		return "", errors.New("forged")
	}})
	h := g.Guarded(whoami)
	for host, want := range map[string]int{
		"here": 200, "here.pool.test.:80": 200, "localhost": 200, "[::1]:9620": 200, "10.0.0.1": 200,
		"evil.test": 421, "localhost.evil.test": 421, "10.0.0.1.evil.test": 421, "": 200,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = host
		out := httptest.NewRecorder()
		h.ServeHTTP(out, r)
		require.Equal(t, want, out.Code, host)
	}
	require.Equal(t, "|false|true", ask(h, "GET", "http://here/x").Body.String())
	require.Equal(t, "ann@pool.test|false|true", ask(h, "GET", "http://here/x", "Authorization", "bearer a.b.c").Body.String())
	wrong := ask(h, "GET", "http://here/x", "Authorization", "Bearer x.y.z")
	require.Equal(t, 401, wrong.Code)
	require.NotContains(t, wrong.Body.String(), "forged")
	require.Equal(t, 401, ask(h, "GET", "http://here/x", "Authorization", "Basic eDp5").Code)
	h2, _ := guard(t, Options{})
	require.Equal(t, "|false|true", ask(h2.Guarded(whoami), "GET", "http://localhost/sign-in").Body.String(), "no tokens, no page for them")
}

// TestHeaders checks the headers of all answers, errors included.
func TestHeaders(t *testing.T) {
	g, _ := guard(t, Options{TokenFile: tokenFile(t, anyToken)})
	h := g.Guarded(whoami)
	for _, target := range []string{"/", "/sign-in", "/sign-in.css", "/api/v1/picture", "/sign-out"} {
		got := ask(h, "GET", target).Header()
		require.Contains(t, got.Get("Content-Security-Policy"), "default-src 'none'", target)
		require.Contains(t, got.Get("Content-Security-Policy"), "frame-ancestors 'none'", target)
		require.Equal(t, "nosniff", got.Get("X-Content-Type-Options"))
		require.Equal(t, "same-origin", got.Get("Cross-Origin-Opener-Policy"))
		require.Equal(t, "same-origin", got.Get("Referrer-Policy"))
		require.Equal(t, "no-store", got.Get("Cache-Control"))
	}
}

// TestOtherSites checks that no other site's page can have a browser post anything.
func TestOtherSites(t *testing.T) {
	g, _ := guard(t, Options{})
	h := g.Guarded(whoami)
	for _, one := range []struct {
		header []string
		want   int
	}{
		{nil, 200},
		{[]string{"Origin", "http://localhost:9620"}, 200},
		{[]string{"Origin", "http://evil.test"}, 403},
		{[]string{"Origin", "null"}, 403},
		{[]string{"Sec-Fetch-Site", "same-origin"}, 200},
		{[]string{"Sec-Fetch-Site", "same-site"}, 403},
		{[]string{"Sec-Fetch-Site", "cross-site"}, 403},
	} {
		require.Equal(t, one.want, ask(h, "POST", "http://localhost:9620/api/v1/what-if", one.header...).Code, one.header)
	}
}

// browser signs in like one at a server of a guard.
func browser(t *testing.T, h http.Handler) (*http.Client, string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &http.Client{Jar: jar}, s.URL
}

func read(t *testing.T, answer *http.Response, err error) (int, string) {
	t.Helper()
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode, string(text)
}

func get(t *testing.T, c *http.Client, target string) (int, string) {
	t.Helper()
	r, err := http.NewRequest("GET", target, nil)
	require.NoError(t, err)
	r.Header.Set("Accept", "text/html,*/*;q=0.8")
	answer, err := c.Do(r)
	return read(t, answer, err)
}

// TestSignIn checks the way of a browser: to the page, to the sign-in page, in, out, and out again when
// the session or its token ends.
func TestSignIn(t *testing.T) {
	file := tokenFile(t, "ann: "+annsToken)
	g, clock := guard(t, Options{TokenFile: file})
	c, at := browser(t, g.Guarded(whoami))
	code, text := get(t, c, at+"/")
	require.Equal(t, 200, code)
	require.Contains(t, text, `name="token"`)
	require.NotContains(t, text, "alert")

	post := func(target, token string) (int, string) {
		answer, err := c.PostForm(at+target, url.Values{"token": {token}})
		return read(t, answer, err)
	}
	code, text = post("/sign-in", "<b>wrong")
	require.Equal(t, 401, code)
	require.Contains(t, text, `role="alert"`)
	require.NotContains(t, text, "<b>")
	code, text = post("/sign-in", strings.Repeat("x", longestForm))
	require.Equal(t, 400, code, text)
	signIn := func() {
		code, text = post("/sign-in", " "+annsToken+"\n")
		require.Equal(t, 200, code)
		require.Equal(t, "ann|true|true", text)
	}
	signIn()
	raw, err := url.Parse(at)
	require.NoError(t, err)
	require.Len(t, c.Jar.Cookies(raw), 1)
	require.NotContains(t, c.Jar.Cookies(raw)[0].Value, annsToken)

	_, text = post("/sign-out", "")
	require.Contains(t, text, `name="token"`)
	require.Empty(t, c.Jar.Cookies(raw))
	signIn()
	for range 40 {
		clock.pass(idleFor / 2)
		_, text = get(t, c, at+"/")
		require.Equal(t, "ann|true|true", text, "it is used")
	}
	clock.pass(idleFor + time.Second)
	_, text = get(t, c, at+"/")
	require.Contains(t, text, `name="token"`, "it was not used")
	signIn()
	clock.pass(time.Minute)
	require.NoError(t, os.WriteFile(file, []byte(anyToken), 0o600))
	_, text = get(t, c, at+"/")
	require.Contains(t, text, `name="token"`, "its token is no more")
	answer, err := c.Get(at + "/api/v1/picture")
	code, text = read(t, answer, err)
	require.Equal(t, 401, code)
	require.Contains(t, text, `{"error":"show a token`)
}

// TestCookie checks what a browser is told of a session's cookie.
func TestCookie(t *testing.T) {
	g, _ := guard(t, Options{TokenFile: tokenFile(t, anyToken)})
	for _, header := range [][]string{{}, {"X-Forwarded-Proto", "https"}} {
		r := httptest.NewRequest("POST", "/sign-in", strings.NewReader("token="+anyToken))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if len(header) > 0 {
			r.Header.Set(header[0], header[1])
		}
		out := httptest.NewRecorder()
		g.Guarded(whoami).ServeHTTP(out, r)
		require.Equal(t, 303, out.Code)
		cookie := out.Result().Cookies()[0]
		require.Equal(t, "negotiator-9620", cookie.Name)
		require.Len(t, cookie.Value, 64)
		require.True(t, cookie.HttpOnly)
		require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
		require.Equal(t, "/", cookie.Path)
		require.Equal(t, len(header) > 0, cookie.Secure)
	}
}

// TestSessionsAreBounded checks that neither many tokens nor one can fill the memory with sessions,
// and that those go which are over or unused for longest.
func TestSessionsAreBounded(t *testing.T) {
	s, now := sessions{random: rand.Reader}, time.Unix(0, 0)
	first, err := s.begin("x", now)
	require.NoError(t, err)
	for i := range mostOfToken {
		now = now.Add(time.Second)
		_, err = s.begin("y", now)
		require.NoError(t, err)
		require.LessOrEqual(t, len(s.all), i+2)
	}
	_, err = s.begin("y", now)
	require.NoError(t, err)
	require.Len(t, s.all, mostOfToken+1)
	_, ok := s.credential(first, now)
	require.True(t, ok, "it is another's")
	for i := range mostSessions {
		_, err = s.begin(strconv.Itoa(i), now.Add(time.Second))
		require.NoError(t, err)
	}
	require.Len(t, s.all, mostSessions)
	_, err = s.begin("z", now.Add(2*lastsFor))
	require.NoError(t, err)
	require.Len(t, s.all, 1)
	_, err = (&sessions{random: bytes.NewReader(nil)}).begin("x", now)
	require.Error(t, err)
}

// TestWrongTokens checks that many wrong tokens are answered by a wait, cost few lines of the log and
// little memory, and shut out nobody who has a right one.
func TestWrongTokens(t *testing.T) {
	var log bytes.Buffer
	g, clock := guard(t, Options{
		TokenFile: tokenFile(t, anyToken), Logger: hclog.New(&hclog.LoggerOptions{Output: &log}),
	})
	h := g.Guarded(whoami)
	codes := map[int]int{}
	var last *httptest.ResponseRecorder
	for range 100 {
		last = ask(h, "GET", "/api/v1/picture", "Authorization", "Bearer wrong\nwrong")
		codes[last.Code]++
	}
	require.Equal(t, map[int]int{401: failuresAtOnce, 429: 100 - failuresAtOnce}, codes)
	require.Equal(t, "6", last.Header().Get("Retry-After"))
	require.Equal(t, 200, ask(h, "GET", "/api/v1/picture", "Authorization", "Bearer "+anyToken).Code)
	require.Equal(t, 1, strings.Count(log.String(), "\n"))
	clock.pass(failurePause)
	require.Equal(t, 401, ask(h, "GET", "/", "Authorization", "Bearer wrong").Code)
	require.Equal(t, 429, ask(h, "GET", "/", "Authorization", "Bearer wrong").Code)
	clock.pass(tellAgain)
	require.Equal(t, 401, ask(h, "GET", "/", "Authorization", "Bearer wrong").Code)
	require.Contains(t, log.String(), "since_last_told=102")
	for i := range 3 * mostHosts {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = fmt.Sprintf("10.%d.%d.1:1", i>>8, i&255)
		r.Header.Set("Authorization", "Bearer wrong")
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	require.LessOrEqual(t, len(g.failures.free), mostHosts)
}

// TestTLS checks that connections are encrypted by the certificate as it is now.
func TestTLS(t *testing.T) {
	folder := t.TempDir()
	certificate, key := pair(t, folder, "one.test")
	g, clock := guard(t, Options{Address: ":9620", TokenFile: tokenFile(t, anyToken), Certificate: certificate, Key: key})
	require.True(t, g.Required())
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.Equal(t, "https://"+inner.Addr().String(), g.URL(inner.Addr()))
	s := &http.Server{Handler: g.Guarded(whoami), ReadHeaderTimeout: time.Minute}
	done := make(chan error, 1)
	go func() { done <- s.Serve(tls.NewListener(inner, g.TLS())) }()
	names := func() []string {
		conn, failed := tls.Dial("tcp", inner.Addr().String(), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // a test's
		require.NoError(t, failed)
		defer conn.Close() //nolint:errcheck // a test's
		return conn.ConnectionState().PeerCertificates[0].DNSNames
	}
	require.Equal(t, []string{"one.test"}, names())
	pair(t, folder, "two.test")
	require.NoError(t, os.Chtimes(certificate, time.Unix(1, 0), time.Unix(1, 0)))
	clock.pass(time.Minute)
	require.Equal(t, []string{"two.test"}, names())
	require.NoError(t, os.WriteFile(key, []byte("x"), 0o600))
	clock.pass(time.Minute)
	require.Equal(t, []string{"two.test"}, names(), "the former one stays")
	old, failed := tls.Dial("tcp", inner.Addr().String(), &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11}) //nolint:gosec // a test's
	require.Error(t, failed)
	require.Nil(t, old)
	require.NoError(t, s.Close())
	require.ErrorIs(t, <-done, http.ErrServerClosed)
}

// TestAfterwards checks that a viewer's token counts no more once it is taken back, for streams.
func TestAfterwards(t *testing.T) {
	valid := true
	g, _ := guard(t, Options{Bearer: func(string, string) (string, error) {
		if valid {
			return "ann", nil
		}
		return "", errors.New("over")
	}})
	var seen Viewer
	h := g.Guarded(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = Of(r.Context()) }))
	ask(h, "GET", "http://localhost/", "Authorization", "Bearer a.b.c")
	require.Equal(t, "ann", seen.User)
	require.True(t, seen.Good())
	valid = false
	require.False(t, seen.Good())
	require.True(t, Of(context.Background()).Good())
}
