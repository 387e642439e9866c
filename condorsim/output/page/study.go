package page

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/output/papers"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// Study is a folder of results, arranged for readers.
type Study struct {
	Folder *results.Folder
	// Schedulers are the labels, in the order of the manifest; Baseline is the index of the one
	// that others are compared with.
	Schedulers []string
	Baseline   int
	Groups     []Group
	Measures   []Measure
	// Comparisons are with the baseline, or of the best if none is asked for.
	Comparisons []results.Comparison
	// Missing are the unfinished cells of the manifest.
	Missing []results.Key
	// Extra are tables besides those of measures: the comparison with a paper or with own goals, if
	// the manifest names one, and what it refers to.
	Extra []Table
	cells map[place][]results.Cell // in the order of the manifest; one for each seed
}

// Group is the cells that differ only in scheduler and seed.
type Group struct {
	Trace         string
	Load          float64
	EstimateModel string
	// Variant has the load and the estimate model, as far as groups differ in them; "" if they do
	// not.
	Variant string
	// Label is the group's unique name; ID is the same in letters that suit files and links.
	Label, ID string
}

type place struct{ group, scheduler int }

// worstUsers is how many users the page lists that are worst off.
const worstUsers = 10

// NewStudy arranges a folder. The baseline is a scheduler's label; "" stands for the baseline of
// the manifest or, if it has none, the first scheduler. A wrong baseline, a folder without a
// finished cell, and a cell that does not match its file's name are errors.
func NewStudy(folder *results.Folder, baseline string) (*Study, error) {
	s := &Study{Folder: folder, cells: map[place][]results.Cell{}}
	if len(folder.Cells) == 0 {
		return nil, fmt.Errorf("%s has no finished cell of %d; run condorsim sweep to its end", folder.Path,
			len(folder.Manifest.Cells))
	}
	s.arrange()
	if err := s.take(); err != nil {
		return nil, err
	}
	wanted := baseline
	if wanted == "" {
		wanted = folder.Manifest.Baseline
	}
	s.Baseline = slices.Index(s.Schedulers, wanted)
	if s.Baseline < 0 && wanted != "" {
		return nil, fmt.Errorf("the baseline %q is no scheduler of %s; there are %s", wanted, folder.Path,
			strings.Join(s.Schedulers, ", "))
	}
	s.Baseline = max(s.Baseline, 0)
	s.Comparisons = results.Comparisons(folder, wanted)
	rows, err := papers.Of(folder)
	if err != nil {
		return nil, err
	}
	if len(rows) > 0 {
		s.Extra = []Table{paperTable(rows, papers.OwnGoals(folder.Manifest.Paper))}
	}
	if worst := papers.Worst(folder, worstUsers); len(worst) > 0 {
		s.Extra = append(s.Extra, usersTable(worst))
	}
	return s, nil
}

// arrange finds the schedulers and the groups of the manifest.
func (s *Study) arrange() {
	keys := s.Folder.Manifest.Cells
	for _, k := range keys {
		if !slices.Contains(s.Schedulers, k.Scheduler) {
			s.Schedulers = append(s.Schedulers, k.Scheduler)
		}
		if s.group(k) < 0 {
			s.Groups = append(s.Groups, Group{Trace: k.Trace, Load: k.Load, EstimateModel: k.EstimateModel})
		}
	}
	loads, models := s.vary(func(g Group) any { return g.Load }), s.vary(func(g Group) any { return g.EstimateModel })
	taken := map[string]int{}
	for i := range s.Groups {
		g := &s.Groups[i]
		var variant []string
		if loads {
			variant = append(variant, "load "+number(g.Load))
		}
		if models {
			variant = append(variant, g.EstimateModel)
		}
		g.Variant = strings.Join(variant, " ")
		g.Label = strings.Join(append([]string{g.Trace}, variant...), " ")
		g.ID = fileName(g.Label)
		if taken[g.ID]++; taken[g.ID] > 1 {
			g.ID += "-" + strconv.Itoa(i+1)
		}
	}
}

func (s *Study) vary(property func(Group) any) bool {
	return slices.ContainsFunc(s.Groups, func(g Group) bool { return property(g) != property(s.Groups[0]) })
}

// group returns the index of the group of the cells with k's trace, load and estimate model; −1 if
// there is none.
func (s *Study) group(k results.Key) int {
	return slices.IndexFunc(s.Groups, func(g Group) bool {
		return g.Trace == k.Trace && g.Load == k.Load && g.EstimateModel == k.EstimateModel
	})
}

// take assigns the finished cells to their groups and schedulers. It errs if a cell contradicts the
// manifest.
func (s *Study) take() error {
	found := map[string]results.Cell{}
	for _, c := range s.Folder.Cells {
		found[c.ID] = c
	}
	names := map[string]bool{}
	for _, k := range s.Folder.Manifest.Cells {
		c, ok := found[k.ID]
		if !ok {
			s.Missing = append(s.Missing, k)
			continue
		}
		if c.Trace != k.Trace || c.Scheduler != k.Scheduler || c.Load != k.Load || c.EstimateModel != k.EstimateModel ||
			c.Seed != k.Seed {
			return fmt.Errorf("the cell %s is not what the manifest says of it; delete the file and sweep again",
				results.CellPath(s.Folder.Path, k.ID))
		}
		at := place{s.group(k), slices.Index(s.Schedulers, k.Scheduler)}
		s.cells[at] = append(s.cells[at], c)
		for name := range c.Metrics {
			if name == "" || fileName(name) != name { // two such names could be one file
				return fmt.Errorf("%s: the metric %q is no name of letters, digits, \".\", \"-\" and \"_\"; "+
					"delete the file and sweep again", results.CellPath(s.Folder.Path, k.ID), name)
			}
			names[name] = true
		}
	}
	if len(s.Folder.Cells)+len(s.Missing) != len(s.Folder.Manifest.Cells) {
		return errors.New(s.Folder.Path +
			": cells are not what the manifest says of them, or are there twice; sweep again")
	}
	s.Measures = measures(names)
	return nil
}

// value returns a measure of a scheduler in a group: the mean over the finished seeds; NaN if there
// are none.
func (s *Study) value(m Measure, group, scheduler int) float64 {
	sum, n := 0.0, 0
	for _, c := range s.cells[place{group, scheduler}] {
		if v, ok := c.Metrics[m.Name]; ok {
			sum += v
			n++
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}

// halfWidth returns half the width of the 95 % interval of a value: over the seeds if they are
// enough and make a difference, else over the weeks of the jobs; false if neither can be had.
func (s *Study) halfWidth(m Measure, group, scheduler int) (float64, bool) {
	return results.HalfWidth(s.cells[place{group, scheduler}], m.Name)
}

// improvement returns by how much a scheduler is better than the baseline in a group, as a share;
// NaN if unknown. It compares only seeds that both have finished.
func (s *Study) improvement(m Measure, group, scheduler int) float64 {
	return s.improvementOver(m, group, scheduler, s.Baseline)
}

func (s *Study) improvementOver(m Measure, group, scheduler, over int) float64 {
	base, own := s.cells[place{group, over}], s.cells[place{group, scheduler}]
	var baseline, value float64
	n := 0
	for _, b := range base {
		for _, c := range own {
			x, ok := b.Metrics[m.Name]
			y, too := c.Metrics[m.Name]
			if b.Seed == c.Seed && ok && too {
				baseline, value, n = baseline+x, value+y, n+1
			}
		}
	}
	if n == 0 {
		return math.NaN()
	}
	if share, ok := m.improvement(baseline, value); ok {
		return share
	}
	return math.NaN()
}

// cell returns the cell that the charts of a scheduler in a group show: the first seed that is
// finished; false if there is none.
func (s *Study) cell(group, scheduler int) (results.Cell, bool) {
	cells := s.cells[place{group, scheduler}]
	if len(cells) == 0 {
		return results.Cell{}, false
	}
	return cells[0], true
}

// seeds returns all seeds that occur.
func (s *Study) seeds() []uint64 {
	var all []uint64
	for _, k := range s.Folder.Manifest.Cells {
		if !slices.Contains(all, k.Seed) {
			all = append(all, k.Seed)
		}
	}
	slices.Sort(all)
	return all
}

// partial says how many of the results are finished; "" if all are.
func (s *Study) partial() string {
	if len(s.Missing) == 0 {
		return ""
	}
	return fmt.Sprintf("Partial results: %d of %d cells are finished.", len(s.Folder.Cells),
		len(s.Folder.Manifest.Cells))
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// fileName turns a text into a part of a file's name or of a link.
func fileName(text string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, text)
}
