package pbs

import (
	"math"
	"strconv"
	"strings"
)

// maxNumber bounds numbers, so that sums and products cannot overflow.
const maxNumber = int64(1e12)

// attributes cuts the last part of a record into its attributes, which have the form name=value with blanks
// between them. A value with blanks is in single or double quotes; a backslash before a character has that
// one count as it is. What has no = goes on the value before it, as Torque does not quote.
func attributes(text string) map[string]string {
	all := map[string]string{}
	last := ""
	for text = strings.TrimLeft(text, " \t"); text != ""; text = strings.TrimLeft(text, " \t") {
		var word string
		word, text = cutWord(text)
		name, value, named := strings.Cut(word, "=")
		switch {
		case named && name != "":
			last = name
			all[name] = unquoted(value)
		case last != "":
			all[last] = strings.TrimLeft(all[last]+" "+unquoted(word), " ")
		}
	}
	return all
}

// cutWord cuts off the first word, which ends at a blank outside of quotes. Quotes count only where a value
// begins, and if they are closed: a name such as O'Brien has one, too.
func cutWord(text string) (word, rest string) {
	begin := strings.IndexAny(text, "= \t")
	if begin >= 0 && text[begin] == '=' && begin+1 < len(text) {
		if quote := text[begin+1]; quote == '"' || quote == '\'' {
			if end := closing(text, begin+2, quote); end > 0 && (end == len(text) || text[end] == ' ' || text[end] == '\t') {
				return text[:end], text[end:]
			}
		}
	}
	if end := strings.IndexAny(text, " \t"); end >= 0 {
		return text[:end], text[end:]
	}
	return text, ""
}

// closing returns where a text goes on behind the closing quote; 0 if there is none.
func closing(text string, at int, quote byte) int {
	for ; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case quote:
			return at + 1
		}
	}
	return 0
}

// unquoted returns a value without its quotes.
func unquoted(value string) string {
	if len(value) < 2 || value[0] != value[len(value)-1] || value[0] != '"' && value[0] != '\'' {
		return value
	}
	value = value[1 : len(value)-1]
	if !strings.Contains(value, `\`) {
		return value
	}
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] == '\\' && i+1 < len(value) {
			i++
		}
		b.WriteByte(value[i])
	}
	return b.String()
}

// whole reads a whole number from 0 to [maxNumber].
func whole(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n >= 0 && n <= maxNumber
}

// units are the units of sizes in bytes. A word, by whose size w counts, has eight.
var units = map[string]int64{"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}

const wordBytes = 8

// size reads a size such as 4gb, 2097152kb, 100mw or 1024b, and returns it in KiB, rounded up. Without a
// unit it is in bytes.
func size(text string) (kib int64, ok bool) {
	text = strings.ToLower(text)
	end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(text)
	}
	n, ok := whole(text[:end])
	unit := text[end:]
	bytes := int64(1)
	if rest, words := strings.CutSuffix(unit, "w"); words {
		unit, bytes = rest, wordBytes
	} else {
		unit = strings.TrimSuffix(unit, "b")
	}
	factor, known := units[unit]
	if !ok || !known {
		return 0, false
	}
	factor *= bytes
	if n > (math.MaxInt64-1023)/factor {
		return 0, false
	}
	if kib = (n*factor + 1023) / 1024; kib > maxNumber {
		return 0, false
	}
	return kib, true
}

// duration reads a time such as 01:30:00, 30:00, 1:00:00:00 (days first) or 5400, in seconds. Parts of a
// second count as one.
func duration(text string) (seconds int64, ok bool) {
	text, fraction, fractional := strings.Cut(text, ".")
	if fractional && strings.Trim(fraction, "0123456789") != "" {
		return 0, false
	}
	parts := strings.Split(text, ":")
	const most = 4
	if len(parts) > most {
		return 0, false
	}
	for i, part := range parts {
		n, fine := whole(part)
		if !fine {
			return 0, false
		}
		factor := int64(60)
		if len(parts) == most && i == 1 {
			factor = 24
		}
		if seconds = seconds*factor + n; seconds > maxNumber {
			return 0, false
		}
	}
	if strings.Trim(fraction, "0") != "" {
		seconds++
	}
	return seconds, true
}
