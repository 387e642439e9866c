package report

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/condorsim"
)

// Priorities are what the order of fair share went by: a half-life, in seconds, and the factors that are
// not the usual one.
type Priorities struct {
	HalfLife int64              `json:"half_life"`
	Factors  map[string]float64 `json:"factors,omitempty"`
}

// PrioritiesOf are the priorities of users as a summary has them.
func PrioritiesOf(p condorsim.Priorities) *Priorities {
	return &Priorities{HalfLife: int64(cmp.Or(p.HalfLife, condorsim.DefaultHalfLife)), Factors: p.Factors}
}

// rows are the table's rows about priorities.
func (p *Priorities) rows() (rows []row) {
	if p == nil {
		return nil
	}
	rows = append(rows, row{"half-life of use", inwords.Whole(p.HalfLife) + " s", inwords.Hours(float64(p.HalfLife))})
	for _, name := range slices.Sorted(maps.Keys(p.Factors)) {
		rows = append(rows, row{
			"priority factor of " + backfill.Printable(name, longest), strconv.FormatFloat(p.Factors[name], 'f', -1, 64),
		})
	}
	return rows
}
