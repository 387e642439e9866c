package auto

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// period is a week or so of a pool, to be played once it is over: the schedule as it was at its
// beginning, and who came in it.
type period struct {
	outlook      *outlook.Outlook
	sets, slots  int                         // how many candidate sets and slots there were
	known        map[backfill.JobID]*arrived // who waited or ran, or came
	came         []*arrived
	began, ended backfill.Time // the play ends then; 0: with the period
}

// mostInPeriod is how many jobs a period has at most, which bounds what it takes to keep and to play: one
// in which more come is played up to the last of these, and a longer queue is no beginning.
const mostInPeriod = 5000

// beginPeriod begins a period with the schedule after a cycle, unless there is one or the queue is too
// long.
func (r *record) beginPeriod(report *negotiator.Report) {
	if r.period != nil || len(r.known) > mostInPeriod {
		return
	}
	p := &period{
		outlook: outlook.New(report.Negotiator()), began: report.Delta.Now, known: maps.Clone(r.known),
		sets: len(report.State.CandidateSets()), slots: len(report.State.Slots()),
	}
	r.period = p
}

// come notes a job that comes. One that came before, and has come back, is none.
func (p *period) come(a *arrived, now backfill.Time) {
	if p == nil || p.ended != 0 || p.known[a.Job.ID] != nil {
		return
	}
	if len(p.known) >= mostInPeriod {
		p.ended = now
		return
	}
	p.known[a.Job.ID] = a
	p.came = append(p.came, a)
}

// endPeriod ends the period if it is as long as is asked for, and begins another one. It returns what
// there is to be played then: who came, with the run times that they had or, of those that have not
// ended, such as they may have. It returns nil if no period has ended.
func (r *record) endPeriod(report *negotiator.Report, length backfill.Time) *Future {
	now, p := report.Delta.Now, r.period
	if p != nil && now-p.began < length {
		return nil
	}
	r.period = nil
	r.beginPeriod(report)
	if p == nil || len(p.came) == 0 {
		return nil
	}
	if p.ended == 0 {
		p.ended = now
	}
	f := &Future{runs: make(map[backfill.JobID]backfill.Time, len(p.known)), Horizon: p.ended - p.began}
	past := r.past.Records()
	for id, a := range p.known {
		if f.runs[id] = a.runs; !a.ended {
			f.runs[id] = a.draw(past, now)
		}
	}
	f.whose = r.users(p.known)
	expected := make([]negotiator.Expected, 0, len(p.came))
	for _, a := range p.came {
		expected, f.Arrivals = append(expected, a.Expected), append(f.Arrivals, a.Job)
	}
	f.sets = p.laterSets(report.State)
	f.Outlook = p.outlook.Expecting(expected)
	f.grain = grain(f.runs)
	return f
}

// laterSets returns the candidate sets that have come in the period. One with slots that came in it,
// too, has none: its jobs wait in vain, under all candidates alike.
func (p *period) laterSets(s *backfill.State) (all []backfill.CandidateSet) {
	for id, set := range s.CandidateSets() {
		if id < p.sets {
			continue
		}
		now := backfill.CandidateSet{ID: id}
		if slots := set.Slots; len(set.Bundles) == 0 && (len(slots) == 0 || int(slots[len(slots)-1]) < p.slots) {
			now.Candidates = *set
		}
		all = append(all, now)
	}
	return all
}

// scores say how the candidates did in the periods so far, beside the first of them: each has a mean of
// the logarithms of the ratios of their objectives, in which a period counts for less the longer it is
// ago. The least is the best.
type scores struct {
	sums    []float64
	periods float64 // the sum of what they count
}

const (
	// discount is what a period counts beside the next one.
	discount = 0.9
	// alike is how many periods in which all did alike are taken to be known, so that the first ones
	// decide nothing.
	alike = 2
	// mostOfPeriod bounds what one period counts: some are all chance.
	mostOfPeriod = 1.0
	// baseGain is by which share a base must be better than the last one, or two would take turns.
	baseGain = 0.05
)

func newScores(n int) scores { return scores{sums: make([]float64, n)} }

// means returns the means, by candidate.
func (s *scores) means() []float64 {
	all := make([]float64, len(s.sums))
	for i, sum := range s.sums {
		all[i] = sum / (s.periods + alike)
	}
	return all
}

// add adds a period, by the values of the objective; infinite: a candidate has none, and is taken to
// have done as the first. It returns false if one value is above 0 and another one is not.
func (s *scores) add(values []float64) bool {
	first := values[0]
	ratios := make([]float64, len(values))
	for i, v := range values {
		switch {
		case math.IsInf(v, 0):
		case v > 0 && first > 0:
			ratios[i] = math.Log(v / first)
		case v < 0 && first < 0: // the less the better, so the larger number
			ratios[i] = math.Log(first / v)
		case v != first:
			return false
		}
	}
	s.periods = discount*s.periods + 1
	for i := range s.sums {
		s.sums[i] = discount*s.sums[i] + max(-mostOfPeriod, min(mostOfPeriod, ratios[i]))
	}
	return true
}

// best returns who is to be the base instead of the given one. The callback says which candidates may
// be, and by which share they must be better.
func (s *scores) best(base int, may func(i int) (gain float64, ok bool)) int {
	best, means := base, s.means()
	for i, mean := range means {
		gain, ok := may(i)
		if ok && i != base && mean < means[best] && mean <= means[base]+math.Log1p(-min(gain, 1)) {
			best = i
		}
	}
	return best
}

// lookBack plays a period that is over, each candidate all of it, and makes another one the base if it
// did better in the periods so far. A period that cannot be played in time, or whose objective has no
// value, does not count; neither is tried again.
func (c *Chooser) lookBack(ctx context.Context, f *Future, made *Choice) {
	c.mu.Lock()
	if c.past == f.past {
		c.past = nil
	}
	c.mu.Unlock()
	past := *f.past
	past.base, past.faults = c.currentBase(), f.faults
	past.prioritize(c.users)
	found, faults, err := Play(ctx, past, c.candidates, c.workers)
	if c.ended.Err() != nil {
		return
	}
	if err != nil {
		made.Hindsight = fmt.Sprintf("the base stays, as its period could not be played: %v", err)
		return
	}
	if !c.Stands(f) {
		return
	}
	made.Failed = append(made.Failed, c.leaveOut(faults)...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.restarts != c.restarts { // meanwhile
		return
	}
	values := make([]float64, len(found))
	for i, m := range found {
		if values[i] = math.Inf(1); c.faults[i] != nil {
			continue
		}
		if values[i], err = c.objective.value(m, found[c.base]); err != nil {
			made.Hindsight = fmt.Sprintf("the base stays: %s: %v", made.Names[i], err)
			return
		}
	}
	if !c.scores.add(values) {
		made.Hindsight = "the base stays, as the period's values differ in sign"
		return
	}
	c.rebase(made)
}

// rebase makes the best in hindsight the base, if it may be.
func (c *Chooser) rebase(made *Choice) {
	base := c.base
	c.base = c.scores.best(base, func(i int) (gain float64, ok bool) {
		if gain = baseGain; c.candidates[base].guarantees() && !c.candidates[i].guarantees() {
			gain = max(gain, c.lift)
		}
		return gain, c.faults[i] == nil
	})
	text := "the base stays"
	if c.base != base {
		c.rebased++
		text = "the base changed"
	}
	made.Hindsight = text + ": " + c.scores.text(made.Names)
}

// currentBase returns which candidate is the base.
func (c *Chooser) currentBase() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.base
}

// text returns how many times the first one's the objective of each candidate was, the best first.
func (s *scores) text(names []string) string {
	var text strings.Builder
	means := s.means()
	for n, i := range ranked(means) {
		if n > 0 {
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, "%s %.3g", names[i], math.Exp(means[i]))
	}
	return text.String()
}
