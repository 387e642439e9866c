package pcre

import (
	"math"
	"strings"
)

// Flags change the meaning of a pattern. They are the options that ClassAd functions take as
// letters.
type Flags uint8

// The flags. A pattern can change them for a part of itself, as in (?i).
const (
	Caseless  Flags = 1 << iota // i: ignore the case of ASCII letters
	Multiline                   // m: ^ and $ match at lines, too
	DotAll                      // s: a dot matches newlines, too
	Extended                    // x: white space and comments from # to the end of the line are ignored
)

// Mode restricts what [Regexp.Match] may find.
type Mode uint8

// The modes.
const (
	Anywhere     Mode = iota
	NotEmpty          // no match of length 0
	HereNotEmpty      // nor one that begins after the start of the search
)

// Compile compiles a pattern. The error is an [*Error].
func Compile(pattern string, flags Flags) (*Regexp, error) {
	if len(pattern) > MaxPattern {
		return nil, &Error{Offset: MaxPattern, Message: "pattern string is longer than the limit"}
	}
	p := &parser{src: pattern, opts: options(flags), numbers: map[string]int{}, names: map[int]string{}}
	root := p.pattern()
	if p.err != nil {
		return nil, p.err
	}
	if err := check(p, root); err != nil {
		return nil, err
	}
	return compile(root, p.groups), nil
}

// Groups returns the number of capturing groups, not counting the match as a whole.
func (re *Regexp) Groups() int { return re.groups }

// Match searches for the first match that begins at offset from or later, and reports whether there
// is one; lookbehinds and ^ see what is before it. It fills caps with pairs of offsets, of the
// match and of groups 1, 2 and so on, as far as there is room; offsets of a group that is not set
// are -1. With \K in a group that a lookahead calls, the match may end before it begins.
//
// mode restricts what counts as a match. budget is reduced by the steps used, about one per
// instruction. If the budget or the memory of the match is exhausted, the error is [ErrBudget]; the
// other possible error is [ErrRecursion]. After an error, caps is undefined.
func (re *Regexp) Match(s string, from int, mode Mode, caps []int, budget *int) (bool, error) {
	st := &re.start
	switch {
	case from < 0 || from > len(s) || len(s)-from < st.least || st.kind == startAtBegin && from > 0:
		return false, nil
	case len(s) >= math.MaxInt32 || *budget <= 0:
		return false, ErrBudget
	}
	at := from
	switch st.kind {
	case startAtBegin:
		if !strings.HasPrefix(s, st.prefix) {
			*budget--
			return false, nil
		}
	case startAtPrefix:
		if mode == HereNotEmpty {
			break
		}
		next := strings.Index(s[from:], st.prefix)
		if next < 0 || st.whole {
			*budget -= 1 + len(s[from:])>>5
			fill(caps, from+next, from+next+len(st.prefix))
			return next >= 0, nil
		}
		at += next
	default:
	}
	m := newMachine(re, s, from, *budget)
	m.notEmpty = mode != Anywhere
	var matched bool
	if mode == HereNotEmpty {
		matched = strings.HasPrefix(s[from:], st.prefix) && m.run(from)
	} else {
		matched = m.search(at)
	}
	*budget = max(m.steps, 0)
	err := m.err
	if m.steps < 0 && err == nil {
		err = ErrBudget
	}
	if matched = matched && err == nil; matched {
		m.captures(caps)
	}
	m.release()
	return matched, err
}

// captures copies the offsets of a match.
func (m *machine) captures(caps []int) {
	for i := range caps {
		caps[i] = -1
		if group := int32(i / 2); group == 0 || int(group) <= m.re.groups && m.isSet(group) {
			caps[i] = int(m.regs[i])
		}
	}
}

// fill sets the captures of a match without groups.
func fill(caps []int, from, to int) {
	for i := range caps {
		caps[i] = -1
	}
	if len(caps) > 0 {
		caps[0] = from
	}
	if len(caps) > 1 {
		caps[1] = to
	}
}
