package formats

import (
	"errors"
	"io/fs"
	"os"
	"sync"
)

// Files opens files by their names, which may also be "-", for standard input, named pipes, and
// traces that are built in. What is no file can be opened again, too: its text is kept.
type Files struct {
	Stdin *os.File
	// BuiltIn has the traces that are built in, and TracePath says where there the trace of a name is.
	BuiltIn   fs.FS
	TracePath func(name string) string

	mu    sync.Mutex
	pipes map[string]*pipe // by name
}

// standardInput is the name that stands for standard input.
const standardInput = "-"

// Shown returns the name of a file as people know it.
func Shown(name string) string {
	if name == standardInput {
		return "standard input"
	}
	return name
}

// Open opens a file or pipe; if there is none of that name, a trace that is built in. Errors are
// those of [os.Open].
func (f *Files) Open(name string) (fs.File, error) {
	if pipe, err := f.pipe(name); err != nil || pipe != nil {
		return pipe, err
	}
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		if part, builtInErr := f.BuiltIn.Open(f.TracePath(name)); builtInErr == nil {
			return part, nil
		}
	}
	return file, err
}

// pipe opens a pipe, or standard input for "-", from its beginning; nil if the name is neither's.
func (f *Files) pipe(name string) (fs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p, known := f.pipes[name]; known {
		return &pipeReader{pipe: p}, nil
	}
	file := f.Stdin
	if name != standardInput {
		info, err := os.Stat(name)
		if err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
			return nil, nil // opening it as a file gives the error
		}
		if file, err = os.Open(name); err != nil {
			return nil, err
		}
	}
	p := &pipe{file: file}
	if f.pipes == nil {
		f.pipes = map[string]*pipe{}
	}
	f.pipes[name] = p
	return &pipeReader{pipe: p}, nil
}

// pipe is a pipe that can be opened again, like a file, since it keeps what was read.
type pipe struct {
	file *os.File
	mu   sync.Mutex
	text []byte // read so far
}

// pipeReader reads a pipe from its beginning.
type pipeReader struct {
	*pipe
	at int
}

// Read reads what was kept, then the pipe itself.
func (r *pipeReader) Read(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at < len(r.text) {
		n := copy(b, r.text[r.at:])
		r.at += n
		return n, nil
	}
	n, err := r.file.Read(b)
	r.text = append(r.text, b[:n]...)
	r.at += n
	return n, err
}

// Stat describes the pipe.
func (r *pipeReader) Stat() (fs.FileInfo, error) { return r.file.Stat() }

// Close does nothing: the pipe stays open for other readers.
func (*pipeReader) Close() error { return nil }
