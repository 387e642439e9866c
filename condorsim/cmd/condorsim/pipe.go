package main

import (
	"io/fs"
	"os"
	"sync"
)

// pipe is a named pipe that can be opened again, like a file, since it keeps what was read.
type pipe struct {
	file *os.File
	mu   sync.Mutex
	text []byte // read so far
}

// pipes are the opened pipes, by name.
var pipes sync.Map //nolint:gochecknoglobals // a process has but one standard input

// standardInput is the name that stands for standard input.
const standardInput = "-"

// shown returns the name of a file as people know it.
func shown(name string) string {
	if name == standardInput {
		return "standard input"
	}
	return name
}

// openPipe opens a pipe, or standard input for "-", from its beginning; nil if the name is
// neither's.
func openPipe(name string) (fs.File, error) {
	if p, known := pipes.Load(name); known {
		return &pipeReader{pipe: p.(*pipe)}, nil //nolint:forcetypeassert // nothing else is stored
	}
	if name == standardInput {
		return keep(name, os.Stdin), nil
	}
	if info, err := os.Stat(name); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return nil, nil // opening it as a file gives the error
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return keep(name, file), nil
}

// keep makes a pipe of a file and remembers it.
func keep(name string, file *os.File) *pipeReader {
	p := &pipe{file: file}
	pipes.Store(name, p)
	return &pipeReader{pipe: p}
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
