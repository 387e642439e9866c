package livepage

import (
	"cmp"
	_ "embed" // the description
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage/access"
)

// route is one of the API. openapi.json describes it.
type route struct {
	method, path string
	parameters   []string // of its query
	serve        http.HandlerFunc
}

// api lists the routes.
func (s *Server) api() []route {
	list := []string{
		"sort", "descending", "owner", "group", "autocluster", "situation", "search", "alike", "offset", "limit",
	}
	return []route{
		{http.MethodGet, "/api/v1/picture", nil, s.hub.picture},
		{http.MethodGet, "/api/v1/events", []string{"epoch", "version"}, s.hub.events},
		{http.MethodGet, "/api/v1/queue", list, s.queue},
		{http.MethodGet, "/api/v1/jobs/{job}", nil, s.job},
		{http.MethodGet, "/api/v1/promises", nil, s.promises},
		{http.MethodGet, "/api/v1/pool", nil, s.pool},
		{http.MethodPost, "/api/v1/what-if", nil, s.whatIf},
		{http.MethodGet, "/api/v1/me", nil, s.me},
		{http.MethodGet, "/api/v1/openapi.json", nil, describe},
	}
}

func (s *Server) routes() {
	static(s.mux)
	for _, one := range s.api() {
		s.mux.HandleFunc(one.method+" "+one.path, one.checked)
		s.mux.HandleFunc(one.path, func(out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Allow", one.method)
			access.Refuse(out, http.StatusMethodNotAllowed, "only "+one.method+" is served here")
		})
	}
	s.mux.HandleFunc("/api/", func(out http.ResponseWriter, _ *http.Request) {
		access.Refuse(out, http.StatusNotFound, "there is nothing here: see /api/v1/openapi.json")
	})
}

// checked serves a request, unless it has parameters that the route does not have: a misspelt one would
// silently do nothing.
func (one route) checked(out http.ResponseWriter, r *http.Request) {
	given, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		access.Refuse(out, http.StatusBadRequest, "the parameters cannot be read")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(one.parameters, name) {
			access.Refuse(out, http.StatusBadRequest, fmt.Sprintf("there is no parameter %.40q: there are %s", name,
				cmp.Or(strings.Join(one.parameters, ", "), "none")))
			return
		}
	}
	one.serve(out, r)
}

//go:embed openapi.json
var description []byte

// describe tells the description of the API.
func describe(out http.ResponseWriter, _ *http.Request) {
	out.Header().Set("Content-Type", "application/json")
	_, _ = out.Write(description) // the client may have gone
}
