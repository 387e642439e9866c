package negotiator

import (
	"fmt"

	"github.com/condor-backfill/condor-backfill/classad"
)

// The clock of a startd is in the attributes ClockMin, minutes since midnight in its time zone, and
// ClockDay, days since Sunday (HTCondor manual, "Machine ClassAd Attributes").
const (
	clockMin = "ClockMin"
	clockDay = "ClockDay"

	secondsPerMinute = 60
	secondsPerDay    = 24 * 60 * secondsPerMinute
	secondsPerWeek   = 7 * secondsPerDay
)

// FollowClock has ClockMin and ClockDay of a slot's ad go on from the instant at which the startd made
// the ad (MyCurrentTime, in its own clock): they become expressions of time(). These stay the same when
// the startd makes its ad anew, so that the slot does not count as changed. An ad that does not say when
// it was made, or in which the attributes are no numbers within their bounds, stays as it is.
func FollowClock(ad *classad.ClassAd) {
	made, minute, ok := clockOf(ad)
	if !ok {
		return
	}
	ofDay := minute*secondsPerMinute + made%secondsPerMinute
	follow(ad, clockMin, secondsPerDay, secondsPerMinute, ofDay-made)
	if day, ok := ad.Literal(clockDay).Int(); ok && day >= 0 && day < 7 {
		follow(ad, clockDay, secondsPerWeek, secondsPerDay, day*secondsPerDay+ofDay-made)
	}
}

// clockOf returns when a startd made its ad, and its ClockMin then; false if the ad does not say.
func clockOf(ad *classad.ClassAd) (made, minute int64, ok bool) {
	minute, hasMinute := ad.Literal(clockMin).Int()
	made, hasMade := ad.Literal("MyCurrentTime").Int()
	within := minute >= 0 && minute < secondsPerDay/secondsPerMinute && made > 0 && made < 1<<40
	return made, minute, hasMinute && hasMade && within
}

// follow has an attribute count units of so many seconds in a day or week, which began this long before
// or after those of 1970-01-01, modulo its length.
func follow(ad *classad.ClassAd, name string, length, unit, ahead int64) {
	ahead = (ahead%length + length) % length
	text := fmt.Sprintf("(time() + %d) %% %d / %d", ahead, length, unit)
	if err := ad.SetExpr(name, text); err != nil {
		panic(err) // the text is built of numbers
	}
}
