package htcondor

import (
	"maps"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// A slot on which starts fail is left out for a while, so that jobs go where they can
// run: its startd may refuse claims, a schedd be unable to reach it, jobs come back from
// it at once. It is doubted for the schedd whose starts failed. The pause grows with each
// failure and ends for good with a success there, or when the startd begins anew.
const (
	firstPause = 5 * time.Second
	longPause  = 5 * time.Minute
	doubtEnds  = time.Hour // without a failure
)

// doubt is what is held against a slot, for the jobs of one schedd.
type doubt struct {
	failures int       // in a row
	at       time.Time // of the last; starts that were decided before it tell nothing new
	until    time.Time
}

// Pause is a slot that is left out for a time.
type Pause struct {
	Slot     string
	Schedd   string // whose jobs it gets none of; "": nobody's
	Failures int    // starts in a row that failed
	Until    time.Time
}

// shown is what the slot's ad looks like to the negotiator: while it is left out it
// takes no jobs, or none of one schedd.
func (p *Pool) shown(s *slot, now time.Time) *negotiator.Slot {
	left := p.leftOut(s.name, now)
	if left == nil {
		s.veiled = nil
		return s.ad
	}
	if s.veiled == nil || s.unveiled != s.ad || s.veil != *left {
		s.unveiled, s.veil, s.veiled = s.ad, *left, shut(s.ad)
		if own, ok := s.ad.Ad.Lookup("Requirements"); ok && *left != everybody {
			ad := classad.New()
			ad.SetString("Schedd", *left)
			name, _ := ad.Lookup("Schedd")
			_ = s.veiled.Ad.SetExpr("Requirements", "("+own.String()+") && TARGET."+scheddAttribute+" =!= "+name.String())
		}
	}
	return s.veiled
}

// scheddAttribute says in ads of jobs that are planned with whose they are.
const scheddAttribute = "BackfillSchedd"

// everybody is whom a slot is left out for that is left out for several schedds, or
// for the only one.
const everybody = ""

// leftOut says for which schedd a slot is left out now; nil: for none.
func (p *Pool) leftOut(name string, now time.Time) *string {
	var of *string
	for schedd, d := range p.doubts[name] {
		if !now.Before(d.until) {
			continue
		}
		if of != nil || len(p.schedds) == 1 {
			schedd = everybody
		}
		of = &schedd
	}
	return of
}

// isLeftOut tells whether a slot is left out for a job now.
func (p *Pool) isLeftOut(name string, j *job, now time.Time) bool {
	of := p.leftOut(name, now)
	return of != nil && (*of == everybody || *of == j.key.schedd)
}

// judge finds the starts that have failed since the last look, and the slots that are
// to blame.
func (p *Pool) judge(l *look) {
	p.forgetDoubts(l)
	if p.s.Observe {
		return
	}
	var failed []*job
	failing := map[string]int{} // flights
	for key, j := range p.jobs {
		s := p.schedds[key.schedd]
		if j.phase != running || s == nil || s.read != l.number || j.look != l.number || j.group.runs() {
			continue
		}
		if f := p.flights[j.id]; f == nil && l.now-j.start < backfill.Time(p.s.Patience/time.Second) || f != nil && len(f.claims) > 0 && p.overdue(f) {
			failed = append(failed, j)
			if f != nil {
				failing[key.schedd]++
			}
		}
	}
	slices.SortFunc(failed, func(a, b *job) int { return a.key.compare(b.key) })
	in := p.inRooms()
	for _, j := range failed {
		if s := p.schedds[j.key.schedd]; s.full || s.room != nil && in[s.name]-failing[s.name] >= s.room.Jobs {
			continue // it may have been full
		}
		for _, name := range p.blamed(j) {
			p.blame(name, j, l)
		}
	}
}

// overdue tells whether a flight has stood still for too long.
func (p *Pool) overdue(f *flight) bool {
	return !f.telling && p.schedds[f.job.key.schedd].since.Sub(f.moved) >= p.patience(f)
}

// blamed are the slots that can be why a job's start failed. What has begun anew since,
// or was taken by another, refused a claim that was stale. Of a gang's slots it is those
// on which no claim came about, if on others one did.
func (p *Pool) blamed(j *job) []string {
	since := time.Unix(int64(j.start), 0)
	if f := p.flights[j.id]; f != nil {
		since = f.since
	}
	var all, claimed []string
	for _, at := range j.places {
		s := p.slots[at.Slot]
		if s == nil || !s.gone.IsZero() || s.ad == nil {
			continue
		}
		touched := s.began.After(since)
		if touched && s.beganFor != (jobKey{}) && p.jobs[s.beganFor] == nil || s.restarted.After(since) {
			continue
		}
		if touched && len(j.places) > 1 {
			claimed = append(claimed, at.Slot)
			continue
		}
		all = append(all, at.Slot)
	}
	if len(j.places) > 1 && len(claimed) == 0 {
		return nil
	}
	return all
}

// blame leaves a slot out for a job's schedd. Where that would be most of the pool, it
// is the schedd or the network that ails.
func (p *Pool) blame(name string, j *job, l *look) {
	schedd := j.key.schedd
	d, decided := p.doubts[name][schedd], time.Unix(int64(j.start), 0)
	if f := p.flights[j.id]; f != nil {
		decided = f.since
	}
	if d != nil && decided.Before(d.at) {
		return
	}
	// While a claim elsewhere hangs its schedd starts it nowhere; or it is the job that ails.
	if j.blamed != name && l.began.Sub(j.blamedAt) < 2*p.s.Patience && l.began != j.blamedAt {
		return
	}
	j.blamed, j.blamedAt = name, l.began
	up, out := 0, 0
	for other, s := range p.slots {
		if s.up {
			up++
			if other != name && p.isLeftOut(other, j, l.began) {
				out++
			}
		}
	}
	if 2*(out+1) > up {
		return
	}
	if d == nil {
		d = &doubt{}
		if p.doubts[name] == nil {
			p.doubts[name] = map[string]*doubt{}
		}
		p.doubts[name][schedd] = d
	}
	d.failures++
	pause := min(firstPause<<min(d.failures-1, 10), longPause)
	d.at, d.until = l.began, l.began.Add(pause)
	p.log.Warn("a slot is left out for a while: starts fail there", "slot", name, "schedd", schedd, "failures", d.failures, "pause", pause)
}

// trust takes back what is held against the slots of a job that runs, or has run, well.
func (p *Pool) trust(j *job) {
	for _, at := range j.places {
		d := p.doubts[at.Slot][j.key.schedd]
		if d == nil || j.start < backfill.Time(d.at.Unix()) {
			continue
		}
		p.log.Info("a slot is not doubted any more: a job was started there", "slot", at.Slot, "schedd", j.key.schedd)
		p.acquit(at.Slot, j.key.schedd)
	}
}

func (p *Pool) acquit(name, schedd string) {
	if delete(p.doubts[name], schedd); len(p.doubts[name]) == 0 {
		delete(p.doubts, name)
	}
}

// forgetDoubts forgets what is long ago, or of slots and schedds that are no more, and
// of startds that have begun anew.
func (p *Pool) forgetDoubts(l *look) {
	for name, bySchedd := range p.doubts {
		s := p.slots[name]
		for schedd, d := range bySchedd {
			if s == nil || p.schedds[schedd] == nil || s.restarted.After(d.at) || l.began.Sub(d.until) > doubtEnds {
				p.acquit(name, schedd)
			}
		}
	}
}

// pauses lists the slots that are left out.
func (p *Pool) pauses(now time.Time) (all []Pause) {
	for _, name := range slices.Sorted(maps.Keys(p.doubts)) {
		of := p.leftOut(name, now)
		if of == nil {
			continue
		}
		one := Pause{Slot: name, Schedd: *of}
		for _, d := range p.doubts[name] {
			one.Failures = max(one.Failures, d.failures)
			one.Until = later(one.Until, d.until)
		}
		all = append(all, one)
	}
	return all
}
