package classad

import "time"

// Host supplies everything from outside the ads, so that an evaluation depends on nothing but its
// arguments. Any of its fields may be nil.
type Host struct {
	// Now returns the time in seconds since 1970. Without it time() and CurrentTime are undefined.
	Now func() int64
	// Zone is the local time zone; nil means UTC.
	Zone *time.Location
	// Random returns numbers from 0 on and below 1. Without it random() is undefined.
	Random func() float64
	// UserMap maps a user by the map of this name and returns items separated by commas; ok is
	// false if there is no such map or it has no entry for the user. It takes the steps that it needs
	// from the budget, see [Scope.MaxSteps]; a budget below zero fails the evaluation. Without it there
	// are no maps. Package usermap reads HTCondor's.
	UserMap func(mapName, user string, budget *int) (items string, ok bool)
	// UserHome returns the home directory of a user. Without it no user has one.
	UserHome func(user string) (directory string, ok bool)
	// Debug receives the lines that the function debug writes; nil drops them.
	Debug func(line string)
	// Steady finds out how long the results stay the same; nil: nobody asks. Evaluations then take
	// about twice as long.
	Steady *Steady
}

// time returns the time in seconds since 1970, or undefined without a clock.
func (ev *evaluator) time() Value {
	if ev.host == nil || ev.host.Now == nil {
		return undefined
	}
	now := ev.host.Now()
	if ev.steady != nil {
		ev.steady.read(now)
	}
	return integer(now)
}

// zone returns the local time zone.
func (ev *evaluator) zone() *time.Location {
	if ev.host == nil || ev.host.Zone == nil {
		return time.UTC
	}
	return ev.host.Zone
}

// random returns a number from 0 on and below 1; false if the host supplies none.
func (ev *evaluator) random() (float64, bool) {
	if ev.host == nil || ev.host.Random == nil {
		return 0, false
	}
	if ev.steady != nil {
		ev.steady.Drawn = true
	}
	return ev.host.Random(), true
}

// userMap returns what the host's map has for a user. It charges what the search takes.
func (ev *evaluator) userMap(mapName, user string) (items string, ok bool) {
	if ev.host == nil || ev.host.UserMap == nil {
		return "", false
	}
	left := ev.steps
	items, ok = ev.host.UserMap(mapName, user, &left)
	return items, ev.spend(ev.steps-left) && ok
}

func (ev *evaluator) userHome(user string) (string, bool) {
	if ev.host == nil || ev.host.UserHome == nil {
		return "", false
	}
	return ev.host.UserHome(user)
}

// logger returns the function that receives the lines of debug, or nil.
func (ev *evaluator) logger() func(line string) {
	if ev.host == nil {
		return nil
	}
	return ev.host.Debug
}
