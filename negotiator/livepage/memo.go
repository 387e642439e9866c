package livepage

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage/access"
)

// memo has the answers that were made of the last picture, for all who ask the same of it: hundreds may look
// at one view.
type memo struct {
	mu      sync.Mutex // held while an answer is made
	shown   *shown
	answers map[string][]byte
	size    int
}

// mostMemo is how many bytes of answers are remembered, of requests that are no longer than longestMemo.
const (
	mostMemo    = 16 << 20
	longestMemo = 1024
)

// made returns the answer to a request about a picture, as JSON.
func (m *memo) made(last *shown, request string, compute func() any) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shown != last {
		m.shown, m.answers, m.size = last, map[string][]byte{}, 0
	}
	if text, known := m.answers[request]; known {
		return text, nil
	}
	text, err := json.Marshal(compute())
	if err != nil {
		return nil, err
	}
	text = append(text, '\n')
	if len(request) <= longestMemo && m.size+len(text) <= mostMemo {
		m.answers[request] = text
		m.size += len(text)
	}
	return text, nil
}

// answerOnce answers a request about the last picture with what the function makes of what the viewer sees of
// it: once for all who see the same.
func (s *Server) answerOnce(out http.ResponseWriter, r *http.Request, compute func(*sight) any) {
	seen := s.sees(r)
	if seen == nil {
		answer(out, nil, errNothing)
		return
	}
	request := r.URL.Path + "?" + r.URL.RawQuery
	if s.aliases.Names() == access.Own {
		request = access.Of(r.Context()).User + "\n" + request
	}
	text, err := s.memo.made(seen.shown, request, func() any { return compute(seen) })
	if err != nil {
		answer(out, nil, err)
		return
	}
	out.Header().Set("Content-Type", "application/json")
	out.Header().Set("Content-Length", strconv.Itoa(len(text)))
	send(out, text)
}
