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
	"unicode"

	"github.com/hashicorp/go-hclog"
)

// The bounds of what one line of a plugin adds to the log.
const (
	maxLine  = 64 << 10 // bytes that are read of it
	maxShown = 4 << 10  // letters of each of its texts that are shown
	maxWords = 200      // letters of it that become part of an error
)

// output is what a plugin's process writes, as lines of the host's log: what it
// logs as hclog does, in JSON, with its level, keys and values, and all else as it
// stands. go-plugin would do so as well, but a line of JSON with other types in it
// than it expects makes it panic.
type output struct {
	log     hclog.Logger
	printed io.Writer // of the log: finds the level that a line begins with

	mu       sync.Mutex
	streams  []*stream
	crashing bool   // what comes next is the trace of a crash
	words    string // that tell best why the process ended
}

func newOutput(log hclog.Logger) *output {
	return &output{log: log, printed: log.StandardWriter(&hclog.StandardLoggerOptions{InferLevels: true})}
}

// stream is one more writer whose lines go to the log.
func (o *output) stream() io.Writer {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := &stream{output: o}
	o.streams = append(o.streams, s)
	return s
}

// end shows what has no end of line, as nothing comes any more.
func (o *output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.streams {
		o.line(s.part)
		s.part = nil
	}
}

// explain adds the plugin's last words to why there is none.
func (o *output) explain(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.words == "" {
		return err
	}
	return fmt.Errorf("%w; it said: %s", err, cut(o.words, maxWords))
}

// stream is one of the ways in which a plugin writes.
type stream struct {
	output *output
	part   []byte // of a line; what is beyond the bound is left out
}

// Write takes what comes, in pieces of any size.
func (s *stream) Write(data []byte) (int, error) {
	s.output.mu.Lock()
	defer s.output.mu.Unlock()
	for piece := range bytes.Lines(data) {
		line, ended := bytes.CutSuffix(piece, []byte{'\n'})
		s.part = append(s.part, line[:min(len(line), maxLine-len(s.part))]...)
		if ended {
			s.output.line(s.part)
			s.part = s.part[:0]
		}
	}
	return len(data), nil
}

// line shows one line.
func (o *output) line(line []byte) {
	if entry, ok := parseEntry(line); ok {
		o.entry(entry)
		return
	}
	text := strings.TrimRightFunc(harmless(string(line)), unicode.IsSpace)
	if text == "" {
		return
	}
	crashes := strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: ")
	if !o.crashing {
		o.words = text
	}
	if o.crashing = o.crashing || crashes; o.crashing {
		o.log.Error(text)
		return
	}
	_, _ = o.printed.Write([]byte(text)) // a log does not fail
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
func (o *output) entry(entry map[string]any) {
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
		o.words = cmp.Or(message, o.words)
	}
	var args []any
	for _, key := range slices.Sorted(maps.Keys(entry)) {
		args = append(args, harmless(key), harmlessValue(entry[key]))
	}
	log := o.log
	if name != "" {
		log = log.Named(name)
	}
	log.Log(level, message, args...)
}

// harmless is a text without what would move a terminal's cursor or begin another
// line, and of bounded length.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, cut(text, maxShown))
}

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
