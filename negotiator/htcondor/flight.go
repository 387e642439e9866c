package htcondor

import (
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator"
)

// flight is a job on its way to its slots: decided, and not yet seen to run.
type flight struct {
	job *job
	// rest are the places that were not handed to the job's schedd yet, and why the
	// first of them was not.
	rest []place
	why  string
	// full says that there was no room for it in its schedd.
	full bool
	// claims are the ids that were handed over; secrets.
	claims []string
	// telling says that its schedd may be hearing of it at this moment.
	telling bool
	since   time.Time // decided
	// moved is when it last got on: it was decided, something of it was handed over, or
	// it was in line behind another that was served.
	moved time.Time
}

// sent tells whether nothing is left to hand over.
func (f *flight) sent() bool { return len(f.rest) == 0 }

// handed tells whether something of it was handed over, or may be at this moment.
func (f *flight) handed() bool { return len(f.claims) > 0 || f.sent() || f.telling }

// takeOff takes note that a job was decided to start.
func (p *Pool) takeOff(m negotiator.Match) {
	j := p.byID[m.Job.ID]
	if j == nil {
		p.log.Error("a job was started that is not there", "job", m.Job.Name)
		return
	}
	j.phase, j.places, j.start = running, nil, p.clock
	for _, at := range m.Placement {
		j.places = append(j.places, place{Slot: at.Slot.Name, Chunks: at.Chunks})
	}
	slices.SortFunc(j.places, func(a, b place) int { return strings.Compare(a.Slot, b.Slot) })
	now := p.now()
	p.flights[j.id] = &flight{job: j, rest: slices.Clone(j.places), since: now, moved: now, why: "nothing was tried yet"}
}

// land ends a flight that has failed. Its claims may be handed out again where they
// are still advertised: had they been used, they were not.
func (p *Pool) land(f *flight) {
	for _, id := range f.claims {
		delete(p.used, id)
	}
	delete(p.flights, f.job.id)
}

// patience is how long a flight may stand still. A schedd collects a gang's slots and
// then looks for them at the collector, which takes its time.
func (p *Pool) patience(f *flight) time.Duration {
	if f.job.group.plan.parallel {
		return 2 * p.s.Patience
	}
	return p.s.Patience
}

// unsent tells whether matches are still to be handed over.
func (p *Pool) unsent() bool {
	if p.s.Observe {
		return false
	}
	for _, f := range p.flights {
		if !f.sent() {
			return true
		}
	}
	return false
}

// deadline is when the next flight will have stood still for too long, or a slot comes
// back; zero: there is none. Those that had already when the pool was last looked at are
// of schedds that do not answer, and no reason to look again.
func (p *Pool) deadline() (first time.Time) {
	for _, f := range p.flights {
		if at := f.moved.Add(p.patience(f)); at.After(p.looked) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for _, bySchedd := range p.doubts { // slots that are left out come back
		for _, d := range bySchedd {
			if d.until.After(p.looked) && (first.IsZero() || d.until.Before(first)) {
				first = d.until
			}
		}
	}
	return first
}
