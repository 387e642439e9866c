package claims

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// reason is why a job waits, as its schedd was told last, and when.
type reason struct {
	text string
	at   time.Time
}

// TellEvery is how soon a job may be told another reason.
const TellEvery = 5 * time.Minute

// maxReasons bounds the reasons that one schedd is told at once: each is a write to its queue.
const maxReasons = 200

// Reason is why a job waits, to be told to its schedd.
type Reason struct {
	Job       observe.JobKey
	Submitter string
	Why       string
}

// Reasons returns, by schedd and submitter, why jobs wait, as far as it is new and for a bounded
// number of jobs: first the waiting ones among ids, with the reason that the callback why gives,
// then those that are left out of the plan. Schedds that are mute are told nothing. All that is
// returned counts as told.
func (c *State) Reasons(
	now time.Time, ids []backfill.JobID, why func(backfill.JobID) string, mute func(schedd string) bool,
) map[string]map[string][]Reason {
	c.now = now
	if c.s.Observe {
		return nil
	}
	e := explanation{c: c, mute: mute, bySchedd: map[string]map[string][]Reason{}, count: map[string]int{}}
	for _, id := range ids {
		e.add(id, track.Waiting, func(id backfill.JobID) string {
			text := why(id)
			if lacking := c.limits.Lacking(c.belief.Job(id)); lacking != "" { // last, as it ends as programs expect
				text = cmp.Or(text, "waits") + "; " + lacking
			}
			return text
		})
	}
	for id, text := range c.belief.View().Reasons {
		e.add(id, track.Unknown, func(backfill.JobID) string { return text })
	}
	maps.DeleteFunc(c.reasons, func(id backfill.JobID, _ reason) bool { return c.belief.Job(id) == nil })
	return e.bySchedd
}

// explanation is what the schedds are to be told.
type explanation struct {
	c        *State
	mute     func(schedd string) bool
	bySchedd map[string]map[string][]Reason // by schedd and submitter
	count    map[string]int                 // by schedd
}

// add adds a job's reason, if the job is in the given phase, its schedd can be told, and the reason
// is new.
func (e *explanation) add(id backfill.JobID, phase track.Phase, why func(backfill.JobID) string) {
	c, j := e.c, e.c.belief.Job(id)
	if j == nil || j.Phase != phase || e.count[j.Key.Schedd] >= maxReasons {
		return
	}
	s := c.belief.Schedd(j.Key.Schedd)
	if s == nil {
		return
	}
	submitter := j.Submitter()
	known, advertised := s.Submitters[submitter]
	if !advertised || known.Barred() != "" || s.Failed != nil || s.Late || c.telling[s.Name] != nil || e.mute(s.Name) {
		return
	}
	before := c.reasons[id]
	if c.now.Sub(before.at) < TellEvery {
		return
	}
	text := why(id)
	if text == before.text {
		return
	}
	c.reasons[id] = reason{text, c.now}
	if e.bySchedd[s.Name] == nil {
		e.bySchedd[s.Name] = map[string][]Reason{}
	}
	e.bySchedd[s.Name][submitter] = append(e.bySchedd[s.Name][submitter], Reason{j.Key, submitter, text})
	e.count[s.Name]++
}

// Limits tells which limits keep jobs from starting.
type Limits struct{ *track.Limits }

// Limits returns the limits as they are after the starts of the last cycle.
func (c *State) Limits() Limits { return Limits{c.limits} }

// Limited returns why concurrency limits keep jobs from starting: of the jobs of a submitter in a
// schedd that wait alike, for the first.
func (l Limits) Limited() (limited []Reason) {
	type alike struct{ schedd, submitter, limit string }
	first := map[alike]int{} // in limited
	for j, why := range l.Reached {
		limit, _ := accountant.Reached(why)
		r := Reason{j.Key, j.Submitter(), why}
		key := alike{j.Key.Schedd, r.Submitter, limit}
		if i, known := first[key]; !known {
			first[key], limited = len(limited), append(limited, r)
		} else if r.Job.Compare(limited[i].Job) < 0 {
			limited[i] = r
		}
	}
	slices.SortFunc(limited, func(a, b Reason) int { return cmp.Or(a.Job.Compare(b.Job), cmp.Compare(a.Why, b.Why)) })
	return limited
}
