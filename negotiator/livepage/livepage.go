package livepage

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/access"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/promises"
)

// Source is the pool behind a page.
type Source interface {
	// Explain says all that is known of a job of the last picture: what follows from no picture.
	// It returns an error of type [*NoJobError] if there is no such job.
	Explain(ctx context.Context, who Asker, job string) (Explained, error)
	// WhatIf answers a question of package whatif; both are JSON. A bad question gets a [*BadError].
	WhatIf(ctx context.Context, who Asker, question string) (answer []byte, err error)
	// Pool tells how the pool is doing, besides what pictures show.
	Pool() Pool
}

// Asker is who asks: from which address, and if that is known as which user.
type Asker struct{ Address, User string }

// askerOf returns who makes a request.
func askerOf(r *http.Request) Asker {
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	return Asker{Address: address, User: access.Of(r.Context()).User}
}

// BadError says what is wrong with a request.
type BadError struct{ Err error }

func (e *BadError) Error() string { return e.Err.Error() }
func (e *BadError) Unwrap() error { return e.Err }

// NoJobError says that there is no such job.
type NoJobError struct{ Err error }

func (e *NoJobError) Error() string { return e.Err.Error() }
func (e *NoJobError) Unwrap() error { return e.Err }

// Explained is what is known of one job.
type Explained struct {
	Text    string   `json:"text"` // in words, lines
	Fit     *Fit     `json:"fit,omitempty"`
	Windows []Window `json:"windows,omitempty"`
}

// Fit counts slots by what they are to a job.
type Fit struct {
	Slots    int64   `json:"slots"`
	Matching int64   `json:"matching"`
	Refusing int64   `json:"refusing"`
	Closed   []Count `json:"closed,omitempty"`
	// Clauses are parts of the job's Requirements, and on how many slots they are not met; Refusals are
	// those of slots, by which they refuse the job.
	Clauses  []Count `json:"clauses,omitempty"`
	Refusals []Count `json:"refusals,omitempty"`
}

// Count is how many slots a text is about.
type Count struct {
	Text  string `json:"text"`
	Slots int64  `json:"slots"`
}

// Window is a start window of a job on a slot.
type Window struct {
	Slot  int64          `json:"slot"`
	From  int64          `json:"from"`
	Until picture.Moment `json:"until,omitzero"`
}

// Server serves the page of a pool.
type Server struct {
	source  Source
	hub     *hub
	ledger  *promises.Ledger
	history history
	used    used
	mux     *http.ServeMux
	last    atomic.Pointer[shown]
	memo    memo
	aliases *access.Aliases
}

// New makes a server. Epoch tells it from others that served the same address before.
func New(source Source, epoch string) *Server {
	s := &Server{source: source, hub: newHub(epoch), ledger: promises.New(), mux: http.NewServeMux()}
	s.Hide(access.NewAliases(access.All))
	s.routes()
	return s
}

// Handle has a handler answer requests for a path besides those of the page, such as /metrics.
func (s *Server) Handle(path string, handler http.Handler) { s.mux.Handle(path, handler) }

// TellStarts has the function called with each start that came and had been told; see [promises.Ledger.Tell].
func (s *Server) TellStarts(started func(told string, off int64)) { s.ledger.Tell(started) }

// Broken is a guarantee that could not be kept.
type Broken = promises.Broken

// NoID is the ID of a job of which only the name is known.
const NoID = promises.NoID

// Broke notes that a guarantee was broken.
func (s *Server) Broke(b Broken) { s.ledger.Broke(b) }

// Elsewhere notes that another negotiator has started a job, as was seen at an instant.
func (s *Server) Elsewhere(id backfill.JobID, at int64) { s.ledger.Elsewhere(id, at) }

// Show has viewers see another picture.
func (s *Server) Show(p *picture.Picture) {
	s.ledger.See(p)
	s.history.add(&p.Head)
	s.used.add(p)
	all := s.shownOf(p)
	s.last.Store(all)
	s.hub.show(all.masked)
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	out.Header().Set("Cache-Control", "no-cache")
	s.mux.ServeHTTP(out, r)
}

// errNothing says that no cycle has ended yet.
var errNothing = errors.New("no cycle has ended yet: ask again in a moment")

// answer writes a value as JSON, or an error.
func answer(out http.ResponseWriter, value any, err error) {
	out.Header().Set("Content-Type", "application/json")
	code := http.StatusOK
	if err != nil {
		code, value = codeOf(err), map[string]string{"error": err.Error()}
	}
	out.WriteHeader(code)
	_ = json.NewEncoder(out).Encode(value) // the client may have gone
}

// codeOf returns the HTTP status for an error.
func codeOf(err error) int {
	if _, bad := errors.AsType[*BadError](err); bad {
		return http.StatusBadRequest
	}
	if _, missing := errors.AsType[*NoJobError](err); missing {
		return http.StatusNotFound
	}
	return http.StatusServiceUnavailable
}
