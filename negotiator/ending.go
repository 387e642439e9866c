package negotiator

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

// Shutdown are the attributes of a slot's ad that are true when its startd is to end, the one gently,
// the other fast.
func Shutdown() []string { return []string{"DaemonShutdown", "DaemonShutdownFast"} }

// Earliest returns the earliest of the ends that a slot has by several sources; 0: it has none.
func Earliest(ends ...backfill.Time) (first backfill.Time) {
	for _, end := range ends {
		if end > 0 && (first == 0 || end < first) {
			first = end
		}
	}
	return first
}

// EndOf returns from when on a slot runs no jobs by what its ad says, as it is read now; both are in
// seconds since 1970. 0: it has no end; 1: it has ended already. The end is the earliest of the first of
// s.SlotEnds that is such a number, and of the instants at which the clock makes [Shutdown] true. An ad
// gets no end by what takes too long to find out.
func (s Schema) EndOf(ad *classad.ClassAd, now int64, zone *time.Location) int64 {
	f := endFinder{now: now, host: classad.Host{Zone: zone}}
	if end := min(f.stated(ad, s.SlotEnds), f.shutdown(ad)); end < lastEnd {
		return end
	}
	return 0
}

// never is an instant that does not come.
const never = math.MaxInt64

// What it may take to find when one ad says that its slot ends, in steps and looks. Where it is found
// from comparisons with the clock, one or two looks are enough; else there is one a minute for a week.
const (
	mostEndSteps = 200_000
	mostEndLooks = 7*24*60 + 100
	endSteps     = 1000 // of one look
	lastEnd      = 1 << 40
)

// endFinder finds when a slot ends. Instants are seconds since 1970.
type endFinder struct {
	now   int64
	host  classad.Host
	meter classad.Meter
	looks int
}

// stated returns the first of these attributes that is a number of seconds since 1970; never if none is.
func (f *endFinder) stated(ad *classad.ClassAd, attributes []string) int64 {
	for _, name := range attributes {
		v := classad.Scope{My: ad, MaxSteps: endSteps, Meter: &f.meter}.Attr(name)
		if n, ok := v.Number(); ok && n >= 1 && n < lastEnd {
			return int64(n)
		}
	}
	return never
}

// shutdown returns when the startd of an ad is to end; never if the clock alone does not make it.
func (f *endFinder) shutdown(ad *classad.ClassAd) int64 {
	end := int64(never)
	var lasting *classad.ClassAd
	for _, name := range Shutdown() {
		if e, given := ad.Lookup(name); !given || isNever(e) {
			continue
		}
		if lasting == nil {
			lasting = withoutState(ad)
		}
		end = min(end, f.becomesTrue(lasting, name))
	}
	return end
}

// isNever reports whether an expression is false or undefined, as it mostly is.
func isNever(e *classad.Expr) bool {
	text := e.String()
	return strings.EqualFold(text, "false") || strings.EqualFold(text, "undefined")
}

// becomesTrue returns the first instant from now on at which an attribute is true: 1 if it is already.
func (f *endFinder) becomesTrue(ad *classad.ClassAd, name string) int64 {
	at := f.now
	for f.affords() {
		steady := classad.NewSteady()
		switch {
		case f.isTrue(ad, name, at, steady) && at == f.now:
			return 1
		case f.isTrue(ad, name, at, nil):
			return at
		case steady.Unsolved:
			return f.byMinutes(ad, name, at)
		case steady.Until >= lastEnd:
			return never
		}
		at = steady.Until
	}
	return never
}

// byMinutes looks at each minute of a week for the first at which an attribute is true, and then for
// the second.
func (f *endFinder) byMinutes(ad *classad.ClassAd, name string, from int64) int64 {
	const week = 7 * secondsPerDay
	for same := from; same < f.now+week && f.affords(); {
		next := (same/secondsPerMinute + 1) * secondsPerMinute
		if !f.isTrue(ad, name, next, nil) {
			same = next
			continue
		}
		for next-same > 1 {
			if middle := same + (next-same)/2; f.isTrue(ad, name, middle, nil) {
				next = middle
			} else {
				same = middle
			}
		}
		return next
	}
	return never
}

// affords reports whether it may look at another instant.
func (f *endFinder) affords() bool {
	return f.meter.Exceeded() == 0 && f.meter.Steps() < mostEndSteps && f.looks < mostEndLooks
}

// isTrue evaluates an attribute at an instant, in its ad alone.
func (f *endFinder) isTrue(ad *classad.ClassAd, name string, at int64, steady *classad.Steady) bool {
	f.looks++
	f.host.Now, f.host.Steady = func() int64 { return at }, steady
	return classad.Scope{My: ad, Host: &f.host, MaxSteps: endSteps, Meter: &f.meter}.Attr(name).IsTrue()
}

// passing are further attributes of slots that depend on what runs there, in lower case, beside those of
// [matchmaker.Passes] and [matchmaker.Counts]. A startd that ends when it has been idle for a while has no end in the plan: jobs keep it.
var passing = []string{
	"mycurrenttime", "lastheardfrom", "cpus", "memory", "disk", "gpus",
	"totalslots", "totaljobruntime", "recentjobstarts", "jobstarts", "expectedmachinegracefuldrainingcompletion",
}

// withoutState returns a copy of a slot's ad without what passes, in which its clock goes on.
func withoutState(ad *classad.ClassAd) *classad.ClassAd {
	ad = ad.Clone()
	FollowClock(ad)
	var state []string
	for name := range ad.All() {
		lower := strings.ToLower(name)
		if slices.Contains(passing, lower) || matchmaker.Passes(name) || matchmaker.Counts(name) {
			state = append(state, name)
		}
	}
	for _, name := range state {
		ad.Delete(name)
	}
	return ad
}
