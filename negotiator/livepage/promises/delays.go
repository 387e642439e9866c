package promises

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
)

// pair is who was delayed, and by whom.
type pair struct{ delayed, cause string }

// delay is by how much in all, and how often.
type delay struct {
	seconds int64
	jobs    int
}

// mostPairs bounds the pairs of users that are told apart.
const mostPairs = 1000

// leastDelay is by how many seconds a start must have moved for somebody to be asked why.
const leastDelay = 60

// blame returns a function that says why a job is now told a later start than before, and by whom it is
// delayed: those who are, in the new picture, in the place that the job had in the last one, at the time
// when it was to start there, and were not in the last one. A start that passed by is put down to the
// jobs that run longer than they were expected to.
func (l *Ledger) blame(p *picture.Picture) func(*picture.Job, Entry) string {
	last := l.last
	if last == nil {
		return func(*picture.Job, Entry) string { return "" }
	}
	var earlier map[backfill.JobID]*picture.Job // nil: nobody was delayed yet
	var on map[backfill.SlotID][]*picture.Job   // who is on each slot now
	return func(j *picture.Job, before Entry) string {
		if !before.Start.Known || !j.Told().Known || j.Told().At-before.Start.At < leastDelay {
			return ""
		}
		if earlier == nil {
			earlier, on = map[backfill.JobID]*picture.Job{}, map[backfill.SlotID][]*picture.Job{}
			for i := range last.Jobs {
				earlier[last.Jobs[i].ID] = &last.Jobs[i]
			}
			for i := range p.Jobs {
				for _, at := range p.Jobs[i].At {
					on[at.Slot] = append(on[at.Slot], &p.Jobs[i])
				}
			}
		}
		old := earlier[j.ID]
		if old == nil || !old.Start.Known {
			return ""
		}
		return l.explain(j, old, before, p, on, earlier)
	}
}

// covers reports whether a job is on its slots at an instant.
func covers(j *picture.Job, at int64) bool {
	return j.Start.Known && j.Start.At <= at && (!j.End.Known || j.End.At > at)
}

// explain says why a job starts later.
func (l *Ledger) explain(
	j, old *picture.Job, before Entry, p *picture.Picture, on map[backfill.SlotID][]*picture.Job,
	former map[backfill.JobID]*picture.Job,
) string {
	at := max(old.Start.At, p.Head.Now)
	moved := j.Told().At - before.Start.At
	news, longer := map[*picture.Job]int64{}, map[*picture.Job]int64{}
	for _, piece := range old.At {
		for _, other := range on[piece.Slot] {
			if other.ID == j.ID || !covers(other, at) {
				continue
			}
			switch earlier := former[other.ID]; {
			case earlier == nil || !covers(earlier, old.Start.At) && earlier.Waits():
				news[other] += piece.Cpus
			case !earlier.Waits() && earlier.End.Known && earlier.End.At <= old.Start.At:
				longer[other] += piece.Cpus
			}
		}
	}
	if other := greatest(news); other != nil {
		l.delayed(j.Owner, other.Owner, moved)
		return fmt.Sprintf("job %s of %s has the place", other.Name, other.Owner)
	}
	if other := greatest(longer); other != nil {
		l.delayed(j.Owner, other.Owner, moved)
		return fmt.Sprintf("job %s of %s runs longer than it was expected to", other.Name, other.Owner)
	}
	if l.last.Head.Slots > p.Head.Slots {
		return "slots have gone"
	}
	if l.last.Head.Policy != p.Head.Policy || l.last.Head.Order != p.Head.Order {
		return "another policy or order is in charge"
	}
	return ""
}

// greatest returns the job with most; of equals the one with the least ID.
func greatest(all map[*picture.Job]int64) (first *picture.Job) {
	for j, n := range all {
		if first == nil || cmp.Or(cmp.Compare(n, all[first]), cmp.Compare(first.ID, j.ID)) > 0 {
			first = j
		}
	}
	return first
}

func (l *Ledger) delayed(owner, cause string, seconds int64) {
	key := pair{owner, cause}
	d := l.delays[key]
	if d == nil {
		if len(l.delays) >= mostPairs {
			key = pair{"others", "others"}
			d = l.delays[key]
		}
		if d == nil {
			d = &delay{}
			l.delays[key] = d
		}
	}
	d.seconds += seconds
	d.jobs++
}

// Delay is who was delayed by whom, by how many seconds in all, and how often.
type Delay struct {
	Delayed string `json:"delayed"`
	By      string `json:"by"`
	Seconds int64  `json:"seconds"`
	Jobs    int    `json:"jobs"`
}

func (l *Ledger) listDelays() []Delay {
	all := []Delay{}
	for key, d := range l.delays {
		all = append(all, Delay{key.delayed, key.cause, d.seconds, d.jobs})
	}
	slices.SortFunc(all, func(a, b Delay) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Delayed, b.Delayed), cmp.Compare(a.By, b.By))
	})
	return all[:min(len(all), 50)]
}
