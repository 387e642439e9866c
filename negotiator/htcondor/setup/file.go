package setup

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// Mode is what the central manager is set up for.
type Mode string

// The modes: HTCondor's own negotiator alone, ours beside it, and ours in its place. Same is whichever of
// them is set up: what works by it is started anew, after an update.
const (
	Stock   Mode = "stock"
	Observe Mode = "observe"
	Live    Mode = "live"
	Same    Mode = "same"
)

// fileName is the name of the one file that is written. HTCondor reads the files of a folder in the
// order of their names, and the last one that sets a knob counts.
const fileName = "zz-backfill.conf"

// The file begins with who wrote it, and what the rest must hash to if nobody has edited it since.
const (
	written = "# Written by negotiator setup --%s%s, and removed by negotiator setup --back. Settings of your own belong\n" +
		"# into another file of this folder, such as 60-backfill.conf: setup touches no file that was edited.\n" +
		"# checksum: %s\n"
	checksum = "# checksum: "
	// along is in the first line if the accounting moved along, so that it also moves back.
	along = " --move-accounting"
)

var (
	byMode = regexp.MustCompile(`^# Written by negotiator setup --(observe|live)( --move-accounting)?,`)
	// assigned matches a line of the template that sets a knob, in force or not.
	assigned = regexp.MustCompile(`^#?([A-Za-z_][A-Za-z_.]*) = `)
)

// knobs returns the knobs that the file sets for a mode.
func (s *Setup) knobs(m Mode) []string {
	if m == Live {
		set := []string{"NEGOTIATOR", "NEGOTIATOR_ARGS"}
		if s.executes {
			set = append(set, "START")
		}
		return set
	}
	set := []string{
		"DAEMON_LIST", observer, observer + "_ARGS", "backfill_observer.NEGOTIATOR_LOG",
		"backfill_observer.NEGOTIATOR_MATCH_LOG", "backfill_observer.NEGOTIATOR_ADDRESS_FILE",
	}
	if !s.ownDaemons {
		set = append(set, "DC_DAEMON_LIST")
	}
	return set
}

// observer is condor_master's name for the daemon that observes.
const observer = "BACKFILL_OBSERVER"

// content returns the file for a mode; "" for [Stock], which needs none. It is the template with only
// those lines in force that the mode needs: other settings stay where the administrator has them. It says
// whether the accounting moved along.
func (s *Setup) content(m Mode, moved bool) string {
	if m == Stock {
		return ""
	}
	set := s.knobs(m)
	lines := strings.Split(s.Template, "\n")
	for i, line := range lines {
		found := assigned.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		line = strings.TrimPrefix(line, "#")
		switch name := found[1]; {
		case !slices.Contains(set, name):
			line = "#" + line
		case name == "NEGOTIATOR", name == observer:
			line = name + " = " + s.Program
		}
		lines[i] = line
	}
	body := strings.Join(lines, "\n")
	option := ""
	if moved {
		option = along
	}
	return fmt.Sprintf(written, m, option, hash(body)) + body
}

func hash(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// current is what the file is now: its text, the mode that it sets up, and whether the accounting moved along.
type current struct {
	text  string
	mode  Mode
	moved bool
}

// read returns the file; none is [Stock]. An error is bad input: the file is not as setup wrote it.
func read(path string) (current, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return current{mode: Stock}, nil
	}
	if err != nil {
		return current{}, err
	}
	head, rest, _ := strings.Cut(string(text), checksum)
	sum, body, _ := strings.Cut(rest, "\n")
	mode := byMode.FindStringSubmatch(head)
	if mode == nil || sum != hash(body) {
		return current{}, fmt.Errorf("%s is not as negotiator setup wrote it: move what was added to another file of "+
			"that folder, such as 60-backfill.conf, delete %[1]s, and run this again", path)
	}
	return current{string(text), Mode(mode[1]), mode[2] != ""}, nil
}

// write replaces the file, whole or not at all; without content it removes it.
func write(path, content string) (err error) {
	if content == "" {
		if err = os.Remove(path); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	// HTCondor reads no file whose name begins with a dot.
	file, err := os.CreateTemp(filepath.Dir(path), "."+fileName+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // it is gone if all went well
	_, err = file.WriteString(content)
	if err = errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// lock keeps others from setting up the same folder until unlock is called. Others who may only read the
// folder cannot hold the lock.
func lock(folder string) (unlock func(), err error) {
	path := filepath.Join(folder, "."+fileName+".lock") // HTCondor reads no such file
	for {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = fmt.Errorf("another negotiator setup is at work in %s: wait until it has ended, and run this again", folder)
		}
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		mine, wrong := file.Stat()
		there, gone := os.Stat(path)
		if wrong == nil && gone == nil && os.SameFile(mine, there) {
			return func() { _, _ = os.Remove(path), file.Close() }, nil
		}
		_ = file.Close() // whoever had it has removed it
	}
}
