package sweep

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
)

// Kit is a folder with all that another machine needs to run cells of a sweep, one by one: the sweep's
// file as it was changed by flags, and the files that the cells need. What the program has built in is not
// in it.
type Kit struct {
	// Version is that of the program whose results count.
	Version string `json:"version"`
	// File is the sweep's file, for errors, and Text its text.
	File string `json:"file"`
	Text string `json:"text"`
	// Jobs, JitterKeys and Seeds are as flags changed them.
	Jobs       int      `json:"jobs"`
	JitterKeys float64  `json:"jitter_keys"`
	Seeds      []uint64 `json:"seeds"`
	// Inputs is a digest of all that the results of the cells depend on.
	Inputs string `json:"inputs"`
	// Files are the files of the kit.
	Files []Stored `json:"files"`

	dir  string             // where it was opened
	from map[string]located // where the files are that are to be copied, by their names in the kit
}

// Stored is a file of a kit.
type Stored struct {
	// Name is how the sweep's file names it, Path where it was found: errors say that.
	Name string `json:"name"`
	Path string `json:"path"`
	// File is where it is now.
	File string `json:"file"`
}

// KitName is the name of the file that says what a kit is.
const KitName = "kit.json"

// Part is what a cell needs to be run by itself.
type Part struct {
	// Cell is its index in Manifest.Cells, Number its place among all cells of the sweep's file.
	Cell, Number int
	// Files are the names of the files of the kit that it needs, besides [KitName].
	Files []string
	// Memory is an estimate of what it needs, in bytes; Cost one of how long it takes, in a unit of about
	// 10 µs on a machine of today.
	Memory int64
	Cost   float64
}

// Kit returns the kit of all cells of the sweep, and what each of some cells needs, in the order in
// which to start them.
func (p *Sweep) Kit(cells []int) (*Kit, []Part, error) {
	b := &Kit{
		Version: p.settings.Version, File: p.file.path, Text: string(p.file.text), Jobs: p.settings.Jobs,
		JitterKeys: p.file.JitterKeys, Seeds: p.file.Seeds, Files: []Stored{}, from: map[string]located{},
	}
	sum := sha256.New()
	needs := make([][]string, len(p.cells))
	for i := range p.cells {
		_, _ = io.WriteString(sum, p.cells[i].key.Inputs+"\n") // a digest does not fail
		files, err := p.files(&p.cells[i])
		if err != nil {
			return nil, nil, err
		}
		for _, file := range files {
			if stored := b.store(file); !slices.Contains(needs[i], stored) {
				needs[i] = append(needs[i], stored)
			}
		}
	}
	b.Inputs = hex.EncodeToString(sum.Sum(nil))
	var parts []Part
	for _, t := range p.tasks(cells) {
		parts = append(parts, Part{
			Cell: t.cell, Number: p.cells[t.cell].number, Files: needs[t.cell], Memory: t.need(), Cost: t.cost(),
		})
	}
	return b, parts, nil
}

// IsIn reports whether a folder has this kit.
func (b *Kit) IsIn(dir string) bool {
	there, err := os.ReadFile(filepath.Join(dir, KitName))
	if err != nil {
		return false
	}
	text, err := json.Marshal(b)
	return err == nil && bytes.Equal(bytes.TrimSpace(there), text)
}

// Write writes the kit into a folder, which must be there.
func (b *Kit) Write(dir string) error {
	for _, name := range slices.Sorted(maps.Keys(b.from)) {
		if err := b.from[name].copy(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	text, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("write the kit of the sweep: %w", err)
	}
	return wholefile.WriteInside("the kit", filepath.Join(dir, KitName), func(out io.Writer) error {
		_, err = out.Write(text)
		return err
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

// keepsName matches the names of plugins, which are the same in the kit: a program may have several policies
// and go by its name, as policy-plugins does.
var keepsName = regexp.MustCompile(`^backfill-[a-zA-Z0-9_-]+$`)

// store adds a file, unless it is there, and returns its name in the kit. That is made of letters that
// need no quotes anywhere.
func (b *Kit) store(file located) string {
	name := ""
	for _, s := range b.Files {
		if s.Path == file.path {
			name = s.File
			if s.Name == file.name {
				return name
			}
		}
	}
	base := filepath.Base(file.path)
	if _, taken := b.from[base]; name == "" && !taken && keepsName.MatchString(base) {
		name = base
		b.from[name] = file
	}
	if name == "" {
		name = strconv.Itoa(len(b.from)) + "-" + strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(".-_", r) {
				return r
			}
			return '_'
		}, base)
		b.from[name] = file
	}
	b.Files = append(b.Files, Stored{Name: file.name, Path: file.path, File: name})
	return name
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

// OpenKit reads what a kit is.
func OpenKit(dir string) (*Kit, error) {
	text, err := os.ReadFile(filepath.Join(dir, KitName))
	if err != nil {
		return nil, fmt.Errorf("read the kit of a sweep: %w", err)
	}
	b := &Kit{dir: dir}
	if err = json.Unmarshal(text, b); err != nil {
		return nil, fmt.Errorf("read the kit of a sweep: %s: %w", filepath.Join(dir, KitName), err)
	}
	return b, nil
}

// Prepare prepares the cell of a number alone: no other trace is read, and no other policy started. Of the
// settings it takes all but what the kit says.
func (b *Kit) Prepare(ctx context.Context, number int, s Settings) (*Sweep, error) {
	if s.Version != b.Version {
		return nil, fmt.Errorf("the kit is for another program: for %s, this is %s", b.Version, s.Version)
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
	why := errors.New(f.Failed)
	if f.Bad {
		return &BadInput{why}
	}
	return why
}
