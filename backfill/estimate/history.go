package estimate

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/inwords"
)

// DefaultBound is how many jobs a history holds by default.
const DefaultBound = 100_000

// textOfJob is how many bytes the names and labels of a history's jobs may take on average when it is
// full; what is more drops the oldest jobs. Honest jobs take a fifth of it.
const textOfJob = 1 << 10

// History holds the jobs that ended last, oldest first, up to a bound. All that estimators have
// learned follows from it, so another estimator can take over at any time. The zero value is an
// empty history.
type History struct {
	bound int // largest number of jobs; 0: DefaultBound
	ended queue[Ended]
	text  int // bytes of their names and labels; what jobs share counts for each
	gone  []Ended
}

// NewHistory returns an empty history of at most bound jobs; 0 means [DefaultBound].
func NewHistory(bound int) *History { return &History{bound: max(bound, 0)} }

// Len returns the number of jobs in the history.
func (h *History) Len() int { return h.ended.len() }

// All yields the jobs of the history, oldest first.
func (h *History) All() iter.Seq[Ended] {
	return func(yield func(Ended) bool) {
		for i := range h.ended.len() {
			if !yield(*h.ended.at(i)) {
				return
			}
		}
	}
}

// Add adds a job that ended to a history that belongs to no [Set] yet; else use [Set.Learn]. Jobs
// must be added in the order of their ends.
func (h *History) Add(e Ended) { h.add(e) }

// add appends a job. It returns the oldest jobs, if they were dropped to make room; the slice is valid
// until the next call.
func (h *History) add(e Ended) (dropped []Ended) {
	e.Actual = 0 // Ran says it
	e.Requested, e.Stated, e.Cpus = e.stated(), 0, max(0, e.Cpus)
	e.Requested, e.Ran = min(max(e.Requested, 1), backfill.MaxTime), min(max(e.Ran, 0), backfill.MaxTime)
	n := h.ended.len()
	if n > 0 {
		e.At = max(e.At, h.ended.at(n-1).At)
	}
	h.gone = h.gone[:0]
	h.text += e.text()
	for n > 0 && (n >= cmp.Or(h.bound, DefaultBound) || h.text > textOfJob*max(h.bound, DefaultBound)) {
		oldest := h.ended.pop()
		h.text -= oldest.text()
		h.gone = append(h.gone, oldest)
		n--
	}
	h.ended.push(e)
	return h.gone
}

// text returns how many bytes the job's name and labels take.
func (e *Ended) text() int {
	size := len(e.Name)
	for name, label := range e.Labels {
		size += len(name) + len(label)
	}
	return size
}

// line is a job as a line of the history's file.
type line struct {
	Name        string          `json:"name,omitempty"`
	Requested   backfill.Time   `json:"requested"`
	Unestimated bool            `json:"unestimated,omitempty"`
	Ran         backfill.Time   `json:"ran"`
	At          backfill.Time   `json:"at"`
	Cpus        int64           `json:"cpus,omitempty"`
	Labels      json.RawMessage `json:"labels,omitempty"`
}

// Write writes the history for [ReadHistory], each job as a JSON object on a line. Equal histories
// give equal bytes. Invalid UTF-8 in names and labels is replaced.
func (h *History) Write(w io.Writer) error {
	buffered := bufio.NewWriter(w)
	encoder := json.NewEncoder(buffered)
	for e := range h.All() {
		l := line{Name: e.Name, Requested: e.Requested, Unestimated: e.Unestimated, Ran: e.Ran, At: e.At, Cpus: e.Cpus}
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

// ReadHistory reads what [History.Write] wrote. If there are more jobs than the bound, which is as
// for [NewHistory], it keeps the last ones. Errors contain the given name of the file and, if a
// line is wrong, its number.
func ReadHistory(r io.Reader, name string, bound int) (*History, error) {
	h := NewHistory(bound)
	known := map[string]map[string]string{} // by text: jobs with equal labels share one map
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
		return e, fmt.Errorf("no job that ended: %s", inwords.JSON(err))
	}
	if l.Requested < 1 || l.Requested > backfill.MaxTime || l.Ran < 0 || l.Ran > backfill.MaxTime {
		return e, fmt.Errorf("requested %d s and ran for %d s: must be from 1 and from 0 to %d", l.Requested, l.Ran,
			backfill.MaxTime)
	}
	labels, ok := known[string(l.Labels)]
	if !ok && len(l.Labels) > 0 {
		if err = json.Unmarshal(l.Labels, &labels); err != nil {
			return e, fmt.Errorf("labels: %s", inwords.JSON(err))
		}
		known[string(l.Labels)] = labels
	}
	e.Job = Job{Name: l.Name, Requested: l.Requested, Unestimated: l.Unestimated, Labels: labels, Cpus: max(0, l.Cpus)}
	e.Ran, e.At = l.Ran, l.At
	return e, nil
}

// queue is a first-in-first-out queue in a ring buffer whose length is a power of two.
type queue[T any] struct {
	ring         []T
	first, count int
}

func (q *queue[T]) len() int    { return q.count }
func (q *queue[T]) at(i int) *T { return &q.ring[(q.first+i)&(len(q.ring)-1)] }

func (q *queue[T]) push(item T) {
	if q.count == len(q.ring) {
		ring := make([]T, max(8, 2*q.count))
		copy(ring[copy(ring, q.ring[q.first:]):], q.ring[:q.first])
		q.ring, q.first = ring, 0
	}
	q.count++
	*q.at(q.count - 1) = item
}

func (q *queue[T]) pop() T {
	var none T
	oldest := q.at(0)
	item := *oldest
	*oldest = none
	q.first = (q.first + 1) & (len(q.ring) - 1)
	q.count--
	return item
}
