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
	v, outside, err := a.evaluate(name)
	if err == nil && (outside.More || slices.ContainsFunc(outside.Names, a.differs)) {
		err = depends(name)
	}
	a.missing = append(a.missing, outside.Names...)
	return v, err
}

// evaluate returns the value of an attribute, and what the evaluation asked for beyond the ad. It errs if
// that takes too many steps.
func (a *alone) evaluate(name string) (v classad.Value, outside classad.Outside, err error) {
	if v = a.ad.Literal(name); v.Kind() != classad.Undefined {
		return v, outside, nil
	}
	if a.schedd == nil {
		a.schedd = a.ad.Clone()
		for _, name := range unlike {
			a.schedd.Delete(name)
		}
	}
	v, err = negotiator.EvaluateAlone(a.schedd, name, &a.o.meter, &outside)
	return v, outside, err
}

func depends(name string) error {
	return fmt.Errorf("its %s must not depend on the slot, the clock, PeriodicRemove or PeriodicHold", name)
}

// slotLimits is what jobs have as [negotiator.SlotLimits] whose limits depend on the slot.
var slotLimits = classad.MustParseExpr("ConcurrencyLimits")

// limits returns the job's concurrency limits. If they were come by the clock, TARGET, or names that slots
// have and the job lacks, bySlot says that they are to be evaluated with each slot, and they are not
// known. It errs as value does for a gang, which has several slots.
func (a *alone) limits(gang bool) (text string, bySlot bool, err error) {
	v, outside, err := a.evaluate("ConcurrencyLimits")
	bySlot = outside.More || slices.ContainsFunc(outside.Names, a.ofSlots)
	switch here := slices.ContainsFunc(outside.Names, isUnlike); {
	case err != nil:
		return "", false, err
	case here, bySlot && gang:
		return "", false, depends("ConcurrencyLimits")
	case bySlot:
		return "", true, nil
	}
	a.missing = append(a.missing, outside.Names...)
	text, _ = v.Text()
	return text, false, nil
}

// ofSlots tells whether slots have values for a name.
func (a *alone) ofSlots(name string) bool {
	return a.differs(name) || a.o.slotAttributes.base[strings.ToLower(name)]
}

// isUnlike tells whether a job may have a name where it starts and not here, or here alone.
func isUnlike(name string) bool {
	return slices.ContainsFunc(unlike, func(other string) bool { return strings.EqualFold(name, other) })
}

// differs tells whether a name that the job lacks here has a value where it starts.
func (a *alone) differs(name string) bool {
	same := func(other string) bool { return strings.EqualFold(name, other) }
	return isUnlike(name) || slices.ContainsFunc(a.o.s.Schema.Resources, func(resource string) bool {
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
