package observe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// alone evaluates what a job takes. Startds do that again, with a slot and the clock, and a plan
// holds only if they come to the same.
type alone struct {
	o      *Observer
	ad     *classad.ClassAd // the job's
	schedd *classad.ClassAd // as its schedd has it; nil: not needed so far
	// missing are the names that the job lacks and that a slot with such attributes would supply.
	missing []string
}

// unlike are the attributes that a job may have where it starts and not here, or here alone.
var unlike = append([]string{ScheddAttribute, boundAttribute, leftOutAttribute, "Id", "JobIds", "JobCount", "ServerTime"},
	policies...)

// value returns the value of an attribute. It errs if that takes too many steps, or was come by the
// clock, TARGET, amounts that each slot has, or what the job has only here or there. Other names that
// the job lacks are noted as missing: honest jobs ask whether they have them.
func (a *alone) value(name string) (classad.Value, error) {
	if v := a.ad.Literal(name); v.Kind() != classad.Undefined {
		return v, nil
	}
	if a.schedd == nil {
		a.schedd = a.ad.Clone()
		for _, name := range unlike {
			a.schedd.Delete(name)
		}
	}
	var outside classad.Outside
	v, err := negotiator.EvaluateAlone(a.schedd, name, &a.o.meter, &outside)
	if err == nil && (outside.More || slices.ContainsFunc(outside.Names, a.differs)) {
		err = fmt.Errorf("its %s must not depend on the slot, the clock, PeriodicRemove or PeriodicHold", name)
	}
	a.missing = append(a.missing, outside.Names...)
	return v, err
}

// differs tells whether a name that the job lacks here has a value where it starts.
func (a *alone) differs(name string) bool {
	same := func(other string) bool { return strings.EqualFold(name, other) }
	return slices.ContainsFunc(unlike, same) || slices.ContainsFunc(a.o.s.Schema.Resources, func(resource string) bool {
		return same(resource) || same("Total"+resource) || same("TotalSlot"+resource) || same("Detected"+resource)
	})
}

// require has the job match only slots that do not have what was missing.
func (a *alone) require() error {
	e, given := a.ad.Lookup("Requirements")
	if len(a.missing) == 0 || !given {
		return nil
	}
	fold := func(x, y string) int { return strings.Compare(ast.Fold(x), ast.Fold(y)) }
	slices.SortFunc(a.missing, fold)
	line := append(ast.Append([]byte("Requirements = ("), e.Tree(), ast.Long), ')')
	for _, name := range slices.CompactFunc(a.missing, strings.EqualFold) {
		line = append(ast.AppendName(append(line, " && "...), name), " is undefined"...)
	}
	ad, err := a.o.parser.ParseOld(string(line)) // jobs with the same Requirements share the new ones, too
	if err == nil {
		e, _ = ad.Lookup("Requirements")
		a.ad.Set("Requirements", e)
	}
	return err
}
