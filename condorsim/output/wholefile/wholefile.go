// Package wholefile writes files that are there whole or not at all, and reads them. It writes a
// temporary file in the same folder and renames it once all is written.
//
//	f, err := wholefile.Create("the trace", path) // before the work, so that it fails early
//	defer f.Discard()
//	…write to f…
//	err = f.Commit()
//
// [File.Fill] does the last two steps, [Write] all of them. A process that is killed leaves its
// temporary file: [SweepAway] removes those.
//
// Devices, pipes and other files that are not regular are written to directly, and links are
// followed. [WriteInside], [ReadInside] and [MakeFolder] refuse them: they are for names that the user
// did not give, in a folder that may come from somebody else. Errors name the path that was given.
//
// A process that exits while other goroutines may be writing calls [Abandon] last.
package wholefile

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// File is a file being written.
type File struct {
	what string   // for errors: what the file holds
	path string   // as given
	file *os.File // the temporary file; or a device or pipe itself; nil: closed
	real string   // the target, links resolved; "": file is the target
}

// partPrefix begins the names of temporary files. The rest is random, since a process that was
// killed may have had the same ID.
const partPrefix = ".writing-"

// Create checks that a file can be written at path, and begins it. In errors, what is the name of
// its content, such as "the table of jobs".
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

// inTheMaking has the names of the temporary files.
var inTheMaking struct { //nolint:gochecknoglobals // they are the process's
	sync.Mutex
	names     map[string]bool
	abandoned bool
}

var errAbandoned = errors.New("given up")

// beside makes a temporary file in the folder of another one. It errs after [Abandon].
func beside(path string) (*os.File, error) {
	inTheMaking.Lock()
	defer inTheMaking.Unlock()
	if inTheMaking.abandoned {
		return nil, errAbandoned
	}
	name := filepath.Join(filepath.Dir(path), partPrefix+rand.Text())
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err == nil {
		if inTheMaking.names == nil {
			inTheMaking.names = map[string]bool{}
		}
		inTheMaking.names[name] = true
	}
	return file, err
}

// settle renames a temporary file to its place or, if place is "", removes it. It errs if [Abandon]
// has removed the file.
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

// Abandon removes all temporary files. From then on none can be made.
func Abandon() {
	inTheMaking.Lock()
	defer inTheMaking.Unlock()
	inTheMaking.abandoned = true
	for name := range inTheMaking.names {
		_ = os.Remove(name) // nothing else can be done
	}
	inTheMaking.names = nil
}

// Same reports whether two files will have the same folder and name; false for devices and pipes.
func (f *File) Same(other *File) bool {
	if f == nil || other == nil || f.real == "" || other.real == "" ||
		filepath.Base(f.real) != filepath.Base(other.real) {
		return false
	}
	a, errA := os.Stat(filepath.Dir(f.real))
	b, errB := os.Stat(filepath.Dir(other.real))
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// resolve returns the target of a link, even if there is no file yet.
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

// Fault adds to an error, such as one of Write, what the file holds and its path.
func (f *File) Fault(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		err = path.Err
	} else if link, ok := errors.AsType[*os.LinkError](err); ok {
		err = link.Err
	}
	return fmt.Errorf("write %s to %s: %w", f.what, f.path, err)
}

// Write writes to the file.
func (f *File) Write(p []byte) (int, error) { return f.file.Write(p) }

// Fill lets the callback write the whole file and commits it.
func (f *File) Fill(write func(io.Writer) error) error {
	buffer := bufio.NewWriter(f)
	err := write(buffer)
	if err == nil {
		err = buffer.Flush()
	}
	if err != nil {
		return f.Fault(err)
	}
	return f.Commit()
}

// Write creates a file, fills it and commits it; see [Create].
func Write(what, path string, write func(io.Writer) error) error {
	f, err := Create(what, path)
	if err != nil {
		return err
	}
	defer f.Discard()
	return f.Fill(write)
}

// WriteInside is [Write] for a file of a folder that somebody else may have made. It is an error if
// the path is anything but a regular file; see [Regular].
func WriteInside(what, path string, write func(io.Writer) error) error {
	if err := Regular(path); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return Write(what, path, write)
}

// MakeFolder makes a folder, and those above it, if it is not there. A symbolic link is an error,
// as in [WriteInside].
func MakeFolder(path string) error {
	if err := noLink(path); err != nil {
		return err
	}
	return os.MkdirAll(path, 0o777) //nolint:gosec // the umask says
}

// ReadInside reads a file of a folder that somebody else may have made. It is an error if it has
// more than the given number of bytes, or is anything but a regular file; see [Regular]. Errors of
// the file system are returned unchanged.
func ReadInside(path string, most int64) ([]byte, error) {
	seen, err := os.Lstat(path)
	if err == nil {
		err = judge(path, seen)
	}
	if err != nil {
		return nil, err
	}
	// it may be replaced at this moment
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	opened, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(seen, opened) {
		return nil, fmt.Errorf("%s was replaced while it was read; try again", path)
	}
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s has more than %d bytes", path, most)
	}
	return text, err
}

// Regular returns an error if there is something at the path that is no regular file. A symbolic
// link could lead to any file of the user; a pipe keeps waiting, and a device may have no end.
func Regular(path string) error {
	if info, err := os.Lstat(path); err == nil {
		return judge(path, info)
	}
	return nil
}

func judge(path string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link, which is not followed here; remove it", path)
	case mode.IsDir():
		return fmt.Errorf("%s is a directory", path)
	default:
		return fmt.Errorf("%s is no regular file; remove it", path)
	}
}

// noLink returns an error if the path is a symbolic link. It does not look at the folders above.
func noLink(path string) error {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return judge(path, info)
	}
	return nil
}

// SweepAway removes the temporary files of killed processes from a folder in which nobody is
// writing.
func SweepAway(folder string) error {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if IsPart(e.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(folder, e.Name())))
		}
	}
	return err
}

// IsPart reports whether a file's name is that of a temporary file.
func IsPart(name string) bool { return strings.HasPrefix(name, partPrefix) }

// Commit forces the file to disk and puts it in its place, so that it is whole even if the machine
// stops at that moment.
func (f *File) Commit() (err error) {
	if f.real != "" { // only a regular file can be forced to disk
		err = f.file.Sync()
	}
	err = cmp.Or(err, f.file.Close())
	if err == nil && f.real != "" {
		err = settle(f.file.Name(), f.real)
	}
	if err != nil {
		return f.Fault(err)
	}
	f.file = nil
	return nil
}

// Discard removes the temporary file if it was not committed. It does nothing if f is nil.
func (f *File) Discard() {
	if f == nil || f.file == nil {
		return
	}
	_ = f.file.Close() // it may be closed already
	if f.real != "" {
		_ = settle(f.file.Name(), "") // nothing else can be done
	}
	f.file = nil
}
