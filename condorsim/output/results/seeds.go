package results

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/output/intervals"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
)

// Averaged returns the cells of one scheduler on one workload, which differ in their seed alone, as
// one: the first, with the means of all measures and of what users got. There must be a cell.
func Averaged(cells []Cell) Cell {
	one := cells[0]
	if len(cells) == 1 {
		return one
	}
	weeks := make([]metrics.Weeks, len(cells))
	off, counts := map[string]float64{}, map[string]float64{}
	first := map[string]float64{}
	for i := range cells {
		weeks[i] = cells[i].Weeks
		for name, v := range cells[i].Metrics {
			if _, known := first[name]; !known {
				first[name] = v
			}
			off[name], counts[name] = off[name]+v-first[name], counts[name]+1 // where all are alike, the mean is so, too
		}
	}
	one.Metrics, one.Weeks = map[string]float64{}, metrics.Pooled(weeks...)
	for name := range first {
		one.Metrics[name] = first[name] + off[name]/counts[name]
	}
	one.Users = averagedUsers(cells)
	return one
}

// averagedUsers returns the users of the first cell with the means of what they got in all.
func averagedUsers(cells []Cell) []User {
	users := slices.Clone(cells[0].Users)
	for i := range users {
		u, n := &users[i], 1.0
		var slowdown, wait float64
		for _, c := range cells[1:] {
			at, found := slices.BinarySearchFunc(c.Users, u.Name, func(o User, name string) int {
				return strings.Compare(o.Name, name)
			})
			if found {
				slowdown, wait = slowdown+c.Users[at].MeanBoundedSlowdown-u.MeanBoundedSlowdown, wait+c.Users[at].MeanWait-u.MeanWait
				n++
			}
		}
		u.MeanBoundedSlowdown, u.MeanWait = u.MeanBoundedSlowdown+slowdown/n, u.MeanWait+wait/n
	}
	return users
}

// HalfWidth returns half the width of the 95 % interval of the mean of a measure over such cells:
// over the seeds if they are enough and make a difference, else over the weeks of the jobs; false
// if neither can be had.
func HalfWidth(cells []Cell, measure string) (float64, bool) {
	var values []float64
	var weeks []metrics.Weeks
	drawn := false // the seeds make a difference
	for _, c := range cells {
		v, ok := c.Metrics[measure]
		if !ok {
			continue
		}
		values, weeks = append(values, v), append(weeks, c.Weeks)
		drawn = drawn || !maps.Equal(c.Metrics, cells[0].Metrics)
	}
	if drawn {
		if half, ok := intervals.OfValues(values); ok {
			return half, true
		}
	}
	return intervals.OfMean(metrics.Pooled(weeks...), measure)
}

// OverSeeds returns the cells of schedulers on workloads, each averaged over its seeds, in the
// order of the first of each.
func OverSeeds(cells []Cell) []Cell {
	all := BySeed(cells)
	averaged := make([]Cell, len(all))
	for i := range all {
		averaged[i] = Averaged(all[i])
	}
	return averaged
}

// BySeed puts the cells together that differ in their seed alone, in the order of the first of
// each. A cell that is there twice stays apart.
func BySeed(cells []Cell) [][]Cell {
	type name struct {
		trace, model, scheduler, policy, order, estimates string
		load                                              float64
	}
	var all [][]Cell
	at := map[name]int{}
	for i := range cells {
		c := &cells[i]
		key := name{c.Trace, c.EstimateModel, c.Scheduler, c.Policy, c.Order, c.Estimates.String(), c.Load}
		n, known := at[key]
		if !known || slices.ContainsFunc(all[n], func(o Cell) bool { return o.Seed == c.Seed }) {
			n = len(all)
			all, at[key] = append(all, nil), n
		}
		all[n] = append(all[n], *c)
	}
	return all
}

// JitterText says how the keys of the queue's order were jittered and under which schedulers they
// were not, as a part of a sentence; "" if they never were.
func (k Keys) JitterText() string {
	share := 0.0
	var none []string
	for i := range k {
		share = max(share, k[i].JitterKeys)
	}
	if share == 0 {
		return ""
	}
	for i := range k {
		if k[i].JitterKeys == 0 && !slices.Contains(none, k[i].Scheduler) {
			none = append(none, k[i].Scheduler)
		}
	}
	text := fmt.Sprintf("keys of the queue's order jittered by %s %%", strconv.FormatFloat(100*share, 'g', 4, 64))
	if len(none) > 0 {
		text += " (" + strings.Join(none, ", ") + ": no keys to jitter)"
	}
	return text
}
