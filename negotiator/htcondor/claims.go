package htcondor

import (
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// A claim that belongs to no job that we know takes room all the same: it may be of a
// schedd whose queue we may not read, or idle. It is told as a job of its own, but not
// at once: ads are late, and a claim that has just ended or begun looks the same. When a
// negotiator begins it is told at once if it runs a job: to plan as if all those slots
// were free would start what cannot start. Of a job of ours that has ended a claim is known
// to be over, unless its startd tells of it afterwards, and for long: the collector may keep
// the ad of a dynamic slot that was deleted.
const (
	strangeFor     = 10 * time.Second
	strangeIdleFor = 30 * time.Second
	strangeLeftFor = time.Minute // of a job of ours that runs no more
	idleEstimate   = 10 * 60
)

// differClaims tells of claims that are nobody's.
func (p *Pool) differClaims(d *negotiator.Delta, l *look) {
	flying := map[string]bool{}
	for id := range p.flights {
		for _, at := range p.byID[id].places {
			flying[at.Slot] = true
		}
	}
	for _, s := range p.slots {
		host := p.slots[s.host]
		if !s.gone.IsZero() && !s.longGone(l) && (host == nil || !host.gone.IsZero()) {
			continue // its startd was not heard of at all
		}
		known := p.known(s)
		switch {
		case known && s.foreign != 0:
			d.Completed = append(d.Completed, s.foreign)
			s.foreign, s.strange = 0, time.Time{}
		case known:
			s.strange = time.Time{}
		case s.foreign != 0:
		case s.strange.IsZero() && (p.begun || s.runs == jobKey{}):
			s.strange = l.began
		default:
			long := strangeFor
			switch {
			case !p.begun:
				long = 0
			case !p.left[s.runs].IsZero():
				long = strangeLeftFor
			case s.runs != jobKey{}:
			case flying[s.host]: // it may be for a job on its way
				long = 3 * p.s.Patience
			default:
				long = strangeIdleFor
			}
			if host != nil && host.up && l.began.Sub(s.strange) >= long {
				d.Found = append(d.Found, p.foreign(s, host, l))
			}
		}
	}
}

// known tells whether nobody has a slot but a job that we know, or one that has ended.
func (p *Pool) known(s *slot) bool {
	if !s.claimed || !s.gone.IsZero() {
		return true
	}
	j := p.jobs[s.runs]
	left, ran := p.left[s.runs]
	return j != nil && j.runsAt(s.host) || ran && !s.heard.After(left)
}

// runsAt tells whether a job runs on a slot, as the negotiator knows it.
func (j *job) runsAt(slot string) bool {
	return j.phase == running && slices.ContainsFunc(j.places, func(at place) bool { return at.Slot == slot })
}

// foreign is a claim as a job. How long it will last nobody says: it is expected to take
// the default estimate, and to go on for as long as it is there.
func (p *Pool) foreign(s, host *slot, l *look) negotiator.Running {
	p.lastID++
	s.foreign = p.lastID
	ad := classad.New()
	for i, resource := range p.s.Schema.Resources {
		amount := s.free[i]
		switch {
		case resource == Claims:
			amount = 1
		case s.static:
			amount = host.ad.Capacity[i]
		}
		ad.SetInt("Request"+attribute(resource), amount)
	}
	ad.SetBool("Requirements", true)
	name, estimate := "claim of "+s.name, backfill.Time(0)
	if s.runs != (jobKey{}) {
		name = s.runs.String() + "@" + s.runs.schedd
	} else {
		estimate = idleEstimate
	}
	if ad.Eval("RequestCpus", nil).String() == "0" {
		ad.SetInt("RequestCpus", 1)
	}
	began := s.since
	if began <= 0 || began > l.now {
		began = l.now
	}
	p.log.Info("a claim of another is planned around; when it ends is a guess", "slot", s.name, "of", s.claimer, "as", name)
	return negotiator.Running{
		Job: &negotiator.Job{
			ID: s.foreign, Name: name, Submit: began, Nodes: 1, Estimate: estimate, Ad: ad,
			Place: backfill.Place{Queue: s.name}, Labels: map[string]string{"owner": s.claimer},
		},
		Placement: negotiator.Placement{{Slot: host.told, Chunks: 1}}, Start: began,
	}
}
