package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/record/recordv1"
)

// files are the files of a record: the one that is written, and former ones beside it, which are named after
// the time of day at which they were replaced.
type files struct {
	o      Options
	file   *os.File // nil: not opened yet
	size   int64
	frames []int64 // where in the file they begin
	// always says that no other file is ever begun: for tests.
	always bool
	// begun says that what was there before is out of the way.
	begun bool
}

const (
	stamp = "20060102T150405Z"
	mode  = 0o640 // names of users are nobody else's business
)

// openFiles checks that a record can be written.
func openFiles(o Options) (*files, error) {
	file, err := os.OpenFile(o.Path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, mode)
	if err != nil {
		return nil, fmt.Errorf("record: %w; check the path", err)
	}
	info, err := file.Stat()
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("record: %s is no file that can be kept under another name; name a file", o.Path)
	}
	if err = mayKeep(o.Path); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	// Former files are beside the file itself, not beside a link to it, which may be on another disk.
	if o.Path, err = filepath.EvalSymlinks(o.Path); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	f := &files{o: o}
	if _, err = f.former(); err != nil {
		return nil, fmt.Errorf("record: its former files can have no name: %w; give a shorter one", err)
	}
	return f, nil
}

// mayKeep returns an error if a file is no record: it would be overwritten, or renamed and some day deleted.
func mayKeep(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	const zstdMagic = "\x28\xb5\x2f\xfd"
	head := make([]byte, len(zstdMagic))
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if !strings.HasPrefix(zstdMagic, string(head[:n])) {
		return fmt.Errorf("%s is there already and is no record; name another file", path)
	}
	return nil
}

// next begins a file, behind one with this index. What is there already is kept under another name.
func (f *files) next(before *recordv1.Index) error {
	if f.always {
		return nil
	}
	if err := f.close(before); err != nil {
		return err
	}
	info, err := os.Stat(f.o.Path)
	switch {
	case err != nil || info.Size() == 0:
	case f.o.Replace && !f.begun:
		err = os.Truncate(f.o.Path, 0)
	default:
		var kept string
		if kept, err = f.former(); err == nil {
			err = os.Rename(f.o.Path, kept)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f.begun = true
	f.file, err = os.OpenFile(f.o.Path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, mode)
	f.size, f.frames = 0, nil
	return errors.Join(err, f.prune())
}

// former returns a name for the file that is replaced. The error says that the system takes no such name.
func (f *files) former() (string, error) {
	name := f.o.Path + "." + f.o.Clock().UTC().Format(stamp)
	for n := 1; ; n++ {
		path := name
		if n > 1 {
			path += "-" + strconv.Itoa(n)
		}
		switch _, err := os.Lstat(path); {
		case errors.Is(err, fs.ErrNotExist):
			return path, nil
		case err != nil:
			return "", err
		}
	}
}

// write appends a frame.
func (f *files) write(frame []byte) error {
	f.frames = append(f.frames, f.size)
	n, err := f.file.Write(frame)
	f.size += int64(n)
	if err == nil && f.o.Total > 0 {
		err = f.prune()
	}
	return err
}

// close closes the file in order, with its index.
func (f *files) close(index *recordv1.Index) error {
	if f.file == nil {
		return nil
	}
	index.Frames = f.frames
	_, err := f.file.Write(indexFrame(index))
	return errors.Join(err, f.abandon())
}

// abandon closes the file as it is.
func (f *files) abandon() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}

var formerName = regexp.MustCompile(`^\d{8}T\d{6}Z(-\d+)?$`)

// Former returns the former files of the record at a path, the oldest first.
func Former(path string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	type former struct {
		path string
		at   time.Time
		n    int
	}
	var all []former
	for _, e := range entries {
		end, found := strings.CutPrefix(e.Name(), filepath.Base(path)+".")
		if !found || !formerName.MatchString(end) || !e.Type().IsRegular() {
			continue
		}
		day, number, _ := strings.Cut(end, "-")
		at, parseErr := time.Parse(stamp, day)
		if parseErr != nil {
			continue
		}
		n, _ := strconv.Atoi(number)
		all = append(all, former{filepath.Join(filepath.Dir(path), e.Name()), at, n})
	}
	slices.SortFunc(all, func(a, b former) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.n - b.n
	})
	paths := make([]string, len(all))
	for i, f := range all {
		paths[i] = f.path
	}
	return paths, nil
}

// prune deletes the oldest files while all of them are too large. The one that is written stays.
func (f *files) prune() error {
	if f.o.Total <= 0 {
		return nil
	}
	former, err := Former(f.o.Path)
	if err != nil {
		return err
	}
	sizes, all := make([]int64, len(former)), f.size
	for i, path := range former {
		if info, statErr := os.Stat(path); statErr == nil {
			sizes[i] = info.Size()
			all += info.Size()
		}
	}
	for i := 0; i < len(former) && all > f.o.Total; i++ {
		if err = os.Remove(former[i]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		all -= sizes[i]
	}
	return nil
}
