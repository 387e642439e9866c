package accountlog

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// What a line of the log does.
const (
	opNew    = 101
	opEnd    = 102
	opSet    = 103
	opDelete = 104
	opBegin  = 105
	opCommit = 106
	opHead   = 107
)

// operands are how many words follow, besides the value that [opSet] has.
var operands = map[int]int{opNew: 2, opEnd: 1, opSet: 2, opDelete: 2, opHead: 3}

// Log is what a log says, all changes applied.
type Log struct {
	// Sequence is how often the log was written anew, and Created the Unix time when it began.
	Sequence, Created int64
	// Ignored says what at the end of the file does not count because it was not written to its end;
	// "" if all counts.
	Ignored string

	ads map[string]ad
}

// ad is a record of the log, by the names of attributes in small letters.
type ad map[string]attribute

type attribute struct {
	name  string // as it is written
	value classad.Value
}

// change is a line of the log.
type change struct {
	op        int
	key, name string
	value     classad.Value
}

// SyntaxError says that a line is not one of an accountant's log.
type SyntaxError struct {
	File string
	Line int
	Err  error
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }
func (e *SyntaxError) Unwrap() error { return e.Err }

// Read reads a log from the text of a file, which errors name. As for HTCondor, a last line without
// an end does not count, nor does a last transaction without an end. Any other line that cannot be
// read is a [*SyntaxError]; HTCondor would give up at some of them, and lose all that follows
// others.
func Read(text []byte, file string) (*Log, error) {
	l := &Log{Sequence: 1, ads: map[string]ad{}}
	var open []change // the transaction under way
	begun := 0        // its first line; 0: none is under way
	line := 0
	for len(text) > 0 {
		line++
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			l.Ignored = fmt.Sprintf("line %d, which has no end", line)
			break
		}
		c, err := parse(strings.TrimSuffix(string(text[:end]), "\r"))
		if err != nil {
			return nil, &SyntaxError{file, line, err}
		}
		text = text[end+1:]
		switch {
		case c.op == opBegin && begun == 0:
			begun = line
		case c.op == opBegin: // HTCondor goes on with the first one
		case c.op == opCommit:
			for _, made := range open {
				l.apply(made)
			}
			open, begun = nil, 0
		case c.op == opHead:
			l.Sequence, l.Created = number(c.key), number(c.name)
		case begun > 0:
			open = append(open, c)
		default:
			l.apply(c)
		}
	}
	if begun > 0 {
		l.Ignored = fmt.Sprintf("the transaction from line %d on, which has no end", begun)
	}
	return l, nil
}

// number returns a number that was parsed before.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// shown is up to how many letters of a line are shown.
const shown = 60

// parse reads a line.
func parse(line string) (change, error) {
	first, rest := word(line)
	op, err := strconv.Atoi(first)
	if err != nil || op < opNew || op > opHead {
		return change{}, fmt.Errorf("%q is no line of an accountant's log: it must begin with a number from %d to %d",
			backfill.Printable(line, shown), opNew, opHead)
	}
	words := make([]string, operands[op])
	for i := range words {
		if words[i], rest = word(rest); words[i] == "" {
			return change{}, fmt.Errorf("%q is cut off: %d words must follow %d", backfill.Printable(line, shown),
				len(words), op)
		}
	}
	c := change{op: op}
	switch op {
	case opHead:
		c.key, c.name = words[0], words[2]
		_, wrongNumber := strconv.ParseInt(c.key, 10, 64)
		_, wrongTime := strconv.ParseInt(c.name, 10, 64)
		err = errors.Join(wrongNumber, wrongTime)
	case opSet:
		c.key, c.name = words[0], words[1]
		c.value, err = evaluate(rest)
	case opDelete:
		c.key, c.name = words[0], words[1]
	case opNew, opEnd:
		c.key = words[0]
	}
	if err != nil {
		return change{}, fmt.Errorf("%q: %w", backfill.Printable(line, shown), err)
	}
	return c, nil
}

// evaluate returns the value of an attribute, which refers to no others.
func evaluate(text string) (classad.Value, error) {
	if strings.Trim(text, blanks) == "" {
		return classad.Value{}, errors.New("its value is missing")
	}
	e, err := classad.ParseLineExpr(text)
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n") // the others show where in the value
		return classad.Value{}, errors.New("its value is no expression: " + first)
	}
	return e.Eval(classad.Scope{MaxSteps: classad.FewSteps}), nil
}

// word cuts the first word off.
func word(text string) (first, rest string) {
	text = strings.TrimLeft(text, blanks)
	end := strings.IndexAny(text, blanks)
	if end < 0 {
		return text, ""
	}
	return text[:end], text[end+1:]
}

// blanks are what C's isspace takes for one, but for the end of a line.
const blanks = " \t\v\f\r"

// apply makes a change. As for HTCondor, one of an ad that is not there changes nothing.
func (l *Log) apply(c change) {
	found, known := l.ads[c.key]
	switch {
	case c.op == opNew && !known:
		l.ads[c.key] = ad{}
	case c.op == opEnd:
		delete(l.ads, c.key)
	case c.op == opSet && known:
		found[strings.ToLower(c.name)] = attribute{c.name, c.value}
	case c.op == opDelete && known:
		delete(found, strings.ToLower(c.name))
	}
}

// keys returns the keys of all ads, in order.
func (l *Log) keys() []string { return slices.Sorted(maps.Keys(l.ads)) }
