// Package spreadsheet writes tables as CSV and Parquet from a list of columns ([Column]), and makes
// names safe in tables that people open as spreadsheets ([Quote]).
package spreadsheet

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// UTF8 returns a text as UTF-8, which tables are in. Another one, such as a name in an old job ad, is taken
// for Latin-1, so that no byte is lost.
func UTF8(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	letters := make([]rune, len(text))
	for i := range len(text) {
		letters[i] = rune(text[i])
	}
	return string(letters)
}

// begins are the characters with which a formula begins, also in their full-width forms, and those
// blanks that some programs skip before it.
const begins = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"

// ends are the characters that end a cell in some country's settings, whatever the file says.
const ends = ";\t\r\n"

// Quote returns a name for a cell of a CSV file, as text that stays what it is. It puts an apostrophe
// before what could begin a formula, so that no spreadsheet runs it (OWASP, CSV injection), and before
// a name that a program which guesses takes for the number of another name: 7.10 for 7.1, 007 for 7.
func Quote(name string) string {
	if v, err := strconv.ParseFloat(name, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		if strconv.FormatFloat(v, 'f', -1, 64) != strings.TrimSuffix(name, ".0") {
			return "'" + name
		}
		return name
	}
	if !strings.ContainsAny(name, begins) {
		return name
	}
	var quoted strings.Builder
	from, first := 0, true
	for i, c := range name {
		if first && strings.ContainsRune(begins, c) {
			quoted.WriteString(name[from:i] + "'")
			from = i
		}
		first = strings.ContainsRune(ends, c)
	}
	return quoted.String() + name[from:]
}

// Unquote returns the name that [Quote] wrote as this text. A name that was written as it is, and
// looks like one with apostrophes of [Quote], loses them: nothing tells the two apart.
func Unquote(text string) string {
	if !strings.Contains(text, "'") {
		return text
	}
	letters := []rune(text)
	name, first := make([]rune, 0, len(letters)), true
	for i, c := range letters {
		if first && c == '\'' && i+1 < len(letters) && strings.ContainsRune(begins, letters[i+1]) {
			continue
		}
		name = append(name, c)
		first = strings.ContainsRune(ends, c)
	}
	if back := string(name); back != text && Quote(back) == text {
		return back
	}
	if rest, some := strings.CutPrefix(text, "'"); some && Quote(rest) == text { // a number
		return rest
	}
	return text
}
