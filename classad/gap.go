package classad

import "strings"

// gap is what stands between ads: blanks, comments and separators. Comments are /* */, and from // or
// # to the end of the line.
type gap struct {
	separators string
	inside     comment
}

// comment says in which part of a comment a text is.
type comment uint8

const (
	noComment  comment = iota
	untilLine          // ends with the line
	slash              // the / of /*
	untilStar          // what follows
	endingStar         // a * in it, which may be that of */
)

// open reports whether the gap is in a comment that the end of the text does not end.
func (g *gap) open() bool { return g.inside > untilLine }

// takes reports whether the next byte, the first of the head, belongs to the gap. The head has two bytes
// unless the text ends.
func (g *gap) takes(head []byte) bool {
	c := head[0]
	switch g.inside {
	case untilLine:
		if c == '\n' {
			g.inside = noComment
		}
		return true
	case slash:
		g.inside = untilStar
		return true
	case untilStar, endingStar:
		switch {
		case c == '/' && g.inside == endingStar:
			g.inside = noComment
		case c == '*':
			g.inside = endingStar
		default:
			g.inside = untilStar
		}
		return true
	case noComment:
	}
	switch next := string(head[:min(2, len(head))]); {
	case c == '#' || next == "//":
		g.inside = untilLine
	case next == "/*":
		g.inside = slash
	default:
		return isBlank(c) || strings.IndexByte(g.separators, c) >= 0
	}
	return true
}
