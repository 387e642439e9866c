package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/poll"
)

// TestAPIOfARun asks a pool that runs for all that its API has, and checks each answer by the schema in
// the description that it gives of itself.
func TestAPIOfARun(t *testing.T) {
	cmd, _, _ := launched(t, "--policy", "slack", "--speed", "30", "--http", "127.0.0.1:0", "--http-names", "none")
	cmd.Stderr = nil
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines, at := bufio.NewReader(stderr), ""
	for at == "" {
		line, failed := lines.ReadString('\n')
		require.NoError(t, failed)
		at = regexp.MustCompile(`http://[0-9.:]+`).FindString(line)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // until it ends
	ask := func(method, path, body string) (int, []byte) {
		r, failed := http.NewRequestWithContext(t.Context(), method, at+path, strings.NewReader(body))
		require.NoError(t, failed)
		answer, failed := http.DefaultClient.Do(r)
		require.NoError(t, failed)
		defer answer.Body.Close() //nolint:errcheck // a test's
		text, failed := io.ReadAll(answer.Body)
		require.NoError(t, failed)
		return answer.StatusCode, text
	}
	_, description := ask(http.MethodGet, "/api/v1/openapi.json", "")
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(description))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	require.NoError(t, compiler.AddResource("openapi.json", document))
	check := func(name string, text []byte) {
		schema, failed := compiler.Compile("openapi.json#/components/schemas/" + name)
		require.NoError(t, failed)
		value, failed := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		require.NoError(t, failed, "%s", text)
		require.NoError(t, schema.Validate(value), "%s: %s", name, text)
		require.NotContains(t, string(text), "alice", "names are hidden")
	}
	var queue struct{ Rows []struct{ Job string } }
	poll.Equal(t, true, func() bool {
		_, text := ask(http.MethodGet, "/api/v1/queue", "")
		return json.Unmarshal(text, &queue) == nil && len(queue.Rows) > 0
	})
	for _, one := range [][4]string{
		{"GET", "/api/v1/picture", "", "Picture"},
		{"GET", "/api/v1/queue?alike=1", "", "Queue"},
		{"GET", "/api/v1/jobs/" + url.PathEscape(queue.Rows[0].Job), "", "Job"},
		{"GET", "/api/v1/promises", "", "Promises"},
		{"GET", "/api/v1/pool", "", "Pool"},
		{"GET", "/api/v1/me", "", "Me"},
		{"POST", "/api/v1/what-if", `{"policy":"easy"}`, "Answer"},
		{"POST", "/api/v1/what-if", `{"job":{"ad":"RequestCpus = 1\nRequestMemory = 1\nRequestDisk = 1\nRequirements = true","seconds":60}}`, "Answer"},
		{"POST", "/api/v1/what-if", `{}`, "Error"},
	} {
		status, text := ask(one[0], one[1], one[2])
		require.Equal(t, one[3] == "Error", status >= 400, "%s: %s", one[1], text)
		check(one[3], text)
	}
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait()
}
