package sweep

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
)

// Places say where to look for the files that a sweep names.
type Places struct {
	// Dirs are searched in their order.
	Dirs []string
	// BuiltIn has files that are part of the program; they are searched last. It may be nil.
	BuiltIn fs.FS
	// TracePath returns under which path BuiltIn would have the trace of a name; nil: traces have
	// no names.
	TracePath func(name string) string

	stored []Stored // files that lie elsewhere than where they were found; they come first
}

// located is a file that was found.
type located struct {
	name   string // as in the sweep's file
	path   string
	within fs.FS  // nil: on disk
	lies   string // where it is now; "": at its path
}

// find looks for a file by its name, in the folders and then among the built-in files, which may
// be a trace of that name, and reports whether it is there. An absolute path is used as it is.
func (p Places) find(name string) (located, bool) {
	if file, found := p.onDisk(name); found {
		return file, true
	}
	if p.BuiltIn == nil || !fs.ValidPath(name) {
		return located{}, false
	}
	paths := []string{name}
	if p.TracePath != nil {
		paths = append(paths, p.TracePath(name))
	}
	for _, path := range paths {
		if info, err := fs.Stat(p.BuiltIn, path); err == nil && !info.IsDir() {
			return located{name: name, path: path, within: p.BuiltIn}, true
		}
	}
	return located{}, false
}

// pool returns the name by which to find a pool: that of a built-in one is also its path.
func (p Places) pool(name string) string {
	if p.BuiltIn == nil {
		return name
	}
	if _, found := p.find(name); found {
		return name
	}
	return cmp.Or(pools.BuiltIn(p.BuiltIn, name), name)
}

// onDisk is find without the built-in files.
func (p Places) onDisk(name string) (located, bool) {
	for _, s := range p.stored {
		if s.Name == name {
			return located{name: name, path: s.Path, lies: s.File}, true
		}
	}
	paths := make([]string, 0, len(p.Dirs))
	for _, dir := range p.Dirs {
		paths = append(paths, filepath.Join(dir, name))
	}
	if filepath.IsAbs(name) {
		paths = []string{name}
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return located{name: name, path: path}, true
		}
	}
	return located{}, false
}

// executable returns the path by which to start a policy that is named by its executable, which is
// looked for like any other file of a sweep. Another policy's name it returns as it is.
func (p Places) executable(policy string) (string, error) {
	if filepath.Base(policy) == policy {
		return policy, nil
	}
	file, found := p.onDisk(policy)
	switch {
	case !found:
		return "", p.absent(policy)
	case file.lies != "":
		return file.lies, nil
	case filepath.Base(file.path) == file.path: // of this folder; without one it would be a policy's name
		return "." + string(filepath.Separator) + file.path, nil
	default:
		return file.path, nil
	}
}

// at returns the file that another one named by its path.
func (p Places) at(path string) located {
	for _, s := range p.stored {
		if s.Path == path {
			return located{name: path, path: path, lies: s.File}
		}
	}
	return located{name: path, path: path}
}

// absent is the error for a file that is in none of the places.
func (p Places) absent(name string) error {
	return fmt.Errorf("%s is not there; looked in %s", name, p.looked())
}

// looked names the folders in which files are looked for, for an error.
func (p Places) looked() string { return strings.Join(p.Dirs, ", ") }

func (l located) open() (fs.File, error) {
	if l.within != nil {
		return l.within.Open(l.path)
	}
	return packed.OpenRegular(cmp.Or(l.lies, l.path))
}

// digest returns the SHA256 of the file as stored, before decompression.
func (l located) digest() (string, error) {
	file, err := l.open()
	if err != nil {
		return "", fmt.Errorf("read the workload: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	sum := sha256.New()
	if _, err = io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("read the workload: %s: %w", l.path, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// size returns the size in bytes; 0 if unknown.
func (l located) size() int64 {
	file, err := l.open()
	if err != nil {
		return 0
	}
	defer file.Close() //nolint:errcheck // only looked at
	info, err := file.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}
