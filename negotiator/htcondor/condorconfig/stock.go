package condorconfig

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Fate is what becomes here of a knob of the stock negotiator's.
type Fate string

// The fates, in the order of negotiator/htcondor/KNOBS.md.
const (
	Honoured      Fate = "honoured"
	NotHeeded     Fate = "not heeded"
	NotApplicable Fate = "not applicable"
)

// StockKnobs are knobs of HTCondor's own negotiator of which the same is to be said.
type StockKnobs struct {
	// Names are separated by commas. <…> in one stands for any text.
	Names string
	Fate  Fate
	// Note says what is otherwise than there, or so instead. Names of knobs and values are in backquotes,
	// as in Markdown.
	Note string
	// Usual is the value that HTCondor has by default; "": none. It is given of those not heeded only.
	Usual string
}

// link matches a link of Markdown.
var link = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)

// plain returns the note as a terminal shows it. What it links to is in the guide.
func (k StockKnobs) plain() string {
	return strings.ReplaceAll(link.ReplaceAllString(k.Note, `"$1" in the guide`), "`", "")
}

// asThere is the note about knobs that mean just the same.
const asThere = "as there"

// Stock returns the table of the stock negotiator's knobs, but for those about security, in the order
// of negotiator/htcondor/KNOBS.md, which is written from it.
func Stock() []StockKnobs { return stockKnobs() }

var stockKnobs = sync.OnceValue(func() (all []StockKnobs) {
	for _, section := range []struct {
		fate Fate
		rows []StockKnobs
	}{{Honoured, honoured}, {NotHeeded, notHeeded}, {NotApplicable, notApplicable}} {
		for _, row := range section.rows {
			row.Fate = section.fate
			all = append(all, row)
		}
	}
	return all
})

// All returns the names, one by one.
func (k StockKnobs) All() []string { return strings.Split(k.Names, ", ") }

// withoutEffect returns a warning for each of the knobs that are not heeded that is not as it is by
// default.
func (c *Config) withoutEffect() (warnings []string) {
	for _, row := range notHeeded {
		for _, name := range row.All() {
			set, _ := c.Setting(name)
			if !set.bySite() || same(set.Value, c.expanded(row.Usual)) || set.Default != "" && same(set.Value, set.Default) {
				continue
			}
			place := ""
			if set.Source != "" {
				place = " (" + set.Source + ")"
			}
			warnings = append(warnings, fmt.Sprintf("%s is set%s, and not heeded here: %s", name, place,
				row.plain()))
		}
	}
	return warnings
}

// expanded returns a text with the values of the knobs to which it refers.
func (c *Config) expanded(text string) string {
	return macro.ReplaceAllStringFunc(text, func(ref string) string { return c.Text(ref[2 : len(ref)-1]) })
}

// bySite reports whether somebody has set the knob: not HTCondor by default, and not from what it found
// on the machine. Without places, all that has a value may be so.
func (s Setting) bySite() bool {
	return s.Value != "" && !slices.Contains([]string{"<Default>", "<Detected>", "<Internal>"}, s.Source)
}

// same reports whether two values mean the same: the same text, or the same number or truth.
func same(a, b string) bool {
	if strings.EqualFold(a, b) {
		return true
	}
	va, vb := evaluated(a), evaluated(b)
	na, aIsNumber := va.Number()
	nb, bIsNumber := vb.Number()
	ta, aIsTruth := va.Bool()
	tb, bIsTruth := vb.Bool()
	return aIsNumber && bIsNumber && na == nb || aIsTruth && bIsTruth && ta == tb
}
