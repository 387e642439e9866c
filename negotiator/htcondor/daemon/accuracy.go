package daemon

import (
	"slices"
	"sync"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/meter"
)

// accuracy keeps the record of how true start times were: what each job was told first, and when it
// came to the head of the queue, and when it then started. It is of this process alone.
type accuracy struct {
	mu   sync.Mutex
	told [whens]map[backfill.JobID]toldStart // jobs that wait
	came [whens][]cameStart                  // the last of those that started, oldest first
	last *[whens]Accuracy                    // as measured; nil: not since the last start
	// meter is told of each start that came; nil: none is.
	meter *meter.Meter
}

// When a start was told.
const (
	atArrival = iota
	atHead
	whens
)

// whenNames are parts of attributes and the labels of metrics.
var whenNames = [whens]struct{ attribute, label string }{{"AtArrival", "arrival"}, {"AtHead", "head"}}

// toldStart is what was told of a start: its middle and, if ranged, its range.
type toldStart struct {
	low, mid, high backfill.Time
	ranged         bool
	matched        backfill.Time // when its job was started, which is on its way since; 0: it is not
}

// cameStart is a start that came.
type cameStart struct {
	off    backfill.Time // by how much it was told wrong, earlier or later
	ranged bool          // a range was told
	within bool          // it came within the range
}

const (
	mostCame = 1000             // starts that came, of each kind
	mostTold = 4 * mostForeseen // jobs that were told something
)

// tell records what a forecast tells the jobs that have been told nothing yet, and the first in the
// queue.
func (a *accuracy) tell(f *Forecast) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for when := range a.told {
		if a.told[when] == nil {
			a.told[when] = map[backfill.JobID]toldStart{}
		}
	}
	for i, j := range f.Jobs {
		if j.Start == nil || j.Situation != backfill.Reserved.String() && j.Situation != backfill.Waits.String() {
			continue
		}
		told := toldStart{mid: backfill.Time(*j.Start)}
		if j.P10 != nil {
			told.low, told.high, told.ranged = backfill.Time(*j.P10), backfill.Forever, true
		}
		if j.P90 != nil {
			told.high = backfill.Time(*j.P90)
		}
		for when := range a.told {
			if _, known := a.told[when][j.ID]; !known && (when == atArrival || i == 0) && len(a.told[when]) < mostTold {
				a.told[when][j.ID] = told
			}
		}
	}
}

// follow records the jobs that are now known to run, whoever has started them, and forgets those
// that wait no more. A job that was gone before it was seen to run began when this negotiator
// started it, unless that one only observes. A job that another negotiator has started counts not at all.
func (a *accuracy) follow(r *negotiator.Report, observes bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for when, all := range a.told {
		for _, id := range r.Delta.Elsewhere {
			delete(all, id)
		}
		for _, b := range r.Delta.Began {
			a.come(when, b.Job, b.At)
		}
		for i := range r.Delta.Found {
			a.come(when, r.Delta.Found[i].Job.ID, r.Delta.Found[i].Start)
		}
		if !observes {
			for _, m := range r.Matches {
				if told, known := all[m.Job.ID]; known {
					told.matched = max(r.Delta.Now, m.At)
					all[m.Job.ID] = told
				}
			}
		}
		for id, told := range all {
			if r.State.IsRunning(id) || r.State.IsWaiting(id) {
				continue
			}
			if told.matched != 0 {
				a.come(when, id, told.matched)
			}
			delete(all, id)
		}
	}
}

// come records when a job began that was told a start.
func (a *accuracy) come(when int, job backfill.JobID, at backfill.Time) {
	told, known := a.told[when][job]
	if !known {
		return
	}
	delete(a.told[when], job)
	a.last = nil
	if a.meter != nil {
		a.meter.StartError(whenNames[when].label, at-told.mid)
	}
	a.came[when] = append(a.came[when], cameStart{
		off: max(at-told.mid, told.mid-at), ranged: told.ranged, within: told.low <= at && at <= told.high,
	})
	if n := len(a.came[when]); n > mostCame {
		a.came[when] = slices.Delete(a.came[when], 0, n-mostCame)
	}
}

// Accuracy says how true the start times were that were told.
type Accuracy struct {
	Told string `json:"told"` // when: at the job's arrival, or at the head of the queue
	// Jobs is how many have started, the last 1,000 at most, and Ranged how many of them were told a
	// range.
	Jobs   int64 `json:"jobs"`
	Ranged int64 `json:"told_a_range"`
	// Median and P90 are of the errors of the expected starts, in seconds, earlier or later.
	Median int64 `json:"median_error_seconds"`
	P90    int64 `json:"p90_error_seconds"`
	// Minute and TenMinutes are the shares of the jobs that started within that of what they were told;
	// nil: nobody says so, as an older negotiator does not.
	Minute     *float64 `json:"within_1_minute,omitempty"`
	TenMinutes *float64 `json:"within_10_minutes,omitempty"`
	// Within is the share of the jobs that were told a range and started in it.
	Within float64 `json:"within_range"`
}

// measure returns how true the start times were, by when they were told.
func (a *accuracy) measure() [whens]Accuracy {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil {
		a.last = a.measured()
	}
	return *a.last
}

func (a *accuracy) measured() *[whens]Accuracy {
	var all [whens]Accuracy
	for when := range all {
		m, errors := &all[when], make([]backfill.Time, len(a.came[when]))
		m.Told, m.Jobs = whenNames[when].label, int64(len(errors))
		within := 0
		for i, c := range a.came[when] {
			errors[i] = c.off
			if c.ranged {
				m.Ranged++
			}
			if c.ranged && c.within {
				within++
			}
		}
		if len(errors) > 0 {
			slices.Sort(errors)
			rank := func(percent int) int64 { return int64(errors[(percent*len(errors)+99)/100-1]) }
			m.Median, m.P90 = rank(50), rank(90)
		}
		near := ahead.NearOf(errors)
		m.Minute, m.TenMinutes = &near.Minute, &near.TenMinutes
		m.Within = float64(within) / float64(max(m.Ranged, 1))
	}
	return &all
}

// describe adds the record to the Negotiator ad.
func (a *accuracy) describe(ad *classad.ClassAd) {
	for when, m := range a.measure() {
		name := "BackfillStarts" + whenNames[when].attribute
		ad.SetInt(name, m.Jobs)
		ad.SetInt(name+"Ranged", m.Ranged)
		ad.SetInt(name+"MedianError", m.Median)
		ad.SetInt(name+"P90Error", m.P90)
		ad.SetReal(name+"WithinMinute", *m.Minute)
		ad.SetReal(name+"WithinTenMinutes", *m.TenMinutes)
		ad.SetReal(name+"WithinRange", m.Within)
	}
}

// AccuracyAttributes are the attributes of the Negotiator ad that ReadAccuracy reads.
func AccuracyAttributes() (names []string) {
	ad := classad.New()
	new(accuracy).describe(ad)
	for name := range ad.All() {
		names = append(names, name)
	}
	return names
}

// shareIn returns a share that an ad has; nil if it has none.
func shareIn(ad *classad.ClassAd, name string) *float64 {
	if share, ok := ad.Literal(name).Number(); ok {
		return &share
	}
	return nil
}

// ReadAccuracy reads the record from a Negotiator ad.
func ReadAccuracy(ad *classad.ClassAd) (all []Accuracy) {
	for _, when := range whenNames {
		name, m := "BackfillStarts"+when.attribute, Accuracy{Told: when.label}
		m.Jobs, _ = ad.Literal(name).Int()
		m.Ranged, _ = ad.Literal(name + "Ranged").Int()
		m.Median, _ = ad.Literal(name + "MedianError").Int()
		m.P90, _ = ad.Literal(name + "P90Error").Int()
		m.Minute, m.TenMinutes = shareIn(ad, name+"WithinMinute"), shareIn(ad, name+"WithinTenMinutes")
		m.Within, _ = ad.Literal(name + "WithinRange").Number()
		all = append(all, m)
	}
	return all
}
