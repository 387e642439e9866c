package negotiator

import (
	"fmt"
	"slices"
	"strings"
	"time"

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
// the startd makes its ad anew, so that the slot does not count as changed. Without MyCurrentTime it was made
// when the collector had it last (LastHeardFrom). An ad that does not say when it was made, or in which the
// attributes are no numbers within their bounds, stays as it is.
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
	if !hasMade {
		made, hasMade = ad.Literal("LastHeardFrom").Int()
	}
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

// GiveClocks returns slots whose ads without ClockMin or ClockDay have those of a time zone; nil means UTC. It
// copies what it changes.
func GiveClocks(slots []*Slot, zone *time.Location) []*Slot {
	minute, day := clocksIn(zone)
	given := slices.Clone(slots)
	for i, slot := range slots {
		_, hasMinute := slot.Ad.Lookup(clockMin)
		_, hasDay := slot.Ad.Lookup(clockDay)
		if hasMinute && hasDay {
			continue
		}
		one := *slot
		one.Ad = slot.Ad.Clone()
		if !hasMinute {
			one.Ad.Set(clockMin, minute)
		}
		if !hasDay {
			one.Ad.Set(clockDay, day)
		}
		given[i] = &one
	}
	return given
}

// AsksClock reports whether an attribute is one of a startd's clock.
func AsksClock(attr string) bool {
	return strings.EqualFold(attr, clockMin) || strings.EqualFold(attr, clockDay)
}

// clocksIn returns what ClockMin and ClockDay are in a time zone, by which expressions see the time. Where the
// zone has no summer time they are plain sums, of which the windows of slots are found much faster.
func clocksIn(zone *time.Location) (minute, day *classad.Expr) {
	made := classad.New()
	if offset, fixed := offsetOf(zone); fixed {
		const thursday = 4 // 1970-01-01 was one
		follow(made, clockMin, secondsPerDay, secondsPerMinute, offset)
		follow(made, clockDay, secondsPerWeek, secondsPerDay, offset+thursday*secondsPerDay)
	} else {
		for name, text := range map[string]string{
			clockMin: `60 * int(formatTime(time(), "%H")) + int(formatTime(time(), "%M"))`,
			clockDay: `int(formatTime(time(), "%w"))`,
		} {
			if err := made.SetExpr(name, text); err != nil {
				panic(err) // the text is constant
			}
		}
	}
	minute, _ = made.Lookup(clockMin)
	day, _ = made.Lookup(clockDay)
	return minute, day
}

// offsetOf returns by how many seconds a time zone is ahead of UTC; false if that has changed in these years.
func offsetOf(zone *time.Location) (seconds int64, fixed bool) {
	if zone == nil {
		return 0, true
	}
	const first, last = 1990, 2040
	_, offset := time.Date(first, time.January, 1, 0, 0, 0, 0, zone).Zone()
	for month := range time.Month(12 * (last - first)) {
		if _, other := time.Date(first, time.January+month, 1, 0, 0, 0, 0, zone).Zone(); other != offset {
			return 0, false
		}
	}
	return int64(offset), true
}
