package server

import "sync"

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
