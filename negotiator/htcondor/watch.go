package htcondor

import (
	"context"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/claims"
)

// watch finds out between two looks whether something became free, while jobs wait.
type watch struct {
	// watching says that jobs wait, and asks is when the collector is asked next.
	watching bool
	asks     time.Time
	// found says that the last look came because something became free; early, that it saw no job
	// that had ended: the schedd's word is still to come.
	found, early bool
	// follows says that this negotiator only observes, and that jobs wait, which another one starts.
	follows bool
}

// A watch takes a small part of the collector's time, whatever the size of the pool: after a cycle
// it rests for as many times as long as the cycle took, and after a question likewise. So cycles
// that it begins take a fifth of the time, and its questions a twentieth.
const (
	restAfterCycle    = 4
	restAfterQuestion = 20
)

// beginWatch has the collector asked from now on, if jobs wait.
func (p *Pool) beginWatch() {
	waits := p.belief.Waits()
	p.watching, p.follows = waits && !p.s.Observe, waits && p.s.Observe
	p.asks = p.rested()
}

// rested returns when the collector has had its rest after the last cycle.
func (p *Pool) rested() time.Time {
	return p.cycleEnd.Add(max(p.s.CycleDelay, restAfterCycle*p.cycleEnd.Sub(p.looked)))
}

// contested tells whether a look comes soon, before matches are handed over whose jobs may have started
// elsewhere meanwhile.
func (p *Pool) contested() bool {
	return p.rested().Sub(p.cycleEnd) <= retry && claims.Contested(p.claims)
}

// atFollowing is how long an observer rests between two looks while jobs wait, at least. Nothing tells
// it that the other negotiator has started a job, and a job that came and went between two looks
// teaches nothing.
const atFollowing = 5 * time.Second

// restAfterLook is for how many times as long as a look took an observer rests: it takes a tenth of
// the collector's time.
const restAfterLook = 9

// follow returns when the next look is due, which is at the given time at the latest: earlier for an
// observer while jobs wait.
func (p *Pool) follow(due time.Time) time.Time {
	if !p.follows {
		return due
	}
	return earlier(due, p.cycleEnd.Add(max(atFollowing, restAfterLook*p.cycleEnd.Sub(p.looked))))
}

// endWatch notes what a look has seen.
func (p *Pool) endWatch(seen negotiator.Delta) {
	p.early = p.found && len(seen.Completed) == 0
	p.found = false
}

// freed tells whether it is time for another look because something became free.
func (p *Pool) freed(ctx context.Context) bool {
	began := p.now()
	if !p.watching || began.Before(p.asks) {
		return false
	}
	if p.early {
		p.early = false
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, p.s.Hold)
	defer cancel()
	freed, err := p.observer.Freed(ctx)
	took := p.now().Sub(began)
	p.asks = began.Add(took + max(p.s.CycleDelay, restAfterQuestion*took))
	p.found = err == nil && freed // the next look says what is wrong with the collector
	return p.found
}
