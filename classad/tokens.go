package classad

import "bytes"

// The classes of bytes that [Tokens] tells apart; all others are signs.
const (
	signByte = iota
	wordByte
	blankByte
	quoteByte
	slashByte
)

var byteClasses = func() (classes [256]uint8) {
	for c := range classes {
		switch b := byte(c); {
		case isLetter(b), isDigit(b):
			classes[c] = wordByte
		case isBlank(b):
			classes[c] = blankByte
		case b == '"', b == '\'':
			classes[c] = quoteByte
		case b == '/':
			classes[c] = slashByte
		}
	}
	return classes
}()

// Tokens returns a number of names, constants and signs that an ad of lines has at most, without
// parsing it: it takes a nanosecond a byte. The ad's trees have no more nodes than that. A text is
// one token, whatever its length.
func Tokens[T ~[]byte](lines T) (n int) {
	for rest := []byte(lines); len(rest) > 0; {
		line := rest
		if end := bytes.IndexByte(rest, '\n'); end >= 0 {
			line, rest = rest[:end], rest[end+1:]
		} else {
			rest = nil
		}
		if at := bytes.IndexByte(line, '='); at >= 0 {
			n += 2 + exprTokens(bytes.TrimRight(line[at+1:], "\r"))
		}
	}
	return n
}

// exprTokens is [Tokens] of the right side of a line.
func exprTokens(b []byte) (n int) {
	for i := 0; i < len(b); {
		switch byteClasses[b[i]] {
		case wordByte:
			n++
			for i < len(b) && byteClasses[b[i]] == wordByte {
				i++
			}
		case blankByte:
			i++
		case quoteByte:
			n++
			if i = afterQuote(b, i); i < 0 {
				return n // an error, where the lexer stops
			}
		case slashByte:
			if end := commentEnd(b, i); end > i {
				i = end
				continue
			}
			n++
			i++
		default:
			n++
			i++
		}
	}
	return n
}

// afterQuote returns the index after the text in quotes that begins at i, as the lexer reads it in
// lines: \" is the only escape, but not at the very end; -1 if it does not end.
func afterQuote(b []byte, i int) int {
	quote := b[i]
	for i++; ; i++ {
		next := bytes.IndexByte(b[i:], quote)
		if next < 0 {
			return -1
		}
		if i += next; b[i-1] != '\\' || i+1 == len(b) {
			return i + 1
		}
	}
}

// commentEnd returns the index after the comment that begins at i; i if none does.
func commentEnd(b []byte, i int) int {
	switch rest := b[i:]; {
	case bytes.HasPrefix(rest, []byte("//")):
		return len(b)
	case bytes.HasPrefix(rest, []byte("/*")):
		if end := bytes.Index(rest[2:], []byte("*/")); end >= 0 {
			return i + 2 + end + 2
		}
		return len(b) // an error, where the lexer stops
	}
	return i
}
