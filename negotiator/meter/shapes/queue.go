package shapes

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// kind is jobs that request the same of each slot, and may use the same slots.
type kind struct {
	one      *backfill.Job // the first of them, in the queue's order
	matched  bool          // some slot would do, were it free
	shortest backfill.Time // the shortest planned run time
	toEnd    bool          // some of them may run to a slot's end, whenever that is
	jobs     int
	chunks   int64
	most     int // chunks of one job
	first    backfill.Time
}

// queue is the jobs that want slots.
type queue struct {
	state  *backfill.State
	starts func(backfill.JobID) (backfill.Time, bool)
	kinds  []*kind
	known  map[string]*kind
	key    []byte
	last   *backfill.Job // which was added last,
	lasts  *kind         // and its kind

	limited, early, unforeseen int
	end                        backfill.Time
}

// readQueue looks at all jobs that wait, and at those that are held as no slot of the pool would
// do.
func readQueue(s *backfill.State, starts func(backfill.JobID) (backfill.Time, bool)) *queue {
	q := &queue{state: s, starts: starts, known: map[string]*kind{}}
	rows, now := s.Profile().Rows(), s.Now()
	for _, j := range s.FirstWaiting(s.Waiting()) {
		start, foreseen := q.start(j)
		if foreseen {
			q.end = max(q.end, start+j.Estimate)
		} else {
			start, q.unforeseen = backfill.Forever, q.unforeseen+1
		}
		switch {
		case j.Early(now):
			q.early++
		case len(j.Takes) > 0 && !rows.Free(j.Takes, now, now+1):
			q.limited++
		default:
			q.add(j, true, start)
		}
	}
	for _, j := range s.Settled() {
		switch {
		case j.Held == "":
		case backfill.OverLimit(j.Held):
			q.limited++
		default:
			q.add(j.Job, false, backfill.Forever)
		}
	}
	return q
}

// start returns the start that a waiting job is expected to have: what is foreseen, else that of
// its reservation.
func (q *queue) start(j *backfill.Job) (start backfill.Time, foreseen bool) {
	if q.starts != nil {
		if start, foreseen = q.starts(j.ID); foreseen {
			return start, true
		}
	}
	start, _, foreseen = q.state.Planned(j.ID)
	return start, foreseen
}

func (q *queue) add(j *backfill.Job, matched bool, start backfill.Time) {
	k := q.lasts
	if q.last == nil || q.last.Candidates != j.Candidates || q.last.Whole != j.Whole || k.matched != matched ||
		!slices.Equal(q.last.Request, j.Request) {
		k = q.kind(j, matched)
	}
	q.last, q.lasts = j, k
	k.jobs++
	k.chunks += int64(j.Nodes)
	k.most = max(k.most, j.Nodes)
	k.shortest = min(k.shortest, j.Estimate)
	k.toEnd = k.toEnd || j.Unestimated
	k.first = min(k.first, start)
}

// kind returns the kind of a job.
func (q *queue) kind(j *backfill.Job, matched bool) *kind {
	q.key = q.key[:0]
	if matched {
		q.key = binary.AppendVarint(q.key, int64(j.Candidates))
	}
	if j.Whole {
		q.key = append(q.key, 'w')
	}
	q.key = append(q.key, ':')
	for _, amount := range j.Request {
		q.key = binary.AppendVarint(q.key, amount)
	}
	k := q.known[string(q.key)]
	if k == nil {
		k = &kind{one: j, matched: matched, shortest: j.Estimate, first: backfill.Forever}
		q.known[string(q.key)] = k
		q.kinds = append(q.kinds, k)
	}
	return k
}

// frequent returns the kinds that want the most slots, at most so many.
func (q *queue) frequent(most int) []*kind {
	kinds := slices.DeleteFunc(slices.Clone(q.kinds), func(k *kind) bool { return !k.matched })
	slices.SortStableFunc(kinds, func(a, b *kind) int { return cmp.Compare(b.chunks, a.chunks) })
	return kinds[:min(len(kinds), most)]
}
