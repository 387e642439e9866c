package preempt

import (
	"cmp"
	"container/heap"
	"iter"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// verdict is what is known of a shape and a bucket.
type verdict struct {
	asked, matched bool // the reason is known; so is whether the ads match, and the ranks
	fits           bool // the ads match
	reason         Reason
	prefers
}

// prefers is how much a candidate is preferred, the first member first; larger is better.
type prefers struct{ pre, rank, post float64 }

// option is what a shape's jobs could do.
type option struct {
	prefers
	reason  Reason
	last    float64 // PREEMPTION_RANK
	claim   int     // -1: several on one slot
	host    backfill.SlotID
	victims []int
}

// compare puts the better one first. Between options that nothing tells apart the claim that the
// running jobs list first comes first.
func (o *option) compare(p *option) int {
	return cmp.Or(cmp.Compare(p.pre, o.pre), cmp.Compare(p.rank, o.rank), cmp.Compare(p.post, o.post),
		cmp.Compare(p.reason, o.reason), cmp.Compare(p.last, o.last), cmp.Compare(o.claim, p.claim), cmp.Compare(o.host, p.host))
}

// options is a heap, the best one first.
type options []option

func (o options) Len() int           { return len(o) }
func (o options) Less(i, j int) bool { return o[i].compare(&o[j]) < 0 }
func (o options) Swap(i, j int)      { o[i], o[j] = o[j], o[i] }

// Push and Pop are for package heap.
func (o *options) Push(x any) { *o = append(*o, x.(option)) } //nolint:forcetypeassert // package heap gives back what it got

// Pop removes the last element.
func (o *options) Pop() any {
	last := (*o)[len(*o)-1]
	*o = (*o)[:len(*o)-1]
	return last
}

// Candidates returns what could be done for a waiting job, best first. The loop ends with the one that
// is made, after [Search.Take].
func (s *Search) Candidates(w Waiting) iter.Seq[Preemption] {
	return func(yield func(Preemption) bool) {
		if len(s.claims) == 0 || w.Job.Nodes != 1 || w.Job.Whole {
			return
		}
		sh := s.shapeOf(&w)
		if sh.epoch != s.epoch {
			s.find(sh, &w)
		}
		if !sh.full { // as the last job like it found
			sh.full = s.offer(sh, &w, yield)
		}
	}
}

// offer yields a shape's options for one of its jobs. It reports whether the share of the jobs' submitter
// has no room for any of them.
func (s *Search) offer(sh *shape, w *Waiting, yield func(Preemption) bool) (full bool) {
	full = true
	for i := sh.first; ; i++ {
		o := sh.at(i)
		if s.looked++; o == nil || s.looked > mostOptions {
			return full && o == nil
		}
		switch {
		case !s.refresh(sh, o, w):
			if i == sh.first {
				sh.first++
			}
			continue
		case s.isFull(sh, o):
			continue
		}
		full = false
		if p, may := s.preemption(o, w); may && !yield(p) || sh.epoch != s.epoch {
			return false
		}
	}
}

// Blocked returns what the job could do but for jobs that retire. [Search.Candidates] must have been
// asked for the job before.
func (s *Search) Blocked(w Waiting) (b Blocked, ok bool) {
	if len(s.claims) == 0 || w.Job.Nodes != 1 || w.Job.Whole {
		return b, false
	}
	b = s.shapeOf(&w).blocked
	b.Job = w.Job.ID
	return b, b.Victims > 0
}

// at returns the i-th best option; nil: there are fewer.
func (sh *shape) at(i int) *option {
	if i == len(sh.sorted) {
		if len(sh.rest) == 0 {
			return nil
		}
		best, _ := heap.Pop(&sh.rest).(option)
		sh.sorted = append(sh.sorted, best)
	}
	return &sh.sorted[i]
}

// refresh reports whether an option is still there: its claims are nobody else's. Where several make
// way, others of the same slot may do instead.
func (s *Search) refresh(sh *shape, o *option, w *Waiting) bool {
	if o.claim >= 0 {
		return !s.claims[o.claim].taken
	}
	again, ok := s.several(sh, o.host, w)
	if ok {
		o.victims, o.reason = again.victims, again.reason
	}
	return ok
}

// isFull reports whether the share of a shape's submitter has no room for the place of an option. It
// has none until the cycle ends, as what is granted only grows.
func (s *Search) isFull(sh *shape, o *option) bool {
	if o.reason != UserPriority {
		return false
	}
	weight := 0.0
	if o.claim >= 0 {
		weight = s.claims[o.claim].Weight
	}
	for _, v := range o.victims {
		weight += s.claims[v].Weight
	}
	least, known := s.noRoom[sh.submitter]
	if known && weight >= least {
		return true
	}
	if s.hasRoom(sh.submitter, weight) {
		return false
	}
	s.noRoom[sh.submitter] = weight
	return true
}

// preemption makes an option one of a job, unless the pause or the slot's windows are in the way.
func (s *Search) preemption(o *option, w *Waiting) (p Preemption, may bool) {
	p = Preemption{Job: w.Job.ID, Host: o.host, Reason: o.reason, Start: s.pool.Now + 1}
	victims := o.victims
	if o.claim >= 0 {
		victims = []int{o.claim}
	}
	for _, v := range victims {
		c := &s.claims[v]
		loser := c.job
		if c.heir != nil { // the job itself leaves as it is
			loser = *c.heir
			p.Ousted = append(p.Ousted, loser)
		}
		if o.reason == UserPriority && s.pool.Memory.Pauses(w.Job.ID, loser, s.pool.Now, s.rules.Pause) {
			return p, false
		}
		p.Victims = append(p.Victims, Victim{Job: c.job, Slot: c.Slot, User: c.User, End: c.end})
		p.Start, p.Soonest = max(p.Start, c.end), max(p.Soonest, c.soonest)
	}
	if !s.fits(o.host, victims, w, true) { // beside those that make way for others, until they have left
		left := s.host(o.host).left
		p.Start, p.Soonest = max(p.Start, left), max(p.Soonest, left)
	}
	return p, !w.Job.Early(p.Start) && opens(w.Candidates, o.host, p.Start)
}

// opens reports whether a job may begin on a slot at an instant, as far as its windows say.
func opens(c *backfill.Candidates, id backfill.SlotID, t backfill.Time) bool {
	all := c.Of(id)
	if len(all) == 0 {
		return true
	}
	for _, window := range all {
		if window.From <= t && t < window.To {
			return true
		}
	}
	return false
}

// fits reports whether a job has room on a slot once these claims are free; early says that those
// that make way for others are still there.
func (s *Search) fits(id backfill.SlotID, victims []int, w *Waiting, early bool) bool {
	h, spare := s.host(id), w.Candidates.LeastOn(id)
	for k, wanted := range w.Job.Request {
		room := h.free[k]
		for _, v := range victims {
			room += s.claims[v].back[k]
			if early && s.claims[v].heir != nil { // its job is among those that make way, and has left by then
				room += s.claims[v].request[k]
			}
		}
		if early {
			room -= h.yields[k]
		}
		if spare != nil {
			wanted = max(wanted, spare[k])
		}
		if wanted > room {
			return false
		}
	}
	return true
}

// find finds the options of a shape.
func (s *Search) find(sh *shape, w *Waiting) {
	sh.epoch, sh.first, sh.decorated, sh.blocked, sh.full = s.epoch, 0, nil, Blocked{}, false
	sh.sorted, sh.rest = sh.sorted[:0], sh.rest[:0]
	sh.verdicts = append(sh.verdicts[:0], make([]verdict, len(s.buckets))...)
	if sh.several = s.rules.Several; sh.several && s.rules.Asked {
		wants, _ := classad.Scope{My: w.Ad, Host: s.pool.Host, MaxSteps: classad.FewSteps}.Attr(wantsSeveral).Bool()
		sh.several = wants
	}
	for b := range s.buckets {
		if s.reason(sh, b) == 0 {
			continue
		}
		for _, i := range s.buckets[b].claims {
			s.single(sh, i, w)
		}
	}
	if sh.several {
		for _, id := range w.Candidates.Slots {
			if len(s.at[id]) > 0 {
				if o, ok := s.several(sh, id, w); ok {
					sh.rest = append(sh.rest, o)
				}
			}
		}
	}
	heap.Init(&sh.rest)
}

// single adds the option to displace one claim, for its place as it is.
func (s *Search) single(sh *shape, i int, w *Waiting) {
	c := &s.claims[i]
	if c.taken || !w.Candidates.Has(c.host) || c.Partial && !w.Job.Request.Within(c.request) || !s.fits(c.host, []int{i}, w, false) {
		return
	}
	v := s.match(sh, c.bucket)
	if !v.fits {
		return
	}
	if c.until > 0 {
		sh.wait(c.Host, 1, c.until)
		return
	}
	sh.rest = append(sh.rest, option{prefers: v.prefers, reason: v.reason, last: s.preemptionRank(sh, c), claim: i, host: c.host})
}

// wait notes that jobs could make way but for the time in which they may retire. What is possible
// first counts.
func (sh *shape) wait(slot string, victims int, until backfill.Time) {
	if sh.blocked.Victims == 0 || until < sh.blocked.Until {
		sh.blocked = Blocked{Slot: slot, Victims: victims, Until: until}
	}
}

// reason returns why a shape's jobs may have the places of a bucket's claims, apart from whether these
// suit; 0: they may not.
func (s *Search) reason(sh *shape, b int) Reason {
	v := &sh.verdicts[b]
	if !v.asked {
		v.asked = true
		v.reason = s.why(sh, &s.buckets[b])
	}
	return v.reason
}

// why evaluates RANK and PREEMPTION_REQUIREMENTS.
func (s *Search) why(sh *shape, b *bucket) Reason {
	e, has := b.ad.raw.Lookup("Rank")
	if !has || !s.mayAsk(sh) {
		return 0
	}
	before := sh.meter.Steps()
	defer func() { s.settle(sh, before) }()
	prioritised := s.rules.Prioritised() && b.open && sh.submitter != "" && sh.submitter != b.ad.user
	rank, ok := constant(e)
	if !ok {
		rank, ok = numberOf(s.scope(sh, b.ad.of(s), s.jobAd(sh)).Attr("Rank"))
	}
	switch {
	case !ok:
		return 0
	case rank > b.ad.rank:
		return StartdRank
	case !prioritised || rank < b.ad.rank:
		return 0
	case s.rules.Requirements.Eval(s.scope(sh, b.ad.of(s), s.jobAd(sh))).IsTrue():
		return UserPriority
	default:
		return 0
	}
}

// match finds out whether a shape's jobs match a bucket's claims, and how they are preferred.
func (s *Search) match(sh *shape, b int) *verdict {
	v := &sh.verdicts[b]
	if v.matched {
		return v
	}
	v.matched = true
	if !s.mayAsk(sh) {
		return v
	}
	before := sh.meter.Steps()
	slot, job := s.buckets[b].ad.of(s), s.jobAd(sh)
	pair := classad.Pair{Left: job, Right: slot, Host: s.pool.Host, MaxSteps: classad.FewSteps, Meter: &sh.meter}
	if v.fits = pair.Match(); v.fits {
		v.prefers = s.ranks(sh, slot, job)
	}
	s.settle(sh, before)
	return v
}

// ranks evaluates the ranks by which candidates are compared first.
func (s *Search) ranks(sh *shape, slot, job *classad.ClassAd) (p prefers) {
	pair := classad.Pair{Left: job, Right: slot, Host: s.pool.Host, MaxSteps: classad.FewSteps, Meter: &sh.meter}
	p.rank = pair.LeftRank()
	scope := s.scope(sh, slot, job)
	if s.rules.PostJobRank != nil {
		p.post = value(s.rules.PostJobRank.Eval(scope))
	}
	if s.rules.PreJobRank != nil {
		p.pre = value(s.rules.PreJobRank.Eval(scope))
		return p
	}
	// HTCondor's default: what the machine prefers, then small slots; that unclaimed ones come before that
	// tells no two claims apart.
	rank, ranked := numberOf(scope.Attr("Rank"))
	cpus, sized := numberOf(scope.Attr("Cpus"))
	memory, known := numberOf(scope.Attr("Memory"))
	if p.pre = least; ranked && sized && known {
		p.pre = 10_000_000*rank - 100_000*cpus - memory
	}
	return p
}

// preemptionRank evaluates PREEMPTION_RANK for a claim. Without one the worst priority comes first, then
// the shortest run so far.
func (s *Search) preemptionRank(sh *shape, c *claim) float64 {
	if c.ranked {
		return c.rank
	}
	slot := s.buckets[c.bucket].ad.of(s)
	if s.rules.Rank == nil {
		ran, known := numberOf(classad.Scope{My: c.Ad, Host: s.pool.Host, MaxSteps: classad.FewSteps}.Attr("TotalJobRunTime"))
		if !known {
			ran = 0
		}
		c.rank, c.ranked = s.standing(c.User).Prio*1_000_000-ran, true
		return c.rank
	}
	if !s.mayAsk(sh) {
		return least
	}
	if c.Ad != s.buckets[c.bucket].ad.raw {
		slot = s.decorate(c).of(s)
	}
	before := sh.meter.Steps()
	rank := value(s.rules.Rank.Eval(s.scope(sh, slot, s.jobAd(sh))))
	s.settle(sh, before)
	return rank
}
