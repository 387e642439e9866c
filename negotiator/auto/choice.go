package auto

import (
	"fmt"
	"math"
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
	// Base is the index of the base.
	Base int
	// Why says why the one in charge was changed, or not; if the objective had no value, that is
	// Wrong as well.
	Why   string
	Wrong error
	// Failed are the candidates that failed in the plays of this choice, and are left out from then on.
	Failed []Failure
}

// Failure says why a candidate failed.
type Failure struct {
	Name string
	Err  error
}

// LogFailed tells which candidates are left out from now on.
func (c *Choice) LogFailed(warn func(text string, about ...any)) { logFailed(c.Failed, c.Now, warn) }

func logFailed(failed []Failure, now backfill.Time, warn func(text string, about ...any)) {
	const longest = 300 // letters of the reason, which is the plugin's
	for _, f := range failed {
		warn("a candidate is left out from now on, as it failed when it was played ahead", "t", now, "candidate", f.Name,
			"error", backfill.Printable(f.Err.Error(), longest))
	}
}

// Changed reports whether another candidate is put in charge.
func (c *Choice) Changed() bool { return c.Chosen != c.InCharge }

// Text returns what each candidate is expected to give, the best first: its name and objective. Those
// that are left out have none.
func (c *Choice) Text() string {
	var text strings.Builder
	for n, i := range ranked(c.Values) {
		if math.IsInf(c.Values[i], 1) {
			break
		}
		if n > 0 {
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, "%s %.4g", c.Names[i], c.Values[i])
	}
	return text.String()
}

// Log passes a choice to a log, as one line: to the first of its methods, or to the second if the
// objective had no value. To the second it tells also which candidates are left out from now on.
func (c *Choice) Log(info, warn func(text string, about ...any)) {
	c.LogFailed(warn)
	line, text := info, "policy stays"
	switch {
	case c.Wrong != nil:
		line = warn
	case c.Changed():
		text = "policy changed"
	}
	line(text, "t", c.Now, "policy", c.Names[c.Chosen], "why", c.Why, "waiting", c.Waiting, "expected", c.Text())
}
