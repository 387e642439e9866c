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
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// logTime is the format of the time at the beginning of each line, as in HTCondor's logs.
const logTime = "01/02/06 15:04:05"

// NewLogger makes a logger whose lines begin like those of HTCondor: 11/22/26 14:05:00 [INFO] … It has
// a budget for each kind of line; [Tell] it to say at the end what was left out.
func NewLogger(level hclog.Level, out io.Writer) hclog.Logger {
	return withBudget(hclog.New(&hclog.LoggerOptions{Level: level, Output: out, TimeFormat: logTime}), time.Now)
}

// Banner returns the lines with which a daemon's log begins for condor_who, which reads logs backwards
// and takes the process ID from between the first and the third, and the address from the last.
func Banner(pid int, address string) []string {
	return []string{
		"** negotiator (CONDOR_NEGOTIATOR) STARTING UP",
		fmt.Sprintf("** PID = %d", pid),
		"** Log last touched time unavailable",
		"DaemonCore: command socket at " + address,
	}
}

// Level returns the log level for the flags of NEGOTIATOR_DEBUG: Trace for D_ALL or a flag with
// verbosity 2, Debug for D_FULLDEBUG, else Info.
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

// Matches tells whether the flags of NEGOTIATOR_DEBUG ask for lines about matches.
func Matches(flags []string) (asked bool) {
	for _, flag := range flags {
		name, _, _ := strings.Cut(strings.ToUpper(strings.TrimPrefix(flag, "-")), ":")
		if name == "D_MATCH" || name == "D_ALL" {
			asked = !strings.HasPrefix(flag, "-")
		}
	}
	return asked
}

// Rotation says when a log begins a new file, and what becomes of old ones.
type Rotation struct {
	// Size is the size that no file exceeds, in bytes; 0: none.
	Size int64
	// Every is the length of the periods of which each has a file of its own. They are counted from
	// 1970 on, as HTCondor does: days begin at midnight UTC. 0: none.
	Every time.Duration
	// Keep is how many old files are kept. One has the ending .old; of several, each has the time.
	Keep int
}

// LogFile is a log that begins a new file when its [Rotation] says so. It may be used concurrently.
type LogFile struct {
	mu   sync.Mutex
	now  func() time.Time
	path string
	file *os.File
	size int64
	last time.Time // when the file was last written to
	Rotation
}

// OpenLog opens a log at its end, or creates it. Afresh says to drop what is in it.
func OpenLog(path string, r Rotation, afresh bool) (*LogFile, error) {
	l := &LogFile{now: time.Now, path: path, Rotation: r}
	err := l.open()
	if err == nil && afresh {
		if err = l.file.Truncate(0); err != nil {
			return l, errors.Join(fmt.Errorf("empty the log: %w", err), l.file.Close())
		}
		l.size = 0
	}
	return l, err
}

func (l *LogFile) open() error {
	// Without a wait for somebody to read a pipe.
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("open the log: %w", err), file.Close())
	}
	if l.file != nil {
		_ = l.file.Close() // nothing is buffered, so nothing is lost
	}
	l.file, l.size, l.last = file, info.Size(), info.ModTime()
	return nil
}

// Reopen changes the path and the rotation, and opens the file again, since somebody else may have
// moved it. If that fails, the log goes on in the file that is open.
func (l *LogFile) Reopen(path string, r Rotation) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.path
	l.path, l.Rotation = path, r
	err := l.open()
	if err != nil {
		l.path = before
	}
	return err
}

// Write appends a line. It never returns an error: a full disk must not end the daemon.
func (l *LogFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if l.size > 0 && (l.Size > 0 && l.size+int64(len(p)) > l.Size || l.period(now) > l.period(l.last)) {
		l.rotate(now)
	}
	n, _ := l.file.Write(p)
	l.size += int64(n)
	l.last = now
	return len(p), nil
}

// period numbers the period in which an instant is; 0 if there are none.
func (l *LogFile) period(at time.Time) int64 {
	if every := int64(l.Every / time.Second); every > 0 {
		return at.Unix() / every
	}
	return 0
}

// Note appends a line with the time, and nothing else before it.
func (l *LogFile) Note(line string) {
	line = backfill.Printable(line, maxValue)
	_, _ = fmt.Fprintf(l, "%s %s\n", time.Now().Format(logTime), line) // it never fails
}

// rotate begins a new file. Of a period, the time in the old one's name is the beginning.
func (l *LogFile) rotate(now time.Time) {
	old := l.path + ".old"
	if l.Keep > 1 {
		if l.Every > 0 {
			now = time.Unix(l.period(l.last)*int64(l.Every/time.Second), 0)
		}
		old = l.path + "." + now.Format("20060102T150405")
	}
	if os.Rename(l.path, old) != nil || l.open() != nil {
		l.size = 0 // go on in the open file, and do not try again at every line
		return
	}
	if l.Keep <= 1 {
		return
	}
	kept, _ := filepath.Glob(l.path + ".2*")
	slices.Sort(kept)
	for _, path := range kept[:max(0, len(kept)-l.Keep)] {
		_ = os.Remove(path) // a file that cannot be removed is tried again next time
	}
}

// Close closes the log.
func (l *LogFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.file.Close(); !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}
