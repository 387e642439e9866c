package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Folder is what was found in a folder of results.
type Folder struct {
	Path     string
	Manifest Manifest
	// Cells are the finished ones, in the order of the manifest.
	Cells []Cell
}

// Complete tells whether every cell of the manifest is there.
func (f *Folder) Complete() bool { return len(f.Cells) == len(f.Manifest.Cells) }

// Read reads a folder of results, finished or not.
func Read(path string) (*Folder, error) {
	f := &Folder{Path: path}
	if err := readJSON(filepath.Join(path, "sweep.json"), &f.Manifest); err != nil {
		return nil, fmt.Errorf("%s is no folder of results: %w; condorsim sweep makes one", path, err)
	}
	for _, key := range f.Manifest.Cells {
		var cell Cell
		err := readJSON(CellPath(path, key.ID), &cell)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read a cell of the results: %w; delete the file and sweep again", err)
		}
		f.Cells = append(f.Cells, cell)
	}
	return f, nil
}

// CellPath is the file of a cell in a folder of results.
func CellPath(folder, id string) string { return filepath.Join(folder, "cells", id+".json") }

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err = json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
