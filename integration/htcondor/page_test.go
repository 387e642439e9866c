package htcondor_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/poll"
)

// page is the page of a pool's negotiator.
type page struct {
	base   string
	token  string // "": none is shown
	client http.Client
}

// ask returns the status of an answer and its JSON.
func (p *page) ask(t *testing.T, method, path, body string) (code int, answer map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, p.base+path, strings.NewReader(body))
	require.NoError(t, err)
	if p.token != "" {
		r.Header.Set("Authorization", "Bearer "+p.token)
	}
	reply, err := p.client.Do(r)
	if err != nil {
		return 0, map[string]any{"error": err.Error()} // it is not up yet
	}
	defer reply.Body.Close() //nolint:errcheck // it is read
	text, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	_ = json.Unmarshal(text, &answer) // a page of HTML stays nil
	return reply.StatusCode, answer
}

// rows are the rows of the queue.
func (p *page) rows(t *testing.T) (rows []map[string]any) {
	t.Helper()
	_, answer := p.ask(t, http.MethodGet, "/api/v1/queue", "")
	list, _ := answer["rows"].([]any)
	for _, row := range list {
		rows = append(rows, row.(map[string]any))
	}
	return rows
}

// freePort returns a port that nobody listens at now.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return port
}

// TestThePage looks at the page of a real pool: what runs and waits, why, what would be, and the same again once the
// negotiator was killed. PAGE_FOR is for how long it stays for somebody to look at it.
func TestThePage(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	p := &page{base: "http://localhost:" + port}
	pool := ours(t, []string{"NODES=2", "CPUS=4"}, "BACKFILL_POLICY = conservative\nBACKFILL_HTTP = localhost:"+port)
	const estimate = "+EstimatedRunTime = "
	runs := pool.Submit("alice", sleep(70, 3, 2, estimate+"80"))
	pool.WaitStatus(2, time.Minute, runs...)
	wide := pool.Submit("bob", sleep(1, 4, 2, estimate+"30"))
	situations := func() string {
		_, answer := p.ask(t, http.MethodGet, "/api/v1/picture", "")
		jobs, _ := answer["jobs"].([]any)
		var all []string
		for _, j := range jobs {
			all = append(all, fmt.Sprint(j.(map[string]any)["situation"]))
		}
		return strings.Join(all, " ")
	}
	poll.Contains(t, "reserved", situations)
	require.Contains(t, situations(), "runs")

	_, picture := p.ask(t, http.MethodGet, "/api/v1/picture", "")
	head := picture["head"].(map[string]any)
	require.EqualValues(t, 2, head["slots"])
	require.Equal(t, "conservative", head["policy"])
	require.InDelta(t, time.Now().Unix(), head["now"], 120)
	row := p.rows(t)[0]
	require.Equal(t, wide[0].String(), row["job"])
	require.Equal(t, "bob", row["owner"])
	require.NotNil(t, row["start"])
	require.NotNil(t, row["guarantee"])
	code, job := p.ask(t, http.MethodGet, "/api/v1/jobs/"+wide[0].String(), "")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, pool.As("bob", "negotiator", "explain", wide[0].String()), job["text"], "the page says what explain says")
	code, _ = p.ask(t, http.MethodGet, "/api/v1/jobs/99.0", "")
	require.Equal(t, http.StatusNotFound, code)
	code, answer := p.ask(t, http.MethodPost, "/api/v1/what-if", `{"without":["n1"]}`)
	require.Equal(t, http.StatusOK, code, answer)
	require.NotNil(t, answer["change"])
	code, _ = p.ask(t, http.MethodPost, "/api/v1/what-if", `{"without":["n9"]}`)
	require.Equal(t, http.StatusBadRequest, code)
	if text := os.Getenv("PAGE_FOR"); text != "" {
		stay, err := time.ParseDuration(text)
		require.NoError(t, err)
		t.Log(p.base)
		pool.permit("not believed")
		jobs := runs
		for began, n := time.Now(), 1; time.Since(began) < stay; n++ {
			user := []string{"alice", "bob", "carol"}[n%3]
			jobs = append(jobs, pool.Submit(user, sleep(10+17*n%50, 1+n%4, 1+n%3, estimate+strconv.Itoa(30+23*n%90)))...)
			time.Sleep(25 * time.Second) // the pool has eight cpus
		}
		pool.WaitDone(10*time.Minute, jobs...)
	}
	epoch := picture["epoch"]
	pool.Kill("negotiator")
	poll.Equal(t, true, func() bool {
		_, again := p.ask(t, http.MethodGet, "/api/v1/picture", "")
		return again["epoch"] != nil && again["epoch"] != epoch
	})
	pool.WaitDone(3*time.Minute, append(runs, wide...)...)
	poll.Equal(t, true, func() bool {
		_, told := p.ask(t, http.MethodGet, "/api/v1/promises", "")
		guarantees, _ := told["guarantees"].(map[string]any)
		return guarantees["given"] != nil && guarantees["open"] == 0.0
	})
}

// TestWhoMayLook asks for the page from another address: with a token of the pool's own, made by
// condor_token_create for those who may READ, and with others.
func TestWhoMayLook(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	pool := prepareOurs(t, []string{"NODES=1", "CPUS=2"}, "BACKFILL_HTTP = 0.0.0.0:"+port+"\nBACKFILL_HTTP_NAMES = own\n"+
		"BACKFILL_HTTP_CERTIFICATE = /etc/page.crt\nBACKFILL_HTTP_KEY = /etc/page.key")
	roots := selfSigned(t, filepath.Join(pool.Dir, "etc", "page"))
	require.NoError(t, os.Chown(filepath.Join(pool.Dir, "etc", "page.key"), pool.uid(t, "condor"), 0))
	pool.Up()
	made := func(args ...string) string {
		return strings.TrimSpace(pool.As("root", append([]string{"condor_token_create"}, args...)...))
	}
	see := func(token string) (code int, who string) {
		p := &page{base: "https://localhost:" + port, token: token}
		p.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
		code, answer := p.ask(t, http.MethodGet, "/api/v1/me", "")
		user, _ := answer["user"].(string)
		return code, user
	}
	bob := made("-identity", "bob@pool.test", "-authz", "READ")
	poll.Equal(t, http.StatusOK, func() int { code, _ := see(bob); return code })
	_, who := see(bob)
	require.Contains(t, who, "bob")
	for name, token := range map[string]string{
		"none": "", "made up": "secret", "of another right": made("-identity", "eve@pool.test", "-authz", "CLIENT"),
		"changed": bob[:len(bob)-2] + "xx", "half": bob[:len(bob)/2],
	} {
		code, _ := see(token)
		require.Equal(t, http.StatusUnauthorized, code, name)
	}
}

// selfSigned makes a certificate for localhost in files whose names begin so, and returns who trusts it.
func selfSigned(t *testing.T, name string) *x509.CertPool {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	write := func(path, kind string, content []byte, mode os.FileMode) {
		var text bytes.Buffer
		require.NoError(t, pem.Encode(&text, &pem.Block{Type: kind, Bytes: content}))
		require.NoError(t, os.WriteFile(path, text.Bytes(), mode))
	}
	write(name+".crt", "CERTIFICATE", der, 0o644)
	write(name+".key", "PRIVATE KEY", secret, 0o600)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return roots
}

// uid returns the number of a user of the pool.
func (p *ourPool) uid(t *testing.T, name string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.Dir, "etc", "passwd"))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if fields := strings.Split(line, ":"); fields[0] == name {
			uid, err := strconv.Atoi(fields[2])
			require.NoError(t, err)
			return uid
		}
	}
	require.Fail(t, "there is no such user", name)
	return 0
}
