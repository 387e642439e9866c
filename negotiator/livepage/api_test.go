package livepage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
)

// source is a pool that knows one answer to each question.
type source struct{}

func (source) Explain(_ context.Context, _ livepage.Asker, job string) (livepage.Explained, error) {
	if job == "gone" {
		return livepage.Explained{}, &livepage.NoJobError{Err: errors.New("there is no job gone")}
	}
	return livepage.Explained{Text: "explains " + job}, nil
}

func (source) WhatIf(_ context.Context, who livepage.Asker, question string) ([]byte, error) {
	switch {
	case strings.Contains(question, "bad"):
		return nil, &livepage.BadError{Err: errors.New("nothing is asked")}
	case strings.Contains(question, "busy"):
		return nil, errors.New("busy")
	}
	return fmt.Appendf(nil, `{"asked":%q,"from":%q}`, question, who.Address), nil
}

func (source) Pool() livepage.Pool {
	return livepage.Pool{Policy: livepage.Policy{Name: "slack"}, Shares: map[string]livepage.Share{"ann": {Priority: 2, Deserved: 5}}}
}

// job is one that waits for its start.
func job(id int64, owner, situation string, cpus, requested, start int64) picture.Job {
	j := picture.Job{Bar: picture.Bar{
		ID: backfill.JobID(id), Name: fmt.Sprintf("%d.0", id), Owner: owner, Situation: situation, Cpus: cpus, Submit: id,
		At: []picture.Piece{{Slot: 0, Cpus: cpus}},
	}, Position: int(id), Requested: requested, Reason: "waits for " + owner}
	if start != 0 {
		j.Start = picture.Moment{At: start, Known: true}
	}
	return j
}

// shown is a server with a picture.
func shown() *livepage.Server {
	s := livepage.New(source{}, "e1")
	s.Show(&picture.Picture{
		Head: picture.Head{Now: 100, Resources: []string{"cpus"}, Capacity: []int64{8}, Use: []int64{2}, Further: 7},
		Jobs: []picture.Job{
			job(1, "ann", "reserved", 4, 60, 300), job(2, "bob", "waits", 1, 60, 0), job(3, "ann", "reserved", 4, 60, 200),
			job(4, "ann", "reserved", 4, 90, 400), job(5, "eve", "held", 2, 60, 0), job(6, "ann", "reserved", 4, 60, 250),
			job(7, "ann", "runs", 2, 60, 50),
		},
	})
	return s
}

// get returns the status and the body of an answer.
func get(t *testing.T, handler http.Handler, path string) (int, string) {
	t.Helper()
	out := httptest.NewRecorder()
	handler.ServeHTTP(out, httptest.NewRequest(http.MethodGet, path, nil))
	text, err := io.ReadAll(out.Result().Body)
	require.NoError(t, err)
	return out.Code, string(text)
}

// queue is what the list of those who wait says.
type queue struct {
	Total, Jobs, Offset, Further int
	Rows                         []livepage.Row
	Owners                       []string
}

func list(t *testing.T, s http.Handler, query string) (q queue) {
	t.Helper()
	code, text := get(t, s, "/api/v1/queue"+query)
	require.Equal(t, http.StatusOK, code, text)
	require.NoError(t, json.Unmarshal([]byte(text), &q))
	return q
}

func names(q queue) (all []string) {
	for _, r := range q.Rows {
		all = append(all, r.Name)
	}
	return all
}

// TestQueue sorts and filters those who wait.
func TestQueue(t *testing.T) {
	s := shown()
	for query, want := range map[string]string{
		"":                              "1.0 2.0 3.0 4.0 5.0 6.0",
		"?sort=start":                   "3.0 6.0 1.0 4.0 2.0 5.0",
		"?sort=start&descending=1":      "2.0 5.0 4.0 1.0 6.0 3.0",
		"?sort=requested&descending=1":  "4.0 1.0 2.0 3.0 5.0 6.0",
		"?sort=owner":                   "1.0 3.0 4.0 6.0 2.0 5.0",
		"?sort=cpus":                    "2.0 5.0 1.0 3.0 4.0 6.0",
		"?owner=ann":                    "1.0 3.0 4.0 6.0",
		"?situation=held":               "5.0",
		"?search=FOR%20BOB":             "2.0",
		"?search=4.0":                   "4.0",
		"?offset=4":                     "5.0 6.0",
		"?offset=2&limit=2":             "3.0 4.0",
		"?offset=99":                    "",
		"?autocluster=0&owner=eve":      "5.0",
		"?autocluster=3":                "",
		"?alike=1":                      "1.0 2.0 4.0 5.0",
		"?alike=1&sort=jobs&limit=2":    "2.0 4.0",
		"?owner=nobody&sort=guarantee":  "",
		"?sort=submit&owner=ann&alike=": "1.0 3.0 4.0 6.0",
	} {
		require.Equal(t, want, strings.Join(names(list(t, s, query)), " "), query)
	}
	all := list(t, s, "?owner=ann&limit=1")
	require.Equal(t, []string{"ann", "bob", "eve"}, all.Owners, "of all who wait")
	require.Equal(t, 4, all.Total)
	require.Equal(t, 7, all.Further)
	alike := list(t, s, "?alike=1")
	require.Equal(t, 6, alike.Jobs)
	first := alike.Rows[0]
	require.Equal(t, 3, first.Jobs)
	require.Equal(t, int64(200), first.Start.At, "the first start of the three")
	require.Equal(t, int64(300), first.Last.At)
}

// TestBadQueries are refused with what is right.
func TestBadQueries(t *testing.T) {
	s := shown()
	for query, want := range map[string]string{
		"?sort=name":         "must be position",
		"?limit=0":           "must be from 1 to 1000",
		"?limit=1001":        "must be from 1 to 1000",
		"?offset=-1":         "must be from 0",
		"?offset=x":          "must be from 0",
		"?alike=yes":         "must be 0 or 1",
		"?descending=%00":    "must be 0 or 1",
		"?limit=99999999999": "must be from 1 to 1000",
	} {
		code, text := get(t, s, "/api/v1/queue"+query)
		require.Equal(t, http.StatusBadRequest, code, query)
		var told struct{ Error string }
		require.NoError(t, json.Unmarshal([]byte(text), &told), text)
		require.Contains(t, told.Error, want, query)
	}
}

// TestJob tells all that is known of a job.
func TestJob(t *testing.T) {
	s := shown()
	code, text := get(t, s, "/api/v1/jobs/3.0")
	require.Equal(t, http.StatusOK, code)
	var told struct {
		Row     livepage.Row
		Text    string
		History []struct{ Start int64 }
	}
	require.NoError(t, json.Unmarshal([]byte(text), &told))
	require.Equal(t, "explains 3.0", told.Text)
	require.Equal(t, "ann", told.Row.Owner)
	require.Equal(t, int64(200), told.History[0].Start)
	code, text = get(t, s, "/api/v1/jobs/gone")
	require.Equal(t, http.StatusNotFound, code)
	require.Contains(t, text, "there is no job gone")
	code, _ = get(t, s, "/api/v1/jobs/%3Cscript%3E%2F..%2F")
	require.Equal(t, http.StatusOK, code)
}

// TestPool says who uses how much, and what is deserved.
func TestPool(t *testing.T) {
	code, text := get(t, shown(), "/api/v1/pool")
	require.Equal(t, http.StatusOK, code)
	var told struct {
		Users []struct {
			User               string
			Cpus, Wanted       int64
			Running, Waiting   int
			Priority, Deserved float64
		}
		Resources []struct {
			Name          string
			Capacity, Use int64
		}
		History []struct{ At int64 }
		Policy  struct{ Name string }
	}
	require.NoError(t, json.Unmarshal([]byte(text), &told))
	require.Equal(t, "ann", told.Users[0].User)
	require.Equal(t, int64(2), told.Users[0].Cpus)
	require.Equal(t, int64(16), told.Users[0].Wanted)
	require.InDelta(t, 5, told.Users[0].Deserved, 0)
	require.Equal(t, []string{"ann", "bob", "eve"}, []string{told.Users[0].User, told.Users[1].User, told.Users[2].User})
	require.Equal(t, int64(8), told.Resources[0].Capacity)
	require.Len(t, told.History, 1)

	s := shown()
	s.Show(&picture.Picture{Head: picture.Head{Now: 150}})
	_, text = get(t, s, "/api/v1/pool")
	require.Contains(t, text, `{"user":"ann","cpus":0,"running":0,"waiting":0,"wanted":0,"used":100`, "two cpus for 50 s")
	require.Equal(t, "slack", told.Policy.Name)
}

// TestWhatIf passes questions on and tells whose fault an error is.
func TestWhatIf(t *testing.T) {
	s := shown()
	for question, want := range map[string]int{
		`{"policy":"easy"}`: http.StatusOK, "bad": http.StatusBadRequest, "busy": http.StatusServiceUnavailable,
		strings.Repeat("x", 65<<10): http.StatusBadRequest,
	} {
		out := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/api/v1/what-if", strings.NewReader(question))
		s.ServeHTTP(out, r)
		require.Equal(t, want, out.Code, "%.20s", question)
		require.Equal(t, "application/json", out.Header().Get("Content-Type"))
	}
}

// TestNothingYet: before the first picture there is a reason, and no page of nothing.
func TestNothingYet(t *testing.T) {
	s := livepage.New(source{}, "e")
	for _, path := range []string{"picture", "queue", "promises", "pool"} {
		code, text := get(t, s, "/api/v1/"+path)
		require.Equal(t, http.StatusServiceUnavailable, code, path)
		require.Contains(t, text, "no cycle has ended yet")
	}
}

// TestHistoryIsBounded: however long a pool runs, so many samples are kept, from its beginning on.
func TestHistoryIsBounded(t *testing.T) {
	s := livepage.New(source{}, "e")
	for i := range int64(10_000) {
		s.Show(&picture.Picture{Head: picture.Head{Now: i}})
	}
	_, text := get(t, s, "/api/v1/pool")
	var told struct{ History []struct{ At int64 } }
	require.NoError(t, json.Unmarshal([]byte(text), &told))
	require.LessOrEqual(t, len(told.History), 1024)
	require.Greater(t, len(told.History), 256)
	require.Zero(t, told.History[0].At)
	require.True(t, slices.IsSortedFunc(told.History, func(a, b struct{ At int64 }) int { return int(a.At - b.At) }))
}

// TestAnswersAreMadeOnce: who asks the same of one picture gets the same answer, and another one of the next.
func TestAnswersAreMadeOnce(t *testing.T) {
	counted := &counting{}
	s := livepage.New(counted, "e")
	s.Show(&picture.Picture{Head: picture.Head{Now: 1}})
	for range 5 {
		code, text := get(t, s, "/api/v1/pool")
		require.Equal(t, http.StatusOK, code)
		require.Contains(t, text, `"now":1`)
	}
	require.Equal(t, 1, counted.pools)
	s.Show(&picture.Picture{Head: picture.Head{Now: 2}})
	_, text := get(t, s, "/api/v1/pool")
	require.Contains(t, text, `"now":2`)
	require.Equal(t, 2, counted.pools)
	require.NotEqual(t, list(t, s, "?sort=start"), list(t, s, "?limit=1&offset=3"), "of other requests")
}

// counting counts how often it is asked.
type counting struct {
	source
	pools int
}

func (c *counting) Pool() livepage.Pool {
	c.pools++
	return c.source.Pool()
}
