package claims

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// Scavengers make way when their schedds are told to vacate them. The job for which they do is a flight like
// any other, which waits until its slots have room. A scavenger that is on its way itself does not begin, or
// is vacated once it runs. If a schedd does not let us vacate jobs, the job takes over their claims instead,
// as by preemption: then the startd ends them, without a signal if they are on dynamic slots.

const (
	// vacatedAgain is how soon a scavenger is vacated once more that runs on: its schedd may have lost what it was
	// told, as in a restart. One that is already leaving gets no second signal, and no more time.
	vacatedAgain = 30 * time.Second
	// unwillingFor is for how long claims of a schedd's scavengers are taken over, since it last said that it does
	// not let us vacate jobs. It is asked every vacatedAgain.
	unwillingFor = 10 * time.Minute
	// askedAgain is how soon a schedd is asked again that did not answer: twice as late each time, up to vacatedAgain.
	askedAgain = 3 * time.Second
)

// vacating is what was done so that a scavenger leaves.
type vacating struct {
	again  time.Time     // when its schedd is told again
	pause  time.Duration // before it is asked again, if it did not answer
	leaves time.Time     // when the scavenger has left at the latest, as it was told; zero: it was not
}

// Vacate is which scavengers a schedd is to vacate.
type Vacate struct {
	Jobs  []backfill.JobID
	Names []string // as in the schedd's queue
}

// Vacates returns, by schedd, the running scavengers that have to leave and that their schedds were not told
// of, or run on although they were. All of them count as being told until [NoteVacated], or for twice as long as
// that may take.
func Vacates(c *State, now time.Time) map[string]Vacate {
	c.now = now
	leaving := track.Leaving(c.belief)
	if c.s.Observe || len(leaving) == 0 {
		clear(c.vacating)
		return nil
	}
	all, there := map[string]Vacate{}, map[backfill.JobID]bool{}
	for _, j := range leaving {
		there[j.ID] = true
		s := c.belief.Schedd(j.Key.Schedd)
		if s == nil {
			delete(c.vacating, j.ID)
			continue
		}
		if s.Failed != nil || s.Late || !j.Group.Runs() {
			continue
		}
		v := c.vacating[j.ID]
		if v == nil {
			v = &vacating{pause: askedAgain}
			c.vacating[j.ID] = v
		}
		if now.Before(v.again) {
			continue
		}
		v.again = now.Add(2 * c.s.Patience) // whatever becomes of the answer
		told := all[s.Name]
		all[s.Name] = Vacate{append(told.Jobs, j.ID), append(told.Names, j.Key.String())}
	}
	for id := range c.vacating {
		if !there[id] {
			delete(c.vacating, id)
		}
	}
	return all
}

// NoteVacated takes in that a schedd was told to vacate scavengers; the error says why it does not. Unwilling says
// that it does not let us do that. Who waits for them has to wait for as long as they may take to leave. The
// result says whether that is news: they were not told before, or the schedd was not known to be unwilling.
func NoteVacated(c *State, now time.Time, schedd string, told Vacate, unwilling bool, err error) (news bool) {
	c.now = now
	switch {
	case unwilling:
		news = !c.isUnwilling(schedd)
		c.unwilling[schedd] = now.Add(unwillingFor)
	case err == nil:
		delete(c.unwilling, schedd)
	}
	for _, id := range told.Jobs {
		v, j := c.vacating[id], c.belief.Job(id)
		if v == nil {
			continue
		}
		v.again = now.Add(vacatedAgain)
		if err != nil && !unwilling {
			v.again = now.Add(v.pause)
			v.pause = min(2*v.pause, vacatedAgain)
		}
		if err != nil || j == nil {
			continue
		}
		v.pause = askedAgain
		news = news || v.leaves.IsZero()
		if now.Before(v.leaves) {
			continue // it is told again, in case that it was not told
		}
		longest, _ := track.VacateTime(c.belief, j)
		v.leaves = now.Add(time.Duration(longest) * time.Second)
		c.counts.Vacated++
		if f := c.flights[track.Heir(c.belief, id)]; f != nil {
			f.until = later(f.until, v.leaves)
		}
	}
	return news
}

// isUnwilling tells whether a schedd does not let us vacate its jobs.
func (c *State) isUnwilling(schedd string) bool { return c.unwilling[schedd].After(c.now) }

// cancel ends the flights of scavengers that have to leave and of which nobody was told.
func (c *State) cancel(m negotiator.Match) {
	for _, id := range m.Displaces {
		f := c.flights[id]
		if f != nil && f.job.Scavenges() && !f.handed() {
			delete(c.flights, id) // the next look finds it idle
		}
	}
}

// waitsForWay tells whether a flight waits until scavengers have left.
func (c *State) waitsForWay(f *flight) bool {
	return track.Leaves(c.belief, f.job.ID) || c.now.Before(f.until)
}

// await has flights wait for scavengers that are on their way themselves, without losing patience, and has
// those take claims over whose schedds do not let us vacate them.
func (c *State) await(flights []*flight) {
	leaving := track.Leaving(c.belief)
	if len(leaving) == 0 {
		for _, f := range flights {
			if f.instead {
				f.over, f.instead = nil, false
			}
		}
		return
	}
	victims := map[backfill.JobID][]*track.Job{}
	for _, j := range leaving {
		heir := track.Heir(c.belief, j.ID)
		victims[heir] = append(victims[heir], j)
	}
	for _, f := range flights {
		all := victims[f.job.ID]
		if slices.ContainsFunc(all, func(j *track.Job) bool { return !j.Group.Runs() }) {
			f.moved = c.now
			continue
		}
		if f.over == nil || f.instead {
			f.over = c.overInstead(f, all)
			f.instead = f.over != nil
		}
	}
}

// overInstead returns which claims a flight takes over of scavengers whose schedds do not let us vacate them;
// nil: it does not. That can be done if all of them run on the one slot that the job is to have.
func (c *State) overInstead(f *flight, victims []*track.Job) *track.Takeover {
	if len(victims) == 0 || f.job.Group.Spec.Parallel || len(f.job.Places) != 1 {
		return nil
	}
	t := &track.Takeover{Host: f.job.Places[0].Slot, At: backfill.Time(f.until.Unix())}
	for _, j := range victims {
		if !c.isUnwilling(j.Key.Schedd) || len(j.Group.Hosts) != 1 {
			return nil
		}
		o := c.Observed(j.Group.Hosts[0])
		if o == nil || o.Host != t.Host {
			return nil
		}
		t.Victims, t.Slots = append(t.Victims, j.ID), append(t.Slots, o.Name)
	}
	return t
}

// whyWaits says for whom a flight waits, before what else it waits for.
func (c *State) whyWaits(f *flight, why string) string {
	var names []string
	for _, j := range track.Leaving(c.belief) {
		if track.Heir(c.belief, j.ID) == f.job.ID {
			names = append(names, c.belief.Name(j))
		}
	}
	if len(names) == 0 {
		return why
	}
	const shown = 3
	if n := len(names) - shown; n > 0 {
		names = append(names[:shown], fmt.Sprintf("%d more", n))
	}
	return "scavengers have yet to leave: " + strings.Join(names, ", ") + "; " + why
}
