package matchmaker

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Expensive says that jobs of a user were put off in a Match, as it is too expensive to find out
// which slots they may use.
type Expensive struct {
	User  string
	Jobs  int
	Steps int64 // that they have taken; see [Cost]
}

// matchAll matches the autoclusters that need it, within the limits. Each may first take a small
// part of its limit, so that cheap ones do not wait for expensive ones of the same user; those that
// were put off before come after the others, and dear ones last.
func (m *Matchmaker) matchAll(ctx context.Context) {
	whole := m.limits.Cluster
	if whole == 0 {
		whole = math.MaxInt64
	}
	var fresh, again, dear []*autocluster
	for _, c := range m.clusters {
		switch {
		case len(c.users) == 0 || c.void:
		case c.dear:
			dear = append(dear, c)
		case c.pause == 0:
			fresh = append(fresh, c)
		default:
			again = append(again, c)
		}
	}
	first := func(c *autocluster) int64 { return min(whole, max(1, whole/firstPart)*int64(max(1, c.pause))) }
	rest := m.matchSome(ctx, fresh, first)
	rest = append(rest, m.matchSome(ctx, again, first)...)
	rest, found := split(rest)
	rest, more := split(m.matchSome(ctx, rest, func(*autocluster) int64 { return whole }))
	m.accounts.limitDear()
	rest = append(rest, m.matchSome(ctx, slices.Concat(dear, found, more), first)...)
	for _, c := range rest {
		m.putOff(c, m.payer(c))
	}
}

// split parts the dear autoclusters from the others.
func split(all []*autocluster) (others, dear []*autocluster) {
	for _, c := range all {
		if c.dear {
			dear = append(dear, c)
		} else {
			others = append(others, c)
		}
	}
	return others, dear
}

// divisions is how often a Match divides among users what all of them may spend, at most.
const divisions = 8

// matchSome matches autoclusters, of which each may take so many steps. It returns those that need
// more.
func (m *Matchmaker) matchSome(ctx context.Context, all []*autocluster, most func(*autocluster) int64) (rest []*autocluster) {
	for range divisions {
		payers := make([]*account, len(all))
		for i, c := range all {
			payers[i] = m.payer(c)
		}
		m.accounts.divide(payers)
		var waiting []*autocluster
		for _, c := range all {
			switch m.turn(ctx, c, most(c)) {
			case done:
			case waits:
				waiting = append(waiting, c)
			case needsMore:
				rest = append(rest, c)
			}
		}
		if all = waiting; len(all) == 0 {
			return rest
		}
	}
	for _, c := range all {
		m.await(c)
	}
	return rest
}

// outcome is how a turn of an autocluster has ended.
type outcome uint8

const (
	done      outcome = iota // nothing more is to be done in this Match
	waits                    // its users have no more to spend until the next division
	needsMore                // it has taken all steps that it may take
)

// turn matches an autocluster until that has taken so many steps, or its users have no more to
// spend.
func (m *Matchmaker) turn(ctx context.Context, c *autocluster, most int64) outcome {
	a := m.payer(c)
	isDue := c.due <= m.cycle
	if most = min(most, m.accounts.allows(a)); !isDue {
		most = 0
	}
	stopped, tried, wasDear := true, c.exceeded, c.dear
	if most > 0 || c.complete {
		var steps int64
		steps, stopped = m.search(ctx, c, most)
		m.accounts.spend(a, steps)
	}
	switch {
	case !stopped:
		if c.exceeded > tried {
			m.accounts.suspect(a)
		}
		c.steps, c.pairs, c.pause, c.dear = 0, 0, 0, false
	case !isDue || ctx.Err() != nil:
		m.open = true
	case c.dear && !wasDear:
		return needsMore
	case c.isDear() && m.accounts.allows(a) > 0:
		m.putOff(c, a)
	case c.isDear():
		m.accounts.suspect(a)
		return waits
	case m.accounts.allows(a) <= 0:
		return waits
	default:
		return needsMore
	}
	return done
}

// search brings the candidates of an autocluster up to date, in so many steps. Unless it is known
// to be dear, a probe finds out whether it is.
func (m *Matchmaker) search(ctx context.Context, c *autocluster, most int64) (steps int64, stopped bool) {
	if c.view == nil {
		c.view = m.viewOf(c.ad)
	}
	s := search{trial: trial{m: m, limit: m.limits.Evaluation}, c: c, most: most, ended: ctx.Err}
	if !c.dear && s.limit > dearPair {
		s.limit, s.probes = dearPair, true
	}
	steps = s.run()
	if s.probes && c.dear {
		c.steps, c.pairs = 0, 0 // what the probe took is not the price of a pair
	}
	return steps, s.stopped
}

// isDear reports whether an autocluster that is not complete is too expensive.
func (c *autocluster) isDear() bool { return c.exceeded > 0 || c.steps > dearPair*c.pairs }

// await leaves an autocluster to the next Match, as its users have no more to spend in this one.
func (m *Matchmaker) await(c *autocluster) {
	m.open = true
	switch a := m.payer(c); {
	case c.isDear():
		m.putOff(c, a)
	case c.dear:
		m.countAll(c)
	case a.left <= 0:
		a.short = true
	default:
		a.crowded = !a.suspect
	}
}

// payer returns the account of one of the users with jobs of an autocluster: the first who can pay,
// and a suspect only if no other can.
func (m *Matchmaker) payer(c *autocluster) *account {
	payer := m.accounts.user(c.users[0].name)
	for _, u := range c.users[1:] {
		if payer.left > 0 && !payer.suspect {
			break
		}
		if a := m.accounts.user(u.name); a.left > 0 && (payer.left <= 0 || !a.suspect) {
			payer = a
		}
	}
	return payer
}

// putOff has an autocluster that is too expensive wait for some cycles, and each time twice as many.
func (m *Matchmaker) putOff(c *autocluster, payer *account) {
	m.open = true
	c.pause = min(max(2*c.pause, 2), mostPause)
	c.due = m.cycle + c.pause
	m.accounts.suspect(payer)
	m.countAll(c)
}

// countAll adds the jobs of an autocluster to the list of what was put off in this Match.
func (m *Matchmaker) countAll(c *autocluster) {
	for _, u := range c.users {
		m.count(u, c.steps)
	}
}

// count adds jobs of a user to that list.
func (m *Matchmaker) count(u user, steps int64) {
	if i, known := m.payers[u.name]; known {
		e := &m.expensive[i]
		e.Jobs, e.Steps = e.Jobs+u.jobs, e.Steps+steps
		return
	}
	if m.payers == nil {
		m.payers = map[string]int{}
	}
	m.payers[u.name] = len(m.expensive)
	m.expensive = append(m.expensive, Expensive{u.name, u.jobs, steps})
}

// Expensive returns whose jobs were put off in the last Match. The list is valid until the next.
func (m *Matchmaker) Expensive() []Expensive { return m.expensive }

// Hurries reports whether the next Match would go on with jobs whose users were not put off: there
// were only more than the limits of one Match allow.
func (m *Matchmaker) Hurries() bool {
	for _, a := range m.accounts.users {
		if (a.short || a.crowded) && !a.dear {
			return true
		}
	}
	return false
}

// Unmatched returns why it is not known which slots the jobs of an autocluster may use; false if it
// is known.
func (m *Matchmaker) Unmatched(id int) (why string, unmatched bool) {
	c := m.clusters[id]
	empty := none(c.candidates)
	switch {
	case c.void || c.complete && (!empty || c.exceeded == 0 && !c.later):
		return "", false
	case c.complete && c.exceeded > 0:
		return fmt.Sprintf("its Requirements are too expensive: more than %s for a slot",
			Cost(int64(m.limits.Evaluation))), true
	case c.due > m.cycle:
		return fmt.Sprintf("its Requirements are too expensive: %s for %d of %d slots; this goes on in %d cycles",
			Cost(c.steps), c.known(m), m.offers(), c.due-m.cycle), true
	case c.dear:
		return "its Requirements are too expensive: others like it come first", true
	default:
		return "is not matched with all slots yet: the next cycle goes on", true
	}
}

// known counts the offers for which it is known whether the autocluster matches.
func (c *autocluster) known(m *Matchmaker) (n int) {
	if c.view == nil {
		return 0
	}
	for _, class := range m.classes(c.view) {
		if class < len(c.verdicts) && c.verdicts[class] != unknown {
			n++
		}
	}
	return n
}

// Unplanned counts the jobs of which it is not known which slots they may use.
func (m *Matchmaker) Unplanned() (jobs int) {
	if !m.open {
		return 0
	}
	for _, c := range m.clusters {
		if _, unmatched := m.Unmatched(c.ID); unmatched {
			for _, u := range c.users {
				jobs += u.jobs
			}
		}
	}
	return jobs
}

// MatchesNone reports whether the jobs of an autocluster match nothing in the pool; false if that is
// unknown.
func (m *Matchmaker) MatchesNone(id int) bool {
	c := m.clusters[id]
	return c.complete && !c.void && !c.later && none(c.candidates)
}
