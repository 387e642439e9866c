package daemon

import (
	"fmt"
	"io"
	"log"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// What the log has room for. Lines of one kind have the same level and the same text before their
// keys and values, but for its digits. A kind may have burst lines of 250 bytes at once, and then
// perSecond; what only debugging asks for has ten times as much. So a stranger who has a line written
// for each of his connections fills about 20 MB a day, and leaves out no line of another kind.
const (
	burst     = 1000
	perSecond = 1
	forDebug  = 10
	usualLine = 250              // bytes
	tellEvery = 10 * time.Second // how often it is told what was left out
	maxKind   = 80               // letters that tell kinds apart
	maxSaid   = 1000             // letters of a message
	maxValue  = 2000             // letters of a value

	// All further kinds are one. A part of the program that has a name of its own, such as the command
	// port, has few; a plugin could have any number.
	mostKinds, mostOfPart = 500, 10
)

// budget bounds how many lines of each kind a log gets. It may be used concurrently.
type budget struct {
	now func() time.Time

	mu    sync.Mutex
	parts map[string]map[lineKind]*spending // by the name of the part
	due   time.Time                         // when it is told next what was left out; zero: nothing was
	since time.Time                         // when it was told last, or the first line was left out
}

func newBudget(now func() time.Time) *budget {
	return &budget{now: now, parts: map[string]map[lineKind]*spending{}}
}

type lineKind struct {
	level hclog.Level
	text  string
}

// spending is how many lines a kind has left at an instant, and how many were left out since that was
// told.
type spending struct {
	left    float64
	at      time.Time
	leftOut int
}

// omission says that lines of a kind were left out.
type omission struct {
	part string
	lineKind
	lines int
	over  time.Duration
}

// digitless drops the digits of a message: numbers do not tell kinds apart.
func digitless(message string) string {
	text := backfill.Printable(message, 4*maxKind)
	return backfill.Printable(strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, text), maxKind)
}

// spend charges a kind with a line, and returns the kind's account; nil if the log has no room for the
// line. It also returns what was left out, if that is to be told now.
func (b *budget) spend(part string, level hclog.Level, message string) (from *spending, omitted []omission) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if !b.due.IsZero() && !now.Before(b.due) {
		omitted = b.collect(now)
	}
	k := lineKind{level, digitless(message)}
	kinds := b.parts[part]
	if kinds == nil {
		kinds = map[lineKind]*spending{}
		b.parts[part] = kinds
	}
	most := mostKinds
	if part != "" {
		most = mostOfPart
	}
	if kinds[k] == nil && len(kinds) >= most {
		k.text = ""
	}
	s := kinds[k]
	more := 1.0
	if level <= hclog.Debug {
		more = forDebug
	}
	if s == nil {
		s = &spending{left: burst * more, at: now}
		kinds[k] = s
	}
	s.left = min(burst*more, s.left+max(0, now.Sub(s.at).Seconds())*perSecond*more)
	if s.at = now; s.left >= 1 {
		s.left--
		return s, omitted
	}
	if s.leftOut++; b.due.IsZero() {
		b.since, b.due = now, now.Add(tellEvery)
	}
	return nil, omitted
}

// settle charges a kind with the rest of what a line of this many bytes takes.
func (b *budget) settle(s *spending, size int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.left -= max(0, float64(size)/usualLine-1)
}

// flush returns what was left out and has not been told.
func (b *budget) flush() []omission {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.collect(b.now())
}

func (b *budget) collect(now time.Time) (all []omission) {
	for _, part := range slices.Sorted(maps.Keys(b.parts)) {
		var some []omission
		for k, s := range b.parts[part] {
			if s.leftOut > 0 {
				some = append(some, omission{part, k, s.leftOut, now.Sub(b.since)})
				s.leftOut = 0
			}
		}
		slices.SortFunc(some, func(a, b omission) int { return strings.Compare(a.text, b.text) })
		all = append(all, some...)
	}
	b.due = time.Time{}
	return all
}

// Notes bounds the lines about matches as the log's are bounded: as many as the log has for debugging.
// Those about matches that were made are all kept, as there are no more than slots.
type Notes struct{ budget *budget }

// NewNotes returns notes with the whole budget.
func NewNotes(now func() time.Time) Notes { return Notes{newBudget(now)} }

// Admit returns what is to be written for a line: the line, if there is room for it, behind what was
// left out before, if that is to be told now.
func (n Notes) Admit(line string) (lines []string) {
	kind, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	if kind == "Matched" {
		return []string{line}
	}
	account, omitted := n.budget.spend("", hclog.Debug, kind)
	for _, o := range omitted {
		lines = append(lines, fmt.Sprintf("      and %d more lines like it (%s) in %v", o.lines, o.text, o.over.Round(time.Second)))
	}
	if account == nil {
		return lines
	}
	n.budget.settle(account, len(line))
	return append(lines, line)
}

// frugal is a logger with a budget. Each line is bounded in length, too, and has nothing in it that
// moves a terminal's cursor or looks like another line. Text of strangers may be in any of them.
type frugal struct {
	hclog.Logger
	root   hclog.Logger // without names and values
	budget *budget
	part   string // the first of its names: a plugin chooses the others
	size   int    // bytes of the values that each line has
}

// withBudget returns a logger that writes no more than the budget allows.
func withBudget(l hclog.Logger, now func() time.Time) frugal {
	return frugal{Logger: l, root: l, budget: newBudget(now)}
}

// Tell tells a logger of NewLogger to write how many lines were left out, if that is still to be
// told. Call it before the log is closed.
func Tell(l hclog.Logger) {
	if f, ok := l.(frugal); ok {
		f.tell(f.budget.flush())
	}
}

func (f frugal) tell(all []omission) {
	for _, o := range all {
		log := f.root
		if o.part != "" {
			log = log.Named(o.part)
		}
		text := o.text
		if text == "" {
			text = "other lines"
		}
		log.Log(o.level, "more lines like one above were left out", "lines", o.lines,
			"in", o.over.Round(time.Second), "like", text)
	}
}

// Log implements hclog.Logger.
func (f frugal) Log(level hclog.Level, message string, args ...any) {
	if level < f.GetLevel() {
		return
	}
	account, omitted := f.budget.spend(f.part, level, message)
	f.tell(omitted)
	if account == nil {
		return
	}
	message, args = backfill.Printable(message, maxSaid), harmless(args)
	f.budget.settle(account, len(message)+sizeOf(args)+f.size)
	f.Logger.Log(level, message, args...)
}

// Trace implements hclog.Logger.
func (f frugal) Trace(message string, args ...any) { f.Log(hclog.Trace, message, args...) }

// Debug implements hclog.Logger.
func (f frugal) Debug(message string, args ...any) { f.Log(hclog.Debug, message, args...) }

// Info implements hclog.Logger.
func (f frugal) Info(message string, args ...any) { f.Log(hclog.Info, message, args...) }

// Warn implements hclog.Logger.
func (f frugal) Warn(message string, args ...any) { f.Log(hclog.Warn, message, args...) }

// Error implements hclog.Logger.
func (f frugal) Error(message string, args ...any) { f.Log(hclog.Error, message, args...) }

// With implements hclog.Logger.
func (f frugal) With(args ...any) hclog.Logger {
	args = harmless(args)
	f.size += sizeOf(args)
	f.Logger = f.Logger.With(args...)
	return f
}

// Named implements hclog.Logger.
func (f frugal) Named(name string) hclog.Logger {
	name = backfill.Printable(name, maxKind)
	if f.part == "" {
		f.part = name
	}
	f.Logger = f.Logger.Named(name)
	return f
}

// ResetNamed implements hclog.Logger.
func (f frugal) ResetNamed(name string) hclog.Logger {
	f.part = backfill.Printable(name, maxKind)
	f.Logger = f.Logger.ResetNamed(f.part)
	return f
}

// StandardLogger implements hclog.Logger.
func (f frugal) StandardLogger(o *hclog.StandardLoggerOptions) *log.Logger {
	return log.New(f.StandardWriter(o), "", 0)
}

// StandardWriter implements hclog.Logger.
func (f frugal) StandardWriter(o *hclog.StandardLoggerOptions) io.Writer {
	if o == nil {
		o = &hclog.StandardLoggerOptions{}
	}
	return lineWriter{f, *o}
}

// lineWriter logs what is written to it.
type lineWriter struct {
	log     frugal
	options hclog.StandardLoggerOptions
}

// Write logs one line.
func (w lineWriter) Write(p []byte) (int, error) {
	level, text := hclog.Info, strings.TrimRight(string(p), " \t\n")
	if w.options.InferLevels || w.options.ForceLevel != hclog.NoLevel {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(text, "["), "] "); ok && text[0] == '[' {
			if l := hclog.LevelFromString(name); l != hclog.NoLevel && l != hclog.Off {
				level, text = l, strings.TrimSpace(rest)
			}
		}
	}
	if w.options.ForceLevel != hclog.NoLevel {
		level = w.options.ForceLevel
	}
	w.log.Log(level, text)
	return len(p), nil
}

// sizeOf returns how many bytes keys and values take, about.
func sizeOf(args []any) (size int) {
	for _, v := range args {
		if text, ok := v.(string); ok {
			size += len(text)
		}
	}
	return size
}

// harmless returns keys and values with texts that are bounded and can be printed.
func harmless(args []any) []any {
	safe := make([]any, len(args))
	for i, v := range args {
		if safe[i] = harmlessValue(v); i%2 == 0 && i < len(args)-1 {
			safe[i] = backfill.Printable(fmt.Sprint(v), maxKind)
		}
	}
	return safe
}

func harmlessValue(v any) any {
	switch v := v.(type) {
	case nil, bool, hclog.Hex, hclog.Octal, hclog.Binary, time.Duration:
		return v
	case string:
		return backfill.PrintableLines(v, maxValue)
	case hclog.CapturedStacktrace:
		return hclog.CapturedStacktrace(backfill.PrintableLines(string(v), maxValue))
	case error, fmt.Stringer:
		return backfill.PrintableLines(fmt.Sprint(v), maxValue)
	}
	switch reflect.TypeOf(v).Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8,
		reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return v
	default:
		return backfill.PrintableLines(fmt.Sprint(v), maxValue)
	}
}
