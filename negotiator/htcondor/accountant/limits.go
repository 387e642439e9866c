package accountant

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
)

// Limit is an entry of a job's ConcurrencyLimits: the amount that it wants of one limit.
type Limit struct {
	Name   string // in lower case
	Wanted float64
}

// What a job may name of concurrency limits. HTCondor knows no bound; jobs name one or two.
const (
	mostLimits    = 50
	longestLimit  = 200  // bytes of an entry
	longestLimits = 8192 // bytes of them all
)

// ParseLimits reads a job's ConcurrencyLimits, such as "sw_a:2,license.b", as HTCondor does: names
// ignore case; an amount that is missing or not a number above 0 counts as 1; entries with an
// invalid name are ignored. A limit that is named several times is returned once, with the sum. An
// error says that there is more than a job may name; what comes before that is returned.
func ParseLimits(text string) (limits []Limit, err error) {
	if len(text) > longestLimits {
		text = text[:longestLimits]
		err = fmt.Errorf("its ConcurrencyLimits have more than %d bytes: name fewer limits", longestLimits)
	}
	at := map[string]int{} // in limits
	for word := range strings.FieldsFuncSeq(text, isBetweenWords) {
		if len(word) > longestLimit {
			return limits, fmt.Errorf("one of its ConcurrencyLimits has more than %d bytes, %.20q…: give it a shorter name",
				longestLimit, word)
		}
		name, amount, _ := strings.Cut(strings.ToLower(word), ":")
		scope, rest, scoped := strings.Cut(name, ".")
		if !isAttribute(scope) || scoped && !isAttribute(rest) {
			continue
		}
		i, known := at[name]
		if !known {
			if len(limits) == mostLimits {
				return limits, fmt.Errorf("its ConcurrencyLimits name more than %d limits: name fewer", mostLimits)
			}
			i = len(limits)
			at[name], limits = i, append(limits, Limit{Name: name})
		}
		limits[i].Wanted += wanted(amount)
	}
	return limits, err
}

// wanted returns the number at the start of a text, as strtod reads it; 1 if there is none above 0.
func wanted(text string) float64 {
	for end := min(len(text), 40); end > 0; end-- {
		if v, err := strconv.ParseFloat(text[:end], 64); err == nil && !math.IsNaN(v) &&
			!strings.Contains(text[:end], "_") {
			if v <= 0 {
				return 1
			}
			return min(v, maxValue)
		}
	}
	return 1
}

// Limits are the pool's concurrency limits.
type Limits struct {
	lookup Lookup
	mu     sync.Mutex
	known  map[string]maximum
}

// mostKnown bounds the limits that are remembered, since users invent names.
const mostKnown = 10_000

type maximum struct {
	value float64
	err   error
}

// NewLimits returns limits, each of which is read from the configuration on first use, and again
// after each Reread.
func NewLimits(lookup Lookup) *Limits { return &Limits{lookup: lookup, known: map[string]maximum{}} }

// Reread discards the limits that were read; call it when the configuration has changed.
func (l *Limits) Reread() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.known)
}

// unlimited is the default of CONCURRENCY_LIMIT_DEFAULT.
const unlimited = 2308032

// Max returns the size of a limit: <NAME>_LIMIT, else for a name like a.b
// CONCURRENCY_LIMIT_DEFAULT_a, else CONCURRENCY_LIMIT_DEFAULT. If the value is not a number, the
// error names the knob.
func (l *Limits) Max(name string) (float64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	name = strings.ToLower(name)
	m, known := l.known[name]
	if !known {
		if len(l.known) >= mostKnown {
			clear(l.known)
		}
		m = l.read(name)
		l.known[name] = m
	}
	return m.value, m.err
}

func (l *Limits) read(name string) maximum {
	r := reader{lookup: l.lookup}
	value := r.number("CONCURRENCY_LIMIT_DEFAULT", unlimited, -maxValue, maxValue)
	if scope, _, scoped := cutLast(name, '.'); scoped {
		value = r.number("CONCURRENCY_LIMIT_DEFAULT_"+scope, value, -maxValue, maxValue)
	}
	value = r.number(name+"_LIMIT", value, -maxValue, maxValue)
	if r.err != nil {
		return maximum{err: fmt.Errorf("limit %s: %w", name, r.err)}
	}
	return maximum{value: value}
}
