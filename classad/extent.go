package classad

import (
	"bytes"
	"strings"
)

// extent finds the end of an ad in a text, which it takes byte by byte.
type extent interface {
	take(c byte) progress
}

// progress says how far an ad has been read.
type progress uint8

const (
	goesOn      progress = iota
	complete             // the ad ends with this byte
	notYetBegun          // the bytes so far belong to no ad
)

// balance counts brackets outside of quotes and comments.
type balance struct {
	open, close byte
	quotes      string
	depth       int
	inside      byte // the quote or comment that the text is in: " ' / *
	last        byte // the previous byte, or 0 if that ended an escape or a comment sign
}

func newBracketExtent() extent { return &balance{open: '[', close: ']', quotes: `"'`} }

// newJSONExtent ignores the brackets of arrays, so that an unbalanced one does not spoil the next
// ad.
func newJSONExtent() extent { return &balance{open: '{', close: '}', quotes: `"`} }

func (b *balance) take(c byte) progress {
	last := b.last
	b.last = c
	switch b.inside {
	case '"', '\'':
		switch {
		case last == '\\':
			b.last = 0
		case c == b.inside:
			b.inside = 0
		}
	case '/':
		if c == '\n' {
			b.inside = 0
		}
	case '*':
		if last == '*' && c == '/' {
			b.inside, b.last = 0, 0
		}
	default:
		return b.takeOutside(last, c)
	}
	return goesOn
}

func (b *balance) takeOutside(last, c byte) progress {
	switch {
	case strings.IndexByte(b.quotes, c) >= 0:
		b.inside = c
	case (c == '/' || c == '*') && last == '/':
		b.inside, b.last = c, 0
	case c == b.open:
		b.depth++
	case c == b.close:
		b.depth--
		if b.depth <= 0 {
			return complete
		}
	}
	return goesOn
}

// xmlExtent counts elements <c>. It recognizes tags and comments as the parser does.
type xmlExtent struct {
	depth  int
	inTag  bool
	length int               // of the tag
	head   [longestHead]byte // the beginning of the tag
	tail   [2]byte           // its end
	solid  byte              // the last byte in it that is not blank
}

const longestHead = len("/classads ")

func newXMLExtent() extent { return &xmlExtent{} }

func (x *xmlExtent) take(c byte) progress {
	switch {
	case !x.inTag:
		if c == '<' {
			*x = xmlExtent{depth: x.depth, inTag: true}
		}
		return goesOn
	case c != '>' || x.isComment() && x.tail != [2]byte{'-', '-'}:
		if x.length == 0 && isBlank(c) {
			return goesOn
		}
		if x.length < longestHead {
			x.head[x.length] = c
		}
		x.length++
		x.tail = [2]byte{x.tail[1], c}
		if !isBlank(c) {
			x.solid = c
		}
		return goesOn
	}
	x.inTag = false
	return x.endTag()
}

func (x *xmlExtent) beginning() []byte { return x.head[:min(x.length, longestHead)] }

func (x *xmlExtent) isComment() bool { return bytes.HasPrefix(x.beginning(), []byte("!--")) }

func (x *xmlExtent) endTag() progress {
	tag := x.beginning()
	if x.length > 0 && (tag[0] == '!' || tag[0] == '?') {
		return x.outside()
	}
	if end := bytes.IndexFunc(tag, func(r rune) bool { return r < 0x80 && isBlank(byte(r)) }); end >= 0 {
		tag = tag[:end]
	}
	empty := x.solid == '/'
	if empty {
		tag = bytes.TrimSuffix(tag, []byte("/"))
	}
	switch string(tag) {
	case "c":
		if !empty {
			x.depth++
			return goesOn
		}
		return x.ends()
	case "/c":
		x.depth--
		return x.ends()
	case "classads":
		return x.outside()
	case "/classads":
		if x.depth > 0 {
			return complete
		}
		return notYetBegun
	}
	return goesOn
}

// outside returns the progress after a tag that may stand between ads, but also within one.
func (x *xmlExtent) outside() progress {
	if x.depth > 0 {
		return goesOn
	}
	return notYetBegun
}

func (x *xmlExtent) ends() progress {
	if x.depth > 0 {
		return goesOn
	}
	return complete
}
