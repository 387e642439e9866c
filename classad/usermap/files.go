package usermap

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
)

// reader reads a map.
type reader struct {
	m        *Map
	left     int // bytes that may still be read
	files    int
	patterns int
	sum      hash.Hash
}

func newReader(o Options) *reader {
	r := &reader{m: &Map{methods: map[string][]table{}}, left: mostText, sum: sha256.New()}
	_, _ = fmt.Fprintln(r.sum, o.Prefix)
	return r
}

// note adds a text to the sum, by which two maps are told apart.
func (r *reader) note(from source, text string) {
	_, _ = fmt.Fprintf(r.sum, "%q %t %d\n%s", from.name, from.prefix, len(text), text)
}

// done returns the map that was read.
func (r *reader) done() *Map {
	r.sum.Sum(r.m.sum[:0])
	return r.m
}

// Read reads a map file. The error says that it cannot be read, or exceeds a bound.
func Read(path string, o Options) (*Map, error) {
	r := newReader(o)
	text, err := r.text(path)
	if err != nil {
		return nil, err
	}
	err = r.read(source{name: path, folder: filepath.Dir(path), includes: true, prefix: o.Prefix}, text)
	if err != nil {
		return nil, err
	}
	return r.done(), nil
}

// text returns the text of a file. It does not wait for somebody who writes to a pipe.
func (r *reader) text(path string) (string, error) {
	if r.files++; r.files > mostFiles {
		return "", fmt.Errorf("%s: more than %d files, which %w", path, mostFiles, errTooMuch)
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // only read
	info, err := file.Stat()
	switch {
	case err != nil:
		return "", err
	case info.Mode()&(os.ModeNamedPipe|os.ModeSocket|os.ModeDir) != 0:
		return "", fmt.Errorf("%s is no file: name a file", path)
	}
	text, err := io.ReadAll(io.LimitReader(file, int64(r.left)+1))
	return string(text), err // a text that is too long is refused later
}

// include reads the file, or the folder, that a line names. The error says that the map exceeds a
// bound; a file that cannot be read is left out.
func (r *reader) include(from source, l *scanner) error {
	path := l.field(false)
	var why string
	switch {
	case !from.includes:
		why = "a file that is included cannot include others: name them in the map file itself"
	case path.text == "":
		why = "a file or folder must be named"
	case from.folder == "" && !filepath.IsAbs(path.text):
		why = "here a path must begin with /, as there is no file whose folder it could begin at"
	}
	if why != "" {
		r.warn(l, path.at, why+"; the line is left out")
		return nil
	}
	full := path.text
	if !filepath.IsAbs(full) {
		full = filepath.Join(from.folder, full)
	}
	paths, err := filesAt(full)
	if err != nil {
		r.warn(l, path.at, "the line is left out: "+err.Error())
	}
	for _, p := range paths {
		text, err := r.text(p)
		if err == nil {
			err = r.read(source{name: p, folder: filepath.Dir(p)}, text)
		} else if !errors.Is(err, errTooMuch) {
			r.warn(l, path.at, "it is left out: "+err.Error())
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leftOut are the files of a folder that count for nothing, by HTCondor's default of
// LOCAL_CONFIG_DIR_EXCLUDE_REGEXP.
var leftOut = regexp.MustCompile(`^(\..*|.*~|#.*|.*\.rpmsave|.*\.rpmnew)$`)

// filesAt returns a path, or the paths of a folder's files in the order of their names.
func filesAt(path string) (paths []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if !e.IsDir() && !leftOut.MatchString(e.Name()) {
			paths = append(paths, filepath.Join(path, e.Name()))
		}
	}
	return paths, err
}
