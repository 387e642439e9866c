package auto

import (
	"fmt"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Choice is what came out when the candidates were played ahead.
type Choice struct {
	Now     backfill.Time
	Waiting int
	// Expected are the measures of the candidates, and Values their objectives; nil if nothing was
	// played, as nobody waits, or the objective had no value.
	Names    []string
	Expected []Measures
	Values   []float64
	// InCharge and Chosen are indexes: of the candidate in charge before, and from then on.
	InCharge, Chosen int
	// Why says why the one in charge was changed, or not; if the objective had no value, that is
	// Wrong as well.
	Why   string
	Wrong error
}

// Changed reports whether another candidate is put in charge.
func (c *Choice) Changed() bool { return c.Chosen != c.InCharge }

// Text returns what each candidate is expected to give, the best first: its name and objective.
func (c *Choice) Text() string {
	var text strings.Builder
	for n, i := range ranked(c.Values) {
		if n > 0 {
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, "%s %.4g", c.Names[i], c.Values[i])
	}
	return text.String()
}

// Log passes a choice to a log, as one line: to the first of its methods, or to the second if the
// objective had no value.
func (c *Choice) Log(info, warn func(text string, about ...any)) {
	line, text := info, "policy stays"
	switch {
	case c.Wrong != nil:
		line = warn
	case c.Changed():
		text = "policy changed"
	}
	line(text, "t", c.Now, "policy", c.Names[c.Chosen], "why", c.Why, "waiting", c.Waiting, "expected", c.Text())
}
