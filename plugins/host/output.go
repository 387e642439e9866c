package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/hashicorp/go-hclog"
)

// maxLine bounds a line of what a plugin prints; a longer one is cut into
// several.
const maxLine = 64 << 10

// printer logs what a plugin prints, line by line. Nothing that is printed can
// change how the log looks on a terminal, or make a line of it that seems to be
// somebody else's.
type printer struct {
	log         hclog.Logger
	panicking   bool
	mu          sync.Mutex
	begun       []byte // of a line
	first, last string // lines, for an error
}

func newPrinter(log hclog.Logger) *printer { return &printer{log: log} }

// drain logs all that can be read.
func (p *printer) drain(from io.Reader) {
	// The end of a pipe is no error, and neither is that it was closed.
	_, _ = io.Copy(p, from)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(p.begun)
	p.begun = nil
}

// Write takes a piece of what is printed.
func (p *printer) Write(piece []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun = append(p.begun, piece...)
	for {
		end := bytes.IndexByte(p.begun, '\n')
		if end < 0 && len(p.begun) < maxLine {
			break
		}
		if end < 0 || end > maxLine {
			end = maxLine
			p.line(p.begun[:end])
			p.begun = p.begun[end:]
			continue
		}
		p.line(p.begun[:end])
		p.begun = p.begun[end+1:]
	}
	p.begun = append([]byte(nil), p.begun...)
	return len(piece), nil
}

// words are what was printed first and last, short enough for an error.
func (p *printer) words() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.last == "":
		return ""
	case p.first == p.last:
		return fmt.Sprintf("%.200q", p.first)
	}
	return fmt.Sprintf("%.200q … %.200q", p.first, p.last)
}

// line logs one line: as it was logged in the plugin with hclog, or else as what
// it seems to be.
func (p *printer) line(line []byte) {
	var fields map[string]any
	if json.Unmarshal(line, &fields) == nil && p.entry(fields) {
		return
	}
	text := clean(string(line))
	if text == "" {
		return
	}
	if p.first == "" {
		p.first = text
	}
	p.last = text
	level, text := severity(text)
	p.panicking = p.panicking || strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: ")
	if p.panicking {
		level = hclog.Error
	}
	p.log.Log(level, text)
}

// entry logs what was logged as JSON, if it was.
func (p *printer) entry(fields map[string]any) bool {
	message, isText := fields["@message"].(string)
	name, _ := fields["@level"].(string)
	level := hclog.LevelFromString(name)
	if !isText || level == hclog.NoLevel || level == hclog.Off {
		return false
	}
	var args []any
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if key == "@message" || key == "@level" || key == "@timestamp" {
			continue
		}
		value, isText := fields[key].(string)
		if !isText {
			value = fmt.Sprint(fields[key])
		}
		args = append(args, clean(key), clean(value))
	}
	p.log.Log(level, clean(message), args...)
	return true
}

// severity is the level that a line begins with, and the rest of it.
func severity(line string) (hclog.Level, string) {
	for prefix, level := range map[string]hclog.Level{
		"[TRACE]": hclog.Trace, "[DEBUG]": hclog.Debug, "[INFO]": hclog.Info, "[WARN]": hclog.Warn, "[ERROR]": hclog.Error, "[ERR]": hclog.Error,
	} {
		if rest, has := strings.CutPrefix(line, prefix); has {
			return level, strings.TrimSpace(rest)
		}
	}
	return hclog.Info, line
}

// clean is text of one line without what would do something to a terminal.
func clean(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r == '\n':
			return ' '
		case r == '\r':
			return -1
		case unicode.IsPrint(r):
			return r
		}
		return unicode.ReplacementChar
	}, text))
}
