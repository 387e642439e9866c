package classad

import "time"

// Host is the world outside, so that evaluation depends on nothing but its arguments. Any of its fields may be missing.
type Host struct {
	// Now gives the time in seconds since 1970. Without it time() and CurrentTime are undefined.
	Now func() int64
	// Zone is the local time zone; nil is UTC.
	Zone *time.Location
	// Random gives numbers from 0 on and below 1. Without it random() is undefined.
	Random func() float64
	// UserMap maps a user by the map with this name and gives the result, items with commas between them; ok is false
	// if there is no such map or it has nothing for the user. Without it there are no maps.
	UserMap func(mapName, user string) (items string, ok bool)
	// UserHome gives the home directory of a user. Without it no user has one.
	UserHome func(user string) (directory string, ok bool)
	// Debug gets the lines that the function debug writes; nil drops them.
	Debug func(line string)
}

// time is the clock in seconds since 1970, or undefined.
func (ev *evaluator) time() Value {
	if ev.host == nil || ev.host.Now == nil {
		return undefined
	}
	return integer(ev.host.Now())
}

// zone is the local time zone.
func (ev *evaluator) zone() *time.Location {
	if ev.host == nil || ev.host.Zone == nil {
		return time.UTC
	}
	return ev.host.Zone
}

// random is a number from 0 on and below 1, if there is a source of them.
func (ev *evaluator) random() (float64, bool) {
	if ev.host == nil || ev.host.Random == nil {
		return 0, false
	}
	return ev.host.Random(), true
}

func (ev *evaluator) userMap(mapName, user string) (string, bool) {
	if ev.host == nil || ev.host.UserMap == nil {
		return "", false
	}
	return ev.host.UserMap(mapName, user)
}

func (ev *evaluator) userHome(user string) (string, bool) {
	if ev.host == nil || ev.host.UserHome == nil {
		return "", false
	}
	return ev.host.UserHome(user)
}

// logger is where debug writes, or nil.
func (ev *evaluator) logger() func(line string) {
	if ev.host == nil {
		return nil
	}
	return ev.host.Debug
}
