package livepage

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage/access"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/promises"
)

// as has requests come from a user.
func as(user string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(out, r.WithContext(access.With(r.Context(), access.Viewer{User: user})))
	})
}

// everything are all requests whose answers name users.
var everything = []struct{ method, target, body string }{
	{"GET", "/api/v1/picture", ""},
	{"GET", "/api/v1/queue", ""},
	{"GET", "/api/v1/queue?alike=1&sort=owner", ""},
	{"GET", "/api/v1/jobs/1.0", ""},
	{"GET", "/api/v1/jobs/2.0", ""},
	{"GET", "/api/v1/jobs/secret", ""},
	{"GET", "/api/v1/jobs/77.0", ""},
	{"GET", "/api/v1/promises", ""},
	{"GET", "/api/v1/pool", ""},
	{"POST", "/api/v1/what-if", `{"policy":"easy"}`},
	{"POST", "/api/v1/what-if", `{"bob":1}`},
	{"GET", "/api/v1/me", ""},
}

// TestNoAnswerTellsNames asks for all there is, as somebody who may see all names, his own, or none, and
// checks that what he may not see is nowhere: not in fields, not in texts, and not in differences.
func TestNoAnswerTellsNames(t *testing.T) {
	for _, one := range []struct {
		names      access.Names
		user       string
		seen, none []string
	}{
		{access.All, "", []string{"ann", "bob", "phys", "secret", `Eve \u003cb`}, nil},
		{access.Own, "ann@pool.test", []string{"ann"}, []string{"bob", "phys", "secret", "Eve", "bio"}},
		{access.Own, "bob", []string{"bob", "phys", "secret"}, []string{`"ann`, "Eve", "bio"}},
		{access.Own, "", nil, []string{`"ann`, "bob", "phys", "secret", "Eve", "bio"}},
		{access.None, "ann", nil, []string{`"owner":"ann`, "of ann ", "bob", "phys", "secret", "Eve", "bio"}},
	} {
		s, pool := served(t)
		s.Hide(access.NewAliases(one.names))
		s.Show(scene(5, 6))
		s.Broke(promises.Broken{ID: 1, Job: "secret", Owner: "bob", Promised: 4, Now: picture.At(9), Cause: "bob's job came", At: 5})
		s.Show(scene(6, 5))
		h := as(one.user, s)
		var all strings.Builder
		for _, request := range everything {
			got := text(t, ask(h, request.method, "http://localhost"+request.target, request.body))
			if !strings.Contains(got, "no job \\\"secret") && !strings.Contains(got, "unknown field") { // it repeats what was asked
				all.WriteString(got)
			}
		}
		events, _, _, _ := s.hub.since(1)
		for _, event := range events {
			all.Write(event)
		}
		told := strings.ReplaceAll(all.String(), `"user":"`+one.user+`","names"`, "") // of /me
		for _, name := range one.seen {
			require.Contains(t, told, name, "%v as %q", one.names, one.user)
		}
		for _, name := range one.none {
			require.NotContains(t, told, name, "%v as %q", one.names, one.user)
		}
		require.Equal(t, one.user, pool.asked.User)
	}
}

// TestNamesOfRows checks that what a viewer may not see is neither found by its name nor sorted by it,
// and that pseudonyms work as names do.
func TestNamesOfRows(t *testing.T) {
	s, _ := served(t)
	s.Hide(access.NewAliases(access.Own))
	s.Show(scene(5, 6))
	rows := func(user, query string) (owners []string) {
		var a queueAnswer
		require.NoError(t, json.Unmarshal([]byte(text(t, ask(as(user, s), "GET", "http://localhost/api/v1/queue?"+query, ""))), &a))
		for _, r := range a.Rows {
			owners = append(owners, r.Owner)
		}
		return owners
	}
	require.Equal(t, []string{"ann", "user 2", "user 3", "ann", "user 2", "user 3"}, rows("ann", ""))
	require.Empty(t, rows("ann", "owner=bob"))
	require.Empty(t, rows("ann", "search=bob"))
	require.Len(t, rows("ann", "owner=user+2"), 2)
	require.Len(t, rows("ann", "owner=ann"), 2)
	require.Len(t, rows("bob", "group=phys"), 2)
	require.Empty(t, rows("ann", "group=phys"))
	var job jobAnswer
	require.NoError(t, json.Unmarshal([]byte(text(t, ask(as("bob", s), "GET", "http://localhost/api/v1/jobs/secret", ""))), &job))
	require.Equal(t, "secret: waits behind bob's job secret", job.Text)
	require.NoError(t, json.Unmarshal([]byte(text(t, ask(as("ann", s), "GET", "http://localhost/api/v1/jobs/%231048576", ""))), &job))
	require.Equal(t, "#1048576: waits behind user 2's job #1048576", job.Text)
	require.Equal(t, 404, ask(as("ann", s), "GET", "http://localhost/api/v1/jobs/secret", "").Code)
	var me meAnswer
	require.NoError(t, json.Unmarshal([]byte(text(t, ask(as("ann@x", s), "GET", "http://localhost/api/v1/me", ""))), &me))
	require.Equal(t, []ownName{{"ann", "user 1"}}, me.Own)
}

// TestErrorsTellNoPseudonyms guesses names, and checks that the answer does not tell which pseudonyms
// they have, nor that there are such users.
func TestErrorsTellNoPseudonyms(t *testing.T) {
	s, _ := served(t)
	s.Hide(access.NewAliases(access.Own))
	s.Show(scene(5, 6))
	told := func(user, name string) string {
		return text(t, ask(as(user, s), "POST", "http://localhost/api/v1/what-if", `{"`+name+`":1}`))
	}
	require.NotContains(t, told("ann", "bob"), "user")
	require.Equal(t, told("ann", "nobody"), told("ann", "bob"))
	require.Equal(t, told("ann", "nobody"), told("ann", `b\"ob`))
	bare := &BadError{errors.New("bob is no policy")}
	require.NotRegexp(t, "bob|user", maskError(bare, s.aliases.For(access.Viewer{User: "ann"})).Error())
}
