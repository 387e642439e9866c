// Package policies lists the linked-in policies by name. Each has a package of its own below this
// one.
package policies

import (
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies/bb"
	"github.com/condor-backfill/condor-backfill/backfill/policies/bestfit"
	"github.com/condor-backfill/condor-backfill/backfill/policies/conservative"
	"github.com/condor-backfill/condor-backfill/backfill/policies/dc"
	"github.com/condor-backfill/condor-backfill/backfill/policies/drain"
	"github.com/condor-backfill/condor-backfill/backfill/policies/easy"
	"github.com/condor-backfill/condor-backfill/backfill/policies/fcfs"
	"github.com/condor-backfill/condor-backfill/backfill/policies/firstfit"
	"github.com/condor-backfill/condor-backfill/backfill/policies/ibb"
	"github.com/condor-backfill/condor-backfill/backfill/policies/maui"
	"github.com/condor-backfill/condor-backfill/backfill/policies/pc"
	"github.com/condor-backfill/condor-backfill/backfill/policies/slack"
)

// All returns the linked-in policies, sorted by name.
func All() []backfill.PolicySpec {
	return []backfill.PolicySpec{
		bb.Spec(), bestfit.Spec(), conservative.Spec(), dc.Spec(), drain.Spec(), easy.Spec(), fcfs.Spec(),
		firstfit.Spec(),
		ibb.Spec(), maui.Spec(), pc.Spec(), slack.Spec(), slack.SmallSpec(),
	}
}

// Named returns the linked-in policy with the given name. If there is none, its error lists the names, and
// others that users may give where they name a policy.
func Named(name string, others ...string) (backfill.PolicySpec, error) {
	switch name { // accept the spelling of the papers
	case "firstfit":
		name = firstfit.Spec().Name
	case "bestfit":
		name = bestfit.Spec().Name
	}
	var names []string
	for _, s := range All() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	names = append(names, others...)
	slices.Sort(names)
	return backfill.PolicySpec{}, fmt.Errorf("unknown policy %q%s: choose one of %s, or give the path of a plugin",
		name, backfill.DidYouMean(name, names), strings.Join(names, ", "))
}

// Guaranteeing lists the names of the linked-in policies that give guarantees, with a word such as
// "and" before the last.
func Guaranteeing(word string) string {
	var names []string
	for _, s := range All() {
		if s.Guarantees {
			names = append(names, s.Name)
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + word + " " + names[last]
}

// FallbackFor returns the default fallback of a policy, which decides when the policy fails:
// conservative if the policy gives guarantees, else easy.
func FallbackFor(s backfill.PolicySpec) backfill.PolicySpec {
	if s.Guarantees {
		return conservative.Spec()
	}
	return easy.Spec()
}

// FallbackError says that a policy is unknown, or cannot be the fallback of another one.
type FallbackError struct{ text string }

func (e *FallbackError) Error() string { return e.text }

// FallbackNamed returns the linked-in policy with the given name, to be the fallback of the policy
// main. If the name is empty, it returns [FallbackFor] of main. It returns a [*FallbackError] if
// the name is unknown, or if one of the two policies gives guarantees and the other does not.
func FallbackNamed(name string, main backfill.PolicySpec) (backfill.PolicySpec, error) {
	if name == "" {
		return FallbackFor(main), nil
	}
	spec, err := Named(name)
	switch {
	case err != nil:
		return spec, &FallbackError{err.Error()}
	case main.Guarantees && !spec.Guarantees:
		return spec, &FallbackError{fmt.Sprintf("%s gives guarantees, so its fallback must as well, and %s does "+
			"not: choose %s", main.Name, spec.Name, Guaranteeing("or"))}
	case !main.Guarantees && spec.Guarantees:
		return spec, &FallbackError{fmt.Sprintf("%s gives no guarantees, so its fallback must not either, and %s "+
			"does: choose easy, or another that does not", main.Name, spec.Name)}
	}
	return spec, nil
}
