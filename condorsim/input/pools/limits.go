package pools

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/concurrency"
)

// height is how much there is of a limit, such as licences; fractions are allowed.
type height int64 // in units of [negotiator.LimitUnit]

// UnmarshalYAML reads a height such as 4 or 2.5.
func (h *height) UnmarshalYAML(node ast.Node) error {
	text, err := scalar(node)
	if err != nil {
		return err
	}
	v, err := strconv.ParseFloat(text, 64)
	// Other notations of numbers are not the same to all who read YAML.
	if err != nil || !decimal.MatchString(text) || v > mostHeight || v > 0 && v*negotiator.LimitUnit < 1-roundingError {
		return fault(node, "is no amount of a limit: %s", heights)
	}
	*h = height(math.Floor(v*negotiator.LimitUnit + roundingError))
	return nil
}

const mostHeight = backfill.MaxAmount / negotiator.LimitUnit

var (
	decimal = regexp.MustCompile(`^(0|[1-9][0-9]*)?(\.[0-9]+)?$`)
	heights = fmt.Sprintf("must be a plain number such as 4 or 2.5, at least %.6f or 0, and at most %d",
		1.0/negotiator.LimitUnit, int64(mostHeight))
)

// roundingError is what a product such as 0.1 times the unit may be off.
const roundingError = 1e-3

// addLimits adds the limits, by name. Names ignore case, as in jobs' ConcurrencyLimits.
func (b *builder) addLimits() error {
	known := map[string]bool{}
	ignoringCase := func(x, y string) int {
		return cmp.Or(strings.Compare(strings.ToLower(x), strings.ToLower(y)), strings.Compare(x, y))
	}
	for _, given := range slices.SortedFunc(maps.Keys(b.d.Limits), ignoringCase) {
		name, at := strings.ToLower(given), "limits.'"+given+"'"
		switch {
		case !concurrency.IsName(name):
			return b.wrong(at, "must be a name of letters, digits and _, or two joined by a dot, such as sw.matlab")
		case known[name]:
			return b.wrong(at, "there is another limit of that name, which ignores case")
		case b.d.Limits[given] == nil:
			return b.wrong(at, "has no amount: %s", heights)
		}
		known[name] = true
		b.pool.Limits = append(b.pool.Limits, negotiator.Limit{Name: name, Height: int64(*b.d.Limits[given])})
	}
	return nil
}
