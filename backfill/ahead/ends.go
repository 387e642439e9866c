package ahead

import "github.com/condor-backfill/condor-backfill/backfill"

// Ending is when a running job ends.
type Ending struct {
	At  backfill.Time
	Job backfill.JobID
	// Run tells the runs of one job apart, if its owner starts jobs again that have not ended.
	Run int32
}

// Endings is a binary heap by time, as a play often begins with many and soon ends; the first is the
// next one. Ties need no order, since whoever decides a round sorts its events.
type Endings []Ending

// order makes a heap of what was appended in any order.
func (e Endings) order() {
	for i := len(e)/2 - 1; i >= 0; i-- {
		e.down(i)
	}
}

// Push adds an ending.
func (e *Endings) Push(x Ending) {
	*e = append(*e, x)
	s := *e
	i := len(s) - 1
	for ; i > 0 && x.At < s[(i-1)/2].At; i = (i - 1) / 2 {
		s[i] = s[(i-1)/2]
	}
	s[i] = x
}

// Pop removes and returns the next ending.
func (e *Endings) Pop() Ending {
	s := *e
	first, n := s[0], len(s)-1
	s[0] = s[n]
	*e = s[:n]
	e.down(0)
	return first
}

// down moves an ending to its place among those below it.
func (e Endings) down(i int) {
	if i >= len(e) {
		return
	}
	x := e[i]
	for {
		least := 2*i + 1
		if least+1 < len(e) && e[least+1].At < e[least].At {
			least++
		}
		if least >= len(e) || x.At <= e[least].At {
			break
		}
		e[i], i = e[least], least
	}
	e[i] = x
}
