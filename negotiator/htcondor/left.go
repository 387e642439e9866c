package htcondor

import (
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Left is what a negotiator leaves on disk for the one after it: its memory, with
// names that outlive a process. It holds no secrets.
type Left struct {
	// Version is that of the form, [LeftVersion]; none is that of before there were any.
	Version    int           `json:"version"`
	Now        backfill.Time `json:"now"`
	Policy     string        `json:"policy"`
	Guarantees bool          `json:"guarantees"`
	Foretold   bool          `json:"foretold,omitempty"`
	Slots      []LeftSlot    `json:"slots"`
	Jobs       []LeftJob     `json:"jobs"`
}

// LeftVersion is what this one writes. It can read all before.
const LeftVersion = 1

// LeftSlot is a slot that was there.
type LeftSlot struct {
	Name     string          `json:"name"`
	Capacity backfill.Vector `json:"capacity"`
}

// LeftJob is a job with a place or a promise. Request, Nodes and Estimate tell
// whether it is still the same.
type LeftJob struct {
	Schedd    string          `json:"schedd"`
	Cluster   int64           `json:"cluster"`
	Proc      int64           `json:"proc"`
	Submit    backfill.Time   `json:"submit"`
	Nodes     int             `json:"nodes"`
	Request   backfill.Vector `json:"request"`
	Estimate  backfill.Time   `json:"estimate"`
	Running   bool            `json:"running,omitempty"`
	Places    []place         `json:"places,omitempty"`
	Start     backfill.Time   `json:"start,omitempty"`
	End       backfill.Time   `json:"end,omitempty"`
	Promised  bool            `json:"promised,omitempty"`
	Guarantee backfill.Time   `json:"guarantee,omitempty"`
}

// Left puts a negotiator's memory into a form that outlives the process.
func (p *Pool) Left(m negotiator.Memory) *Left {
	left := &Left{Version: LeftVersion, Now: m.Now, Policy: m.Policy, Guarantees: m.Guarantees, Foretold: m.Foretold}
	for _, s := range m.Slots {
		left.Slots = append(left.Slots, LeftSlot{Name: s.Name, Capacity: s.Capacity})
	}
	for _, st := range m.Jobs {
		j := p.byID[st.Job.ID]
		if j == nil || j.as == nil || st.Placement == nil {
			continue
		}
		one := LeftJob{
			Schedd: j.key.schedd, Cluster: j.key.cluster, Proc: j.key.proc, Submit: st.Job.Submit,
			Nodes: st.Job.Nodes, Request: p.request(j.as), Estimate: st.Job.Estimate,
			Running: st.Running, Start: st.Start, End: st.End, Promised: st.Promised, Guarantee: st.Guarantee,
		}
		for _, at := range st.Placement {
			one.Places = append(one.Places, place{Slot: at.Slot.Name, Chunks: at.Chunks})
		}
		slices.SortFunc(one.Places, func(a, b place) int { return strings.Compare(a.Slot, b.Slot) })
		left.Jobs = append(left.Jobs, one)
	}
	return left
}

// remember makes a memory of what was left that is still there: slots as they were,
// so that it shows which of them are gone; of the jobs those that are still in
// their queues as they were.
func (p *Pool) remember(left *Left, l *look) negotiator.Memory {
	p.forget()
	if left == nil {
		return negotiator.Memory{}
	}
	m := negotiator.Memory{Now: max(0, min(left.Now, l.now)), Policy: left.Policy, Guarantees: left.Guarantees, Foretold: left.Foretold}
	outside := func(amount int64) bool { return amount < 0 || amount > maxAmount }
	for _, was := range left.Slots {
		if len(was.Capacity) != len(p.s.Schema.Resources) || was.Name == "" || slices.ContainsFunc(was.Capacity, outside) {
			continue
		}
		s := p.slots[was.Name]
		if s == nil { // it counts as missing from now on
			s = &slot{name: was.Name, host: was.Name, gone: l.began, static: true, free: make(backfill.Vector, len(was.Capacity))}
			p.slots[was.Name] = s
			ad := classad.New()
			ad.SetString("Name", was.Name)
			ad.SetBool("Requirements", false)
			s.ad = &negotiator.Slot{Name: was.Name, Capacity: was.Capacity, Ad: ad}
		}
		if s.ad == nil || s.up {
			continue // it is a dynamic one now, or named twice
		}
		s.told, s.up = s.ad, true
		if !slices.Equal(s.ad.Capacity, was.Capacity) {
			s.told = &negotiator.Slot{Name: was.Name, Capacity: was.Capacity, Ad: s.ad.Ad}
		}
		m.Slots = append(m.Slots, s.told)
	}
	for _, was := range left.Jobs {
		st, ok := p.recall(was, l.now)
		if !ok {
			st, ok = p.departed(was, l.now)
		}
		if ok {
			m.Jobs = append(m.Jobs, st)
		}
	}
	return m
}

// forget has a negotiator know nothing yet.
func (p *Pool) forget() {
	for _, s := range p.slots {
		s.up, s.told, s.shut, s.foreign, s.strange = false, nil, false, 0, time.Time{}
	}
	for _, j := range p.jobs {
		j.phase, j.as, j.places = unknown, nil, nil
	}
	clear(p.flights)
	p.meanwhileEnded, p.meanwhileLeft = nil, nil
}

// recall is a job as it stood, if it is still there and the same.
func (p *Pool) recall(was LeftJob, now backfill.Time) (st negotiator.Standing, ok bool) {
	j := p.jobs[jobKey{was.Schedd, was.Cluster, was.Proc}]
	if j == nil || j.group == nil || j.group.plan.wrong != nil || j.phase != unknown || !was.canBe(now) || j.group.submit != was.Submit {
		return st, false
	}
	of := j.group.plan
	if of.nodes != was.Nodes || !slices.Equal(p.request(of), was.Request) || of.estimate != was.Estimate {
		return st, false
	}
	st = negotiator.Standing{Running: was.Running, Start: was.Start, End: was.End, Promised: was.Promised, Guarantee: was.Guarantee}
	st.Placement, ok = p.relocate(was)
	switch {
	case ok && was.Running:
		st.Job = p.tell(j, running)
		j.places, j.start = was.Places, was.Start
		if !j.group.runs() { // it may have been handed over; that again does no harm
			p.flights[j.id] = &flight{job: j, rest: slices.Clone(was.Places), since: p.now(), moved: p.now(), why: "it was on its way when the negotiator ended"}
		}
	case ok:
		st.Job = p.tell(j, waiting)
	case was.Promised && !was.Running: // it keeps its promise, and is placed anew
		st.Placement, st.Start, st.End = nil, 0, 0
		st.Job, ok = p.tell(j, waiting), true
	}
	return st, ok
}

// canBe refuses times that no negotiator leaves.
func (was LeftJob) canBe(now backfill.Time) bool {
	const most = 1 << 41
	started := !was.Running || was.Start <= now
	return started && was.Start >= 0 && was.Start < was.End && was.End <= most && was.Guarantee >= 0 && was.Guarantee <= most &&
		was.Estimate >= 0 && was.Estimate <= most
}

// relocate is a place by the slots that are there now; false: it is no place of the
// job's, or some of them are gone.
func (p *Pool) relocate(was LeftJob) (negotiator.Placement, bool) {
	var at negotiator.Placement
	chunks := 0
	for i, x := range was.Places {
		s := p.slots[x.Slot]
		twice := slices.ContainsFunc(was.Places[:i], func(o place) bool { return o.Slot == x.Slot })
		if twice || x.Chunks < 1 || x.Chunks > was.Nodes-chunks || s == nil || !s.up || !was.Running && !s.gone.IsZero() {
			return nil, false
		}
		chunks += x.Chunks
		at = append(at, negotiator.Place{Slot: s.told, Chunks: x.Chunks})
	}
	return at, chunks == was.Nodes
}

// departed is a job that had a place and is not there any more, or not as it was: for
// the negotiator it goes at the first look, so that others move up.
func (p *Pool) departed(was LeftJob, now backfill.Time) (st negotiator.Standing, ok bool) {
	outside := func(amount int64) bool { return amount < 0 || amount > maxAmount/int64(was.Nodes) }
	if len(was.Request) != len(p.s.Schema.Resources) || was.Nodes < 1 || slices.ContainsFunc(was.Request, outside) || was.Request.Zero() || !was.canBe(now) {
		return st, false
	}
	if st.Placement, ok = p.relocate(was); !ok || slices.ContainsFunc(was.Places, func(at place) bool { return !p.slots[at.Slot].gone.IsZero() }) {
		return st, false
	}
	ad := classad.New()
	for i, resource := range p.s.Schema.Resources {
		ad.SetInt("Request"+attribute(resource), was.Request[i])
	}
	ad.SetBool("Requirements", true)
	p.lastID++
	key := jobKey{was.Schedd, was.Cluster, was.Proc}
	st.Job = &negotiator.Job{
		ID: p.lastID, Name: key.String() + " as it was", Submit: was.Submit, Nodes: was.Nodes, Estimate: was.Estimate, Ad: ad,
		Place: backfill.Place{Queue: "left " + was.Schedd, Cluster: was.Cluster, Proc: was.Proc},
	}
	st.Running, st.Start, st.End, st.Promised, st.Guarantee = was.Running, was.Start, was.End, was.Promised, was.Guarantee
	if was.Running {
		p.meanwhileEnded = append(p.meanwhileEnded, st.Job.ID)
	} else {
		p.meanwhileLeft = append(p.meanwhileLeft, st.Job.ID)
	}
	return st, true
}
