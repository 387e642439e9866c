package dispatch

import (
	"cmp"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// flight is a job on its way to its slots: the negotiator has started it, and no look has seen it
// run.
type flight struct {
	job *track.Job
	// rest are the places that were not handed to the job's schedd yet, and why is the reason.
	rest []track.Place
	why  string
	// full says that its schedd has no room for it.
	full bool
	// claims are the claim ids that were handed over; secrets.
	claims []string
	// telling says that its schedd may be hearing of it at this moment.
	telling bool
	// since is when the job was started. moved is when the flight last got on: when it began, when
	// something of it was handed over, or when another was served that it is in line behind.
	since, moved time.Time
}

// sent tells whether nothing is left to hand over.
func (f *flight) sent() bool { return len(f.rest) == 0 }

// handed tells whether something of it was handed over, or may be at this moment.
func (f *flight) handed() bool { return len(f.claims) > 0 || f.sent() || f.telling }

// giveUp ends a flight that has failed. Its claims may be handed out again if they are still
// advertised: had they been used, they would not be.
func (d *Dispatcher) giveUp(id backfill.JobID) {
	for _, claim := range d.flights[id].claims {
		delete(d.used, claim)
	}
	delete(d.flights, id)
}

// patience is how long a flight may stand still. A schedd collects a gang's slots and then looks
// for them at the collector, which takes its time.
func (d *Dispatcher) patience(f *flight) time.Duration {
	if f.job.Group.Spec.Parallel {
		return 2 * d.s.Patience
	}
	return d.s.Patience
}

// overdue tells whether a flight has stood still for too long, as far as its schedd's queue shows.
func (d *Dispatcher) overdue(f *flight) bool {
	s := d.belief.Schedd(f.job.Key.Schedd)
	return s != nil && !f.telling && s.Since.Sub(f.moved) >= d.patience(f)
}

// incomplete are the flights that were not wholly handed over, in order of starts and then of jobs.
func (d *Dispatcher) incomplete() []*flight {
	var all []*flight
	for _, f := range d.flights {
		if !f.sent() {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b *flight) int {
		return cmp.Or(a.since.Compare(b.since), a.job.Key.Compare(b.job.Key))
	})
	return all
}

// ready are the flights that can be handed over now, and in whose name. The others learn why not.
func (d *Dispatcher) ready() (flights []*flight, submitters map[*flight]string) {
	waiting := d.incomplete()
	if len(waiting) == 0 {
		return nil, nil
	}
	submitters = map[*flight]string{}
	in := d.inRooms()
	for _, f := range waiting {
		submitters[f] = f.job.Submitter()
		why := d.unready(f, submitters[f])
		if why == "" {
			why = d.letIn(f, in)
		}
		if why != "" {
			f.why = why
			continue
		}
		flights = append(flights, f)
	}
	return flights, submitters
}

// unready says why a flight's job cannot be negotiated for now; "" if it can.
func (d *Dispatcher) unready(f *flight, submitter string) string {
	s := d.belief.Schedd(f.job.Key.Schedd)
	if s == nil {
		return "its schedd is gone"
	}
	known, advertised := s.Submitters[submitter]
	gang := f.job.Group.Spec.Parallel
	switch {
	case d.line(s.Name).telling != nil:
		return "its schedd is being told of other matches"
	case s.Failed != nil:
		return "its schedd does not answer: " + s.Failed.Error()
	case s.Late:
		return "its schedd has not answered yet"
	case gang && (!advertised || known.Idle == 0):
		return "its schedd does not ask for a gang's slots now"
	case !advertised:
		return "its schedd has not advertised the submitter " + submitter
	case gang:
		return d.wouldLose(f)
	}
	return ""
}

// inRooms counts the jobs that each schedd runs, as far as it tells, or was told to run.
func (d *Dispatcher) inRooms() map[string]int {
	in := map[string]int{}
	for j := range d.belief.Jobs() {
		f := d.flights[j.ID]
		if f != nil && f.handed() || f == nil && j.Group.Runs() {
			in[j.Key.Schedd]++
		}
	}
	return in
}

// letIn says that a schedd has no room for a flight, given how many jobs are in. If it has, it says
// "" and counts the flight in.
func (d *Dispatcher) letIn(f *flight, in map[string]int) (why string) {
	s := d.belief.Schedd(f.job.Key.Schedd)
	f.full = s.Room != nil && !f.handed() && in[s.Name] >= s.Room.Jobs
	if f.full {
		return s.Room.Full()
	}
	if !f.handed() {
		in[s.Name]++
	}
	return ""
}
