package accountant

import (
	"fmt"
	"strings"
	"sync"

	"github.com/condor-backfill/condor-backfill/negotiator/concurrency"
)

// Limit is an entry of a job's ConcurrencyLimits.
type Limit = concurrency.Limit

// ParseLimits reads a job's ConcurrencyLimits, see [concurrency.Parse].
func ParseLimits(text string) ([]Limit, error) { return concurrency.Parse(text) }

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
