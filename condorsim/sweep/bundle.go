package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
)

// Bundle is a folder with all that another machine needs to run cells of a sweep, one by one: the sweep's
// file as it was changed by flags, and the files that the cells need. What the program has built in is not
// in it.
type Bundle struct {
	// Version is that of the program whose results count.
	Version string `json:"version"`
	// File is the sweep's file, for errors, and Text its text.
	File string `json:"file"`
	Text string `json:"text"`
	// Jobs, JitterKeys and Seeds are as flags changed them.
	Jobs       int      `json:"jobs"`
	JitterKeys float64  `json:"jitter_keys"`
	Seeds      []uint64 `json:"seeds"`
	// Files are the files of the bundle.
	Files []Stored `json:"files"`

	dir string
}

// Stored is a file of a bundle.
type Stored struct {
	// Name is how the sweep's file names it, Path where it was found: errors say that.
	Name string `json:"name"`
	Path string `json:"path"`
	// File is where it is now.
	File string `json:"file"`
}

// BundleName is the name of the file that says what a bundle is.
const BundleName = "bundle.json"

// Part is what a cell needs to be run by itself.
type Part struct {
	// Cell is its index in Manifest.Cells, Number its place among all cells of the sweep's file.
	Cell, Number int
	// Files are the names of the files of the bundle that it needs, besides [BundleName].
	Files []string
	// Memory is an estimate of what it needs, in bytes; Cost one of how long it takes, in a unit of about
	// 10 µs on a machine of today.
	Memory int64
	Cost   float64
}

// Bundle writes a bundle for cells into a folder, and returns what each cell needs, in the order in which
// to start them. The folder must be there; files of that name are replaced.
func (p *Sweep) Bundle(dir string, cells []int) ([]Part, error) {
	b := Bundle{
		Version: p.settings.Version, File: p.file.path, Text: string(p.file.text), Jobs: p.settings.Jobs,
		JitterKeys: p.file.JitterKeys, Seeds: p.file.Seeds, Files: []Stored{},
	}
	var parts []Part
	for _, t := range p.tasks(cells) {
		c := &p.cells[t.cell]
		part := Part{Cell: t.cell, Number: c.number, Memory: t.need(), Cost: t.cost()}
		files, err := p.files(c)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			stored, err := b.store(dir, file)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(part.Files, stored) {
				part.Files = append(part.Files, stored)
			}
		}
		parts = append(parts, part)
	}
	return parts, wholefile.WriteInside("the bundle", filepath.Join(dir, BundleName), func(out io.Writer) error {
		return json.NewEncoder(out).Encode(b)
	})
}

// files returns the files on disk that a cell needs.
func (p *Sweep) files(c *cell) (all []located, err error) {
	places := p.settings.Places
	all = slices.Clone(c.input.files)
	if c.input.MemoryFrom != "" {
		all = append(all, c.input.memory)
	}
	if c.input.History != "" {
		all = append(all, c.input.history)
	}
	for _, name := range c.scheduler.estimates.Files() {
		file, _ := places.find(name) // it was found when it was checked
		all = append(all, file)
	}
	policies, err := c.scheduler.executables()
	if err != nil {
		return nil, err
	}
	for _, name := range policies {
		file, _ := places.onDisk(name) // it was found when it was checked
		all = append(all, file)
	}
	return slices.DeleteFunc(all, func(l located) bool { return l.within != nil }), nil
}

// store copies a file into the bundle, unless it is there, and returns its name in it. That is made of
// letters that need no quotes anywhere.
func (b *Bundle) store(dir string, file located) (string, error) {
	name := ""
	for _, s := range b.Files {
		if s.Path == file.path {
			name = s.File
			if s.Name == file.name {
				return name, nil
			}
		}
	}
	if name == "" {
		name = strconv.Itoa(len(b.Files)) + "-" + strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(".-_", r) {
				return r
			}
			return '_'
		}, filepath.Base(file.path))
		if err := file.copy(filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	b.Files = append(b.Files, Stored{Name: file.name, Path: file.path, File: name})
	return name, nil
}

// copy copies the file with its right to be executed.
func (l located) copy(to string) error {
	from, err := l.open()
	if err != nil {
		return fmt.Errorf("copy %s: %w", l.path, err)
	}
	defer from.Close() //nolint:errcheck // only read
	if err = wholefile.WriteInside("a copy of "+l.path, to, func(out io.Writer) error {
		_, copyErr := io.Copy(out, from)
		return copyErr
	}); err != nil {
		return err
	}
	info, err := from.Stat()
	if err == nil && info.Mode()&0o111 != 0 {
		err = os.Chmod(to, 0o755) //nolint:gosec // anybody may run it, as the original
	}
	return err
}

// OpenBundle reads what a bundle is.
func OpenBundle(dir string) (*Bundle, error) {
	text, err := os.ReadFile(filepath.Join(dir, BundleName))
	if err != nil {
		return nil, fmt.Errorf("read the bundle of a sweep: %w", err)
	}
	b := &Bundle{dir: dir}
	if err = json.Unmarshal(text, b); err != nil {
		return nil, fmt.Errorf("read the bundle of a sweep: %s: %w", filepath.Join(dir, BundleName), err)
	}
	return b, nil
}

// Prepare prepares the cell of a number alone: no other trace is read, and no other policy started. Of the
// settings it takes all but what the bundle says.
func (b *Bundle) Prepare(ctx context.Context, number int, s Settings) (*Sweep, error) {
	if s.Version != b.Version {
		return nil, fmt.Errorf("the bundle is for another program: for %s, this is %s", b.Version, s.Version)
	}
	f, err := Parse(b.File, []byte(b.Text))
	if err != nil {
		return nil, err
	}
	f.JitterKeys, f.Seeds = b.JitterKeys, b.Seeds
	s.Jobs, s.Places.Dirs = b.Jobs, nil
	for _, file := range b.Files {
		file.File = filepath.Join(b.dir, file.File)
		if !filepath.IsAbs(file.File) {
			file.File = "." + string(filepath.Separator) + file.File // a plugin's path must not be a policy's name
		}
		s.Places.stored = append(s.Places.stored, file)
	}
	if number < 0 || number >= len(f.Traces)*f.cellsOfTrace() {
		return nil, fmt.Errorf("there is no cell %d: the sweep has %d", number, len(f.Traces)*f.cellsOfTrace())
	}
	return prepareCells(ctx, f, s, number)
}

// cellsOfTrace returns how many cells a trace has.
func (f *File) cellsOfTrace() int {
	return len(f.loads()) * len(f.estimates()) * len(f.seeds()) * len(f.schedulers())
}

// wants reports whether cells of a trace and of a scheduler, by their numbers, are prepared; below 0: of any.
func (p *Sweep) wants(trace, scheduler int) bool {
	return p.one < 0 ||
		(trace < 0 || trace == p.one/p.file.cellsOfTrace()) &&
			(scheduler < 0 || scheduler == p.one%len(p.file.schedulers()))
}

// failure is the answer of a cell that failed, in the place of its result.
type failure struct {
	Failed string `json:"failed"`
	Bad    bool   `json:"bad_input"`
}

// WriteFailure writes, in the place of a cell's result, why the cell failed.
func WriteFailure(out io.Writer, err error) error {
	_, bad := errors.AsType[*BadInput](err)
	return json.NewEncoder(out).Encode(failure{err.Error(), bad})
}

// ReadFailure returns why a cell failed that was run elsewhere, by what came back in the place of its
// result; nil: it did not fail.
func ReadFailure(text []byte) error {
	var f failure
	if json.Unmarshal(text, &f) != nil || f.Failed == "" {
		return nil
	}
	if err := errors.New(f.Failed); !f.Bad {
		return err
	} else {
		return &BadInput{err}
	}
}
