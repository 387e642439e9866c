// Package policies lists the policies that are linked in, by name. Each lives
// in a package of its own below this one.
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
)

// All lists the linked-in policies by name.
func All() []backfill.Spec {
	return []backfill.Spec{
		bb.Spec(), bestfit.Spec(), conservative.Spec(), dc.Spec(), drain.Spec(), easy.Spec(), fcfs.Spec(), firstfit.Spec(),
		ibb.Spec(), maui.Spec(), pc.Spec(),
	}
}

// Named finds a linked-in policy.
func Named(name string) (backfill.Spec, error) {
	switch name { // the papers' spelling
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
	slices.Sort(names)
	return backfill.Spec{}, fmt.Errorf("unknown policy %q%s: choose one of %s, or give the path of a plugin", name, backfill.DidYouMean(name, names), strings.Join(names, ", "))
}

// FallbackFor is the policy that decides where another one fails: conservative
// where guarantees are given, else easy.
func FallbackFor(s backfill.Spec) backfill.Spec {
	if s.Guarantees {
		return conservative.Spec()
	}
	return easy.Spec()
}

// FallbackError says that a policy cannot be another one's fallback.
type FallbackError struct{ text string }

func (e *FallbackError) Error() string { return e.text }

// FallbackNamed is the linked-in policy of that name as another one's fallback:
// both of them give guarantees, or neither does, or it is a [*FallbackError].
// Without a name it is [FallbackFor].
func FallbackNamed(name string, main backfill.Spec) (backfill.Spec, error) {
	if name == "" {
		return FallbackFor(main), nil
	}
	spec, err := Named(name)
	switch {
	case err != nil:
		return spec, &FallbackError{err.Error()}
	case main.Guarantees && !spec.Guarantees:
		return spec, &FallbackError{fmt.Sprintf("%s gives guarantees, so its fallback must as well, and %s does not: choose conservative, dc or pc", main.Name, spec.Name)}
	case !main.Guarantees && spec.Guarantees:
		return spec, &FallbackError{fmt.Sprintf("%s gives no guarantees, so its fallback must not either, and %s does: choose easy, or another that does not", main.Name, spec.Name)}
	}
	return spec, nil
}
