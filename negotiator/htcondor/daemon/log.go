package daemon

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// logTime is how lines of the log begin, as those of HTCondor's daemons do.
const logTime = "01/02/06 15:04:05"

// NewLogger logs lines that begin as HTCondor's do: 11/22/26 14:05:00 [INFO] …
func NewLogger(level hclog.Level, out io.Writer) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Level: level, Output: out, TimeFormat: logTime})
}

// Level is what is logged by the flags of NEGOTIATOR_DEBUG.
func Level(flags []string) hclog.Level {
	level := hclog.Info
	for _, flag := range flags {
		name, verbosity, _ := strings.Cut(strings.ToUpper(strings.TrimPrefix(flag, "-")), ":")
		switch {
		case strings.HasPrefix(flag, "-"):
		case name == "D_ALL" || verbosity == "2":
			return hclog.Trace
		case name == "D_FULLDEBUG":
			level = hclog.Debug
		}
	}
	return level
}

// LogFile is a log that begins a new file when it has grown enough. The old one gets
// the ending .old, or its time if several are kept. It may be used by several
// goroutines.
type LogFile struct {
	mu   sync.Mutex
	path string
	file *os.File
	size int64
	max  int64
	keep int
}

// OpenLog opens a log at its end, or begins one. A size of 0 lets it grow for
// ever.
func OpenLog(path string, size int64, keep int) (*LogFile, error) {
	l := &LogFile{path: path, max: size, keep: keep}
	return l, l.open()
}

func (l *LogFile) open() error {
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("open the log: %w", err), file.Close())
	}
	if l.file != nil {
		_ = l.file.Close() // each line is written as it comes: there is nothing left to fail
	}
	l.file, l.size = file, info.Size()
	return nil
}

// Reopen takes up another path, size and number, and the file anew: somebody else may
// have moved it. If that fails the log goes on in the file that is open.
func (l *LogFile) Reopen(path string, size int64, keep int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.path
	l.path, l.max, l.keep = path, size, keep
	err := l.open()
	if err != nil {
		l.path = before
	}
	return err
}

// Write appends a line. It never fails: there is nowhere to complain, and a full
// disk must not end the daemon.
func (l *LogFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.max > 0 && l.size > 0 && l.size+int64(len(p)) > l.max {
		l.rotate()
	}
	n, _ := l.file.Write(p)
	l.size += int64(n)
	return len(p), nil
}

// rotate begins a new file.
func (l *LogFile) rotate() {
	old := l.path + ".old"
	if l.keep > 1 {
		old = l.path + "." + time.Now().Format("20060102T150405")
	}
	if os.Rename(l.path, old) != nil || l.open() != nil {
		l.size = 0 // it goes on in the one that is open; not to be tried with every line
		return
	}
	if l.keep <= 1 {
		return
	}
	kept, _ := filepath.Glob(l.path + ".2*")
	slices.Sort(kept)
	for _, path := range kept[:max(0, len(kept)-l.keep)] {
		_ = os.Remove(path) // one that stays is tried again next time
	}
}

// Close ends the log.
func (l *LogFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.file.Close(); !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}
