package parser

import "strings"

// xmlKind is the kind of a token of XML.
type xmlKind uint8

const (
	xmlEnd    xmlKind = iota // of the input
	xmlText                  // with its entities
	xmlOpen                  // <name …>
	xmlClose                 // </name>
	xmlEmpty                 // <name …/>
	xmlBroken                // a tag without end
)

type xmlToken struct {
	kind   xmlKind
	offset int
	raw    string // the text, or the tag with its brackets
	name   string
	attrs  string // what follows the name in a tag
}

// xmlScanner splits XML into tags and text. It skips comments and declarations, <? and <!.
type xmlScanner struct {
	src     string
	at      int
	inQuote bool // after <s>, where blanks count
}

func (s *xmlScanner) next() xmlToken {
	for {
		if !s.inQuote {
			for s.at < len(s.src) && isBlank(s.src[s.at]) {
				s.at++
			}
		}
		s.inQuote = false
		rest := s.src[s.at:]
		switch {
		case rest == "":
			return xmlToken{offset: s.at}
		case rest[0] != '<':
			end := strings.IndexByte(rest, '<')
			if end < 0 {
				end = len(rest)
			}
			s.at += end
			return xmlToken{kind: xmlText, offset: s.at - end, raw: rest[:end]}
		}
		end, ok := tagEnd(rest)
		if !ok {
			s.at = len(s.src)
			if strings.HasPrefix(rest, "</") {
				return xmlToken{offset: s.at} // an incomplete end tag counts as none
			}
			return xmlToken{kind: xmlBroken, offset: len(s.src) - len(rest), raw: rest}
		}
		s.at += end
		if rest[1] != '!' && rest[1] != '?' {
			t := tagToken(rest[:end])
			t.offset = s.at - end
			s.inQuote = t.kind == xmlOpen && t.name == "s"
			return t
		}
	}
}

// tagEnd returns the length of the tag or comment at the start of the text; false if it has no end.
// As in HTCondor, the first > ends a tag, even in quotes.
func tagEnd(text string) (int, bool) {
	end := ">"
	if strings.HasPrefix(text, "<!--") {
		end = "-->"
	}
	i := strings.Index(text, end)
	return i + len(end), i >= 0
}

func tagToken(raw string) xmlToken {
	t := xmlToken{kind: xmlOpen, raw: raw}
	inside := trimBlank(raw[1 : len(raw)-1])
	if rest, ok := strings.CutPrefix(inside, "/"); ok {
		t.kind, inside = xmlClose, rest
	} else if rest, ok := strings.CutSuffix(inside, "/"); ok {
		t.kind, inside = xmlEmpty, rest
	}
	end := strings.IndexAny(inside, blanks)
	if end < 0 {
		end = len(inside)
	}
	t.name, t.attrs = inside[:end], inside[end:]
	return t
}

const blanks = " \t\n\v\f\r"

func trimBlank(s string) string { return strings.Trim(s, blanks) }

// attribute returns the value of an attribute with entities and escapes replaced; false if the
// attribute is missing, empty or contains a NUL. As in HTCondor, only the first attribute of a tag
// can be found; its value's first character counts as the opening quote, whatever it is, but the
// closing quote must be a double quote.
func (t xmlToken) attribute(name string) (string, bool) {
	rest := strings.TrimLeft(t.attrs, blanks)
	end := strings.IndexAny(rest, blanks+"=")
	if end < 0 || rest[:end] != name {
		return "", false
	}
	rest = strings.TrimLeft(rest[end:], blanks+"=")
	if rest == "" {
		return "", false
	}
	value, ok := unescape(unentity(untilQuote(rest[1:])))
	return value, ok && value != ""
}

// untilQuote returns the text before the first double quote that has no backslash before it; the
// whole text if there is none.
func untilQuote(text string) string {
	for i := range len(text) {
		if text[i] == '"' && (i == 0 || text[i-1] != '\\') {
			return text[:i]
		}
	}
	return text
}
