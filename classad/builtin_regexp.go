package classad

import (
	"errors"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad/internal/pcre"
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
		Doc: `Gives the replacement for what the pattern finds, with \0 to \9 for its groups; with option ` +
			`g for all it ` +
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
		Name: "stringList_regexpMember", MinArgs: 2, MaxArgs: 4, Condor: true, Missing: MissingFails,
		fn:      stringListRegexpMember,
		Doc:     "Tells whether the pattern is found in an item of a string list; options may be in upper case here.",
		Example: `stringList_regexpMember("^b", "a, b")`,
	},
}

// pattern is a compiled pattern in use, with memory for its matches and a limit on the effort.
type pattern struct {
	*pcre.Regexp
	ev   *evaluator
	caps []int
}

// mostSearchSteps limits a single search. It takes about as long as the budget of a whole
// evaluation, because a search step is far cheaper than an evaluation step.
const mostSearchSteps = 10_000_000

// pattern compiles a pattern; ok is false if it is invalid. Unknown option letters are ignored. The
// call caches its last pattern, because it rarely gets another one; the steps are the same, so that
// they do not depend on what was evaluated before.
func (c call) pattern(text, options string) (p pattern, ok bool) {
	if !c.ev.spend(stepsPerPatternByte*min(len(text), pcre.MaxPattern) + len(options)/bytesPerStep) {
		return pattern{}, false
	}
	key := memoKey{text, options}
	re, ok := c.code.memo.get(key).(*pcre.Regexp)
	if !ok {
		var err error
		if re, err = pcre.Compile(text, flags(options)); err != nil {
			return pattern{}, false
		}
		c.code.memo.put(key, re)
	}
	return pattern{Regexp: re, ev: c.ev}, true
}

func flags(options string) pcre.Flags {
	var f pcre.Flags
	for i, flag := range [...]pcre.Flags{pcre.Caseless, pcre.Multiline, pcre.DotAll, pcre.Extended} {
		if strings.IndexByte(options, "imsx"[i]) >= 0 {
			f |= flag
		}
	}
	return f
}

// has reports whether the pattern matches somewhere in s. A search that exceeds its limit finds
// nothing and fails the evaluation.
func (p *pattern) has(s string) bool { return p.search(s, 0, pcre.Anywhere, nil) }

// find searches s from an offset on; lookbehinds see what is before it. It returns pairs of
// offsets, of the match and of every group, -1 for groups that took no part; nil if there is no
// match. The slice is valid until the next call.
func (p *pattern) find(s string, from int, mode pcre.Mode) []int {
	if p.caps == nil {
		p.caps = make([]int, 2*(1+p.Groups()))
	}
	if !p.ev.spend(len(p.caps)/bytesPerStep) || !p.search(s, from, mode, p.caps) {
		return nil
	}
	return p.caps
}

func (p *pattern) search(s string, from int, mode pcre.Mode, caps []int) bool {
	most := mostSearchSteps
	if left := p.ev.steps; left < mostSearchSteps/searchStepsPerStep {
		most = (left + 1) * searchStepsPerStep // exceeding this fails the evaluation
	}
	budget := most
	found, err := p.Match(s, from, mode, caps, &budget)
	p.ev.spend(stepsPerSearch + (most-budget)/searchStepsPerStep)
	return found && err == nil && !p.ev.failed
}

// texts reports whether all arguments are strings.
func (c call) texts() bool {
	for _, a := range c.args {
		if a.kind != String {
			return false
		}
	}
	return true
}

// option returns the text of an optional argument.
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
	re, ok := c.pattern(c.args[0].str(), c.option(2))
	if !ok {
		return errorValue
	}
	return boolean(re.has(c.args[1].str()))
}

// regexpMember says whether the pattern matches a string of the list. As in HTCondor, an invalid
// pattern matches nothing.
func regexpMember(c call) Value {
	if c.args[0].kind != String || len(c.args) == 3 && c.args[2].kind != String {
		return errorValue
	}
	re, ok := c.pattern(c.args[0].str(), c.option(2))
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
		if ok && re.has(v.str()) {
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

// stringListRegexpMember returns undefined for a list without items.
func stringListRegexpMember(c call) Value {
	if !c.texts() {
		return errorValue
	}
	separators := sizeSeparators
	if len(c.args) > 2 {
		separators = c.args[2].str()
	}
	s := c.args[1].str()
	options := c.option(3)
	if !c.ev.spend(len(options) / bytesPerStep) {
		return errorValue
	}
	re, ok := c.pattern(c.args[0].str(), mapBytes(options, lower))
	if !ok {
		return errorValue
	}
	result := undefined
	for item := range c.items(s, separators) {
		if re.has(item) {
			return boolean(true)
		}
		result = boolean(false)
	}
	return result
}

// substitute evaluates a call of regexps, with these option letters besides those in the call.
func (c call) substitute(options string) Value {
	if !c.texts() {
		return errorValue
	}
	options += c.option(3)
	s := substitution{
		call: c, text: c.args[1].str(), replacement: c.args[2].str(),
		full: strings.Contains(options, "f"), all: strings.Contains(options, "g"),
	}
	var ok bool
	if s.pattern, ok = c.pattern(c.args[0].str(), options); !ok {
		return errorValue
	}
	if err := s.run(); err != nil {
		return errorValue
	}
	return c.ev.built(string(s.out))
}

// substitution is a call of regexps in progress.
type substitution struct {
	call
	pattern           pattern
	text, replacement string
	full, all         bool
	out               []byte
}

var (
	errNoGroup   = errors.New("the match has no such group")
	errPastEnd   = errors.New("the search goes on behind the end")
	errExhausted = errors.New("the evaluation takes too long")
)

// run replaces the matches. After an empty match it continues as HTCondor does: with a longer match
// at the same place, else with the next byte, which is copied. An empty match at the very end is
// therefore an error.
func (s *substitution) run() error {
	at, mode := 0, pcre.Anywhere
	for more := true; more; more = s.all {
		if at > len(s.text) {
			return errPastEnd
		}
		if !s.ev.spend(1 + len(s.replacement)/bytesPerStep) {
			return errExhausted
		}
		m := s.pattern.find(s.text, at, mode)
		if m == nil && mode == pcre.Anywhere {
			break
		}
		if m == nil {
			if at < len(s.text) {
				s.out = append(s.out, s.text[at])
			}
			at, mode = at+1, pcre.Anywhere
			continue
		}
		if s.full {
			s.out = append(s.out, s.text[at:max(at, m[0])]...)
		}
		if err := s.expand(m); err != nil {
			return err
		}
		if at = m[1]; m[0] == m[1] {
			mode = pcre.HereNotEmpty
		}
	}
	if s.full {
		s.out = append(s.out, s.text[min(at, len(s.text)):]...)
	}
	return nil
}

// expand appends the replacement for a match with these offsets. A number of a group after the last
// one that took part in the match is an error.
func (s *substitution) expand(m []int) error {
	for len(m) > 0 && m[len(m)-1] < 0 {
		m = m[:len(m)-2]
	}
	for i := 0; i < len(s.replacement); i++ {
		c := s.replacement[i]
		if c != '\\' || i+1 == len(s.replacement) || !isDigit(s.replacement[i+1]) {
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
		if !s.ev.spend(max(0, m[group+1]-m[group]) / bytesPerStep) {
			return errExhausted
		}
	}
	return nil
}
