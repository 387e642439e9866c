package livepage

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage/access"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/promises"
)

// operation is what the description says of a route.
type operation struct {
	Parameters []struct {
		Name, In    string
		Description string
	}
	RequestBody *struct{ Required bool }
	Responses   map[string]struct{ Description string }
}

// described reads the description, and how to check values by its schemas.
func described(t *testing.T) (paths map[string]map[string]operation, check func(where string, value []byte)) {
	t.Helper()
	var all struct {
		Paths map[string]map[string]operation
	}
	require.NoError(t, json.Unmarshal(description, &all))
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(description))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	require.NoError(t, c.AddResource("openapi.json", document))
	return all.Paths, func(where string, text []byte) {
		t.Helper()
		schema, failed := c.Compile("openapi.json#" + where)
		require.NoError(t, failed, where)
		value, failed := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		require.NoError(t, failed, "%s", text)
		require.NoError(t, schema.Validate(value), "%s: %s", where, text)
	}
}

// schemaOf is where the schema of an answer is.
func schemaOf(method, path, code string) string {
	path = strings.ReplaceAll(strings.ReplaceAll(path, "~", "~0"), "/", "~1")
	path = strings.NewReplacer("{", "%7B", "}", "%7D").Replace(path)
	return "/paths/" + path + "/" + strings.ToLower(method) + "/responses/" + code + "/content/application~1json/schema"
}

// TestDescription holds the description against the handlers: each route and each parameter is in it, and
// nothing else.
func TestDescription(t *testing.T) {
	s, _ := served(t)
	paths, _ := described(t)
	var want, got []string
	for _, one := range s.api() {
		want = append(want, one.method+" "+one.path)
		about, there := paths[one.path][strings.ToLower(one.method)]
		require.True(t, there, one.path)
		var query, inPath []string
		for _, p := range about.Parameters {
			require.NotEmpty(t, p.Description, p.Name)
			switch p.In {
			case "query":
				query = append(query, p.Name)
			case "path":
				inPath = append(inPath, "{"+p.Name+"}")
			}
		}
		require.Equal(t, one.parameters, query, one.path)
		require.Equal(t, strings.Contains(one.path, "{"), len(inPath) > 0)
		for _, name := range inPath {
			require.Contains(t, one.path, name)
		}
		require.Equal(t, one.method == http.MethodPost, about.RequestBody != nil)
	}
	for path, methods := range paths {
		for method := range methods {
			got = append(got, strings.ToUpper(method)+" "+path)
		}
	}
	require.ElementsMatch(t, want, got)
}

// TestAnswersAreAsDescribed asks for all there is, in the forms that there are, and checks each answer
// by its schema, errors included.
func TestAnswersAreAsDescribed(t *testing.T) {
	paths, check := described(t)
	for _, names := range []access.Names{access.All, access.Own, access.None} {
		s, _ := served(t)
		s.Hide(access.NewAliases(names))
		early := ask(s, "GET", "http://localhost/api/v1/pool", "")
		require.Equal(t, 503, early.Code)
		check(schemaOf("GET", "/api/v1/pool", "503"), early.Body.Bytes())
		s.Show(scene(5, 6))
		s.Broke(promises.Broken{ID: 1, Job: "1.0", Owner: "ann", Promised: 4, Now: picture.At(9), Cause: "job changed", At: 5})
		ask(s, "GET", "http://localhost/api/v1/picture", "")
		s.Show(scene(300, 3))
		bare := scene(500, 1)
		bare.Head.Problems = nil
		s.Show(bare)
		asked := map[string]bool{}
		for _, one := range []struct{ method, target, body, path, code string }{
			{"GET", "/api/v1/picture", "", "/api/v1/picture", "200"},
			{"GET", "/api/v1/queue", "", "/api/v1/queue", "200"},
			{"GET", "/api/v1/queue?alike=1&sort=owner&descending=1&limit=1&offset=0&search=a", "", "/api/v1/queue", "200"},
			{"GET", "/api/v1/queue?owner=x&group=y&autocluster=0&situation=held", "", "/api/v1/queue", "200"},
			{"GET", "/api/v1/queue?sort=nothing", "", "/api/v1/queue", "400"},
			{"GET", "/api/v1/queue?sorted=owner", "", "/api/v1/queue", "400"},
			{"GET", "/api/v1/queue?%zz", "", "/api/v1/queue", "400"},
			{"GET", "/api/v1/jobs/1.0", "", "/api/v1/jobs/{job}", "200"},
			{"GET", "/api/v1/jobs/99.0", "", "/api/v1/jobs/{job}", "404"},
			{"GET", "/api/v1/promises", "", "/api/v1/promises", "200"},
			{"GET", "/api/v1/pool", "", "/api/v1/pool", "200"},
			{"POST", "/api/v1/what-if", `{"policy":"easy"}`, "/api/v1/what-if", "200"},
			{"POST", "/api/v1/what-if", `{}`, "/api/v1/what-if", "400"},
			{"GET", "/api/v1/me", "", "/api/v1/me", "200"},
			{"GET", "/api/v1/openapi.json", "", "/api/v1/openapi.json", "200"},
		} {
			out := ask(as("ann@pool.test", s), one.method, "http://localhost"+one.target, one.body)
			got := out.Body.Bytes()
			require.Equal(t, one.code, strconv.Itoa(out.Code), "%s: %s", one.target, got)
			require.Equal(t, "application/json", out.Header().Get("Content-Type"), one.target)
			check(schemaOf(one.method, one.path, one.code), got)
			if one.body != "" && one.code == "200" {
				check("/components/schemas/Question", []byte(one.body))
			}
			asked[one.path] = true
		}
		asked["/api/v1/events"] = true
		require.ElementsMatch(t, slices.Collect(maps.Keys(paths)), slices.Collect(maps.Keys(asked)))
		events, _, _, known := s.hub.since(1)
		require.True(t, known)
		require.NotEmpty(t, events)
		for _, event := range events {
			_, data, _ := strings.Cut(string(event), "data: ")
			check("/components/schemas/Difference", []byte(data))
		}
	}
}

// TestOtherRoutes checks that whatever is not there gets an error, in JSON below /api.
func TestOtherRoutes(t *testing.T) {
	s, _ := served(t)
	s.Show(scene(1, 1))
	for request, want := range map[string]int{
		"POST /api/v1/queue": 405, "PUT /api/v1/what-if": 405, "GET /api/v1/what-if": 405, "OPTIONS /api/v1/queue": 405,
		"GET /api": 307, "GET /api/": 404, "GET /api/v2/queue": 404, "GET /api/v1/jobs/": 404, "GET /api/v1/picture/x": 404,
		"HEAD /api/v1/queue": 200, "HEAD /": 200, "HEAD /api/v1/events": 405, "GET /nothing": 404, "GET /assets/../livepage.go": 307, "GET /assets/..%2fdoc.go": 404,
		"GET /assets/%00": 404, "GET /api/v1/jobs/..%2F..%2Fetc%2Fpasswd": 200, "GET /api/v1/jobs/%ff": 200,
		"GET /api/v1/me?x=%ff": 400, "DELETE /api/v1/me": 405, "TRACE /": 405, "POST /": 405,
	} {
		method, target, _ := strings.Cut(request, " ")
		out := ask(s, method, "http://localhost"+target, "")
		require.Equal(t, want, out.Code, request)
		if strings.HasPrefix(target, "/api/") && want >= 400 {
			require.Regexp(t, `^{"error":".+"}\n$`, out.Body.String(), request)
		}
	}
}
