package promises

import (
	"maps"
	"slices"
	"sync"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
)

// Ledger is what jobs were told so far, and what came of it. It is of this process alone, and bounded:
// of very many jobs it knows the first in the queue, and of what came the last. Its methods may be called
// concurrently.
type Ledger struct {
	mu      sync.Mutex
	waiting map[backfill.JobID]*told // those that were told a start and wait
	ended   map[backfill.JobID]*told // some of those that have started
	order   []backfill.JobID         // of ended, oldest first
	came    []came                   // the last starts that were told before, oldest first
	broken  []Broken                 // the last ones, oldest first
	causes  map[string]int
	given   int // guarantees so far
	kept    int
	failed  int                      // jobs whose guarantee was broken
	away    int                      // jobs with a guarantee that another negotiator has started
	gone    map[backfill.JobID]int64 // jobs that another negotiator has started, and when that was seen
	delays  map[pair]*delay
	last    *picture.Picture
	started func(told string, off int64)
}

// Tell has the function called with each start that came and was told a start at its arrival: when it was
// told ("arrival"), and by how many seconds it came later than that. It must be called before See.
func (l *Ledger) Tell(started func(told string, off int64)) { l.started = started }

// The bounds of a ledger.
const (
	mostTold    = 20_000 // jobs that wait
	mostEnded   = 2_000  // jobs that have started
	mostCame    = 5_000
	mostBroken  = 200
	mostEntries = 48 // of one job
)

// Entry is what a job was told at an instant.
type Entry struct {
	At        int64          `json:"at"`
	Start     picture.Moment `json:"start,omitzero"`
	Low       picture.Moment `json:"low,omitzero"`
	High      picture.Moment `json:"high,omitzero"`
	Guarantee picture.Moment `json:"guarantee,omitzero"`
	// Cause is why it was told something else than before, as far as that is known.
	Cause string `json:"cause,omitempty"`
	// Came says that the job has started: Start is when.
	Came bool `json:"came,omitempty"`
}

// told is what a job was told.
type told struct {
	job, owner string
	entries    []Entry
	guaranteed bool
	broken     bool
	// matched is the job as it was matched, if it is not seen to run yet.
	matched *picture.Job
}

// came is a start that came, and what was told of it at some time before.
type came struct {
	job, owner        string
	at, told, started int64
	low, high         picture.Moment
	ranged, arrival   bool
}

// New returns an empty ledger.
func New() *Ledger {
	return &Ledger{
		waiting: map[backfill.JobID]*told{}, ended: map[backfill.JobID]*told{}, causes: map[string]int{}, delays: map[pair]*delay{},
		gone: map[backfill.JobID]int64{},
	}
}

// Broken is a guarantee that could not be kept.
type Broken struct {
	ID       backfill.JobID `json:"-"` // [NoID]: only the name is known
	Job      string         `json:"job"`
	Owner    string         `json:"owner"`
	Promised int64          `json:"promised"`
	Now      picture.Moment `json:"now,omitzero"` // the new guarantee
	Cause    string         `json:"cause"`
	At       int64          `json:"at"`
}

// NoID is the ID of a job of which only the name is known.
const NoID backfill.JobID = -1

// Broke notes that a guarantee was broken.
func (l *Ledger) Broke(b Broken) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.causes[b.Cause]++
	t := l.waiting[b.ID]
	if b.ID == NoID {
		t = l.named(b.Job)
	}
	if t != nil {
		if !t.broken {
			l.failed++
		}
		t.broken = true
		if b.Owner == "" {
			b.Owner = t.owner
		}
	}
	l.broken = append(l.broken, b)
	l.broken = l.broken[max(0, len(l.broken)-mostBroken):]
}

// named returns the job of a name that waits; nil: there is none.
func (l *Ledger) named(name string) *told {
	for _, t := range l.waiting {
		if t.job == name {
			return t
		}
	}
	return nil
}

// See takes a picture down.
func (l *Ledger) See(p *picture.Picture) {
	l.mu.Lock()
	defer l.mu.Unlock()
	there := make(map[backfill.JobID]bool, len(p.Jobs))
	blame := l.blame(p)
	for i := range p.Jobs {
		j := &p.Jobs[i]
		if at, gone := l.gone[j.ID]; gone && p.Head.Now < at {
			continue // the picture is older
		}
		there[j.ID] = true
		t := l.waiting[j.ID]
		switch {
		case j.Waits():
			l.tell(j, p.Head.Now, blame)
		case t == nil || !j.Start.Known || j.Situation == backfill.TakesOver.String():
		case j.Situation == picture.Matched: // it may never run here
			t.matched = new(*j)
		default:
			l.start(j, t)
		}
	}
	for id, t := range l.waiting {
		if !there[id] {
			l.leave(id, t)
		}
	}
	maps.DeleteFunc(l.gone, func(_ backfill.JobID, at int64) bool { return p.Head.Now >= at })
	l.last = p
}

// leave notes that a job is not there any more: it came and went between two pictures if it had been
// matched, or was removed.
func (l *Ledger) leave(id backfill.JobID, t *told) {
	if t.matched != nil {
		l.start(t.matched, t)
		return
	}
	if t.guaranteed && !t.broken {
		l.given--
	}
	delete(l.waiting, id)
}

// Elsewhere notes that another negotiator has started a job, as was seen at an instant: what it was told
// here is neither kept nor broken.
func (l *Ledger) Elsewhere(id backfill.JobID, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.gone) < mostTold {
		l.gone[id] = at
	}
	t := l.waiting[id]
	if t == nil {
		return
	}
	if t.guaranteed {
		l.away++
	}
	if t.broken {
		l.failed--
	}
	delete(l.waiting, id)
}

// tell notes what a job that waits is told.
func (l *Ledger) tell(j *picture.Job, now int64, blame func(*picture.Job, Entry) string) {
	t := l.waiting[j.ID]
	if t == nil {
		if len(l.waiting) >= mostTold || !j.Told().Known && !j.Guarantee.Known {
			return
		}
		t = &told{job: j.Name, owner: j.Owner}
		l.waiting[j.ID] = t
	}
	if j.Guarantee.Known && !t.guaranteed {
		t.guaranteed = true
		l.given++
	}
	t.matched = nil
	e := Entry{At: now, Start: j.Told(), Low: j.Low, High: j.High, Guarantee: j.Guarantee}
	if n := len(t.entries); n > 0 {
		if last := t.entries[n-1]; last.Start == e.Start && last.Low == e.Low && last.High == e.High && last.Guarantee == e.Guarantee {
			return
		}
		e.Cause = blame(j, t.entries[n-1])
	}
	t.entries = append(t.entries, e)
	if len(t.entries) > mostEntries {
		t.entries = thin(t.entries)
	}
}

// thin forgets every other entry but the first and the last ones.
func thin(all []Entry) []Entry {
	kept := all[:1]
	for i := 2; i < len(all)-mostEntries/4; i += 2 {
		kept = append(kept, all[i])
	}
	return append(kept, all[len(all)-mostEntries/4:]...)
}

// start notes that a job has started.
func (l *Ledger) start(j *picture.Job, t *told) {
	started := j.Start.At
	for i, e := range t.entries {
		if !e.Start.Known {
			continue
		}
		l.came = append(l.came, came{
			job: t.job, owner: t.owner, at: e.At, told: e.Start.At, started: started, low: e.Low, high: e.High,
			ranged: e.Low.Known, arrival: i == 0,
		})
	}
	l.came = l.came[max(0, len(l.came)-mostCame):]
	if first := t.entries[0]; l.started != nil && first.Start.Known {
		l.started("arrival", started-first.Start.At)
	}
	if t.guaranteed && !t.broken {
		l.kept++
	}
	delete(l.waiting, j.ID)
	t.entries = append(t.entries, Entry{At: started, Start: j.Start, Guarantee: j.Guarantee, Came: true})
	if _, known := l.ended[j.ID]; !known {
		l.order = append(l.order, j.ID)
	}
	l.ended[j.ID] = t
	if len(l.order) > mostEnded {
		delete(l.ended, l.order[0])
		l.order = l.order[1:]
	}
}

// HistoryOf is what a job was told that has started, and of which only the name is known; empty if it is not
// among the last.
func (l *Ledger) HistoryOf(name string) []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range slices.Backward(l.order) {
		if t := l.ended[id]; t != nil && t.job == name {
			return append([]Entry{}, t.entries...)
		}
	}
	return []Entry{}
}

// History is what a job was told, the first first.
func (l *Ledger) History(id backfill.JobID) []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.waiting[id]
	if t == nil {
		t = l.ended[id]
	}
	if t == nil {
		return []Entry{}
	}
	return append([]Entry{}, t.entries...)
}
