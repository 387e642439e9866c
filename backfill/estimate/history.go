package estimate

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// DefaultBound is how many jobs a history holds that was not told otherwise.
const DefaultBound = 100_000

// History is the jobs that ended of late, oldest first, up to a bound. What estimators
// know follows from it, so that others can take their place at any time. The zero value
// is an empty one.
type History struct {
	bound int // 0: DefaultBound
	ended queue[Ended]
}

// NewHistory is an empty history of at most so many jobs; 0: [DefaultBound].
func NewHistory(bound int) *History { return &History{bound: max(bound, 0)} }

// Len is the number of jobs.
func (h *History) Len() int { return h.ended.len() }

// All are the jobs, oldest first.
func (h *History) All() iter.Seq[Ended] {
	return func(yield func(Ended) bool) {
		for i := range h.ended.len() {
			if !yield(*h.ended.at(i)) {
				return
			}
		}
	}
}

// Add takes a job in, as [Set.Learn] does; to be used before the history is a set's.
func (h *History) Add(e Ended) { h.add(e) }

// add puts a job behind the others, and tells whether the oldest had to make room.
func (h *History) add(e Ended) (dropped bool) {
	e.Actual = 0 // it is what Ran says
	e.Requested, e.Ran = min(max(e.Requested, 1), maxTime), min(max(e.Ran, 0), maxTime)
	n := h.ended.len()
	if n > 0 {
		e.At = max(e.At, h.ended.at(n-1).At)
	}
	if dropped = n >= cmp.Or(h.bound, DefaultBound); dropped {
		h.ended.pop()
	}
	h.ended.push(e)
	return dropped
}

// line is a job as it is written down.
type line struct {
	Name        string          `json:"name,omitempty"`
	Requested   backfill.Time   `json:"requested"`
	Unestimated bool            `json:"unestimated,omitempty"`
	Ran         backfill.Time   `json:"ran"`
	At          backfill.Time   `json:"at"`
	Labels      json.RawMessage `json:"labels,omitempty"`
}

// Write writes the jobs down, a JSON object on each line, for [ReadHistory]. Equal
// histories are equal bytes. What is not UTF-8 in names and labels is replaced.
func (h *History) Write(w io.Writer) error {
	buffered := bufio.NewWriter(w)
	encoder := json.NewEncoder(buffered)
	for e := range h.All() {
		l := line{Name: e.Name, Requested: e.Requested, Unestimated: e.Unestimated, Ran: e.Ran, At: e.At}
		if len(e.Labels) > 0 {
			labels, err := json.Marshal(e.Labels) // sorted by name
			if err != nil {
				return err
			}
			l.Labels = labels
		}
		if err := encoder.Encode(l); err != nil {
			return fmt.Errorf("write the history of run times: %w", err)
		}
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("write the history of run times: %w", err)
	}
	return nil
}

// ReadHistory reads what [History.Write] wrote; of more jobs than the bound, it keeps
// the last. Errors name the file and the line.
func ReadHistory(r io.Reader, name string, bound int) (*History, error) {
	h := NewHistory(bound)
	known := map[string]map[string]string{} // labels are shared by the jobs that have the same
	lines := bufio.NewReader(r)
	for number := 1; ; number++ {
		text, err := lines.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("read the history of run times: %s: %w", name, err)
		}
		if len(text) > 0 {
			e, wrong := readLine(text, known)
			if wrong != nil {
				return nil, fmt.Errorf("read the history of run times: %s:%d: %w", name, number, wrong)
			}
			h.Add(e)
		}
		if err != nil {
			return h, nil
		}
	}
}

func readLine(text []byte, known map[string]map[string]string) (e Ended, err error) {
	var l line
	if err = json.Unmarshal(text, &l); err != nil {
		return e, fmt.Errorf("no job that ended: %w", err)
	}
	if l.Requested < 1 || l.Requested > maxTime || l.Ran < 0 || l.Ran > maxTime {
		return e, fmt.Errorf("requested %d s and ran for %d s: must be from 1 and from 0 to %d", l.Requested, l.Ran, maxTime)
	}
	labels, ok := known[string(l.Labels)]
	if !ok && len(l.Labels) > 0 {
		if err = json.Unmarshal(l.Labels, &labels); err != nil {
			return e, fmt.Errorf("labels: %w", err)
		}
		known[string(l.Labels)] = labels
	}
	e.Job = Job{Name: l.Name, Requested: l.Requested, Unestimated: l.Unestimated, Labels: labels}
	e.Ran, e.At = l.Ran, l.At
	return e, nil
}

// maxTime bounds run times, in seconds, so that products with millionths of them stay
// far from overflow.
const maxTime backfill.Time = 1 << 40
