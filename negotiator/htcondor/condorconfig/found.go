package condorconfig

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Found is one of the stock negotiator's knobs that the site has set.
type Found struct {
	Knob  string `json:"knob"`
	Value string `json:"value"` // with its macros expanded
	// Place is where it is set: a file and a line, or the environment; "" if that is not known.
	Place string `json:"place,omitempty"`
	// Fate is what becomes of it here, and Note what is to be said of that; "" if it means just the same.
	Fate Fate   `json:"fate"`
	Note string `json:"note,omitempty"`
}

// Becomes says in a sentence what becomes of the knob.
func (f Found) Becomes() string {
	if f.Note == "" {
		return string(f.Fate)
	}
	return string(f.Fate) + ": " + f.Note
}

// StockSettings returns the stock negotiator's knobs that the site has set, by name, and what becomes of
// each. What HTCondor has by default is none of them, nor is what other daemons have.
func (c *Config) StockSettings() (all []Found) {
	seen := map[string]bool{}
	for _, full := range c.Names() {
		set, _ := c.Setting(c.bare(full))
		name := c.bare(set.Name)
		capitals := strings.ToUpper(name)
		if seen[capitals] || strings.Contains(name, ".") || !set.bySite() {
			continue
		}
		seen[capitals] = true
		if row, known := rowOf(capitals, set); known {
			f := Found{Knob: name, Value: set.Value, Place: set.Source, Fate: row.Fate}
			if row.Note != asThere {
				f.Note = row.plain()
			}
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b Found) int { return strings.Compare(a.Knob, b.Knob) })
	return all
}

// bare returns a knob's name without what says that it is for this daemon alone.
func (c *Config) bare(name string) string {
	for _, own := range []string{c.local + ".", subsystem + "."} {
		if len(name) > len(own) && strings.EqualFold(name[:len(own)], own) {
			return name[len(own):]
		}
	}
	return name
}

// rowOf returns the row of the table that is about a knob, by its name in capitals; false if none is. Names of the site's own
// that HTCondor has a default for are another knob's.
func rowOf(name string, set Setting) (StockKnobs, bool) {
	for _, n := range stockNames() {
		if n.exact == name || n.exact == "" && set.Default == "" && n.family.MatchString(name) {
			return n.row, true
		}
	}
	return StockKnobs{}, false
}

// stockName is a name of the table, or a family of names.
type stockName struct {
	exact  string // in capitals; "": a family
	family *regexp.Regexp
	length int // of what all names of the family have in common
	row    StockKnobs
}

// stockNames returns the names of the table: single ones, then families, the narrowest first.
var stockNames = sync.OnceValue(func() (all []stockName) {
	for _, row := range Stock() {
		for _, name := range row.All() {
			if before, rest, ok := strings.Cut(name, "<"); ok {
				_, after, _ := strings.Cut(rest, ">")
				all = append(all, stockName{
					family: regexp.MustCompile("(?i)^" + regexp.QuoteMeta(before) + ".+" + regexp.QuoteMeta(after) + "$"),
					length: len(before + after), row: row,
				})
			} else {
				all = append(all, stockName{exact: strings.ToUpper(name), length: 1 << 10, row: row})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b stockName) int { return b.length - a.length })
	return all
})
