package fleet

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// The kinds of events that matter here, as HTCondor numbers them.
const (
	submits      = 0
	executes     = 1
	evicted      = 4
	terminated   = 5
	shadowFailed = 7
	aborted      = 9
	held         = 12
	released     = 13
	disconnected = 22
	lostTouch    = 24
	clusterGone  = 36
	paused       = 37
	resumed      = 38
)

// event is one of an event log.
type event struct {
	kind, cluster, proc int
	reason              string // what the lines below it say, in one
	code                int    // why a job is held
	normal              bool   // of an end: by the program itself
	value               int    // the exit code, or the signal
	seconds, megabytes  int64  // what it took; 0: unknown
}

var (
	eventHead = regexp.MustCompile(`^(\d{3}) \((-?\d+)\.(-?\d+)\.-?\d+\) \S+ \S+ ?(.*)$`)
	ended     = regexp.MustCompile(`^\((\d)\) (?:Abn|N)ormal termination \((?:return value|signal) (-?\d+)\)`)
	codeLine  = regexp.MustCompile(`^Code (\d+) Subcode -?\d+$`)
	usage     = regexp.MustCompile(`^(TimeExecute \(s\)|Memory \(MB\)) +: +(\d+)`)
)

// tail reads an event log as it grows.
type tail struct {
	path   string
	offset int64
}

// next returns the events that were written whole since it was last asked. No log yet means none.
func (t *tail) next() (all []event, err error) {
	file, err := os.Open(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the event log of the jobs: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.NewSectionReader(file, t.offset, 1<<62))
	if err != nil {
		return nil, fmt.Errorf("read the event log of the jobs: %w", err)
	}
	for {
		end := bytes.Index(text, []byte("\n...\n"))
		if end < 0 {
			return all, nil
		}
		if e, known := parseEvent(string(text[:end])); known {
			all = append(all, e)
		}
		text = text[end+len("\n...\n"):]
		t.offset += int64(end + len("\n...\n"))
	}
}

// parseEvent reads an event; it reports false for what is none.
func parseEvent(text string) (e event, known bool) {
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	var says []string
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if parts := eventHead.FindStringSubmatch(line); parts != nil {
			e, says = event{}, nil
			for i, to := range []*int{&e.kind, &e.cluster, &e.proc} {
				*to, _ = strconv.Atoi(parts[i+1]) // digits
			}
			known = true
			continue
		}
		if parts := ended.FindStringSubmatch(line); parts != nil {
			e.normal = parts[1] == "1"
			e.value, _ = strconv.Atoi(parts[2])
		} else if parts := codeLine.FindStringSubmatch(line); parts != nil {
			e.code, _ = strconv.Atoi(parts[1])
		} else if parts := usage.FindStringSubmatch(line); parts != nil {
			n, _ := strconv.ParseInt(parts[2], 10, 64)
			if parts[1] == "Memory (MB)" {
				e.megabytes = n
			} else {
				e.seconds = n
			}
		} else if isReason(line) {
			says = append(says, line)
		}
	}
	e.reason = strings.Join(says, "; ")
	return e, known
}

// isReason reports whether a line of an event is words for people, and no row of a table.
func isReason(line string) bool {
	if line == "" || strings.HasPrefix(line, "(") {
		return false
	}
	for _, table := range []string{
		"Usr ", "Cpus ", "Disk ", "GPUs ", "Memory ", "TimeExecute", "TimeSlotBusy", "Partitionable Resources",
		"PauseCode ", "HoldCode ", "SlotName:", "CondorScratchDir", "Cpus =", "Job terminated ",
	} {
		if strings.HasPrefix(line, table) {
			return false
		}
	}
	return !strings.Contains(line, "  -  ")
}

// byUser reports whether a user did it, and not HTCondor.
func (e event) byUser() bool { return e.kind == held && e.code == 1 }

// end says how a job ended; "": as it should.
func (e event) end() string {
	switch {
	case e.kind != terminated:
		return e.reason
	case !e.normal:
		return fmt.Sprintf("it was killed by signal %d", e.value)
	case e.value != 0:
		return fmt.Sprintf("exit code %d", e.value)
	}
	return ""
}
