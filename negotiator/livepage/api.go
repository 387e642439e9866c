package livepage

import (
	"errors"
	"io"
	"net/http"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage/access"
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
	seen := s.sees(r)
	name, i, err := seen.find(r.PathValue("job"))
	if err != nil {
		answer(out, nil, err)
		return
	}
	explained, err := s.source.Explain(r.Context(), askerOf(r), name)
	if err != nil {
		answer(out, nil, maskError(err, seen.Lens))
		return
	}
	maskExplained(&explained, seen.Lens)
	a := jobAnswer{Explained: explained, Row: Row{Jobs: 1, Name: name}}
	if i >= 0 {
		j := &seen.picture.Jobs[i]
		a.Row, a.At = rowOf(j), j.At
		a.History = s.ledger.History(j.ID)
	} else {
		a.History = s.ledger.HistoryOf(name)
	}
	for at := range a.History {
		a.History[at].Cause = seen.Scrub(a.History[at].Cause)
	}
	answer(out, a, nil)
}

// promises says how true promises were.
func (s *Server) promises(out http.ResponseWriter, r *http.Request) {
	s.answerOnce(out, r, func(seen *sight) any {
		report := s.ledger.Report(seen.clear.Head.Now)
		maskReport(&report, seen.Lens)
		return report
	})
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
	lens := s.aliases.For(access.Of(r.Context()))
	found, err := s.source.WhatIf(r.Context(), askerOf(r), string(text))
	if err == nil {
		found, err = maskAnswer(found, lens)
	}
	if err != nil {
		answer(out, nil, maskError(err, lens))
		return
	}
	out.Header().Set("Content-Type", "application/json")
	_, _ = out.Write(found)
}
