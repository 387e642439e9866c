package process

import (
	"bytes"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/access"
)

// serving makes a process as far as it serves HTTP at an address.
func serving(address string) (*process, *bytes.Buffer) {
	log := &bytes.Buffer{}
	p := &process{server: &security.Server{}, hidden: access.NewAliases(access.All)}
	p.Logger = hclog.New(&hclog.LoggerOptions{Output: log})
	p.site.Config, p.site.Settings.HTTP = condorconfig.Parse("", ""), address
	p.daemon = daemon.New(daemon.Options{Logger: p.Logger})
	return p, log
}

// TestARefusedAddress checks that an address that others can reach ends a negotiator that somebody starts
// by hand, who sees why, and is an error of the log of one that condor_master starts.
func TestARefusedAddress(t *testing.T) {
	p, _ := serving(":0")
	_, err := p.serveHTTP(t.Context(), &server.Negotiator{})
	require.ErrorContains(t, err, "--http :0 (BACKFILL_HTTP): other machines can reach this address")
	require.Error(t, checkHTTP(t.Context(), &p.site))
	p, log := serving(":0")
	p.site.Inherited.Parent = 1
	wait, err := p.serveHTTP(t.Context(), &server.Negotiator{})
	require.NoError(t, err)
	wait()
	require.Regexp(t, `\[ERROR\] nothing is served over HTTP: .*BACKFILL_HTTP`, log.String())
	p, _ = serving("127.0.0.1:0")
	require.NoError(t, checkHTTP(t.Context(), &p.site))
	p.site.Settings.HTTPToken = filepath.Join(t.TempDir(), "none")
	require.ErrorContains(t, checkHTTP(t.Context(), &p.site), "no such file")
}

// TestThePoolsTokens checks that a token of the pool opens the page, and tells whose it is.
func TestThePoolsTokens(t *testing.T) {
	key := security.NewSigningKey("POOL", []byte("k"))
	p, log := serving("127.0.0.1:0")
	p.server = &security.Server{
		Domain: "pool.test", TrustDomain: "pool.test", Keys: map[string]security.SigningKey{"POOL": key},
		Methods: []security.Method{security.Token},
	}
	wait, err := p.serveHTTP(t.Context(), &server.Negotiator{})
	require.NoError(t, err)
	defer wait()
	url := regexp.MustCompile(`http://[0-9.:]+`).FindString(log.String())
	ask := func(token string) (int, string) {
		r, failed := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/v1/me", nil)
		require.NoError(t, failed)
		r.Header.Set("Authorization", "Bearer "+token)
		answer, failed := http.DefaultClient.Do(r)
		require.NoError(t, failed)
		defer answer.Body.Close() //nolint:errcheck // a test's
		text, failed := io.ReadAll(answer.Body)
		require.NoError(t, failed)
		return answer.StatusCode, string(text)
	}
	token, err := key.Sign("POOL", "pool.test", "ann@pool.test", 1000, security.Read)
	require.NoError(t, err)
	code, text := ask(token)
	require.Equal(t, http.StatusOK, code)
	require.JSONEq(t, `{"user":"ann@pool.test","names":"all"}`, text)
	code, text = ask(token + "x")
	require.Equal(t, http.StatusUnauthorized, code)
	require.JSONEq(t, `{"error":"that token does not open this page"}`, text)
}
