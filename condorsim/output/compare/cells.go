package compare

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/output/compare/schedules"
	"github.com/condor-backfill/condor-backfill/condorsim/output/intervals"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// Cells is what differs between finished simulations, of which only measures are known, B less A.
type Cells struct {
	A string `json:"a"`
	B string `json:"b"`
	// Rows are the simulations that are in both, each over its seeds.
	Rows []CellRow `json:"rows"`
	// OnlyA and OnlyB name the simulations that are in one alone.
	OnlyA []string `json:"only_in_a"`
	OnlyB []string `json:"only_in_b"`
	// Unlike says that the schedulers of A and B are not the same, and are compared with each other.
	Unlike bool `json:"other_schedulers,omitempty"`
}

// CellRow is the measures of a simulation in A and in B.
type CellRow struct {
	// Cell names what both have in common, SchedulerA and SchedulerB what ran.
	Cell       string `json:"cell"`
	SchedulerA string `json:"scheduler_a"`
	SchedulerB string `json:"scheduler_b"`
	// JobsA and JobsB count the jobs that ran in one run: measures of others are of other jobs.
	JobsA    int       `json:"jobs_a"`
	JobsB    int       `json:"jobs_b"`
	Measures []Measure `json:"measures"`
}

// CellOf returns the measures of a schedule as those of a finished simulation without an ID, to be compared
// with others.
func CellOf(s *schedules.Schedule, cpus int64) results.Cell {
	c := results.Cell{Key: results.Key{Scheduler: s.Name, Load: 1}, Jobs: len(s.Rows), Machine: results.Machine{Cpus: cpus}}
	self := &sides{a: s.Rows, b: s.Rows}
	self.match(false)
	self.keepRan(&Unmatched{})
	jobs := self.jobs(0)
	c.Held = len(s.Rows) - len(jobs)
	m := metrics.Compute(metrics.Machine{Processors: cpus}, jobs)
	c.Metrics, c.Weeks = map[string]float64{}, nil
	if len(jobs) == 0 {
		return c
	}
	c.Weeks = metrics.ComputeWeeks(jobs)
	for name, v := range m.All() {
		if !needsCpus(name) || cpus > 0 {
			c.Metrics[name] = v
		}
	}
	return c
}

// OfCells compares cells. Those that differ in nothing but their seeds are together; the same in A and B are
// compared. If no scheduler is in both, and each side has one scheduler for each workload, these are. A side
// that is a table of jobs, by its name, is compared with every cell of the other one.
func OfCells(a, b []results.Cell, nameA, nameB string) (*Cells, error) {
	c := &Cells{A: nameA, B: nameB}
	isTable := func(cells []results.Cell) bool { return len(cells) == 1 && cells[0].ID == "" }
	tables := isTable(a) || isTable(b)
	one, two := results.BySeed(a), results.BySeed(b)
	for _, unlike := range []bool{false, true} {
		c.pair(one, two, func(k, l *results.Key) bool {
			return tables || cellOf(k) == cellOf(l) && (unlike || k.Scheduler == l.Scheduler)
		})
		c.Unlike = unlike || tables
		if len(c.Rows) > 0 || !oneEach(one) || !oneEach(two) {
			break
		}
	}
	if len(c.Rows) == 0 {
		return nil, errors.New(nameA + " and " + nameB + " have no finished cell in common: the same trace, load, estimates and " +
			"scheduler, or one scheduler each; condorsim sweep makes them")
	}
	return c, nil
}

// pair fills in the rows, and what is left over.
func (c *Cells) pair(a, b [][]results.Cell, same func(k, l *results.Key) bool) {
	c.Rows, c.OnlyA, c.OnlyB = nil, []string{}, []string{}
	matched := make([]bool, len(b))
	for _, own := range a {
		found := false
		for i, other := range b {
			if same(&own[0].Key, &other[0].Key) {
				c.Rows = append(c.Rows, rowOf(seeded(own, other), seeded(other, own)))
				found, matched[i] = true, true
			}
		}
		if !found {
			c.OnlyA = append(c.OnlyA, own[0].ID)
		}
	}
	for i, other := range b {
		if !matched[i] {
			c.OnlyB = append(c.OnlyB, other[0].ID)
		}
	}
}

// seeded returns cells with the seeds of other ones if they are one of a table, which has no seed.
func seeded(cells, others []results.Cell) []results.Cell {
	if cells[0].ID != "" {
		return cells
	}
	all := make([]results.Cell, len(others))
	for i := range others {
		all[i] = cells[0]
		all[i].Seed = others[i].Seed
	}
	return all
}

// rowOf compares the seeds of a cell with those of another one.
func rowOf(a, b []results.Cell) CellRow {
	one, two := results.Averaged(a), results.Averaged(b)
	row := CellRow{
		Cell: cellOf(&one.Key).text(), SchedulerA: one.Scheduler, SchedulerB: two.Scheduler,
		JobsA: one.Jobs - one.Held, JobsB: two.Jobs - two.Held,
	}
	if row.Cell == "" {
		row.Cell = cellOf(&two.Key).text()
	}
	row.Measures = measures(one.Metrics, two.Metrics, func(name string) (intervals.Difference, bool) {
		return results.Pair(b, a, name)
	}, true)
	return row
}

// cellKey is what the cells of both sides must have in common, besides the scheduler.
type cellKey struct {
	trace, model, estimator, trust, slotEnd string
	load                                    float64
}

func cellOf(k *results.Key) cellKey {
	return cellKey{k.Trace, k.EstimateModel, k.Estimator(), k.Trust, k.SlotEnd, k.Load}
}

// text names it: the trace, and what is not as usual.
func (k cellKey) text() string {
	parts := []string{k.trace}
	if k.load != 1 {
		parts = append(parts, "load "+strconv.FormatFloat(k.load, 'g', -1, 64))
	}
	for _, part := range []struct{ name, usual string }{{k.model, "given"}, {k.estimator, "requested"}, {k.trust, ""}, {k.slotEnd, ""}} {
		if part.name != part.usual && part.name != "" {
			parts = append(parts, part.name)
		}
	}
	return strings.Join(parts, " ")
}

// oneEach reports whether there is one scheduler for each workload.
func oneEach(cells [][]results.Cell) bool {
	var seen []cellKey
	for _, c := range cells {
		key := cellOf(&c[0].Key)
		if slices.Contains(seen, key) {
			return false
		}
		seen = append(seen, key)
	}
	return true
}

// Incomplete says how many cells of a folder are missing; "": none are.
func Incomplete(f *results.Folder) string {
	if f.Complete() {
		return ""
	}
	return fmt.Sprintf("%s has %d of %d cells: the sweep is not finished.", f.Path, len(f.Cells), len(f.Manifest.Cells))
}
