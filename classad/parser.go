package classad

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/classad/parser"
)

// Parser parses many ads and stores only once what they have in common: names, expressions and
// texts. It is much faster than [Parse] and [ParseOld], and the ads need a fraction of the memory.
// The zero Parser is ready to use; its memory is bounded. It is not safe for concurrent use; the
// ads that it returns are independent of each other.
type Parser struct {
	// Strict reads as the ClassAd library alone does, which reads integers with a leading 0 as
	// decimal; HTCondor refuses them. It must not change once the parser is in use.
	Strict bool

	start  *path               // root of the paths of all ads
	syntax [2]map[string]Value // known values by their texts, in brackets and in lines
	values []Value             // of the ad that is being read
	own    int                 // approximate bytes of those values that are not in syntax
	kept   int                 // approximate bytes of everything that is kept
	parsed int                 // see Parsed
	cut    bool                // a part of the value that was read last was not read
}

// Parsed returns how many names, constants and signs the parser has read so far, in all expressions of
// lines that it did not know: what its work takes grows with that.
func (p *Parser) Parsed() int { return p.parsed }

const (
	// mostKept is how many bytes a parser keeps before it forgets everything and starts anew.
	mostKept = 64 << 20
	// longestKnown is the maximum length of a value's text that is kept.
	longestKnown = 4 << 10
	// mostValues is the number of values of an ad up to which their memory is reused.
	mostValues = 1 << 12
)

// Approximate sizes in bytes. A tree with its code may take treePerText times its text.
const (
	pathBytes   = 256
	nameBytes   = 64
	valueBytes  = int(unsafe.Sizeof(Value{}))
	knownBytes  = 128
	nodeBytes   = 96
	treePerText = 64
	mostOfOneAd = mostKept / 4 // the maximum that is kept of one ad
)

// path is a node in a tree of attribute names: the names of an ad's first attributes, in order. The
// ads of a pool follow a few paths, so it usually suffices to compare the next name with the one
// that followed last time.
type path struct {
	name   name
	before *path // nil at the start
	length int
	likely *path            // the name that followed in the last ad
	next   map[string]*path // all names that followed, once there was more than one
	shape  *shape           // of ads with exactly these names
	first  []Value          // of the first ad with exactly these names, until the second
	twice  bool             // a name is repeated, so there is no such shape

	text  string // text of this name's last value, if it was kept
	value Value
}

// keep remembers the value of a text in a syntax: inBrackets or inLines.
func (p *Parser) keep(syntax int, text string, v Value) {
	if p.syntax[syntax] == nil {
		p.syntax[syntax] = map[string]Value{}
	}
	p.syntax[syntax][text] = v
	p.kept += knownBytes + len(text)
	if v.kind == deferred {
		p.kept += treePerText * len(text)
	}
}

// begin starts an ad and returns the root of the paths.
func (p *Parser) begin() *path {
	p.limit()
	if p.start == nil {
		p.start = &path{}
	}
	p.values, p.own = p.values[:0], 0
	return p.start
}

// step returns the path that continues this one with one more name.
func (p *Parser) step(at *path, name string) *path {
	if at.likely != nil && at.likely.name.text == name {
		return at.likely
	}
	next := at.next[name]
	if next == nil {
		name = strings.Clone(name)
		next = &path{name: newName(name), before: at, length: at.length + 1}
		switch {
		case at.next != nil:
			at.next[name] = next
		case at.likely != nil:
			at.next = map[string]*path{at.likely.name.text: at.likely, name: next}
		}
		p.kept += pathBytes + 3*len(name)
	}
	at.likely = next
	return next
}

// end returns the ad with the names of this path and the values that were read.
func (p *Parser) end(at *path) *ClassAd {
	ad := p.finished(at)
	p.limit()
	return ad
}

// limit forgets everything if the parser keeps too much.
func (p *Parser) limit() {
	if p.kept > mostKept {
		*p = Parser{Strict: p.Strict, parsed: p.parsed}
	}
	if len(p.values) > mostValues {
		p.values = nil
	}
}

func (p *Parser) finished(at *path) *ClassAd {
	ad := &ClassAd{}
	if at.shape == nil && !at.twice {
		at.close()
		p.kept += at.length * nameBytes
	}
	if at.twice {
		for i, n := range at.names() {
			ad.set(n, p.values[i])
		}
		return ad
	}
	if p.own < mostOfOneAd || at.first != nil || at.shape.places != nil {
		if at.shape.places == nil && at.first == nil {
			p.kept += at.length*valueBytes + p.own
		}
		at.share(p.values)
	}
	ad.shape = at.shape
	if at.shape.places == nil {
		ad.values = slices.Clone(p.values)
		return ad
	}
	ad.values = make([]Value, len(p.values)-len(at.shape.shared))
	for i, place := range at.shape.places {
		if place >= 0 {
			ad.values[place] = p.values[i]
		}
	}
	return ad
}

// share restricts the values that a path's shape shares to those that this ad has in common with
// the ads before it.
func (at *path) share(values []Value) {
	s := at.shape
	if s.places == nil {
		if at.first == nil {
			at.first = slices.Clone(values)
			return
		}
		s = s.sharing(make([]int32, len(values)), at.first)
		for i := range s.places {
			s.places[i] = ^int32(i)
		}
		at.first = nil
	}
	same := func(i int) bool { return s.places[i] < 0 && s.shared[^s.places[i]] == values[i] }
	shared := 0
	for i := range values {
		if same(i) {
			shared++
		}
	}
	if at.shape = s; shared == len(s.shared) {
		return
	}
	narrow := s.sharing(make([]int32, len(values)), make([]Value, 0, shared))
	own := int32(0)
	r := record{shape: narrow}
	for _, i := range r.sorted(Brackets) {
		if same(int(i)) {
			narrow.places[i] = ^int32(len(narrow.shared))
			narrow.shared = append(narrow.shared, values[i])
			continue
		}
		narrow.places[i] = own
		own++
	}
	at.shape = narrow
}

func (at *path) names() []name {
	names := make([]name, at.length)
	for ; at.before != nil; at = at.before {
		names[at.length-1] = at.name
	}
	return names
}

// close makes the shape of the ads with these names, unless a name is repeated.
func (at *path) close() {
	names := at.names()
	seen := make(map[string]bool, len(names))
	for _, n := range names {
		at.twice = at.twice || seen[n.key]
		seen[n.key] = true
	}
	if !at.twice {
		at.shape = newShape(names)
	}
}

// record makes an ad from a tree whose strings are parts of the text.
func (p *Parser) record(tree *ast.Record, text string) *ClassAd {
	at := p.begin()
	p.own = len(text) + nodeBytes*treeSize(tree)
	for _, a := range tree.Attributes() {
		at = p.step(at, a.Name)
		p.values = append(p.values, entry(a.Value))
	}
	return p.end(at)
}

// Parse parses one ad in brackets, as the function [Parse] does.
func (p *Parser) Parse(text string) (*ClassAd, error) { return p.parseBrackets(text, "", 1) }

func (p *Parser) parseBrackets(text, file string, first int) (*ClassAd, error) {
	if ad := p.plainBrackets(text); ad != nil {
		return ad, nil
	}
	tree, err := parser.Syntax{Strict: p.Strict}.Ad(text)
	if err != nil {
		return nil, syntaxError(err, file, text, first, "")
	}
	return p.record(tree, text), nil
}

// ParseExpr parses one expression, as the function [ParseExpr] does.
func (p *Parser) ParseExpr(text string) (*Expr, error) {
	return p.parseExpr(parser.Syntax{Strict: p.Strict}, text)
}

// ParseLineExpr parses one expression, as the function [ParseLineExpr] does.
func (p *Parser) ParseLineExpr(text string) (*Expr, error) {
	return p.parseExpr(parser.Syntax{Strict: p.Strict, Lines: true}, text)
}

func (p *Parser) parseExpr(syntax parser.Syntax, text string) (*Expr, error) {
	tree, err := syntax.Expr(text)
	if err != nil {
		return nil, syntaxError(err, "", text, 1, "")
	}
	return &Expr{tree: tree}, nil
}

// ParseOld parses one ad of lines, as the function [ParseOld] does.
func (p *Parser) ParseOld(text string) (*ClassAd, error) { return p.parseLines(text, "", 1) }

func (p *Parser) parseLines(text, file string, first int) (*ClassAd, error) {
	at, whole := p.begin(), text
	var unread []unreadLine
	for number := first; text != ""; number++ {
		line := text
		if end := strings.IndexByte(text, '\n'); end >= 0 {
			line, text = text[:end], text[end+1:]
		} else {
			text = ""
		}
		next, err := p.parseLine(at, line)
		if err != nil {
			return nil, lineError(err, line, file, number)
		}
		if at = next; p.cut {
			_, right, _ := cutLine(line)
			right = strings.Clone(strings.TrimSpace(right))
			unread, p.cut = append(unread, unreadLine{number, next.name.text, right, halfRead}), false
		}
	}
	ad := p.end(at)
	if at.twice {
		unread = append(unread, again(whole, first)...)
	}
	ad.unread = unread
	return ad, nil
}

// parseLine reads the attribute on a line, if there is one, and returns the path that ends with its
// name.
func (p *Parser) parseLine(at *path, line string) (*path, error) {
	if next := at.likely; next != nil {
		const equals = " = "
		n := len(next.name.text)
		if len(line) >= n+len(equals) && line[n:n+len(equals)] == equals && line[:n] == next.name.text {
			return next, p.lineValue(next, line[n+len(equals):])
		}
	}
	if isEmptyLine(line) {
		return at, nil
	}
	name, right, ok := cutLine(line)
	if !ok {
		return at, &parser.Error{Message: `expected "name = expression"`}
	}
	next := p.step(at, name)
	return next, p.lineValue(next, right)
}

const blanks = " \t\n\v\f\r"

// isEmptyLine reports whether a line is empty or a comment.
func isEmptyLine(line string) bool {
	line = strings.TrimLeft(line, blanks)
	return line == "" || line[0] == '#'
}

// cutLine splits a line at its first = into a name and the rest; ok is false if the = or the name
// is missing.
func cutLine(line string) (name, right string, ok bool) {
	left, right, ok := strings.Cut(line, "=")
	name = strings.TrimRight(strings.TrimLeft(left, blanks), " ")
	return name, right, ok && name != ""
}

// lineError adds the line's number and position to an error.
func lineError(err error, line, file string, number int) error {
	line = strings.TrimRight(line, "\r\n")
	_, right, ok := cutLine(line)
	if !ok {
		right = line
	}
	right = strings.TrimLeft(right, " \t")
	return syntaxError(err, file, right, number, line[:len(line)-len(right)])
}

const (
	inBrackets = iota
	inLines
)

// lineValue reads the value of the attribute whose name was read last.
func (p *Parser) lineValue(at *path, text string) error {
	text = strings.TrimRight(strings.TrimLeft(text, " \t"), "\r")
	v, length := plainNumber(text)
	if length == 0 || length != len(text) {
		var err error
		if v, err = p.remembered(inLines, at, text); err != nil {
			return err
		}
	}
	p.values = append(p.values, v)
	return nil
}

// remembered returns the value of a text, which is parsed only if it is not known.
func (p *Parser) remembered(syntax int, at *path, text string) (Value, error) {
	if text == at.text && text != "" {
		return at.value, nil
	}
	v, ok := p.syntax[syntax][text]
	if !ok {
		var err error
		text = strings.Clone(text)
		if v, err = p.parseValue(syntax, text); err != nil {
			return v, err
		}
		if len(text) > longestKnown || p.cut {
			p.own += treePerText * len(text)
			return v, nil
		}
		p.keep(syntax, text, v)
	}
	if v.kind == String || v.kind == deferred {
		at.text, at.value = text, v
	}
	return v, nil
}
