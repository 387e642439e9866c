package htcondor

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// submits finds out between two looks whether jobs were submitted. A schedd since 25.14 sends
// RESCHEDULE only when its first job begins to wait: what is submitted beside jobs that wait, nobody
// tells. So schedds are asked how many jobs were submitted so far, all the time: also while all slots
// are busy, since a job must be known when one becomes free.
//
// It is told what looks saw (see), and runs between them. Only one of these happens at a time.
type submits struct {
	now func() time.Time
	// ask asks a schedd, timed runs a function and returns the processor time that it took, and found
	// is called when a schedd has jobs that the last look did not see.
	ask   func(context.Context, *observe.Schedd) (int64, error)
	timed func(work func()) time.Duration
	found func(schedd string)
	// brokered tells whether a broker has to be asked for each question; nil: none has.
	brokered func(*observe.Schedd) bool

	schedds map[string]*submitted
	asking  int
	due     time.Time     // when what was asked so far is paid for
	price   time.Duration // what a question costs, about
	spent   time.Duration // processor time in all
	woken   int           // how often something was found
}

// submitted is what is known of a schedd's submits.
type submitted struct {
	at     *observe.Schedd
	count  int64     // by the last look, or by an answer since; Uncounted: by none
	asks   time.Time // when it is asked next
	began  time.Time // the question under way did
	asking bool
	lost   bool // it has not answered: the next look tells whether it does
}

// A schedd is asked every askingEvery, so a job that can start does so within a second. Questions take
// a fiftieth of a processor of ours, whatever there is to ask. After each a schedd rests as the
// collector does, so they take a twentieth of its time, of which most is our waiting.
const (
	askingEvery = time.Second / 2
	askingPart  = 50
)

// A schedd behind a broker is asked every brokeredEvery: each question is work for the broker, too,
// which is the pool's collector.
const brokeredEvery = 5 * time.Second

// So many questions are under way at most, of which schedds that hang take some until the time is
// up. Of one host so many schedds are asked: an honest one has a few, and ads of thousands cost
// nothing.
const (
	mostAsking = 16
	mostOfHost = 50
)

// firstPrice is what a question is taken to cost until some were asked.
const firstPrice = time.Millisecond

// counted is a schedd's answer.
type counted struct {
	schedd *submitted
	count  int64
	err    error
	cost   time.Duration
}

func newSubmits(now func() time.Time, timed func(func()) time.Duration) *submits {
	return &submits{now: now, timed: timed, schedds: map[string]*submitted{}, price: firstPrice}
}

// askForSubmits has schedds asked, beside whatever the pool does, until end is called. An observer's
// looks follow each other soon enough.
func (p *Pool) askForSubmits(ctx context.Context) (end func()) {
	if p.s.Observe {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	within := p.s.Hold
	p.submits.ask = func(ctx context.Context, s *observe.Schedd) (int64, error) {
		return s.Submitted(ctx, p.s.Security, within)
	}
	p.submits.brokered = func(s *observe.Schedd) bool { return p.s.Security.AsksBroker(s.Address) }
	var asking sync.WaitGroup
	asking.Go(func() { p.submits.run(ctx) })
	return func() { cancel(); asking.Wait() }
}

// wakeFor asks for a look, as a schedd does with RESCHEDULE.
func (p *Pool) wakeFor(schedd string) {
	p.log.Debug("a schedd has new jobs", "schedd", schedd)
	p.Wakeup()
}

// see takes in what a look saw. A schedd whose queue was read with it is known anew.
func (q *submits) see(s *observe.Snapshot) {
	known, ofHost := q.schedds, map[string]int{}
	q.schedds = make(map[string]*submitted, len(known))
	take := func(at *observe.Schedd) {
		host := at.Address.Host
		if at.Moved || at.Failed != nil || at.Since.IsZero() || ofHost[host] == mostOfHost {
			return
		}
		ofHost[host]++
		e := known[at.Name]
		if e == nil || e.at.Address.String() != at.Address.String() {
			e = &submitted{count: at.Submits}
		}
		if e.at = at; at.Read {
			e.lost = false
		}
		if at.Read && at.Submits != observe.Uncounted {
			e.count = at.Submits
		}
		q.schedds[at.Name] = e
	}
	for name := range known { // they keep their places
		if at := s.Schedds[name]; at != nil {
			take(at)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Schedds)) {
		if q.schedds[name] == nil {
			take(s.Schedds[name])
		}
	}
}

// run asks until the context ends.
func (q *submits) run(ctx context.Context) {
	answers := make(chan counted, mostAsking)
	var asking sync.WaitGroup
	defer func() {
		asking.Wait()
		for range len(answers) {
			q.hearLate(<-answers)
		}
	}()
	for ctx.Err() == nil {
		e, wait := q.next()
		if e != nil {
			asking.Go(func() { answers <- q.question(ctx, e) })
			continue
		}
		timer := time.NewTimer(max(wait, time.Millisecond))
		select {
		case <-ctx.Done():
		case a := <-answers:
			q.hear(a)
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (q *submits) question(ctx context.Context, e *submitted) (a counted) {
	a.schedd = e
	a.cost = q.timed(func() { a.count, a.err = q.ask(ctx, e.at) })
	return a
}

// next returns the schedd to ask now, or how long there is nothing to ask. Next is who has waited for
// the longest time.
func (q *submits) next() (next *submitted, wait time.Duration) {
	now := q.now()
	if q.asking >= mostAsking {
		return nil, askingEvery
	}
	if now.Before(q.due) {
		return nil, q.due.Sub(now)
	}
	soon := now.Add(askingEvery)
	for _, e := range q.schedds {
		switch {
		case e.asking || e.lost:
		case now.Before(e.asks):
			soon = earlier(soon, e.asks)
		case next == nil || cmp.Or(e.asks.Compare(next.asks), cmp.Compare(e.at.Name, next.at.Name)) < 0:
			next = e
		}
	}
	if next == nil {
		return nil, soon.Sub(now)
	}
	next.asking, next.began = true, now
	q.asking++
	q.due = now.Add(askingPart * q.price)
	return next, 0
}

// hear takes an answer in.
func (q *submits) hear(a counted) {
	e, now := a.schedd, q.now()
	q.end(a)
	every := askingEvery
	if q.brokered != nil && q.brokered(e.at) {
		every = brokeredEvery
	}
	e.asks = later(e.began.Add(every), now.Add(restAfterQuestion*now.Sub(e.began)))
	if e.lost = a.err != nil; e.lost || a.count == e.count {
		return
	}
	counted := e.count != observe.Uncounted
	if e.count = a.count; counted {
		q.woken++
		q.found(e.at.Name)
	}
}

// hearLate takes in an answer that came as the context ended, which is why there may be none.
func (q *submits) hearLate(a counted) {
	if a.err == nil {
		q.hear(a)
		return
	}
	q.end(a)
}

// end notes that a question has ended, and what it cost.
func (q *submits) end(a counted) {
	a.schedd.asking = false
	q.asking--
	q.spent += a.cost
	q.price += (a.cost - q.price) / 8
}
