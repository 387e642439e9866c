package classad

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/width"

	"github.com/condor-backfill/condor-backfill/classad/parser"
)

// SyntaxError describes what is wrong with a text, and where.
type SyntaxError struct {
	File         string // the name of the input; may be empty
	Line, Column int    // from 1; the column counts characters
	Message      string
	Excerpt      string // the line without its end; of a very long line the part around the place

	caret int // how many bytes of the excerpt come before the place
}

// Error returns "file:line:col: message", the line, and a caret under the place.
func (e *SyntaxError) Error() string {
	file := e.File
	if file != "" {
		file += ":"
	}
	return fmt.Sprintf("%s%d:%d: %s\n%s\n%s^", file, e.Line, e.Column, e.Message, e.Excerpt, e.indent())
}

// indent returns blanks as wide as the text left of the place: tabs stay tabs and wide characters
// take two columns.
func (e *SyntaxError) indent() string {
	var b strings.Builder
	for _, r := range e.Excerpt[:e.caret] {
		switch kind := width.LookupRune(r).Kind(); {
		case r == '\t':
			b.WriteByte('\t')
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			b.WriteString("  ")
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// neighbourhood is how many bytes of a line are shown on each side of the place.
const neighbourhood = 100

// syntaxError turns an error of the parser in the text src into a [*SyntaxError] with a line and a
// column; it only wraps other errors. In the file, src begins on the line with the number first,
// after the text skipped, which the parser has not seen.
func syntaxError(err error, file, src string, first int, skipped string) error {
	var at *parser.Error
	if !errors.As(err, &at) {
		return fmt.Errorf("%s: %w", file, err)
	}
	offset := min(at.Offset, len(src))
	before, after := skipped+src[:offset], src[offset:]
	line := first + strings.Count(before, "\n")
	before = before[strings.LastIndexByte(before, '\n')+1:]
	if end := strings.IndexAny(after, "\r\n"); end >= 0 {
		after = after[:end]
	}
	column, message := utf8.RuneCountInString(before)+1, at.Message
	if shown := publicPart(before + after); shown < len(before+after) {
		if len(before) > shown {
			message = "the value of a private attribute cannot be read, or what follows it, and is not shown"
		}
		before, after = before[:min(len(before), shown)], (before + after)[min(len(before), shown):shown]+" …"
	}
	before = strings.ToValidUTF8(before[max(0, len(before)-neighbourhood):], "")
	after = strings.ToValidUTF8(after[:min(len(after), neighbourhood)], "")
	return &SyntaxError{
		File: file, Line: line, Column: column, Message: message, Excerpt: before + after, caret: len(before),
	}
}
