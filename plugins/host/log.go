package host

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// The limits on what a plugin's output adds to the log.
const (
	maxLine  = 64 << 10 // bytes of a line that are read; the rest is dropped
	maxShown = 4 << 10  // letters shown of each text of a line
	maxWords = 200      // letters of a line that are quoted in an error
	maxLog   = 1 << 20  // bytes shown per second, approximately
)

// printer turns a plugin's output into lines of the host's log: JSON as hclog writes it becomes an
// entry with its level, keys and values; everything else is logged as text. go-plugin would do the
// same, but panics on a JSON line with unexpected types.
type printer struct {
	log     hclog.Logger
	printed io.Writer // the log; it recognizes a level at the start of a line

	mu                 sync.Mutex
	begun              []byte // the start of an incomplete line
	crashing           bool   // the next lines are the trace of a crash
	first, last, worst string // lines for the error about its end
	now                func() time.Time
	second             int64 // of the last output
	shown              int   // bytes shown in that second
	leftOut, told      int   // lines in all, and of these those that were told of
	floods             int   // seconds in which lines were left out
}

func newPrinter(log hclog.Logger) *printer {
	return &printer{
		log: log, now: time.Now,
		printed: log.StandardWriter(&hclog.StandardLoggerOptions{InferLevels: true}),
	}
}

// Write accepts output in pieces of any size.
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

// drain copies everything that can be read, and also shows an unfinished last line.
func (p *printer) drain(from io.Reader) {
	// Neither the end nor the closing of a pipe is an error.
	_, _ = io.Copy(p, from)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(p.begun)
	p.begun = nil
	p.tellLeftOut()
}

// words returns the lines that best explain why the plugin ended: those of a crash or an error,
// else the first and the last.
func (p *printer) words() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.worst != "":
		return backfill.Printable(p.worst, maxWords)
	case p.first == p.last:
		return backfill.Printable(p.first, maxWords)
	}
	return backfill.Printable(p.first, maxWords) + " … " + backfill.Printable(p.last, maxWords)
}

// crash returns the line in which the plugin reported its crash, or "".
func (p *printer) crash() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.crashing {
		return ""
	}
	return backfill.Printable(p.worst, maxWords)
}

// tooMuch counts a line against the limit per second, which keeps endless output from filling a
// disk, and reports whether the line must be dropped.
func (p *printer) tooMuch(line []byte) bool {
	if second := p.now().Unix(); second != p.second {
		p.second, p.shown = second, 0
		p.flooded()
	}
	p.shown += lineCost
	if isEntry(line) {
		p.shown += len(line) // it may have many texts
	} else {
		p.shown += min(len(line), maxShown)
	}
	if p.shown <= maxLog {
		return false
	}
	p.leftOut++
	return true
}

// flooded ends a second. Where lines were left out it tells so the first time, the tenth, the hundredth
// and so on, as a flood of warnings would be no better.
func (p *printer) flooded() {
	if p.leftOut == p.told {
		return
	}
	p.floods++
	n := p.floods
	for n%10 == 0 {
		n /= 10
	}
	if n == 1 {
		p.tellLeftOut()
	}
}

// tellLeftOut tells how many lines were left out so far, unless it has told already.
func (p *printer) tellLeftOut() {
	if p.leftOut > p.told {
		p.log.Warn("the policy plugin writes too much to its log: of each second the rest is left out", "lines",
			p.leftOut)
	}
	p.told = p.leftOut
}

// line logs one line.
func (p *printer) line(line []byte) {
	leftOut := p.tooMuch(line)
	if leftOut && isEntry(line) { // to parse it costs more than to write it
		return
	}
	if entry, ok := parseEntry(line); ok {
		p.entry(entry)
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

// isEntry reports whether a line may be an entry as hclog writes it.
func isEntry(line []byte) bool { return len(line) > 0 && line[0] == '{' }

// parseEntry parses a line as hclog writes it.
func parseEntry(line []byte) (map[string]any, bool) {
	if !isEntry(line) {
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

// entry logs an entry of the plugin's log with the host's time. An error is kept for the
// explanation of the plugin's end.
func (p *printer) entry(entry map[string]any) {
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

// harmless returns the text limited in length and without characters that would move a terminal's
// cursor or start another line.
func harmless(text string) string { return backfill.Printable(text, maxShown) }

// harmlessValue returns a value of an entry with its texts made harmless. The lines of a text, such
// as a trace, stay separate, because the log indents them.
func harmlessValue(value any) any {
	switch v := value.(type) {
	case string:
		return backfill.PrintableLines(v, maxShown)
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

// libraryLog is the logger that go-plugin gets. It logs nothing above the debug level: its messages
// are for debugging this package, and [Remote] reports once what happened to a plugin.
type libraryLog struct{ hclog.Logger }

func (l libraryLog) Info(message string, args ...any)  { l.Debug(message, args...) }
func (l libraryLog) Warn(message string, args ...any)  { l.Debug(message, args...) }
func (l libraryLog) Error(message string, args ...any) { l.Debug(message, args...) }
func (l libraryLog) Named(string) hclog.Logger         { return l }

// GetLevel returns Off, which keeps go-plugin from reading the plugin's lines.
func (libraryLog) GetLevel() hclog.Level { return hclog.Off }
