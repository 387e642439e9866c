package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// get asks the page of a rehearsal.
func get(t *testing.T, p *Rehearsal, method, path, body string, into any) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, p.URL()+path, strings.NewReader(body))
	require.NoError(t, err)
	reply, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer reply.Body.Close() //nolint:errcheck // it is read
	text, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	if into != nil {
		require.NoError(t, json.Unmarshal(text, into), "%s", text)
	}
	return reply.StatusCode
}

// crowd is a trace of jobs that come faster than they can run.
func crowd() string {
	var text strings.Builder
	text.WriteString("; MaxProcs: 4\n")
	for i := range 120 {
		fmt.Fprintf(&text, "%d %d -1 %d %d -1 -1 %d %d -1 1 %d -1 -1 -1 -1 -1 -1\n", i+1, 20*i, 30+7*(i%11), 1+i%4, 1+i%4, 60+20*(i%11), i%5)
	}
	return text.String()
}

// shown runs a workload with its page, waits for the picture of some cycles, and calls the function before
// each instant.
func shown(t *testing.T, policy string, before func(p *Rehearsal, now backfill.Time)) (*Rehearsal, *condorsim.Result) {
	t.Helper()
	p := rehearse(t, policy, fourCpus, crowd())
	var seconds atomic.Int64
	result, err := p.Run(t.Context(), Stage{
		HTTP: "localhost:0", Clock: func() time.Time { return time.Unix(seconds.Add(1), 0) },
		Rest: func(context.Context, time.Duration) {},
		Pace: func(_ context.Context, now backfill.Time) error {
			if now >= 600 && now < 800 { // each cycle is seen, however busy the machine is
				poll.Equal(t, int64(p.served.at), func() int64 {
					var seen struct{ Now int64 }
					get(t, p, http.MethodGet, "/api/v1/pool", "", &seen)
					return seen.Now
				})
			}
			if before != nil {
				before(p, now)
			}
			return nil
		},
	})
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.ShowEnd(ctx)
	}()
	t.Cleanup(func() { end(); <-ended })
	return p, result
}

// TestThePageOfARun asks the page while a simulation runs, and once it has ended.
func TestThePageOfARun(t *testing.T) {
	asked := 0
	p, result := shown(t, "conservative", func(p *Rehearsal, now backfill.Time) {
		if now < 600 || asked > 0 {
			return
		}
		asked++
		var job struct {
			Row  struct{ Job, Owner, Situation string }
			Text string
			Fit  struct{ Slots, Matching int }
		}
		require.Equal(t, http.StatusOK, get(t, p, http.MethodGet, "/api/v1/jobs/29", "", &job))
		require.Contains(t, job.Text, "guaranteed by")
		require.Equal(t, 1, job.Fit.Matching)
		for question, want := range map[string]int{
			`{"policy":"easy"}`: http.StatusOK, `{"policy":"easy","options":{"a":"b"}}`: http.StatusBadRequest,
			`{"job":{"ad":"RequestCpus = 1\nRequirements = true\n","seconds":60}}`: http.StatusOK,
			`{"job":{"ad":"RequestCpus = 99\nRequirements = true\n"}}`:             http.StatusBadRequest,
			`{}`: http.StatusBadRequest, `nonsense`: http.StatusBadRequest,
		} {
			var answer map[string]any
			require.Equal(t, want, get(t, p, http.MethodPost, "/api/v1/what-if", question, &answer), "%s: %v", question, answer)
		}
	})
	require.Equal(t, 1, asked)
	var end struct {
		Head struct {
			Over           bool
			Now            int64
			Ended, Waiting int
		}
	}
	poll.Equal(t, true, func() bool {
		get(t, p, http.MethodGet, "/api/v1/picture", "", &end)
		return end.Head.Over
	})
	require.Equal(t, 120, end.Head.Ended)
	require.Zero(t, end.Head.Waiting)
	last := backfill.Time(0)
	for _, o := range result.Outcomes {
		last = max(last, o.End)
	}
	require.Equal(t, int64(last), end.Head.Now)
	var told struct {
		Guarantees struct{ Given, Kept, Broken, Open int }
		Starts     []struct{ Job string }
	}
	require.Equal(t, http.StatusOK, get(t, p, http.MethodGet, "/api/v1/promises", "", &told))
	require.Zero(t, told.Guarantees.Open)
	require.Zero(t, told.Guarantees.Broken)
	require.Positive(t, told.Guarantees.Kept)
	require.NotEmpty(t, told.Starts)
	var job struct{ Text string }
	require.Equal(t, http.StatusOK, get(t, p, http.MethodGet, "/api/v1/jobs/29", "", &job))
	require.Contains(t, job.Text, "has ended")
	require.Equal(t, http.StatusNotFound, get(t, p, http.MethodGet, "/api/v1/jobs/1000", "", nil))
	require.Equal(t, http.StatusOK, get(t, p, http.MethodGet, "/metrics", "", nil))
}

// TestThePageChangesNothing: the schedule is the same whether somebody looks or not.
func TestThePageChangesNothing(t *testing.T) {
	_, result := shown(t, "slack", nil)
	alone := rehearse(t, "slack", fourCpus, crowd())
	other, err := alone.Run(t.Context(), Stage{Clock: time.Now})
	require.NoError(t, err)
	for i, o := range other.Outcomes {
		require.Equal(t, []backfill.Time{o.Start, o.End}, []backfill.Time{result.Outcomes[i].Start, result.Outcomes[i].End}, i)
	}
}

// TestRangesOfAnEarlierCycle: what was played some time ago is told as far as it can still be so.
func TestRangesOfAnEarlierCycle(t *testing.T) {
	p := rehearse(t, "conservative", fourCpus, "; MaxProcs: 4\n1 0 -1 900 4 -1 -1 4 1000 -1 1 7 -1 -1 -1 -1 -1 -1\n"+
		"2 10 -1 60 4 -1 -1 4 100 -1 1 7 -1 -1 -1 -1 -1 -1\n")
	var last *negotiator.Negotiator
	require.NoError(t, condorsim.RunTo(t.Context(), p.Workload, p.config, 500, lastOf{&last}, p))
	s := last.State()
	latest, promised := s.Guaranteed(1)
	require.True(t, promised)
	require.Equal(t, backfill.Time(1000), latest)
	for _, c := range []struct {
		id     backfill.JobID
		played ahead.Range
		want   ahead.Range
		told   bool
	}{
		{1, ahead.Range{Low: 600, Mid: 700, High: 900}, ahead.Range{Low: 600, Mid: 700, High: 900}, true},
		{1, ahead.Range{Low: 400, Mid: 700, High: 1200}, ahead.Range{Low: 500, Mid: 700, High: 1000}, true},
		{1, ahead.Range{Low: 1100, Mid: 1200, High: backfill.Forever}, ahead.Range{Low: 1000, Mid: 1000, High: 1000}, true},
		{1, ahead.Range{Low: 300, Mid: 499, High: 600}, ahead.Range{}, false},
		{1, ahead.Range{Low: 600, Mid: backfill.Forever, High: backfill.Forever}, ahead.Range{}, false},
		{0, ahead.Range{Low: 600, Mid: 700, High: 900}, ahead.Range{}, false}, // it runs
	} {
		told, known := fresh(c.played, s, c.id)
		require.Equal(t, c.told, known, "%v", c)
		if known {
			require.Equal(t, c.want, told, "%v", c)
		}
	}
}
