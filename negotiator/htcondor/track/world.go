package track

import (
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/usermap"
)

// World is what expressions of ads learn from outside the ads, besides the time. Whoever has the belief
// may change it between two looks.
type World struct {
	// Zone is the local time zone; nil means UTC.
	Zone *time.Location
	// UserMaps are those of the function userMap; nil: there are none.
	UserMaps *usermap.Maps
}

// Host supplies the world to evaluations at an instant.
func (w *World) Host(now time.Time) *classad.Host {
	h := &classad.Host{Now: now.Unix}
	if w != nil {
		h.Zone = w.Zone
		h.UserMap = w.UserMaps.UserMap
	}
	return h
}
