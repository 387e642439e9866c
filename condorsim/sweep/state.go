package sweep

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// State says which cells of a sweep are finished in a folder of results.
type State struct {
	// Todo are the cells to run, as indices of Manifest.Cells; Kept counts the finished ones.
	Todo []int
	Kept int
	// Outdated counts the cells of Todo that are finished, but from other inputs.
	Outdated int
	// Damaged are the errors of cells whose files cannot be read; these cells are in Todo, too.
	Damaged []error
	// Foreign counts the finished cells that do not belong to the sweep (any more).
	Foreign int
}

// Split determines which cells (simulations of the sweep) are finished in a folder of results, and
// which are to be run.
func (p *Sweep) Split(folder string) State {
	var s State
	known := map[string]bool{}
	for i, key := range p.Manifest.Cells {
		known[results.CellPath(folder, key.ID)] = true
		_, err := results.ReadCell(folder, key)
		if err == nil {
			s.Kept++
			continue
		}
		s.Todo = append(s.Todo, i)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, results.ErrOtherInputs):
			s.Outdated++
		default:
			s.Damaged = append(s.Damaged, err)
		}
	}
	there, err := os.ReadDir(filepath.Dir(results.CellPath(folder, "")))
	if err != nil {
		return s // no finished cells
	}
	for _, e := range there {
		id, isCell := strings.CutSuffix(e.Name(), ".json")
		if isCell && !known[results.CellPath(folder, id)] {
			s.Foreign++
		}
	}
	return s
}

// All returns the indices of all cells.
func (p *Sweep) All() []int {
	all := make([]int, len(p.cells))
	for i := range all {
		all[i] = i
	}
	return all
}

// Only returns those of the cells whose names match a pattern: * is any text, ? any letter. The
// error is that of a malformed pattern.
func (p *Sweep) Only(cells []int, pattern string) ([]int, error) {
	var some []int
	for _, i := range cells {
		matches, err := path.Match(pattern, p.Manifest.Cells[i].ID)
		if err != nil {
			return nil, err
		}
		if matches {
			some = append(some, i)
		}
	}
	return some, nil
}
