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

// ParseLimits reads a job's ConcurrencyLimits, such as "sw_a:2,license.b", as HTCondor does: names
// ignore case; an amount that is missing or not a number above 0 counts as 1; entries with an
// invalid name are ignored. A limit that is named several times is returned once, with the sum.
func ParseLimits(text string) (limits []Limit) {
	for _, word := range words(text) {
		name, amount, _ := strings.Cut(strings.ToLower(word), ":")
		scope, rest, scoped := strings.Cut(name, ".")
		if !isAttribute(scope) || scoped && !isAttribute(rest) {
			continue
		}
		limits = addLimit(limits, Limit{name, wanted(amount)})
	}
	return limits
}

func addLimit(limits []Limit, l Limit) []Limit {
	for i := range limits {
		if limits[i].Name == l.Name {
			limits[i].Wanted += l.Wanted
			return limits
		}
	}
	return append(limits, l)
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
