package history

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Estimates finds the estimated run times of jobs in their ads, and knows in the end which of the
// attributes that it was told of no job has.
type Estimates struct {
	list    []estimate
	chosen  bool // by somebody: these are not the usual ones
	asked   int  // of how many ads
	found   int  // for how many of these
	names   map[string]bool
	missing int // attributes of the list that no ad had so far
	// Hindsight counts the estimates that are made of what is known only after the run.
	Hindsight int
}

// estimate is one expression that may say how long a job will run.
type estimate struct {
	text  string
	expr  *classad.Expr
	unit  float64 // seconds
	attrs []attribute
}

// attribute is one that an expression refers to.
type attribute struct {
	name string
	seen bool
}

// units are what may follow an expression, behind a colon: that many seconds.
func units() map[string]float64 {
	return map[string]float64{"s": 1, "min": 60, "h": 3600, "d": 86400}
}

// ParseEstimates reads where the ads have the estimates. Each text is a ClassAd expression over the
// job's ad, mostly the name of an attribute, or several, separated by commas: for each job, the first
// that is a positive number counts. It is in seconds unless a unit follows, as in
// MaxWallTimeMins:min; the others are s, h and d.
func ParseEstimates(texts []string) (*Estimates, error) {
	e := &Estimates{chosen: !slices.Equal(texts, negotiator.DefaultSchema().Estimates), names: map[string]bool{}}
	for _, text := range texts {
		for _, one := range commas(text) {
			parsed, err := parseEstimate(strings.TrimSpace(one))
			if err != nil {
				return nil, err
			}
			e.list = append(e.list, parsed)
			e.missing += len(parsed.attrs)
		}
	}
	return e, nil
}

// commas cuts a text at the commas that are in no brackets and no quotes.
func commas(text string) (parts []string) {
	depth, begin, quote := 0, 0, byte(0)
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case quote != 0 && b == '\\':
			i++
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case b == '"' || b == '\'':
			quote = b
		case strings.IndexByte("([{", b) >= 0:
			depth++
		case strings.IndexByte(")]}", b) >= 0:
			depth--
		case b == ',' && depth == 0:
			parts, begin = append(parts, text[begin:i]), i+1
		}
	}
	return append(parts, text[begin:])
}

// parseEstimate reads an expression and its unit. What follows the last colon is a unit only if the
// rest is an expression, since a condition has a colon as well: Long ? 7200 : s.
func parseEstimate(text string) (e estimate, err error) {
	e = estimate{text: text, unit: 1}
	if at := strings.LastIndexByte(text, ':'); at >= 0 {
		before, after := text[:at], strings.TrimSpace(text[at+1:])
		seconds, known := units()[after]
		expr, broken := classad.ParseExpr(before)
		if broken == nil && !known {
			return e, fmt.Errorf("estimate attribute %q: %q is no unit: s, min, h and d are", text, after)
		}
		if broken == nil {
			e.expr, e.unit = expr, seconds
		}
	}
	if e.expr == nil {
		if e.expr, err = classad.ParseExpr(text); err != nil {
			return e, fmt.Errorf("estimate attribute %q: %w; give the name of an attribute or an expression, such as "+
				"MaxRuntime, MaxWallTimeMins:min or 'MaxWallTimeMins*60'", text, err)
		}
	}
	_, names, err := e.expr.Refs(nil)
	if err == nil && len(names) == 0 {
		return e, fmt.Errorf("estimate attribute %q: it names no attribute of jobs, so it would be the same for all", text)
	}
	for _, name := range names {
		e.attrs = append(e.attrs, attribute{name: name})
	}
	return e, err
}

// Of returns the estimate of a job by its ad, in whole seconds, rounded up; 0 if it is unknown.
func (e *Estimates) Of(ad *classad.ClassAd) int64 {
	e.asked++
	e.look(ad)
	for i := range e.list {
		value := e.list[i].expr.Eval(classad.Scope{My: ad, MaxSteps: classad.FewSteps})
		n, ok := value.Number()
		if n *= e.list[i].unit; ok && n > 0 && n <= backfill.MaxTime {
			e.found++
			if e.list[i].knowsTheFuture() {
				e.Hindsight++
			}
			return int64(math.Ceil(n))
		}
	}
	return 0
}

// look notes which attributes an ad has, until some ad had each attribute of the list.
func (e *Estimates) look(ad *classad.ClassAd) {
	if !e.chosen || e.missing == 0 {
		return
	}
	for _, one := range e.list {
		for i := range one.attrs {
			a := &one.attrs[i]
			if _, has := ad.Lookup(a.name); has && !a.seen {
				a.seen = true
				e.missing--
			}
		}
	}
	const most = 10_000
	for name := range ad.All() {
		if len(e.names) < most && !e.names[name] {
			e.names[strings.Clone(name)] = true
		}
	}
}

// hindsight are the attributes, in lower case, that jobs have only after they ran.
func hindsight() []string {
	return []string{
		"remotewallclocktime", "cumulativeslottime", "committedtime", "committedslottime", "completiondate",
		"remoteusercpu", "remotesyscpu", "cumulativeremoteusercpu", "cumulativeremotesyscpu",
		"lastremotewallclocktime", "jobduration", "activationduration", "activationexecutionduration",
	}
}

// knowsTheFuture reports whether an expression refers to what is known of a job only after it ran.
func (e *estimate) knowsTheFuture() bool {
	return slices.ContainsFunc(e.attrs, func(a attribute) bool {
		return slices.Contains(hindsight(), strings.ToLower(a.name))
	})
}

// Check returns an error if somebody chose an attribute that no job of the file has, unless all jobs have
// an estimate without it, or expressions of which none is a positive number for any job: jobs would be
// planned with something else.
func (e *Estimates) Check(file string) error {
	if !e.chosen || e.asked == 0 {
		return nil
	}
	known := slices.SortedFunc(maps.Keys(e.names), func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a), strings.ToLower(b)), cmp.Compare(a, b))
	})
	texts := make([]string, len(e.list))
	for i, one := range e.list {
		texts[i] = one.text
		for _, a := range one.attrs {
			if !a.seen && e.found < e.asked { // else the others say it of all jobs
				return fmt.Errorf("estimate attribute %s: no job of %s has %s%s", one.text, file, a.name,
					backfill.DidYouMean(a.name, known))
			}
		}
	}
	if e.found == 0 {
		return fmt.Errorf("estimate attribute %s: that is a positive number for none of the %d jobs of %s",
			strings.Join(texts, ", "), e.asked, file)
	}
	return nil
}
