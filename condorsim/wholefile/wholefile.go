// Package wholefile writes files that are there whole or not at all: beside
// their place first, and moved there once all is written.
//
//	f, err := wholefile.Create("the trace", path) // before the work, so that it fails early
//	defer f.Discard()
//	…write to f…
//	err = f.Commit()
//
// What is no regular file, such as a device or a pipe, is written to directly,
// and a link is followed. Errors name the file that was asked for.
//
// A process that ends while others may be writing calls [Abandon] last.
package wholefile

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
)

// File is a file in the making.
type File struct {
	what string   // for errors: what is in the file
	path string   // as it was asked for
	file *os.File // beside the target until it is whole; or a device or pipe itself; nil: done
	real string   // the target, links resolved; "": file is the target
}

// Create makes sure that a file can be written at path. What it will hold, such
// as "the table of jobs", stands in errors.
func Create(what, path string) (*File, error) {
	f := &File{what: what, path: path, real: resolve(path)}
	info, err := os.Stat(f.real)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("write %s: %s is a directory", what, path)
	case err == nil && !info.Mode().IsRegular():
		f.real = ""
		f.file, err = os.OpenFile(path, os.O_WRONLY, 0)
	default:
		f.file, err = beside(f.real)
	}
	if err != nil {
		return nil, f.Fault(err)
	}
	return f, nil
}

// inTheMaking are the names of the files that are not in their places yet.
var inTheMaking struct { //nolint:gochecknoglobals // they are the process's
	sync.Mutex
	names     map[string]bool
	abandoned bool
}

var errAbandoned = errors.New("given up")

// beside makes a file in the folder of another one. The name is short and nobody
// else's: not even one that a process of the same number left when it was killed.
func beside(path string) (*os.File, error) {
	inTheMaking.Lock()
	defer inTheMaking.Unlock()
	if inTheMaking.abandoned {
		return nil, errAbandoned
	}
	for {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".making-%08x", rand.Uint32()))
		file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err == nil {
			if inTheMaking.names == nil {
				inTheMaking.names = map[string]bool{}
			}
			inTheMaking.names[name] = true
		}
		return file, err
	}
}

// settle ends the making of a file: it is moved to its place or, if that is "",
// removed.
func settle(name, place string) error {
	inTheMaking.Lock()
	defer inTheMaking.Unlock()
	if !inTheMaking.names[name] {
		return errAbandoned
	}
	if place != "" {
		if err := os.Rename(name, place); err != nil {
			return err
		}
		delete(inTheMaking.names, name)
		return nil
	}
	delete(inTheMaking.names, name)
	return os.Remove(name)
}

// Abandon removes all that is not in its place, for good: from now on no file can
// be made.
func Abandon() {
	inTheMaking.Lock()
	defer inTheMaking.Unlock()
	inTheMaking.abandoned = true
	for name := range inTheMaking.names {
		_ = os.Remove(name) // nothing better can be done
	}
	inTheMaking.names = nil
}

// Same tells whether two files are to be at one place.
func (f *File) Same(other *File) bool {
	if f == nil || other == nil || f.real == "" || other.real == "" || filepath.Base(f.real) != filepath.Base(other.real) {
		return false
	}
	a, errA := os.Stat(filepath.Dir(f.real))
	b, errB := os.Stat(filepath.Dir(other.real))
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// resolve is where a link leads, even if nothing is there yet.
func resolve(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	target, err := os.Readlink(path)
	switch {
	case err != nil:
		return path
	case filepath.IsAbs(target):
		return target
	default:
		return filepath.Join(filepath.Dir(path), target)
	}
}

// Fault says of an error, such as one of Write, which file it is about.
func (f *File) Fault(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		err = path.Err
	} else if link, ok := errors.AsType[*os.LinkError](err); ok {
		err = link.Err
	}
	return fmt.Errorf("write %s to %s: %w", f.what, f.path, err)
}

// Write writes.
func (f *File) Write(p []byte) (int, error) { return f.file.Write(p) }

// Commit puts the file in its place.
func (f *File) Commit() error {
	err := f.file.Close()
	if err == nil && f.real != "" {
		err = settle(f.file.Name(), f.real)
	}
	if err != nil {
		return f.Fault(err)
	}
	f.file = nil
	return nil
}

// Discard removes what is there of the file, if it was not committed; nil has
// nothing.
func (f *File) Discard() {
	if f == nil || f.file == nil {
		return
	}
	_ = f.file.Close() // it may be closed already
	if f.real != "" {
		_ = settle(f.file.Name(), "") // nothing better can be done
	}
	f.file = nil
}
