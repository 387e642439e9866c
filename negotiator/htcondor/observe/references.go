package observe

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// Steps of [classad.Scope.Refs]: what an ad may refer to can be quadratic in its size, and a user may
// have many ads. One whose Requirements name a thousand machines takes 150,000.
const (
	maxReferSteps   = 500_000
	maxReferOfUser  = 20_000_000 // until names that nothing refers to are looked for, see shrink
	maxReferOfAll   = 4 * maxReferOfUser
	usualReferSteps = 2000 // takes less time than reading an ad, and is not counted for a user
)

// Why a job is not planned whose references were not followed.
var (
	errRefersTooMuch = fmt.Errorf("its expressions refer to too much, which takes more than %d steps to follow: "+
		"simplify what its attributes refer to", maxReferSteps)
	errUserRefersTooMuch = errors.New("the expressions of its user's jobs refer to too much: this goes on in a few minutes")
)

// longestName is how many bytes the name of an attribute may have that is asked for: longer ones, which
// nobody has, count as undefined in plans.
const longestName = 200

// externals returns the attributes, in lower case and sorted, that the expressions of an ad refer to,
// and that the ad does not have itself, and the steps that it took to find out. Expressions that are
// not wanted do not count. It returns false if that would have taken more than most steps.
func externals(ad *classad.ClassAd, wanted func(name string) bool, most int) (found []string, steps int, all bool) {
	names := map[string]bool{}
	var m classad.Meter
	for name, e := range ad.All() {
		if !wanted(strings.ToLower(name)) {
			continue
		}
		_, external, _ := classad.Scope{My: ad, MaxSteps: max(1, most-int(m.Steps())), Meter: &m}.Refs(e)
		if m.Exceeded() > 0 {
			return slices.Sorted(maps.Keys(names)), most, false
		}
		for _, name := range external { // a circular reference evaluates to error
			if len(name) <= longestName {
				names[strings.Clone(strings.ToLower(name))] = true // it may be a part of a long text
			}
		}
	}
	return slices.Sorted(maps.Keys(names)), int(m.Steps()), true
}

// references returns what a job's ad refers to, see [externals]. It errs if it is too expensive to
// find out, for one ad or for those of the job's user, to whom it is charged. All users together
// may take maxReferOfAll, and each his [accountant.Allowance] of that.
func (o *Observer) references(ad *classad.ClassAd) ([]string, error) {
	user, _ := o.value(ad, "User").Text()
	left := accountant.Allowance(maxReferOfAll, o.referStepsOfAll, o.referSteps[user]) - o.referSteps[user]
	names, steps, all := externals(ad, func(string) bool { return true }, min(maxReferSteps, max(0, left)+usualReferSteps))
	if charged := steps - usualReferSteps; charged > 0 {
		o.referSteps[strings.Clone(user)] += charged
		o.referStepsOfAll += charged
	}
	switch {
	case all:
		return names, nil
	case left < maxReferSteps-usualReferSteps:
		return nil, errUserRefersTooMuch
	default:
		return nil, errRefersTooMuch
	}
}

// mayNotRefer notes an error of references.
func (s *Spec) mayNotRefer(wrong error) {
	if wrong != nil {
		s.Wrong, s.crowded = wrong, errors.Is(wrong, errUserRefersTooMuch)
	}
}
