package claims

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// flight is a job on its way to its slots: the negotiator has started it, and no look at the pool
// has seen it run.
type flight struct {
	job *track.Job
	// rest are the places that were not handed to the job's schedd yet, and why is the reason.
	rest []track.Place
	why  string
	// full says that its schedd runs, or was told to run, as many jobs as it may.
	full bool
	// claims are the claim ids that were handed over, those of several slots that are taken over with
	// a blank between; secrets.
	claims []string
	// telling says that its schedd is being told of its matches in the background.
	telling bool
	// turn counts the flights in the order in which the negotiator started their jobs: the first of
	// them is the first that is handed over.
	turn int
	// since is when the job was started. moved is when the flight last made progress: when it
	// began, when a claim was handed over for it, or when it waited because another flight was
	// served.
	since, moved time.Time
	// heard is when its schedd had first told its queue since.
	heard time.Time
	// rides is when its schedd was given the slot for another job, and may start this one on the
	// rest of it; zero if it needs a claim of its own.
	rides time.Time
	// lent says that its claim was lent.
	lent bool
	// shadows is how many shadows its job had had before. gone is when its claims were found to be
	// over, unused when they were found not to have been asked for; zero if they were not. failed is
	// how its start has failed, as the last look showed.
	shadows      int64
	gone, unused time.Time
	failed       failure
	// closed says that the clock has closed its slot, so that its start has failed or will not come about.
	closed bool
	// over is what its job takes over, nil if its place is free; waited is when a startd was last seen to
	// say that its claim waits.
	over   *track.Takeover
	waited time.Time
	// until is when scavengers have left its slots, as far as is known; instead says that it takes claims of
	// them over, as they cannot be vacated.
	until   time.Time
	instead bool
	// barred says that limits that depend on the slot had no room for it: it is not handed over.
	barred bool
	// silent is since when a gang waits only because its schedd does not ask for its slots; zero if
	// it does not.
	silent time.Time
}

// sent tells whether the claims for all chunks of the flight's job were handed over.
func (f *flight) sent() bool { return len(f.rest) == 0 }

// ids returns each claim id that was handed over.
func (f *flight) ids() (all []string) {
	for _, claim := range f.claims {
		all = slices.AppendSeq(all, strings.FieldsSeq(claim))
	}
	return all
}

// handed tells whether a claim for the flight was handed over, or may be at this moment.
func (f *flight) handed() bool { return len(f.claims) > 0 || f.sent() || f.telling }

// giveUp ends the flight of a job whose start has failed. Claims that were handed over for it and
// are still advertised were not used, and may be handed out again, unless they are known to be
// over.
func (c *State) giveUp(id backfill.JobID) {
	f := c.flights[id]
	if f.sent() && !f.closed {
		c.failures[f.job.Key] = c.belief.Snapshot().Began
	}
	if f.failed == none || f.failed == ignored {
		for _, id := range f.ids() {
			delete(c.used, id)
		}
	}
	delete(c.flights, id)
}

// unspared is for how long a claim may be on its way that was handed over for a job that has ended
// or runs on another slot.
const unspared = 5 * time.Second

// spare has the claims of a flight that is over handed out again some time after they were handed
// over, if they are still advertised: the job did not need them.
func (c *State) spare(f *flight, after time.Duration) {
	if f.job.Group.Spec.Parallel {
		return // what becomes of a gang's claims is known otherwise
	}
	for _, id := range f.ids() {
		u, used := c.used[id]
		switch {
		case !used:
		case c.now.Sub(u.at) >= after:
			delete(c.used, id)
		default:
			u.at = u.at.Add(after - 2*c.s.Patience)
			c.used[id] = u
		}
	}
}

// patience returns how long a flight, a job under way, may stand still: longer for a gang, a job of
// several chunks, because its schedd collects all slots and then waits until the collector shows
// them.
func (c *State) patience(f *flight) time.Duration {
	if f.job.Group.Spec.Parallel {
		return 2 * c.s.Patience
	}
	return c.s.Patience
}

// overdue tells whether a flight, a job under way, had stood still for too long when its schedd's
// queue was last read; or by now, if that was not read in the last look and no slot names the job. A
// schedd that dies would else keep the slots.
func (c *State) overdue(f *flight) bool {
	s := c.belief.Schedd(f.job.Key.Schedd)
	if s == nil || f.telling {
		return false
	}
	at, now, due := s.Since, c.belief.Snapshot(), later(f.due(), f.waited)
	if !s.Read && now.Began.Sub(due) >= c.patience(f) && !now.Names(f.job.Key) {
		at = now.Began
	}
	return at.Sub(due) >= c.patience(f)
}

// incomplete returns the flights, jobs under way, that were not wholly handed over, in the order in
// which their jobs were started.
func (c *State) incomplete() []*flight {
	return slices.DeleteFunc(c.inTurn(), (*flight).sent)
}

// inTurn returns all flights, the jobs under way, in the order in which their jobs were started.
func (c *State) inTurn() []*flight {
	return slices.SortedFunc(maps.Values(c.flights), func(a, b *flight) int { return cmp.Compare(a.turn, b.turn) })
}

// Ready are flights, jobs under way, that can be handed over now.
type Ready []*flight

// Slots names the slots that the flights still need.
func (r Ready) Slots() map[string]bool {
	names := map[string]bool{}
	for _, f := range r {
		f.slots(names)
	}
	return names
}

// Fail notes why none of the flights can be handed over.
func (r Ready) Fail(err error) {
	for _, f := range r {
		f.why = err.Error()
	}
}

// Ready returns the flights, jobs under way, that can be handed over now. In the other flights it
// notes why they cannot be.
func (c *State) Ready(now time.Time) (flights Ready) {
	c.now = now
	waiting := c.incomplete()
	if len(waiting) == 0 {
		return nil
	}
	c.await(waiting)
	in := c.inRooms()
	for _, f := range waiting {
		why := c.unready(f, f.job.Submitter())
		c.noteUnasked(f, why)
		if why == "" {
			why = c.letIn(f, in)
		}
		if why != "" {
			f.why = why
			continue
		}
		flights = append(flights, f)
	}
	return flights
}

// unready returns why the schedd of a flight, a job under way, cannot be told of its match now; ""
// if it can.
func (c *State) unready(f *flight, submitter string) string {
	s := c.belief.Schedd(f.job.Key.Schedd)
	if s == nil {
		return "its schedd is gone"
	}
	known, advertised := s.Submitters[submitter]
	gang := f.job.Group.Spec.Parallel
	switch {
	case !f.rides.IsZero(), f.barred:
		return f.why
	case c.telling[s.Name] != nil:
		return "its schedd is being told of other matches"
	case s.Failed != nil:
		return "its schedd does not answer: " + s.Failed.Error()
	case s.Late:
		return "its schedd has not answered yet"
	case known.Barred() != "":
		return known.Barred() + " of its submitter " + submitter
	case gang && (!advertised || known.Idle == 0):
		return notAsked
	case !advertised:
		return "its schedd has not advertised the submitter " + submitter
	case gang:
		return c.wouldLose(f)
	}
	return ""
}

// inRooms counts, by room, the jobs that a schedd is known to run or was told to run.
func (c *State) inRooms() map[*accountant.Room]int {
	in := map[*accountant.Room]int{}
	for j := range c.belief.Jobs() {
		f, s := c.flights[j.ID], c.belief.Schedd(j.Key.Schedd)
		if s == nil || (f == nil || !f.handed()) && (f != nil || !j.Group.Runs()) {
			continue
		}
		for _, room := range roomsOf(s, j.Group.Spec) {
			in[room]++
		}
	}
	return in
}

// roomsOf returns the rooms and gates that jobs of a schedd share, each once.
func roomsOf(s *observe.Schedd, spec *observe.Spec) (all []*accountant.Room) {
	rooms, gates := s.RoomsOf(spec), s.GatesOf(spec)
	for _, room := range slices.Concat(rooms[:], gates[:]) {
		if room != nil && !slices.Contains(all, room) {
			all = append(all, room)
		}
	}
	return all
}

// letIn returns why the schedd of a flight, a job under way, may run no more jobs, or takes no match of
// it for a moment; "" if it does. The map in is that of inRooms; letIn adds the flight to it if there is
// room. A flight that waits before a gate keeps its slots, and the time does not count against it.
func (c *State) letIn(f *flight, in map[*accountant.Room]int) (why string) {
	f.full = false
	if f.handed() {
		return ""
	}
	s, spec := c.belief.Schedd(f.job.Key.Schedd), f.job.Group.Spec
	isFull := func(room *accountant.Room) bool { return room != nil && in[room] >= room.Jobs }
	rooms, gates := s.RoomsOf(spec), s.GatesOf(spec)
	if i := slices.IndexFunc(rooms[:], isFull); i >= 0 {
		f.full = !c.waitsForWay(f)
		return rooms[i].Full()
	}
	if i := slices.IndexFunc(gates[:], isFull); i >= 0 {
		f.moved = c.now
		return gates[i].Full()
	}
	for _, room := range roomsOf(s, spec) {
		in[room]++
	}
	return ""
}
