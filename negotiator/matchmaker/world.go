package matchmaker

import (
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
)

// World is what expressions of ads learn from outside the ads, besides the instant of the cycle.
type World struct {
	// Start is the instant at which the pool's clock shows 0, in seconds since 1970.
	Start int64
	// Zone is the local time zone of expressions; nil means UTC.
	Zone *time.Location
	// UserMap is that of [classad.Host]; nil means that there are no maps.
	UserMap func(mapName, user string) (items string, ok bool)
}

// at returns what supplies the world to evaluations at an instant of the pool's clock.
func (w World) at(now int64) *classad.Host {
	return &classad.Host{Now: func() int64 { return w.Start + now }, Zone: w.Zone, UserMap: w.UserMap}
}
