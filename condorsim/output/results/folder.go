package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
)

// Format is the version of the format of a folder of results.
const Format = 2

// Folder is the content of a folder of results.
type Folder struct {
	Path     string
	Manifest Manifest
	// Cells are the finished cells, in the order of the manifest.
	Cells []Cell
}

// Complete reports whether every cell of the manifest is finished.
func (f *Folder) Complete() bool { return len(f.Cells) == len(f.Manifest.Cells) }

// Missing returns the cells, the simulations of the sweep, that the manifest lists and that are not
// finished.
func (f *Folder) Missing() []Key {
	var missing []Key
	next := 0
	for _, key := range f.Manifest.Cells {
		if next < len(f.Cells) && f.Cells[next].ID == key.ID {
			next++
			continue
		}
		missing = append(missing, key)
	}
	return missing
}

// Read reads a folder of results, finished or not. A cell that was made from other inputs than the
// manifest's counts as missing.
func Read(path string) (*Folder, error) {
	f := &Folder{Path: path}
	manifest, err := ReadManifest(path)
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = fmt.Errorf("%s: %w", filepath.Base(at.Path), at.Err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is no folder of results: %w; condorsim sweep makes one", path, err)
	}
	f.Manifest = manifest
	for _, key := range f.Manifest.Cells {
		cell, err := ReadCell(path, key)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrOtherInputs) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read a cell of the results: %w; delete the file and sweep again", err)
		}
		f.Cells = append(f.Cells, cell)
	}
	return f, nil
}

// ReadManifest reads the manifest of a folder of results.
func ReadManifest(path string) (Manifest, error) {
	var m Manifest
	if err := readJSON(filepath.Join(path, manifestName), &m); err != nil {
		return m, err
	}
	if m.Format != Format {
		return m, fmt.Errorf("%s has format %d, this program reads %d; sweep again", filepath.Join(path, manifestName),
			m.Format, Format)
	}
	m.makePrintable()
	if err := m.judge(); err != nil {
		return m, fmt.Errorf("%s: %w", filepath.Join(path, manifestName), err)
	}
	return m, nil
}

// judge returns an error if an ID is no name of a file, or one that several cells have.
func (m *Manifest) judge() error {
	seen := make(map[string]bool, len(m.Cells))
	for _, key := range m.Cells {
		switch id := key.ID; {
		case id == "" || filepath.Base(id) != id:
			return fmt.Errorf("%q cannot be the name of a cell's file", id)
		case seen[id]:
			return fmt.Errorf("the cell %q is there twice", id)
		}
		seen[key.ID] = true
	}
	return nil
}

// ErrOtherInputs says that a cell was made from other inputs than those of the key.
var ErrOtherInputs = errors.New("it was made from other inputs")

// ReadCell reads a finished cell. The error is [fs.ErrNotExist] if there is none, [ErrOtherInputs]
// if it belongs to another simulation; any other says that the file is damaged.
func ReadCell(folder string, key Key) (Cell, error) {
	path := CellPath(folder, key.ID)
	text, err := wholefile.ReadInside(path, maxSize)
	if err != nil {
		return Cell{}, err
	}
	cell, err := decodeCell(path, text, key)
	cell.makePrintable()
	return cell, err
}

// decodeCell returns the cell that a file holds, if it is the key's.
func decodeCell(path string, text []byte, key Key) (cell Cell, err error) {
	if err = decode(path, text, &cell); err != nil {
		return Cell{}, err
	}
	if cell.ID != key.ID {
		return Cell{}, fmt.Errorf("%s: it holds the cell %q, under a wrong name", path, cell.ID)
	}
	if cell.Inputs != key.Inputs {
		return Cell{}, fmt.Errorf("%s: %w", path, ErrOtherInputs)
	}
	return cell, nil
}

// The names of files in a folder of results.
const (
	manifestName = "sweep.json"
	cellsName    = "cells"
	lockName     = ".lock"
	tableName    = "results"            // .csv, .json, .parquet, of all cells
	partName     = "results-incomplete" // the same while cells are missing
)

// CellPath returns the path of a cell's file in a folder of results.
func CellPath(folder, id string) string { return filepath.Join(folder, cellsName, id+".json") }

// maxSize, in bytes, and maxValues bound what a file can take in memory, where a week of two letters
// becomes a hundred bytes. The manifest of [MaxCells] cells has 50 MB and 1,500,000 values.
const (
	maxSize   = 128 << 20
	maxValues = 2_000_000
)

func readJSON(path string, into any) error {
	text, err := wholefile.ReadInside(path, maxSize)
	if err != nil {
		return err
	}
	return decode(path, text, into)
}

func decode(path string, text []byte, into any) error {
	if bytes.Count(text, []byte{','}) > maxValues {
		return fmt.Errorf("%s has more than %d values", path, maxValues)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %s", path, inwords.JSON(err))
	}
	return nil
}
