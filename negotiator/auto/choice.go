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
	// Expected are the measures of the candidates, and Values their objectives.
	Names    []string
	Expected []Measures
	Values   []float64
	// InCharge, Best and Chosen are indexes: of the candidate in charge before, of the best, and of the
	// one in charge from then on.
	InCharge, Best, Chosen int
	// Why says why the one in charge was changed, or not.
	Why string
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

// Log passes a choice to a log's method, as one line.
func (c *Choice) Log(line func(text string, about ...any)) {
	text := "policy stays"
	if c.Changed() {
		text = "policy changed"
	}
	line(text, "t", c.Now, "policy", c.Names[c.Chosen], "why", c.Why, "waiting", c.Waiting, "expected", c.Text())
}
