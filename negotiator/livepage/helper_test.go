package livepage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// staged is a pool that says what it was told to say.
type staged struct {
	asked Asker
	text  string
}

func (s *staged) Explain(_ context.Context, who Asker, job string) (Explained, error) {
	s.asked = who
	if job == "99.0" {
		return Explained{}, &NoJobError{errors.New("there is no job 99.0")}
	}
	return Explained{
		Text: job + ": " + s.text,
		Fit: &Fit{
			Slots: 4, Matching: 1, Refusing: 1, Closed: []Count{{"drained", 1}},
			Clauses: []Count{{`TARGET.Owner == "bob"`, 2}}, Refusals: []Count{{`Owner != "ann"`, 1}},
		},
		Windows: []Window{{Slot: 1, From: 5, Until: picture.At(9)}},
	}, nil
}

func (s *staged) WhatIf(_ context.Context, who Asker, question string) ([]byte, error) {
	s.asked = who
	if _, err := whatif.Read(question); err != nil {
		return nil, &BadError{err}
	}
	at := int64(7)
	return json.Marshal(whatif.Answer{
		Now: 5, Present: "the plan", Asked: "another", Notes: []string{"bob is first"},
		Change: &whatif.ChangeAnswer{
			Moves:  []whatif.Move{{Job: "2.0", Owner: "bob", Before: &at}},
			Broken: []whatif.Broken{{Job: "1.0", Owner: "ann", Promised: 9, After: &at}},
		},
	})
}

func (s *staged) Pool() Pool {
	return Pool{
		Policy: Policy{Name: "slack", Order: "fcfs", Why: "bob asked"}, Plugins: []Plugin{{"mine", "runs"}},
		Cycles:   []Cycle{{Number: 1, Began: 1.5, Took: 0.5, Phases: map[string]float64{"plan": 0.5}, Started: 1}},
		Problems: []string{"a schedd of ann does not answer"}, Shares: map[string]Share{"ann": {Priority: 500}},
	}
}

// scene is a picture of a job that runs, one that has a reservation, and others that wait.
func scene(now int64, waiting int) *picture.Picture {
	p := &picture.Picture{
		Head: picture.Head{
			Pool: "test", Now: now, Policy: "slack", Order: "fcfs", Resources: []string{"cpus", "memory"},
			Capacity: []int64{16, 1024}, Use: []int64{8, 512}, Slots: 2, Running: 1, Waiting: waiting, Problems: []string{"bob's quota is odd"},
			ReservedIdle: 2,
			Parts: []picture.Part{
				{Negotiator: "east@h", Own: true, Has: picture.Has{Slots: 2, Cpus: 16, InUse: 8, Running: 1, Waiting: 3}},
				{Negotiator: "west@h", Page: "http://h:2/", Has: picture.Has{Slots: 5, Cpus: 40, InUse: 40, Running: 9, Waiting: 2}},
			},
			Whole: &picture.Has{Slots: 7, Cpus: 56, InUse: 48, Running: 10, Waiting: 3},
		},
		Slots: []picture.Slot{
			{ID: 0, Name: "slot1@m1", Machine: "m1", Capacity: backfill.Vector{8, 512}, End: picture.At(900)},
			{
				ID: 1, Name: "slot1@m2", Machine: "m2", Capacity: backfill.Vector{8, 512}, Down: true,
				Drain: &picture.Drain{From: 50, Until: picture.At(60), Why: "disks"},
			},
		},
	}
	for i := range waiting {
		owner, group := []string{"ann", "bob", "Eve <b>"}[i%3], []string{"", "phys", "bio"}[i%3]
		j := picture.Job{Bar: picture.Bar{
			ID: backfill.JobID(i + 1), Name: fmt.Sprintf("%d.0", i+1), Owner: owner, Group: group, Situation: backfill.Waits.String(),
			Cpus: 4, Submit: 1, Start: picture.At(backfill.Time(now + 100)),
		}, Position: i + 1, Memory: 128, Chunks: 1, Requested: 600, Reason: "behind bob's job 2.0 of phys", Behind: "2.0"}
		if i == 0 {
			j.Situation, j.At = backfill.Reserved.String(), []picture.Piece{{Slot: 0, Cpus: 4}}
			j.Guarantee, j.Low, j.High = picture.At(500), picture.At(90), picture.At(200)
		}
		p.Jobs = append(p.Jobs, j)
	}
	p.Jobs = append(p.Jobs, picture.Job{Bar: picture.Bar{
		ID: 1 << 20, Name: "secret", Owner: "bob", Situation: "runs", Cpus: 8, Start: picture.At(1),
		End: picture.At(backfill.Time(now + 50)), At: []picture.Piece{{Slot: 0, Cpus: 8}},
	}})
	return p
}

// served is a server with a picture, and the pool behind it.
func served(t *testing.T) (*Server, *staged) {
	t.Helper()
	pool := &staged{text: "waits behind bob's job secret"}
	s := New(pool, "e")
	t.Cleanup(s.hub.close)
	return s, pool
}

// ask answers a request without a network.
func ask(h http.Handler, method, target, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	out := httptest.NewRecorder()
	h.ServeHTTP(out, r)
	return out
}

func text(t *testing.T, out *httptest.ResponseRecorder) string {
	t.Helper()
	all, err := io.ReadAll(out.Result().Body)
	require.NoError(t, err)
	return string(all)
}
