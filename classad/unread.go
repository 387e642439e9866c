package classad

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// unreadLine is a line of which a part was not read: as in HTCondor, what follows a complete expression is
// ignored, and an integer of more than 64 bits is 0.
type unreadLine struct {
	line      int // of the stream
	attribute string
	text      string // what the line gives the attribute
}

// UnreadAds counts the ads of a stream that have lines of which a part was not read, other than a comment or a
// semicolon.
type UnreadAds struct {
	Ads   int
	first string
}

// Note counts an ad of a file.
func (u *UnreadAds) Note(file string, ad *ClassAd) {
	if len(ad.unread) == 0 {
		return
	}
	if u.Ads++; u.Ads > 1 {
		return
	}
	first := ad.unread[0]
	value, _ := ad.Lookup(first.attribute)
	u.first = fmt.Sprintf("%s:%d: %s = %s is read as %s", file, first.line, first.attribute, printable(first.text), value)
}

// printable returns the beginning of a text without what a terminal would obey.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text[:min(len(text), neighbourhood)], ""))
}

// Warning says how many ads have such lines, and what became of the first; "" if none has.
func (u *UnreadAds) Warning() string {
	if u.Ads == 0 {
		return ""
	}
	return fmt.Sprintf("%s; in %d ads a value is followed by more, or too large: HTCondor ignores the rest, too; correct it",
		u.first, u.Ads)
}

// partly notes that a part of a value's text was not read, if that is so and matters.
func (p *Parser) partly(text string, end int) {
	rest := strings.TrimLeft(text[end:], blanks+";")
	switch {
	case rest != "" && rest[0] != '#':
		p.cut = true
	case len(text) > mostDigits: // else it is no integer that is too large
		_, err := strconv.ParseInt(strings.TrimRight(text, blanks), 0, 64)
		p.cut = err != nil && strings.Trim(text, "-0123456789"+blanks) == ""
	}
}
