package condorconfig

import (
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

// siteAttributes is the knob that lists attributes of the site for the negotiator's ad.
const siteAttributes = "NEGOTIATOR_ATTRS"

// siteAttributes returns the attributes that the site adds to the negotiator's ad, as lines of NAME =
// EXPRESSION: of each knob that NEGOTIATOR_ATTRS lists, or NEGOTIATOR_EXPRS, its old name, that is set. A
// daemon with a local name also has the knobs whose names begin with that: L_NEGOTIATOR_ATTRS lists more,
// and L_NAME comes before NAME. What is no expression is left out, with a warning.
func (c *Config) siteAttributes() (lines string, warnings []string) {
	var text strings.Builder
	for _, name := range c.siteNames() {
		value, set := c.ofDaemon(name)
		if !set {
			continue
		}
		if e, err := classad.ParseExpr(value); err != nil || !attribute.MatchString(name) {
			warnings = append(warnings, siteAttributes+" lists "+name+", which is no attribute of the Negotiator ad: "+
				value+" is no expression; a text must be in quotes")
		} else {
			text.WriteString(name + " = " + e.String() + "\n")
		}
	}
	return text.String(), warnings
}

// siteNames returns the names that the knobs list, each once.
func (c *Config) siteNames() (names []string) {
	for _, list := range []string{siteAttributes, "NEGOTIATOR_EXPRS", "SYSTEM_NEGOTIATOR_ATTRS"} {
		names = append(names, c.List(list)...)
		if c.local != "" {
			names = append(names, c.List(c.local+"_"+list)...)
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(names, func(name string) bool {
		twice := seen[strings.ToLower(name)]
		seen[strings.ToLower(name)] = true
		return twice
	})
}

// ofDaemon returns the value of a knob that may begin with the daemon's local name.
func (c *Config) ofDaemon(name string) (value string, set bool) {
	if c.local != "" {
		if value, set = c.Lookup(c.local + "_" + name); set {
			return value, set
		}
	}
	return c.Lookup(name)
}
