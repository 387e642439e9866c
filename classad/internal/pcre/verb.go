package pcre

import "strings"

// alphaNames maps the assertions written as words to their symbols.
var alphaNames = map[string]string{
	"pla": "=", "positive_lookahead": "=", "nla": "!", "negative_lookahead": "!",
	"plb": "<=", "positive_lookbehind": "<=", "nlb": "<!", "negative_lookbehind": "<!",
	"napla": "*", "non_atomic_positive_lookahead": "*", "naplb": "<*", "non_atomic_positive_lookbehind": "<*",
	"atomic": ">",
}

// starred reads the rest of a group that began with (* and reports whether a quantifier may follow
// it.
func (p *parser) starred(start int) (n *node, repeatable bool) {
	p.at++
	if !p.more() || p.sees(')') {
		return p.fail(start+1, msgNothingToApply), false
	}
	from := p.at
	for p.more() && isWord(p.src[p.at]) {
		p.at++
	}
	name := p.src[from:p.at]
	if name == "" || name[0]-'a' >= 26 {
		return p.verb(start, name)
	}
	symbol, ok := alphaNames[name]
	switch {
	case !p.sees(':') || !ok && !strings.HasSuffix(name, "sr") && !strings.HasSuffix(name, "script_run"):
		return p.fail(p.at, msgBadAlpha), false
	case !ok:
		return p.fail(start, "script runs are not supported"), false
	case symbol == ">":
		p.at++
		return p.finish(start, &node{kind: kindAtomic}), true
	}
	n = &node{kind: kindLook, at: start}
	n.behind = symbol[0] == '<'
	n.negative, n.loose = strings.HasSuffix(symbol, "!"), strings.HasSuffix(symbol, "*")
	p.at++
	n.subs = p.body(false)
	n.end = p.at
	return n, true
}

// verb reads the rest of a backtracking verb after its name and reports whether a quantifier may
// follow it. Names of marks are ignored, because nothing here refers to them.
func (p *parser) verb(start int, name string) (n *node, repeatable bool) {
	argument := p.sees(':') && p.peek(1) != ')'
	if !p.sees(':') && !p.sees(')') || !p.skipPast(')') {
		return p.fail(p.at, msgBadVerb), false
	}
	switch name {
	case "F", "FAIL":
		return &node{kind: kindFail, at: start}, false
	case "ACCEPT":
		return &node{kind: kindAccept, at: start}, true
	case "", "MARK":
		if !argument {
			return p.fail(p.at, "(*MARK) must have an argument"), false
		}
		return &node{kind: kindEmpty}, false
	case "COMMIT", "PRUNE", "SKIP", "THEN":
		return p.fail(start, "the verb "+name+" is not supported"), false
	}
	return p.fail(start, msgBadVerb), false
}

// settings reads the settings at the start of the pattern. Those that only switch off optimisations
// are ignored.
func (p *parser) settings() {
	for p.has("(*") {
		length := strings.IndexByte(p.src[p.at:], ')')
		if length < 0 {
			return
		}
		name, _, _ := strings.Cut(p.src[p.at+2:p.at+length], "=")
		switch name {
		case "LF", "NO_AUTO_POSSESS", "NO_DOTSTAR_ANCHOR", "NO_JIT", "NO_START_OPT":
		case "BSR_ANYCRLF":
			p.crlf = true
		case "BSR_UNICODE":
			p.crlf = false
		case "ANY", "ANYCRLF", "CR", "CRLF", "NUL", "UTF", "UCP", "NOTEMPTY", "NOTEMPTY_ATSTART",
			"LIMIT_DEPTH", "LIMIT_HEAP", "LIMIT_MATCH", "LIMIT_RECURSION":
			p.fail(p.at, "the setting "+name+" is not supported")
			return
		default:
			return
		}
		p.at += length + 1
	}
}
