package pcre

import (
	"math"
	"strings"
)

// Flags change what a pattern means. They are the options that ClassAd functions take as letters.
type Flags uint8

// The flags. A pattern can change them for a part of itself, as in (?i).
const (
	Caseless  Flags = 1 << iota // i: the case of ASCII letters does not count
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
	HereNotEmpty      // none either, and only one that begins right where the search begins
)

// Compile reads a pattern. The error is an [*Error].
func Compile(pattern string, flags Flags) (*Regexp, error) {
	if len(pattern) > maxPattern {
		return nil, &Error{Offset: maxPattern, Message: "pattern string is longer than the limit"}
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

// Groups is the number of capturing groups, without the match as a whole.
func (re *Regexp) Groups() int { return re.groups }

// Match looks for the first match that begins at the offset from or later; lookbehinds and ^ see what is before. It sets
// caps to pairs of offsets, those of the match and of the groups 1, 2 and so on, as far as there is room; an offset is
// -1 if its group is not set. With \K in a group that a lookahead calls, the match may end before it begins.
//
// The mode restricts what counts as a match. The budget is reduced by the steps that were needed, which are about the instructions that were run. When it is used
// up, or when the match needs more memory than it may have, the error is [ErrBudget]. The other error is
// [ErrRecursion]. After an error, caps are undefined.
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
