package condorconfig

import (
	"regexp"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

// matchExprs is the knob that lists what is added to the ads of matched slots, and matchExpr the
// prefix by which schedds and shadows know such attributes.
const (
	matchExprs = "NEGOTIATOR_MATCH_EXPRS"
	matchExpr  = "NegotiatorMatchExpr"
)

// MatchExprs returns the attributes that NEGOTIATOR_MATCH_EXPRS adds to the ad of each matched slot:
// lines of NAME = EXPRESSION, one for each knob in the list that is set. It errs if a value is no
// expression, or a name cannot be an attribute's.
func (c *Config) MatchExprs() (string, error) {
	var lines strings.Builder
	for _, name := range c.List(matchExprs) {
		if !attribute.MatchString(name) {
			return "", &Error{matchExprs, name, "a list of knobs whose names can be those of attributes"}
		}
		value, set := c.Lookup(name)
		if !set {
			continue // see unsetMatchExprs
		}
		e, err := classad.ParseExpr(value)
		if err != nil {
			return "", &Error{name, value, "an expression, as " + matchExprs + " lists it: " + err.Error()}
		}
		if !strings.HasPrefix(name, matchExpr) {
			name = matchExpr + name
		}
		lines.WriteString(name + " = " + e.String() + "\n")
	}
	return lines.String(), nil
}

var attribute = regexp.MustCompile(`^[A-Za-z_]\w*$`)

// unsetMatchExprs returns a warning for each knob that NEGOTIATOR_MATCH_EXPRS lists and nobody sets.
func (c *Config) unsetMatchExprs() (warnings []string) {
	for _, name := range c.List(matchExprs) {
		if _, set := c.Lookup(name); !set {
			warnings = append(warnings, matchExprs+" lists "+name+", which is not set: nothing is added to matches")
		}
	}
	return warnings
}
