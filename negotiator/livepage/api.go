package livepage

import (
	"errors"
	"io"
	"net/http"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/promises"
)

// jobAnswer is all that is known of a job.
type jobAnswer struct {
	Row     Row              `json:"row"`
	History []promises.Entry `json:"history"` // what it was told of its start
	At      []picture.Piece  `json:"at,omitempty"`
	Explained
}

// job explains a job.
func (s *Server) job(out http.ResponseWriter, r *http.Request) {
	name := r.PathValue("job")
	explained, err := s.source.Explain(r.Context(), askerOf(r), name)
	if err != nil {
		answer(out, nil, err)
		return
	}
	a := jobAnswer{Explained: explained, Row: Row{Jobs: 1, Name: name}, History: []promises.Entry{}}
	if last := s.last.Load(); last != nil {
		if i := last.Find(name); i >= 0 {
			a.Row, a.At = rowOf(&last.Jobs[i]), last.Jobs[i].At
			a.History = s.ledger.History(last.Jobs[i].ID)
		}
	}
	answer(out, a, nil)
}

// promises says how true promises were.
func (s *Server) promises(out http.ResponseWriter, _ *http.Request) {
	last := s.last.Load()
	if last == nil {
		answer(out, nil, errNothing)
		return
	}
	answer(out, s.ledger.Report(last.Head.Now), nil)
}

// longestQuestion bounds the body of a what-if.
const longestQuestion = 64 << 10

// whatIf answers a question.
func (s *Server) whatIf(out http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(out, r.Body, longestQuestion))
	if err != nil {
		answer(out, nil, &BadError{errors.New("the question cannot be read: at most 64 KiB are allowed")})
		return
	}
	found, err := s.source.WhatIf(r.Context(), askerOf(r), string(text))
	if err != nil {
		answer(out, nil, err)
		return
	}
	out.Header().Set("Content-Type", "application/json")
	_, _ = out.Write(found)
}
