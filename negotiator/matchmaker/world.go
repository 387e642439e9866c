package matchmaker

import "time"

// World is what expressions of ads learn from outside the ads, besides the instant of the cycle.
type World struct {
	// Start is the instant at which the pool's clock shows 0, in seconds since 1970.
	Start int64
	// Zone is the local time zone of expressions; nil means UTC.
	Zone *time.Location
	// UserMap is that of [classad.Host]; nil means that there are no maps.
	UserMap func(mapName, user string) (items string, ok bool)
}
