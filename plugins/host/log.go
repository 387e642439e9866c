package host

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// The bounds of what one line of a plugin adds to the log.
const (
	maxLine  = 64 << 10 // bytes that are read of it; what is beyond is left out
	maxShown = 4 << 10  // letters of each of its texts that are shown
	maxWords = 200      // letters of it that become part of an error
	maxLog   = 1 << 20  // bytes that are shown in a second, about
)

// printer makes lines of the host's log of what a plugin writes: of what it logs
// as hclog does, in JSON, with its level, keys and values, and of all else as it
// stands. go-plugin would do so as well, but a line of JSON with other types in it
// than it expects makes it panic.
type printer struct {
	log     hclog.Logger
	printed io.Writer // of the log: finds the level that a line begins with

	mu                 sync.Mutex
	begun              []byte // of a line
	crashing           bool   // what comes next is the trace of a crash
	first, last, worst string // of what it wrote
	now                func() time.Time
	second             int64 // in which something was written last
	shown              int   // bytes in that second
	leftOut            int   // lines
}

func newPrinter(log hclog.Logger) *printer {
	return &printer{log: log, now: time.Now, printed: log.StandardWriter(&hclog.StandardLoggerOptions{InferLevels: true})}
}

// Write takes what comes, in pieces of any size.
func (p *printer) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for line := range bytes.Lines(data) {
		piece, ended := bytes.CutSuffix(line, []byte{'\n'})
		p.begun = append(p.begun, piece[:min(len(piece), maxLine-len(p.begun))]...)
		if ended {
			p.line(p.begun)
			p.begun = p.begun[:0]
		}
	}
	return len(data), nil
}

// drain takes all that can be read. What has no end of line is shown as well.
func (p *printer) drain(from io.Reader) {
	// The end of a pipe is no error, and neither is that it was closed.
	_, _ = io.Copy(p, from)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(p.begun)
	p.begun = nil
	p.tellLeftOut()
}

// words are those that tell best why the plugin ended: of a crash or an error, else
// the first and the last.
func (p *printer) words() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.worst != "":
		return cut(p.worst, maxWords)
	case p.first == p.last:
		return cut(p.first, maxWords)
	}
	return cut(p.first, maxWords) + " … " + cut(p.last, maxWords)
}

// crash is how the plugin said that it crashed, if it did.
func (p *printer) crash() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.crashing {
		return ""
	}
	return cut(p.worst, maxWords)
}

// tooMuch says that a line is to be left out: a plugin that writes without end must
// not fill a disk.
func (p *printer) tooMuch(line []byte) bool {
	if second := p.now().Unix(); second != p.second {
		p.second, p.shown = second, 0
		p.tellLeftOut()
	}
	if p.shown += min(len(line), maxShown); p.shown <= maxLog {
		return false
	}
	p.leftOut++
	return true
}

func (p *printer) tellLeftOut() {
	if p.leftOut > 0 {
		p.log.Warn("the policy plugin writes too much to its log", "left_out", p.leftOut)
	}
	p.leftOut = 0
}

// line shows one line.
func (p *printer) line(line []byte) {
	leftOut := p.tooMuch(line)
	if entry, ok := parseEntry(line); ok {
		p.entry(entry, leftOut)
		return
	}
	text := strings.TrimRight(harmless(string(line)), " ")
	if text == "" {
		return
	}
	p.first, p.last = cmp.Or(p.first, text), text
	if !p.crashing && (strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: ")) {
		p.crashing, p.worst = true, text
	}
	switch {
	case leftOut:
	case p.crashing:
		p.log.Error(text)
	default:
		_, _ = p.printed.Write([]byte(text)) // a log does not fail
	}
}

// parseEntry reads a line as hclog writes it.
func parseEntry(line []byte) (map[string]any, bool) {
	if len(line) == 0 || line[0] != '{' {
		return nil, false
	}
	var entry map[string]any
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	if decoder.Decode(&entry) != nil {
		return nil, false
	}
	_, ok := entry["@message"].(string)
	return entry, ok
}

// entry shows what the plugin logged. The time is the host's.
func (p *printer) entry(entry map[string]any, leftOut bool) {
	text := func(key string) string {
		s, _ := entry[key].(string)
		delete(entry, key)
		return harmless(s)
	}
	message, name, level := text("@message"), text("@module"), hclog.LevelFromString(text("@level"))
	delete(entry, "@timestamp")
	if level == hclog.NoLevel || level == hclog.Off {
		level = hclog.Info
	}
	if level == hclog.Error {
		p.worst = message
	}
	if leftOut {
		return
	}
	var args []any
	for _, key := range slices.Sorted(maps.Keys(entry)) {
		args = append(args, harmless(key), harmlessValue(entry[key]))
	}
	log := p.log
	if name != "" {
		log = log.Named(name)
	}
	log.Log(level, message, args...)
}

// harmless is a text without what would move a terminal's cursor or begin another
// line, and of bounded length.
func harmless(text string) string { return backfill.Printable(text, maxShown) }

// harmlessValue is the same for a value. The lines of a text, such as a trace,
// stay apart, as the log indents them.
func harmlessValue(value any) any {
	switch v := value.(type) {
	case string:
		lines := strings.Split(cut(v, maxShown), "\n")
		for i, line := range lines {
			lines[i] = harmless(line)
		}
		return strings.Join(lines, "\n")
	case []any:
		for i := range v {
			v[i] = harmlessValue(v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for key := range v {
			clean[harmless(key)] = harmlessValue(v[key])
		}
		return clean
	}
	return value
}

// cut is the beginning of a text, of at most so many letters.
func cut(text string, letters int) string {
	short := fmt.Sprintf("%.*s", letters, text)
	if len(short) < len(text) {
		short += "…"
	}
	return short
}

// libraryLog is what go-plugin logs with. What it has to say is for who looks for
// a mistake in here: what happened to a plugin, its [Remote] says, once.
type libraryLog struct{ hclog.Logger }

func (l libraryLog) Info(message string, args ...any)  { l.Debug(message, args...) }
func (l libraryLog) Warn(message string, args ...any)  { l.Debug(message, args...) }
func (l libraryLog) Error(message string, args ...any) { l.Debug(message, args...) }
func (l libraryLog) Named(string) hclog.Logger         { return l }

// GetLevel keeps go-plugin from reading the plugin's lines.
func (libraryLog) GetLevel() hclog.Level { return hclog.Off }
