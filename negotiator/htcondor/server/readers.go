package server

import (
	"sync"
	"weak"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// mostAnswers are sent at a time. Each cycle makes new ones, and whoever reads slowly keeps an old
// one in memory.
const mostAnswers = 4

// Readers knows which of the answers that many may read are on their way to somebody. When there are
// too many, it cuts off the readers of the oldest. The zero value is ready.
type Readers struct {
	mu      sync.Mutex
	sending []*sending // the oldest first
}

// sending is an answer that is on its way to readers, of whom each can be cut off.
type sending struct {
	answer  any
	readers map[*func()]struct{}
}

// Begin counts a reader of an answer, until done is called. Answers are told apart by ==. Cut is
// called at most once, from anywhere, when readers keep too many answers in memory and this one is
// the oldest.
func (r *Readers) Begin(answer any, cut func()) (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.find(answer)
	if s == nil {
		s = &sending{answer, map[*func()]struct{}{}}
		r.sending = append(r.sending, s)
	}
	s.readers[&cut] = struct{}{}
	if len(r.sending) > mostAnswers {
		for reader := range r.sending[0].readers {
			(*reader)()
		}
		r.remove(r.sending[0])
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if delete(s.readers, &cut); len(s.readers) == 0 {
			r.remove(s)
		}
	}
}

func (r *Readers) find(answer any) *sending {
	for _, s := range r.sending {
		if s.answer == answer {
			return s
		}
	}
	return nil
}

// remove removes an answer, if it is still there.
func (r *Readers) remove(gone *sending) {
	kept := make([]*sending, 0, mostAnswers)
	for _, s := range r.sending {
		if s != gone {
			kept = append(kept, s)
		}
	}
	r.sending = kept
}

// counts remembers the counts of the long answers that were sent last, so that what many ask for is
// counted once. It keeps none of the answers in memory. The zero value is ready.
type counts struct {
	mu   sync.Mutex
	last []countOf // the latest last, at most mostAnswers
}

// countOf is the count of lines, which are told apart by their place in memory.
type countOf struct {
	lines  weak.Pointer[byte]
	length int
	count  cedar.Count
}

// of counts the lines of an answer, or knows how many they are.
func (c *counts) of(lines cedar.Lines) cedar.Count {
	if len(lines) <= fewBytes {
		return lines.Count()
	}
	at := countOf{lines: weak.Make(&lines[0]), length: len(lines)}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, known := range c.last {
		if known.lines == at.lines && known.length == at.length {
			return known.count
		}
	}
	if len(c.last) == mostAnswers {
		c.last = append(c.last[:0], c.last[1:]...)
	}
	at.count = lines.Count()
	c.last = append(c.last, at)
	return at.count
}
