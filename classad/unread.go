package classad

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// unreadLine is a line that HTCondor, and so this package, reads otherwise than it may have been meant.
type unreadLine struct {
	line      int // of the stream
	attribute string
	text      string // what the line gives the attribute
	why       misreading
}

// misreading is how a line may be misread.
type misreading int

// The ways to misread a line.
const (
	// halfRead is the beginning of a value: as in HTCondor, what follows a complete expression is ignored, and
	// an integer of more than 64 bits is 0.
	halfRead misreading = iota
	// givenAgain is a second value of what tells ads apart: no empty line parts two ads, and the earlier is lost.
	givenAgain
	// asText is an expression in JSON that became a text, as a program that does not know ads wrote it anew.
	asText

	misreadings
)

// UnreadAds counts the ads of a stream that have such lines. What follows a value and is a comment or a
// semicolon does not count.
type UnreadAds [misreadings]struct {
	ads   int
	first string // what the first of these lines is
}

// Note counts an ad of a file.
func (u *UnreadAds) Note(file string, ad *ClassAd) {
	var noted [misreadings]bool
	for _, line := range ad.unread {
		count := &u[line.why]
		if noted[line.why] {
			continue
		}
		noted[line.why] = true
		if count.ads++; count.ads > 1 {
			continue
		}
		value, _ := ad.Lookup(line.attribute)
		count.first = fmt.Sprintf("%s:%d: %s = %s", file, line.line, line.attribute, printable(line.text))
		if line.why == halfRead {
			count.first += fmt.Sprintf(" is read as %s", value)
		}
	}
}

// Warnings say of each misreading how many ads have it, and where the first is.
func (u *UnreadAds) Warnings() (all []string) {
	for why, text := range [misreadings]string{
		halfRead: "%s; in %d ads a value is followed by more, or too large: HTCondor ignores the rest, too; correct it",
		givenAgain: "%s comes again, with another value; in %d ads: no empty line parts them from the next one, whose " +
			"values count, and the earlier one is lost; put an empty line between ads",
		asText: `%s is a text, and an expression was meant; in %d ads: a program such as jq wrote the JSON anew, without ` +
			`the backslashes of "\/Expr(…)\/"; give what HTCondor printed`,
	} {
		if u[why].ads > 0 {
			all = append(all, fmt.Sprintf(text, u[why].first, u[why].ads))
		}
	}
	return all
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

// again returns the lines of an ad that give what tells ads apart another value than a line before.
func again(text string, first int) (all []unreadLine) {
	before := map[string]string{}
	for line := range strings.Lines(text) {
		name, right, _ := cutLine(line)
		right = strings.TrimSpace(right)
		switch key := strings.ToLower(name); key {
		case "clusterid", "procid", "globaljobid", "name":
			if value, twice := before[key]; twice && value != right {
				all = append(all, unreadLine{first, name, strings.Clone(right), givenAgain})
			}
			before[key] = right
		}
		first++
	}
	return all
}

// lostExpressions returns the attributes of an ad in JSON whose texts were expressions.
func lostExpressions(ad *ClassAd, text string, line int) (all []unreadLine) {
	const begin, end = "/Expr(", ")/"
	if !strings.Contains(text, `"`+begin) {
		return nil
	}
	for name := range ad.All() {
		if value, found := ad.Text(name); found && strings.HasPrefix(value, begin) && strings.HasSuffix(value, end) {
			all = append(all, unreadLine{line, name, value, asText})
		}
	}
	return all
}
