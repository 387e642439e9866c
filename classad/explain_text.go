package classad

import (
	"fmt"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// uses lists the names in e, with their values, in the explanation of this part.
func (x *explainer) uses(part *Explanation, e ast.Expr) {
	seen := map[string]bool{}
	var walk func(ast.Expr)
	add := func(e ast.Expr) {
		text := string(ast.Append(nil, e, ast.Line))
		if key := ast.Fold(text); !seen[key] && !x.exhausted() {
			seen[key] = true
			part.Uses = append(part.Uses, x.use(e, text))
		}
	}
	walk = func(e ast.Expr) {
		if isClock(e) {
			add(e)
			return
		}
		switch n := e.(type) {
		case *ast.Record: // its names are its own attributes
		case *ast.Attr:
			add(n)
		case *ast.Select:
			if isPath(n) {
				add(n)
				return
			}
			walk(n.X)
		default:
			for _, child := range ast.Children(e) {
				if len(part.Uses) >= mostUses {
					return
				}
				walk(child)
			}
		}
	}
	walk(e)
	part.hide()
	if len(part.Uses) == 1 && part.Uses[0].Name == part.Expr && part.Uses[0].Note == "" {
		part.Uses = nil // the value already says it
	}
}

// isPath reports whether an expression is names joined by dots.
func isPath(e ast.Expr) bool {
	switch n := e.(type) {
	case *ast.Attr:
		return true
	case *ast.Select:
		return isPath(n.X)
	default:
		return false
	}
}

// isClock reports whether an expression is a call that asks nothing but the clock.
func isClock(e ast.Expr) bool {
	n, ok := e.(*ast.Call)
	if !ok || len(n.Args) > 0 {
		return false
	}
	switch n.Key {
	case "time", "currenttime", "daytime", "timezoneoffset", "abstime", "formattime":
		return true
	default:
		return false
	}
}

func (x *explainer) use(e ast.Expr, text string) Use {
	v := x.eval(e)
	u := Use{Name: shortened(text, longestValue), Value: shortened(v.String(), longestValue)}
	if x.isSecret(e, v) {
		u.Value = secret
	}
	if v.isMissing() {
		u.Note = x.why(e)
	}
	return u
}

// secret stands for the value of a private attribute.
const secret = "(private)"

// isSecret reports whether a name stands for a private attribute of one of the ads. Only texts and what holds
// them are: what a GPU can do is a number, and called Capability, too.
func (x *explainer) isSecret(e ast.Expr, v Value) bool {
	if v.kind != String && v.kind != List && v.kind != Ad {
		return false
	}
	switch n := e.(type) {
	case *ast.Attr:
		return Private(n.Name)
	case *ast.Select:
		return Private(n.Name) && x.scopeOf(n.X) != ordinary
	default:
		return false
	}
}

// hide leaves out of a part what follows of its names that are private.
func (part *Explanation) hide() {
	for _, use := range part.Uses {
		if use.Value == secret {
			part.Compared = ""
			if strings.ContainsAny(part.Value, `"{[`) {
				part.Value = secret
			}
			return
		}
	}
}

// why returns the reason why a name or a call of [isClock] is undefined or error; "" if neither ad is
// searched for it.
func (x *explainer) why(e ast.Expr) string {
	if isClock(e) {
		return noClock
	}
	if n, ok := e.(*ast.Select); ok && x.scopeOf(n.X) == wordTarget {
		if x.scope.Target == nil {
			return "there is no other ad"
		}
		return x.defined("the other ad", x.scope.Target.attributes(), n.Name)
	}
	n := x.ownName(e)
	if n == nil {
		return ""
	}
	if _, scoped := e.(*ast.Select); !scoped {
		if _, own := x.ad.find(n); !own && x.scope.Target != nil {
			if _, theirs := x.scope.Target.attributes().find(n); !theirs {
				return x.missing(n, "neither ad has such an attribute")
			}
			return x.defined("the other ad", x.scope.Target.attributes(), n.text)
		}
	}
	return x.defined("the own ad", x.ad, n.text)
}

func (x *explainer) defined(which string, ad *record, text string) string {
	n := newName(text)
	v, ok := ad.find(&n)
	if !ok {
		return x.missing(&n, which+" has no such attribute")
	}
	return which + " says " + shortened(string(ast.Append(nil, v.tree(), ast.Line)), longestValue)
}

// noClock says why the clock is undefined.
const noClock = "the time is not known"

// missing returns the reason for a name that is not found: the given one, unless it is that of the
// clock.
func (x *explainer) missing(n *name, reason string) string {
	if n.word == wordCurrentTime && !x.scope.Strict {
		return noClock
	}
	return reason
}

// widestValue and widestPart are the maximum widths of the aligned columns.
const (
	widestValue = 24
	widestPart  = 72
)

// String returns a line for every part: its value, then the part, then the names that it uses.
// Lines of parts that keep the whole from being true begin with a cross.
func (part *Explanation) String() string {
	values, parts := 0, 0
	for depth, p := range part.All() {
		values = max(values, min(columns(p.Value), widestValue))
		parts = max(parts, min(2*depth+columns(p.label()), widestPart))
	}
	var b strings.Builder
	for depth, p := range part.All() {
		mark := "  "
		if p.Culprit {
			mark = "✗ "
		}
		label := strings.Repeat("  ", depth) + p.label()
		line := mark + pad(shownValue(p.Value), values) + "  " + label
		if uses := p.shownUses(); uses != "" {
			line = mark + pad(shownValue(p.Value), values) + "  " + pad(label, parts) + "  " + uses
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// label returns the expression or, if it has parts, only how they are joined.
func (part *Explanation) label() string {
	text := oneLine(part.Expr)
	names := strings.Join(append([]string{part.Name}, part.Through...), " = ")
	switch {
	case part.Join != "" && part.Name != "":
		return names + ": " + part.Join + " of"
	case part.Join != "":
		return part.Join + " of"
	case part.Name != "":
		text = names + " = " + text
	}
	return shortened(text, 2*widestPart)
}

func shownValue(value string) string {
	if columns(value) > widestValue {
		return string([]rune(value)[:widestValue-1]) + "…"
	}
	return value
}

// shownUses returns the names that the part uses, with their values and, if a value is undefined or
// error, the reason.
func (part *Explanation) shownUses() string {
	texts := make([]string, len(part.Uses))
	for i, u := range part.Uses {
		switch {
		case u.Note != "":
			texts[i] = fmt.Sprintf("%s is %s: %s", u.Name, u.Value, u.Note)
		default:
			texts[i] = u.Name + " = " + u.Value
		}
	}
	return strings.Join(texts, ", ")
}

func columns(text string) int { return len([]rune(text)) }

func pad(text string, to int) string {
	return text + strings.Repeat(" ", max(0, to-columns(text)))
}
