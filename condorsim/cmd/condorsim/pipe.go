package main

import (
	"io/fs"
	"os"
	"sync"
)

// pipe is a pipe as a file that can be opened again: what was read of it is kept.
type pipe struct {
	file *os.File
	mu   sync.Mutex
	text []byte // read so far
}

// pipes are those that were opened, by name.
var pipes sync.Map //nolint:gochecknoglobals // a process has but one standard input

// openPipe opens a pipe from its beginning; nil if it is none.
func openPipe(name string) (fs.File, error) {
	if p, known := pipes.Load(name); known {
		return &pipeReader{pipe: p.(*pipe)}, nil //nolint:forcetypeassert // nothing else is stored
	}
	if info, err := os.Stat(name); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return nil, nil //nolint:nilnil,nilerr // who opens it next knows to complain
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	p := &pipe{file: file}
	pipes.Store(name, p)
	return &pipeReader{pipe: p}, nil
}

// pipeReader is one reading of a pipe.
type pipeReader struct {
	*pipe
	at int
}

// Read reads what was read before, and then on.
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

// Stat says what is known of the pipe.
func (r *pipeReader) Stat() (fs.FileInfo, error) { return r.file.Stat() }

// Close ends the reading: the pipe stays open for another one.
func (*pipeReader) Close() error { return nil }
