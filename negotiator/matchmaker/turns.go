package matchmaker

import (
	"context"
	"fmt"
	"math"
)

// Expensive says that jobs of a user were put off in a Match, as it is too expensive to find out
// which slots they may use.
type Expensive struct {
	User  string
	Jobs  int
	Steps int64 // that they have taken; see [Cost]
}

// matchAll matches the autoclusters that need it, within the limits. Each may first take a small
// part of its limit, so that cheap ones do not wait for expensive ones of the same user.
func (m *Matchmaker) matchAll(ctx context.Context) {
	whole := m.limits.Cluster
	if whole == 0 {
		whole = math.MaxInt64
	}
	var rest []*autocluster
	first := max(1, whole/firstPart)
	for _, c := range m.clusters {
		if len(c.users) > 0 && !c.void && !m.turn(ctx, c, min(whole, first*int64(max(1, c.pause)))) {
			rest = append(rest, c)
		}
	}
	for _, c := range rest {
		if !m.turn(ctx, c, whole) {
			m.putOff(c, m.payer(c))
		}
	}
}

// turn matches an autocluster until that has taken so many steps, or its users have no more to
// spend. It returns false if the autocluster needs more and may have it.
func (m *Matchmaker) turn(ctx context.Context, c *autocluster, most int64) bool {
	a := m.payer(c)
	most = min(most, a.left)
	waits := c.due > m.cycle
	if waits {
		most = 0
	}
	stopped, tried := true, c.exceeded
	if most > 0 || c.complete {
		if c.view == nil {
			c.view = m.viewOf(c.ad)
		}
		s := search{trial: trial{m: m}, c: c, most: most, ended: ctx.Err}
		a.left -= s.run()
		stopped = s.stopped
	}
	switch {
	case !stopped:
		a.dear = a.dear || c.exceeded > tried
		c.steps, c.pairs, c.pause = 0, 0, 0
	case waits || ctx.Err() != nil:
		m.open = true
	case c.exceeded > 0 || c.steps > dearPair*c.pairs:
		m.putOff(c, a)
	case a.left <= 0:
		a.short, m.open = true, true
	default:
		return false
	}
	return true
}

// payer returns the account of one of the users with jobs of an autocluster: the first who can pay.
func (m *Matchmaker) payer(c *autocluster) *account {
	for _, u := range c.users {
		if a := m.accounts.user(u.name); a.left > 0 {
			return a
		}
	}
	return m.accounts.user(c.users[0].name)
}

// putOff has an autocluster that is too expensive wait for some cycles, and each time twice as many.
func (m *Matchmaker) putOff(c *autocluster, payer *account) {
	m.open = true
	c.pause = min(max(2*c.pause, 2), mostPause)
	c.due = m.cycle + c.pause
	payer.dear = true
	for _, u := range c.users {
		m.count(u, c.steps)
	}
}

// count adds to the list of what was put off in this Match.
func (m *Matchmaker) count(u user, steps int64) {
	for i := range m.expensive {
		if e := &m.expensive[i]; e.User == u.name {
			e.Jobs, e.Steps = e.Jobs+u.jobs, e.Steps+steps
			return
		}
	}
	m.expensive = append(m.expensive, Expensive{u.name, u.jobs, steps})
}

// Expensive returns whose jobs were put off in the last Match. The list is valid until the next.
func (m *Matchmaker) Expensive() []Expensive { return m.expensive }

// Hurries reports whether the next Match would go on with jobs whose users were not put off: there
// were only more than the limits of one Match allow.
func (m *Matchmaker) Hurries() bool {
	for _, a := range m.accounts.of {
		if a.short && !a.dear {
			return true
		}
	}
	return false
}

// Unmatched returns why it is not known which slots the jobs of an autocluster may use; false if it
// is known.
func (m *Matchmaker) Unmatched(id int) (why string, is bool) {
	c := m.clusters[id]
	switch {
	case c.void || c.complete && (c.exceeded == 0 || !m.MatchesNone(id)):
		return "", false
	case c.complete:
		return fmt.Sprintf("its Requirements are too expensive: more than %s for a slot",
			Cost(int64(m.limits.Evaluation))), true
	case c.due > m.cycle:
		return fmt.Sprintf("its Requirements are too expensive: %s for %d of %d slots; this goes on in %d cycles",
			Cost(c.steps), c.known(m), m.offers(), c.due-m.cycle), true
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
		if _, is := m.Unmatched(c.ID); is {
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
	return c.complete && !c.void && len(c.candidates.Slots)+len(c.candidates.Bundles) == 0
}
