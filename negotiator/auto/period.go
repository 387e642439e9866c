package auto

import (
	"fmt"
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// period is a week or so of a pool, to be played once it is over: the schedule as it was at its
// beginning, and who came in it.
type period struct {
	outlook              *outlook.Outlook
	sets, slots, bundles int // how many there were
	cpus                 int64
	known                map[backfill.JobID]*arrived // who waited or ran, or came
	came                 []backfill.JobID
	began, ended         backfill.Time // the play ends then; 0: with the period
	moved                bool          // the pool's cpus have changed, by so much that another pool would be played
}

const (
	// mostInPeriod is how many jobs come in a period at most, which bounds what it takes to keep and to
	// play: one in which more come is played up to the last of these. None begins with more in the pool.
	mostInPeriod = 5000
	// leastShare is which share of its length a period that is cut short must have to count.
	leastShare = 0.1
	// mostMoved is by which share the cpus of a pool may change in a period that counts.
	mostMoved = 0.1
	// settling is the part of a period in which the pool may still be coming up, such as a negotiator that
	// starts before the startds report: it begins anew then.
	settling = 100
)

// beginPeriod begins a period with the schedule after a cycle, unless there are too many jobs.
func (r *record) beginPeriod(report *negotiator.Report) {
	r.period = nil
	if len(r.known) > mostInPeriod {
		return
	}
	p := &period{
		outlook: outlook.New(report.Negotiator()), began: report.Delta.Now, known: maps.Clone(r.known),
		sets: len(report.State.CandidateSets()), slots: len(report.State.Slots()), bundles: len(report.State.Bundles()),
		cpus: cpus(report.State),
	}
	r.period, r.crowded = p, false
}

func cpus(s *backfill.State) int64 {
	if all := s.Capacity(); len(all) > 0 {
		return all[0]
	}
	return 0
}

// come notes a job that comes. One that came before, ran, and has come back, is none.
func (p *period) come(a *arrived, now backfill.Time) {
	if p == nil || p.ended != 0 {
		return
	}
	id := a.Job.ID
	switch before := p.known[id]; {
	case before == nil && len(p.came) >= mostInPeriod:
		p.ended = now
	case before == nil:
		p.known[id], p.came = a, append(p.came, id)
	case !before.ended:
		p.known[id] = a
	}
}

// endPeriod ends the period if it is as long as is asked for, and begins another one. It returns what
// there is to be played then, nil if no period has ended; and why one is not played, or none begins.
func (r *record) endPeriod(report *negotiator.Report, length backfill.Time) (f *Future, dropped []string) {
	now, p := report.Delta.Now, r.period
	if p != nil && p.ended == 0 && !p.moved {
		p.moved = apart(cpus(report.State), p.cpus)
	}
	switch {
	case p != nil && p.moved && now-p.began <= length/settling:
		p = nil
	case p != nil && now-p.began < length:
		return nil, nil
	}
	if p != nil && len(p.came) > 0 {
		var why string
		if f, why = p.over(r, report, length); why != "" {
			dropped = append(dropped, why)
		}
	}
	if r.beginPeriod(report); r.period == nil && !r.crowded {
		r.crowded = true
		dropped = append(dropped, fmt.Sprintf("no period begins while there are more than %d jobs", mostInPeriod))
	}
	return f, dropped
}

// apart reports whether the cpus are others by so much that it is another pool.
func apart(now, before int64) bool {
	return float64(max(now-before, before-now)) > mostMoved*float64(before)
}

// over returns what there is to be played of a period that is over: who came, with the run times that
// they had or, of those that have not ended, such as they may have. It returns nil if the period
// does not count, and why; for no reason if nobody came who could run.
func (p *period) over(r *record, report *negotiator.Report, length backfill.Time) (f *Future, why string) {
	now := report.Delta.Now
	if p.ended == 0 {
		p.ended = now
	}
	f = &Future{
		runs: make(map[backfill.JobID]backfill.Time, len(p.known)), gone: map[backfill.JobID]bool{}, now: now,
		Horizon: p.ended - p.began,
	}
	f.share = min(1, float64(f.Horizon)/float64(length))
	switch {
	case p.moved:
		return nil, fmt.Sprintf("the pool's cpus changed by more than %v %% in its period", 100*mostMoved)
	case f.share < leastShare:
		return nil, fmt.Sprintf("more than %d jobs came in the first %d s of its period", mostInPeriod, f.Horizon)
	}
	past := r.past.Records()
	for id, a := range p.known {
		switch {
		case a.ended:
			f.runs[id] = a.runs
		case r.known[id] != a: // it left without having run
			f.gone[id] = true
		default:
			if !report.State.IsRunning(id) {
				a.began = -1
			}
			f.runs[id] = a.draw(past, now)
		}
	}
	f.whose = r.users(p.known)
	f.sets = p.laterSets(report.State)
	expected := make([]negotiator.Expected, 0, len(p.came))
	for _, id := range p.came {
		a := p.known[id]
		if set := a.Job.Candidates - p.sets; f.gone[id] || set >= 0 && none(&f.sets[set].Candidates) {
			delete(f.runs, id)
			continue
		}
		expected, f.Arrivals = append(expected, a.Expected), append(f.Arrivals, a.Job)
	}
	if len(expected) == 0 {
		return nil, ""
	}
	f.Outlook = p.outlook.Expecting(expected)
	f.grain = grain(f.runs)
	return f, ""
}

func none(c *backfill.Candidates) bool { return len(c.Slots)+len(c.Bundles) == 0 }

// laterSets returns the candidate sets that have come in the period, of which those slots and bundles
// are left that were there at its beginning.
func (p *period) laterSets(s *backfill.State) (all []backfill.CandidateSet) {
	for id, set := range s.CandidateSets() {
		if id < p.sets {
			continue
		}
		there := backfill.Candidates{Slots: upTo(set.Slots, p.slots), Bundles: upTo(set.Bundles, p.bundles)}
		n := len(there.Slots) + len(there.Bundles)
		there.Rank, there.Windows, there.Least = first(set.Rank, n), first(set.Windows, n), first(set.Least, n)
		all = append(all, backfill.CandidateSet{ID: id, Candidates: there})
	}
	return all
}

// upTo returns those of ascending numbers that are below a bound.
func upTo[N ~int32](all []N, bound int) []N {
	n, _ := slices.BinarySearch(all, N(bound))
	return all[:n:n]
}

// first returns the first ones of a list that may be nil.
func first[T any](all []T, n int) []T { return all[:min(n, len(all)):min(n, len(all))] }
