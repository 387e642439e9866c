package accountant

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
)

// Limit is an entry of a job's ConcurrencyLimits: so much is wanted of a limit.
type Limit struct {
	Name   string // in lower case
	Wanted float64
}

// ParseLimits reads a job's ConcurrencyLimits, such as "sw_a:2,license.b", as
// HTCondor does: names ignore case; what is not given, or is no number above 0,
// is 1; an entry whose name is no name is ignored. A limit that is named several
// times comes once, with the sum.
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

// wanted is the number that a text begins with, as strtod finds it.
func wanted(text string) float64 {
	for end := min(len(text), 40); end > 0; end-- {
		if v, err := strconv.ParseFloat(text[:end], 64); err == nil && !math.IsNaN(v) && !strings.Contains(text[:end], "_") {
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

// NewLimits reads limits from a configuration when they are first asked for, and then
// after each Reread.
func NewLimits(lookup Lookup) *Limits { return &Limits{lookup: lookup, known: map[string]maximum{}} }

// Reread has limits be read anew: the configuration is another one.
func (l *Limits) Reread() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.known)
}

// unlimited is CONCURRENCY_LIMIT_DEFAULT where it is not set.
const unlimited = 2308032

// Max is how much of a limit there is: <NAME>_LIMIT, or for a.b also
// CONCURRENCY_LIMIT_DEFAULT_a, or CONCURRENCY_LIMIT_DEFAULT. The error names the
// knob whose value is no number.
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
