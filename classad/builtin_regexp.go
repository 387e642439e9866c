package classad

import (
	"errors"
	"regexp"
	"sort"
	"strings"
)

var regexpBuiltins = []Builtin{
	{
		Name: "regexp", MinArgs: 2, MaxArgs: 3, fn: regexpMatches,
		Doc:     "Tells whether the pattern is found in a string; options are i, m, s and x.",
		Example: `regexp("^LIN", "linux", "i")`,
	},
	{
		Name: "regexpMember", MinArgs: 2, MaxArgs: 3, fn: regexpMember,
		Doc: "Tells whether the pattern is found in a string of a list; it is undefined if none matches and one is " +
			"undefined.",
		Example: `regexpMember("^lin", { "windows", "linux" })`,
	},
	{
		Name: "regexps", MinArgs: 3, MaxArgs: 4,
		Doc: `Gives the replacement for what the pattern finds, with \0 to \9 for its groups; with option g for all it ` +
			"finds, with option f together with the text around.",
		Example: `regexps("(\\d+)-(\\d+)", "job 12-34", "\\2") is "34"`,
		fn:      func(c call) Value { return c.substitute("") },
	},
	{
		Name: "replace", MinArgs: 3, MaxArgs: 4,
		Doc:     "Replaces the first place where the pattern is found.",
		Example: `replace("a", "banana", "o") is "bonana"`,
		fn:      func(c call) Value { return c.substitute("f") },
	},
	{
		Name: "replaceAll", MinArgs: 3, MaxArgs: 4,
		Doc:     "Replaces all places where the pattern is found; one that finds nothing at the very end is error.",
		Example: `replaceAll("a", "banana", "o") is "bonono"`,
		fn:      func(c call) Value { return c.substitute("fg") },
	},
	{
		Name: "stringList_regexpMember", MinArgs: 2, MaxArgs: 4, Missing: MissingFails, fn: stringListRegexpMember,
		Doc:     "Tells whether the pattern is found in an item of a string list; options may be in upper case here.",
		Example: `stringList_regexpMember("^b", "a, b")`,
	},
}

// searchMode restricts what a matcher may find.
type searchMode uint8

const (
	anywhere searchMode = iota
	// notEmpty forbids matches of no length.
	notEmpty
	// hereNotEmpty forbids them too, and all matches that do not begin right where the search begins.
	hereNotEmpty
)

// matcher is a compiled pattern.
type matcher interface {
	// find searches s from a place on, with what is before that in view. It gives the beginning and the end of the
	// match and of every group, -1 for groups that took no part; nil means that there is no match. An error means that
	// the search was given up.
	find(s string, from int, mode searchMode) ([]int, error)
}

// pattern compiles a pattern for use on a text of some length; it is nil if the pattern is wrong. Letters that are no
// options are ignored.
func (c call) pattern(pat, options string, length int) matcher {
	if !c.ev.spend(len(pat) + length/bytesPerStep*(1+len(pat)/bytesPerStep)) {
		return nil
	}
	if strings.Contains(options, "x") {
		return nil // Go has no such option; a wrong answer would be worse than none
	}
	re, err := regexp.Compile(withOptions(pat, options))
	if err != nil {
		return nil
	}
	return &goPattern{re: re}
}

// withOptions puts the options that Go knows before the pattern; others are ignored, as unknown ones are.
func withOptions(pattern, options string) string {
	known := strings.Map(func(r rune) rune {
		if strings.ContainsRune("ims", r) {
			return r
		}
		return -1
	}, options)
	if known == "" {
		return pattern
	}
	return "(?" + known + ")" + pattern
}

// goPattern is a pattern for Go's engine.
type goPattern struct {
	re  *regexp.Regexp
	s   string // the text that was searched
	all [][]int
}

// find looks among the matches that Go finds in all of s, which are not always those from this place on.
func (p *goPattern) find(s string, from int, mode searchMode) ([]int, error) {
	if mode == anywhere && from == 0 {
		return p.re.FindStringSubmatchIndex(s), nil
	}
	if p.all == nil || p.s != s {
		p.s, p.all = s, p.re.FindAllStringSubmatchIndex(s, -1)
	}
	first := sort.Search(len(p.all), func(i int) bool { return p.all[i][0] >= from })
	for _, m := range p.all[first:] {
		if mode == hereNotEmpty && m[0] > from {
			break
		}
		if mode == anywhere || m[1] > m[0] {
			return m, nil
		}
	}
	return nil, nil
}

// texts tells whether all arguments are strings.
func (c call) texts() bool {
	for _, a := range c.args {
		if a.kind != String {
			return false
		}
	}
	return true
}

// option is the text of an argument that may be left out.
func (c call) option(i int) string {
	if i >= len(c.args) {
		return ""
	}
	return c.args[i].str()
}

func regexpMatches(c call) Value {
	if !c.texts() {
		return errorValue
	}
	s := c.args[1].str()
	re := c.pattern(c.args[0].str(), c.option(2), len(s))
	if re == nil {
		return errorValue
	}
	found, err := re.find(s, 0, anywhere)
	if err != nil {
		return errorValue
	}
	return boolean(found != nil)
}

// regexpMember takes a wrong pattern for one that matches nothing, as the reference does.
func regexpMember(c call) Value {
	if c.args[0].kind != String || len(c.args) == 3 && c.args[2].kind != String {
		return errorValue
	}
	re := c.pattern(c.args[0].str(), c.option(2), 0)
	result := boolean(false)
	isList := c.each(c.args[1], func(v Value) bool {
		switch v.kind {
		case Undefined:
			result = undefined
			return true
		case String:
		default:
			result = errorValue
			return false
		}
		if re == nil || !c.ev.spend(len(v.str())/bytesPerStep) {
			return true
		}
		if found, err := re.find(v.str(), 0, anywhere); err == nil && found != nil {
			result = boolean(true)
			return false
		}
		return true
	})
	if !isList {
		return errorValue
	}
	return result
}

// stringListRegexpMember is undefined for a list without items.
func stringListRegexpMember(c call) Value {
	if !c.texts() {
		return errorValue
	}
	separators := sizeSeparators
	if len(c.args) > 2 {
		separators = c.args[2].str()
	}
	s := c.args[1].str()
	re := c.pattern(c.args[0].str(), mapBytes(c.option(3), lower), len(s))
	if re == nil || !c.ev.spend(len(s)/bytesPerStep) {
		return errorValue
	}
	result := undefined
	for _, item := range stringListItems(s, separators) {
		if found, err := re.find(item, 0, anywhere); err == nil && found != nil {
			return boolean(true)
		}
		result = boolean(false)
	}
	return result
}

// substitute is regexps with some options added.
func (c call) substitute(options string) Value {
	if !c.texts() {
		return errorValue
	}
	options += c.option(3)
	s := substitution{
		call: c, text: c.args[1].str(), replacement: c.args[2].str(),
		full: strings.Contains(options, "f"), all: strings.Contains(options, "g"),
	}
	if s.pattern = c.pattern(c.args[0].str(), options, len(s.text)); s.pattern == nil {
		return errorValue
	}
	if err := s.run(); err != nil {
		return errorValue
	}
	return c.ev.built(string(s.out))
}

// substitution is a call of regexps under way.
type substitution struct {
	call
	pattern           matcher
	text, replacement string
	full, all         bool
	out               []byte
}

var (
	errNoGroup   = errors.New("the match has no such group")
	errPastEnd   = errors.New("the search goes on behind the end")
	errExhausted = errors.New("the evaluation takes too long")
)

// run goes on after an empty match as the reference does: with a longer one at the same place, else with the next byte,
// which is copied. An empty match at the very end is a failure, because that goes on too.
func (s *substitution) run() error {
	at, mode := 0, anywhere
	for more := true; more; more = s.all {
		if at > len(s.text) {
			return errPastEnd
		}
		if !s.ev.spend(1 + len(s.replacement)/bytesPerStep) {
			return errExhausted
		}
		m, err := s.pattern.find(s.text, at, mode)
		if err != nil {
			return err
		}
		if m == nil && mode == anywhere {
			break
		}
		if m == nil {
			if at < len(s.text) {
				s.out = append(s.out, s.text[at])
			}
			at, mode = at+1, anywhere
			continue
		}
		if s.full {
			s.out = append(s.out, s.text[at:max(at, m[0])]...)
		}
		if err := s.expand(m); err != nil {
			return err
		}
		if at = m[1]; m[0] == m[1] {
			mode = hereNotEmpty
		}
	}
	if s.full {
		s.out = append(s.out, s.text[min(at, len(s.text)):]...)
	}
	return nil
}

// expand adds the replacement. A group behind the last one that took part in the match does not exist.
func (s *substitution) expand(m []int) error {
	for len(m) > 0 && m[len(m)-1] < 0 {
		m = m[:len(m)-2]
	}
	for i := 0; i < len(s.replacement); i++ {
		c := s.replacement[i]
		if c != '\\' || i+1 == len(s.replacement) || !isDigit(int(s.replacement[i+1])) {
			s.out = append(s.out, c)
			continue
		}
		i++
		group := 2 * int(s.replacement[i]-'0')
		if group >= len(m) {
			return errNoGroup
		}
		if m[group] >= 0 && m[group] <= m[group+1] {
			s.out = append(s.out, s.text[m[group]:m[group+1]]...)
		}
		if !s.ev.spend((m[group+1] - m[group]) / bytesPerStep) {
			return errExhausted
		}
	}
	return nil
}
