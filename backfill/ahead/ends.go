package ahead

import "github.com/condor-backfill/condor-backfill/backfill"

// ending is when a running job ends.
type ending struct {
	at  backfill.Time
	job backfill.JobID
}

// endings is a binary heap by time, as a play often begins with many and soon ends. Ties need no
// order, since the host sorts the events of a round.
type endings []ending

// order makes a heap of what was appended in any order.
func (e endings) order() {
	for i := len(e)/2 - 1; i >= 0; i-- {
		e.down(i)
	}
}

func (e *endings) push(x ending) {
	*e = append(*e, x)
	s := *e
	i := len(s) - 1
	for ; i > 0 && x.at < s[(i-1)/2].at; i = (i - 1) / 2 {
		s[i] = s[(i-1)/2]
	}
	s[i] = x
}

func (e *endings) pop() ending {
	s := *e
	first, n := s[0], len(s)-1
	s[0] = s[n]
	*e = s[:n]
	e.down(0)
	return first
}

// down moves an ending to its place among those below it.
func (e endings) down(i int) {
	if i >= len(e) {
		return
	}
	x := e[i]
	for {
		least := 2*i + 1
		if least+1 < len(e) && e[least+1].at < e[least].at {
			least++
		}
		if least >= len(e) || x.at <= e[least].at {
			break
		}
		e[i], i = e[least], least
	}
	e[i] = x
}
