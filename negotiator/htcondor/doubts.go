package htcondor

import (
	"maps"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// A slot on which starts fail is left out for a while, so that jobs go where they can
// run: its startd may refuse claims, or a schedd be unable to reach it. It is doubted for
// the schedd whose starts failed. The pause grows with each failure and ends for good with
// a success there, or when the startd begins anew.
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
			name := ast.AppendString(nil, *left, ast.Canonical)
			_ = s.veiled.Ad.SetExpr("Requirements", "("+own.String()+") && TARGET."+scheddAttribute+" =!= "+string(name)) // if it fails, for everybody
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
// to blame. What ran and came back is the job's own affair: users can have it come back.
func (p *Pool) judge(l *look) {
	p.forgetDoubts(l)
	if p.s.Observe {
		return
	}
	var failed []*flight
	failing := map[string]int{}
	for _, f := range p.flights {
		key := f.job.key
		s := p.schedds[key.schedd]
		if s == nil || s.read != l.number || f.job.look != l.number || f.job.group.runs() || len(f.claims) == 0 || !p.overdue(f) {
			continue
		}
		failed = append(failed, f)
		failing[key.schedd]++
	}
	slices.SortFunc(failed, func(a, b *flight) int { return a.job.key.compare(b.job.key) })
	in, full := p.inRooms(), map[string]bool{} // no more slots are left out for these schedds
	for _, f := range failed {
		if s := p.schedds[f.job.key.schedd]; s.full || s.room != nil && in[s.name]-failing[s.name] >= s.room.Jobs {
			continue // it may have been full
		}
		for _, name := range p.blamed(f) {
			p.blame(name, f, l, full)
		}
	}
}

// overdue tells whether a flight has stood still for too long.
func (p *Pool) overdue(f *flight) bool {
	return !f.telling && p.schedds[f.job.key.schedd].since.Sub(f.moved) >= p.patience(f)
}

// blamed are the slots that can be why a start failed. What has begun anew since, or was
// taken by another, refused a claim that was stale. Of a gang's slots it is those on which
// no claim came about, if on others one did.
func (p *Pool) blamed(f *flight) []string {
	places := f.job.places
	var all, claimed []string
	for _, at := range places {
		s := p.slots[at.Slot]
		if s == nil || !s.gone.IsZero() || s.ad == nil {
			continue
		}
		touched := s.began.After(f.since)
		if touched && s.beganFor != (jobKey{}) && p.jobs[s.beganFor] == nil || s.restarted.After(f.since) {
			continue
		}
		if touched && len(places) > 1 {
			claimed = append(claimed, at.Slot)
			continue
		}
		all = append(all, at.Slot)
	}
	if len(places) > 1 && len(claimed) == 0 {
		return nil
	}
	return all
}

// accusation is the slot that a submitter's last failed start was on.
type accusation struct {
	slot string
	by   backfill.JobID
	at   time.Time
}

// blame leaves a slot out for a job's schedd. Where that would be most of the pool, it
// is the schedd or the network that ails.
func (p *Pool) blame(name string, f *flight, l *look, full map[string]bool) {
	schedd := f.job.key.schedd
	d := p.doubts[name][schedd]
	if d != nil && f.since.Before(d.at) {
		return
	}
	// While a claim elsewhere hangs its schedd starts the job nowhere; or it is the job
	// that ails. A submitter's jobs accuse one slot at a time, and a gang those of one start,
	// so that nobody can close a pool to others.
	who := schedd + "\n" + f.job.submitterOf()
	if last := p.accused[who]; last.slot != name && l.began.Sub(last.at) < 2*p.s.Patience && (l.began != last.at || last.by != f.job.id) {
		return
	}
	p.accused[who] = accusation{name, f.job.id, l.began}
	if full[schedd] || p.mostOut(name, f.job, l) {
		full[schedd] = true
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

// mostOut tells whether most of the pool would be left out for a job with one slot more.
func (p *Pool) mostOut(name string, j *job, l *look) bool {
	up, out := 0, 1
	for _, s := range p.slots {
		if s.up {
			up++
		}
	}
	for other := range p.doubts {
		if s := p.slots[other]; other != name && s != nil && s.up && p.isLeftOut(other, j, l.began) {
			out++
		}
	}
	return 2*out > up
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
	maps.DeleteFunc(p.accused, func(_ string, a accusation) bool { return l.began.Sub(a.at) >= 2*p.s.Patience })
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
