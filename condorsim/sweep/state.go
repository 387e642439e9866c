package sweep

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/results"
)

// State says how much of a plan is done in a folder of results.
type State struct {
	// Todo are the cells to be run, as indices of Manifest.Cells; Kept counts those
	// that are finished.
	Todo []int
	Kept int
	// Outdated counts those of Todo that are finished, but for other inputs.
	Outdated int
	// Damaged are the files of cells that cannot be read; they are of Todo, too.
	Damaged []error
	// Foreign counts the finished cells that are not, or no longer, of the plan.
	Foreign int
}

// Split tells what is done and what is to be done.
func (p *Plan) Split(folder string) State {
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
		return s // there is none
	}
	for _, e := range there {
		id, isCell := strings.CutSuffix(e.Name(), ".json")
		if isCell && !known[results.CellPath(folder, id)] {
			s.Foreign++
		}
	}
	return s
}

// All are all cells.
func (p *Plan) All() []int {
	all := make([]int, len(p.cells))
	for i := range all {
		all[i] = i
	}
	return all
}

// Only keeps those of some cells whose names match a pattern in which * is any
// text and ? any letter.
func (p *Plan) Only(cells []int, pattern string) ([]int, error) {
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
