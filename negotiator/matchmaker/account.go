package matchmaker

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
)

// Limits bound what the matching of one user's jobs costs, in steps of evaluation (see
// [classad.Scope]); 0 is no limit. What slots' own Requirements take does not count, but those that
// take much, all together, may take in a Match no more than a user.
type Limits struct {
	// Evaluation limits one evaluation of Requirements or Rank. One that exceeds it is no match.
	Evaluation int
	// Cluster limits one autocluster, User all autoclusters of a user, and All those of all users, in
	// one call of Match. Users whose jobs were too expensive lately share the limit of one user.
	Cluster, User, All int64
}

// StrangersLimits returns the limits for a pool whose users need not trust each other. A user can
// lengthen one cycle by about a second (with a thousand dear autoclusters by 0.1 s), and all cycles
// by about 0.06 s; many users together, or one under many names, one cycle by about two seconds,
// and all cycles by 0.06 s. An autocluster of a usual job with slots of 200 classes takes 12,000
// steps.
func StrangersLimits() Limits {
	return Limits{Evaluation: classad.FewSteps, Cluster: 2_000_000, User: 20_000_000, All: 40_000_000}
}

// firstPart is the part of Limits.Cluster that each autocluster of a user may take before any of
// them takes more: so the cheap ones are matched first. An autocluster with an evaluation that
// exceeded its limit gets no more than that.
const firstPart = 20

// dearPair is the number of steps for an evaluated pair from which on an autocluster counts as too
// expensive, like one with an evaluation that exceeded its limit. It is also the limit of an
// evaluation in a probe: the first turn of an autocluster finds out at little cost that it is dear.
const dearPair = 1000

// dearPart is the part of Limits.User that the dear autoclusters of all users may take in a Match.
const dearPart = 8

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
	left    int64
	share   int64 // what the user may spend in one Match; less than the limit if jobs were too expensive
	quota   int64 // what is left of what the last division gave the user
	divided int   // the last division in which the user had a part
	suspect bool  // jobs were too expensive lately
	dear    bool  // in this Match, jobs were too expensive
	short   bool  // in this Match, the share did not suffice
	crowded bool  // in this Match, what all may spend did not suffice
}

// accounts are those of the users whose jobs are matched, or were too expensive lately. Suspects also
// have an account together, so that one user under many names gets what one user gets.
type accounts struct {
	limits    Limits
	users     map[string]*account
	suspects  account
	left      int64 // what all users may still spend in this Match
	divisions int
}

func newAccounts(limits Limits) accounts {
	for _, limit := range []*int64{&limits.User, &limits.All} {
		if *limit == 0 {
			*limit = math.MaxInt64
		}
	}
	return accounts{limits: limits, users: map[string]*account{}, suspects: account{share: limits.User}}
}

// open begins a Match.
func (a *accounts) open() {
	a.left = a.limits.All
	a.suspects.renew(a.limits.User)
	for user, one := range a.users {
		if one.renew(a.limits.User); one.share == a.limits.User {
			delete(a.users, user)
		}
	}
}

// renew begins a Match for an account. Whose jobs were too expensive or too many in the last one gets
// half as much as then, any other slowly regains the limit.
func (a *account) renew(limit int64) {
	switch {
	case a.dear:
		a.share = max(a.share/2, limit/leastPart)
	case a.short:
		a.share = max(a.share/2, limit/shortPart)
	default:
		a.share += min(limit-a.share, max(1, limit/regained))
	}
	a.left, a.quota, a.dear, a.short, a.crowded = a.share, 0, false, false, false
}

// limitDear begins the part of a Match in which dear autoclusters are matched. Suspects get less.
func (a *accounts) limitDear() {
	a.left = min(a.left, max(1, a.limits.User/dearPart))
	a.suspects.left = min(a.suspects.left, max(1, a.limits.User/leastPart))
}

// user returns the account of a user.
func (a *accounts) user(name string) *account {
	one := a.users[name]
	if one == nil {
		one = &account{left: a.limits.User, share: a.limits.User}
		a.users[name] = one
	}
	return one
}

// divide divides what all users may still spend among some, and gives suspects no more than is left
// to them together. So whoever needs little gets it, and what he does not need the next division gives
// to others. It reports whether anybody gets something.
func (a *accounts) divide(users []*account) (some bool) {
	a.divisions++
	var all, suspects int64
	for _, one := range users {
		if one.divided != a.divisions {
			one.divided, all = a.divisions, all+1
			if one.suspect {
				suspects++
			}
		}
	}
	for _, one := range users {
		if one.quota = min(one.left, a.left/all); one.suspect {
			one.quota = min(one.quota, a.suspects.left/suspects)
		}
		some = some || one.quota > 0
	}
	return some
}

// allows returns how many steps a user may take now.
func (a *accounts) allows(one *account) int64 { return min(one.left, one.quota, a.left) }

// spend charges a user with steps.
func (a *accounts) spend(one *account, steps int64) {
	a.left -= steps
	one.left -= steps
	one.quota -= steps
	if one.suspect {
		a.suspects.left -= steps
	}
}

// suspect notes that jobs of a user are too expensive. The next division gives the user a part of what
// is left to all such users.
func (a *accounts) suspect(one *account) {
	if !one.suspect {
		one.suspect, one.quota = true, 0
		a.suspects.left -= one.share - one.left
	}
	one.dear, a.suspects.dear = true, true
}
