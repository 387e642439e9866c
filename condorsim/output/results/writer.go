package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
)

// Writer writes a folder of results. A folder has one writer at a time.
type Writer struct {
	path string
	lock *flock.Flock
}

// Open makes the folder, or opens an existing one, and locks it until Close. A folder that holds
// anything but results is an error.
func Open(path string) (*Writer, error) {
	if err := usable(path); err != nil {
		return nil, err
	}
	err := errors.Join(os.MkdirAll(path, 0o755), wholefile.MakeFolder(filepath.Join(path, cellsName)),
		wholefile.Regular(filepath.Join(path, lockName)))
	if err != nil {
		return nil, fmt.Errorf("make the folder of results: %w", err)
	}
	lock := flock.New(filepath.Join(path, lockName))
	locked, err := lock.TryLock()
	switch {
	case err != nil:
		return nil, fmt.Errorf("lock the folder of results: %w", err)
	case !locked:
		return nil, fmt.Errorf("%s: another sweep is writing its results there; wait for it, or give another folder",
			path)
	}
	w := &Writer{path: path, lock: lock}
	if err = errors.Join(wholefile.SweepAway(path), wholefile.SweepAway(filepath.Join(path, cellsName))); err != nil {
		return nil, errors.Join(fmt.Errorf("tidy the folder of results: %w", err), w.Close())
	}
	return w, nil
}

// usable returns an error if a folder has no manifest but other files than those of results. It may
// be empty or missing.
func usable(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look into the folder of results: %w", err)
	}
	foreign := ""
	for _, e := range entries {
		switch name := e.Name(); {
		case name == manifestName:
			return nil
		// a first sweep that was killed early leaves only these
		case name == cellsName, name == lockName, wholefile.IsPart(name):
		default:
			foreign = name
		}
	}
	if foreign != "" {
		return fmt.Errorf("%s is not empty and no folder of results (there is %s in it); give another one",
			path, foreign)
	}
	return nil
}

// Close releases the lock of the folder.
func (w *Writer) Close() error {
	if err := w.lock.Unlock(); err != nil {
		return fmt.Errorf("unlock the folder of results: %w", err)
	}
	return nil
}

// Manifest writes the manifest: what the folder is to hold. It removes older tables, which may
// belong to another sweep.
func (w *Writer) Manifest(m Manifest) error {
	m.Format = Format
	if err := w.removeTables(tableName, partName); err != nil {
		return err
	}
	return w.writeJSON(filepath.Join(w.path, manifestName), m)
}

// Cell writes a finished cell.
func (w *Writer) Cell(c Cell) error { return w.writeJSON(CellPath(w.path, c.ID), c) }

// Encode writes a finished cell as a folder of results has it.
func (c Cell) Encode(out io.Writer) error { return encode(out, c) }

// Decode reads a finished cell that another process has written to a file by [Cell.Encode]. It is an error
// if the text is damaged, or of another simulation than the key's: [ErrOtherInputs].
func Decode(path string, text []byte, key Key) (Cell, error) {
	cell, err := decodeCell(path, text, key)
	if err != nil {
		return Cell{}, err
	}
	var again bytes.Buffer
	if err = cell.Encode(&again); err != nil || !bytes.Equal(again.Bytes(), text) {
		return Cell{}, fmt.Errorf("%s: it is not as this program writes cells", path)
	}
	return cell, nil
}

// Remove removes finished cells, if there are any.
func (w *Writer) Remove(cells ...Key) error {
	for _, key := range cells {
		if err := os.Remove(CellPath(w.path, key.ID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a finished cell: %w", err)
		}
	}
	return nil
}

// Tables writes the finished cells as results.csv, .json and .parquet, and returns what it read of
// the folder. While cells are missing, the files are called results-incomplete.
func (w *Writer) Tables() (*Folder, error) {
	f, err := Read(w.path)
	if err != nil {
		return nil, err
	}
	name, other := tableName, partName
	if !f.Complete() {
		name, other = partName, tableName
	}
	if err = w.removeTables(other); err != nil {
		return nil, err
	}
	for _, format := range formats() {
		path := filepath.Join(w.path, name+format.extension)
		if err = wholefile.WriteInside("the results", path,
			func(out io.Writer) error { return format.write(out, f) }); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (w *Writer) removeTables(names ...string) error {
	for _, name := range names {
		for _, format := range formats() {
			if err := os.Remove(filepath.Join(w.path, name+format.extension)); err != nil &&
				!errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove the tables of before: %w", err)
			}
		}
	}
	return nil
}

func (w *Writer) writeJSON(path string, v any) error {
	return wholefile.WriteInside("the results", path, func(out io.Writer) error { return encode(out, v) })
}

func encode(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", " ")
	return encoder.Encode(v)
}
