package backfill

import (
	"fmt"
	"slices"
	"strings"
)

// Correction says what is expected of a running job that has outlived the run time which was
// predicted for it, as long as that is less than its limit.
type Correction uint8

// What is expected of such a job.
const (
	// Doubled is the run time doubled until the end is later than now, at most the limit.
	Doubled Correction = iota
	// AtLimit is the limit at once.
	AtLimit
	// InSteps is the run time and 1, 5, 15, 30 min, 1, 2, 5, 10, 20, 50 and 100 h, as many of them
	// in this order as make the end later than now, at most the limit (Tsafrir, Etsion and
	// Feitelson, IEEE TPDS 18(6), 2007); the limit if all of them are too few.
	InSteps
)

// corrections are the names as users write them.
//
//nolint:gochecknoglobals // a table
var corrections = [...]string{Doubled: "double", AtLimit: "request", InSteps: "tsafrir"}

// Corrections returns the names of all corrections, in their order.
func Corrections() []string { return slices.Clone(corrections[:]) }

// String returns the name.
func (c Correction) String() string {
	if int(c) < len(corrections) {
		return corrections[c]
	}
	return fmt.Sprintf("Correction(%d)", uint8(c))
}

// CorrectionNamed returns the correction of that name, in any case.
func CorrectionNamed(name string) (Correction, error) {
	for c, known := range corrections {
		if strings.EqualFold(known, name) {
			return Correction(c), nil //nolint:gosec // there are three
		}
	}
	return 0, fmt.Errorf("unknown correction %q%s: choose one of %s", name, DidYouMean(name, corrections[:]),
		strings.Join(corrections[:], ", "))
}

// steps returns by how much run times go up under InSteps, one after the other.
func steps() [11]Time {
	const minute, hour = 60, 3600
	return [...]Time{
		minute, 5 * minute, 15 * minute, 30 * minute, hour, 2 * hour, 5 * hour, 10 * hour, 20 * hour, 50 * hour, 100 * hour,
	}
}

// End returns when a job that runs since start is expected to end, if it is expected to run for the
// given time, at most for its limit, and has not ended by now: later than now, unless the limit is
// over, which it reports as false.
func (c Correction) End(start, runs, limit, now Time) (Time, bool) {
	end := start + max(1, min(runs, limit))
	switch {
	case end > now:
		return end, true
	case start+limit <= now:
		return start + limit, false
	}
	switch c {
	case Doubled:
		for end <= now { // the limit is later, so this ends
			end += end - start
		}
	case InSteps:
		for _, step := range steps() {
			if end += step; end > now {
				return min(end, start+limit), true
			}
		}
		end = start + limit
	default:
		end = start + limit
	}
	return min(end, start+limit), true
}

// ExpectedEnd returns when a job that runs since start is expected to end, if it is expected to run
// for the given time and has not ended by now. If it has outlived that time, the correction says
// what then, up to the job's limit; past the limit, the limit is doubled until the end is later
// than now.
func (c Correction) ExpectedEnd(j *Job, runs, start, now Time) Time {
	limit := j.limit()
	if end, within := c.End(start, runs, limit, now); within {
		return end
	}
	for end := limit; end < Forever; end *= 2 {
		if start+end > now {
			return start + end
		}
	}
	return Forever
}

// ExpectedEnd is [Correction.ExpectedEnd] under the job's own correction.
func ExpectedEnd(j *Job, runs, start, now Time) Time {
	return j.Correction.ExpectedEnd(j, runs, start, now)
}
