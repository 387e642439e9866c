package settle

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// longest is the most bytes of a line. A job on ten thousand cores whose places are listed one by one has
// some hundred thousand.
const longest = 16 << 20

// Line is a line of a file, without its end.
type Line struct {
	Number int // from 1
	Text   string
}

// Lines reads the lines of a text, which is decompressed already. The last one may be an error, of type
// *[workload.Error], which says where the file named so cannot be read.
func Lines(text io.Reader, name string) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		scanner := bufio.NewScanner(text)
		scanner.Buffer(make([]byte, 0, 64<<10), longest)
		line := Line{}
		for scanner.Scan() {
			line.Number++
			line.Text = scanner.Text()
			if !yield(line, nil) {
				return
			}
		}
		if err := scanner.Err(); err != nil {
			yield(line, unreadable(name, line.Number+1, err))
		}
	}
}

// unreadable is the error that a file cannot be read on from a line.
func unreadable(name string, line int, err error) *workload.Error {
	fault := &workload.Error{File: name, Line: line, Err: err, Problem: err.Error()}
	if errors.Is(err, bufio.ErrTooLong) {
		fault.Problem = fmt.Sprintf("the line has more than %d MiB", longest>>20)
		fault.Hint = "this is no log of jobs"
	}
	return fault
}

// Fault is the error of a field of a line: what it is called there, its text, what is wrong with it, and
// what to do.
func Fault(name string, line int, field, text, problem, hint string) *workload.Error {
	const room = 60
	if len(text) > room {
		text = strings.ToValidUTF8(text[:room], "") + "…"
	}
	return &workload.Error{
		File: name, Line: line, Text: text, Problem: fmt.Sprintf("%s: %q %s", field, text, problem), Hint: hint,
	}
}
