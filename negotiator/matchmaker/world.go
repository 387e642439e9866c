package matchmaker

import "time"

// World is what expressions of ads learn from outside the ads, besides the instant of the cycle.
type World struct {
	// Start is the instant at which the pool's clock shows 0, in seconds since 1970.
	Start int64
	// Zone is the local time zone of expressions; nil means UTC.
	Zone *time.Location
	// UserMap is that of [classad.Host]; nil means that there are no maps.
	UserMap func(mapName, user string, budget *int) (items string, ok bool)
}

// SetWorld changes what expressions learn from outside the ads. The next Match evaluates all pairs anew,
// as far as the limits allow, and until then no autocluster has candidates: it must follow at once.
func (m *Matchmaker) SetWorld(world World) {
	m.world, m.open = world, true
	m.setHost()
	for ad, steps := range m.ownSteps { // of those that are barred it is known whatever the world is
		if steps >= 0 {
			delete(m.ownSteps, ad)
		}
	}
	for _, c := range m.clusters {
		if c.ad != nil {
			m.drop(c)
			c.sent = false // whatever it had before
		}
	}
}
