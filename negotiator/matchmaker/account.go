package matchmaker

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
)

// Limits bound what the matching of one user's jobs costs, in steps of evaluation (see
// [classad.Scope]); 0 is no limit. What slots' own Requirements take does not count.
type Limits struct {
	// Evaluation limits one evaluation of Requirements or Rank. One that exceeds it is no match.
	Evaluation int
	// Cluster limits one autocluster, and User all autoclusters of a user, in one call of Match.
	Cluster, User int64
}

// StrangersLimits returns the limits for a pool whose users need not trust each other. A user can
// lengthen one cycle by about a second, and all cycles by about 0.06 s. An autocluster of a usual
// job with slots of 200 classes takes 12,000 steps.
func StrangersLimits() Limits {
	return Limits{Evaluation: classad.FewSteps, Cluster: 2_000_000, User: 20_000_000}
}

// firstPart is the part of Limits.Cluster that each autocluster of a user may take before any of
// them takes more: so the cheap ones are matched first. An autocluster with an evaluation that
// exceeded its limit gets no more than that.
const firstPart = 20

// dearPair is the number of steps for an evaluated pair from which on an autocluster counts as too
// expensive, like one with an evaluation that exceeded its limit.
const dearPair = 1000

// leastPart is the part of Limits.User that is left to a user whose jobs stay too expensive, and
// shortPart to one whose jobs only stay more than can be matched. In a Match in which they are
// neither, the user regains a part of the limit.
const (
	leastPart = 16
	shortPart = 4
	regained  = 64
)

// mostPause limits the number of cycles in which an autocluster that is too expensive is not tried.
const mostPause = 1024

// stepTime is how long a step takes, roughly.
const stepTime = 50 * time.Nanosecond

// Cost puts steps into words: "40 million steps, about 2 s".
func Cost(steps int64) string {
	number := strconv.FormatInt(steps, 10)
	switch {
	case steps >= 10_000_000:
		number = fmt.Sprint((steps+500_000)/1_000_000, " million")
	case steps >= 10_000:
		number = fmt.Sprintf("%d,%03d", steps/1000, steps%1000)
	}
	return fmt.Sprintf("%s steps, about %v", number, (time.Duration(steps) * stepTime).Round(time.Millisecond))
}

// account is what a user may still spend.
type account struct {
	left  int64
	share int64 // what the user may spend in one Match; less than the limit if jobs were too expensive
	dear  bool  // in this Match, jobs were too expensive
	short bool  // in this Match, the share did not suffice
}

// accounts are those of the users whose jobs are matched, or were too expensive lately.
type accounts struct {
	limit int64
	of    map[string]*account
}

// open begins a Match. A user whose jobs were too expensive or too many in the last one gets half as
// much as then, any other slowly regains the limit.
func (a *accounts) open() {
	if a.limit == 0 {
		clear(a.of)
	}
	for user, one := range a.of {
		switch {
		case one.dear:
			one.share = max(one.share/2, a.limit/leastPart)
		case one.short:
			one.share = max(one.share/2, a.limit/shortPart)
		default:
			one.share += max(1, a.limit/regained)
		}
		if one.share >= a.limit {
			delete(a.of, user)
		}
		one.left, one.dear, one.short = one.share, false, false
	}
}

// user returns the account of a user.
func (a *accounts) user(name string) *account {
	one := a.of[name]
	if one == nil {
		share := a.limit
		if share == 0 {
			share = math.MaxInt64
		}
		one = &account{left: share, share: share}
		a.of[name] = one
	}
	return one
}
