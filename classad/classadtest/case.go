// Package classadtest runs the cases of the conformance corpus: JSON lines with an expression, the
// ads it is evaluated in, and the answer of HTCondor's own library. It also reads and generates
// whole pools of ads for benchmarks.
package classadtest

import (
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

// Case is the part of a line of the corpus that is used here.
type Case struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Group    string `json:"group"`
	Mode     string `json:"mode"`
	Syntax   string `json:"syntax"`
	As       string `json:"as"`
	Style    string `json:"style"`
	Ad       string `json:"ad"`
	Target   string `json:"target"`
	AdSyntax string `json:"ad_syntax"`
	Expr     string `json:"expr"`
	Want     string `json:"want"`
	WantType string `json:"want_type"`
	Tree     string `json:"tree"`

	File        string `json:"file"` // of a malformed input
	WantUnparse string `json:"want_unparse"`

	Dir string `json:"-"` // where the file is
}

// Result is this library's answer to a case.
type Result struct {
	ID          string `json:"id"`
	Got         string `json:"got,omitempty"`
	Type        string `json:"type,omitempty"`
	Tree        string `json:"-"`
	Unsupported bool   `json:"unsupported,omitempty"`
}

// Agrees reports whether the answer is the expected one.
func (c Case) Agrees(r Result) bool {
	if c.Kind == "malformed" {
		return c.agreesMalformed(r)
	}
	return !r.Unsupported && r.Got == c.Want && r.Type == c.WantType && (c.Tree == "" || r.Tree == c.Tree)
}

// Run computes the answer to the case.
func (c Case) Run() Result {
	r := c.answer()
	r.ID = c.ID
	return r
}

var parseError = Result{Type: "parse_error"}

func (c Case) answer() Result {
	switch c.Kind {
	case "parse", "unparse":
		return c.print()
	case "malformed":
		return c.malformed()
	case "match":
		return c.match()
	case "eval", "function", "refs":
	default:
		return Result{Unsupported: true}
	}
	e, err := c.expr()
	if err != nil {
		return parseError
	}
	my, target, err := c.ads()
	if err != nil {
		return parseError
	}
	if c.Kind == "refs" {
		internal, external, err := e.Refs(my)
		if err != nil {
			return Result{Got: "error", Type: "error"}
		}
		return Result{Got: references(internal, external), Type: "refs"}
	}
	return value(e.Eval(classad.Scope{My: my, Target: target, Strict: c.strict(), Host: &host}))
}

// host supplies the values of random() and the time; no case depends on these values.
var host = classad.Host{
	Random: func() float64 { return 0.5 },
	Now:    func() int64 { return 1_800_000_000 },
}

func value(v classad.Value) Result { return Result{Got: v.String(), Type: v.Kind().String()} }

func references(internal, external []string) string {
	return part("internal:", internal) + " " + part("external:", external)
}

func part(title string, names []string) string {
	if len(names) == 0 {
		return title
	}
	return title + " " + strings.Join(names, ",")
}

// ads parses the case's own ad and its target, which is nil if the case has none.
func (c Case) ads() (my, target *classad.ClassAd, err error) {
	p := classad.Parser{Strict: c.strict()}
	parse := p.Parse
	if c.AdSyntax == "old" {
		parse = p.ParseOld
	}
	my = classad.New()
	if c.Ad != "" {
		if my, err = parse(c.Ad); err != nil {
			return nil, nil, err
		}
	}
	if c.Target != "" {
		target, err = parse(c.Target)
	}
	return my, target, err
}

func (c Case) match() Result {
	left, right, err := c.ads()
	if err != nil {
		return parseError
	}
	if right == nil {
		right = classad.New()
	}
	pair := classad.Pair{Left: left, Right: right, Strict: c.strict()}
	answer := classad.New()
	switch c.Expr {
	case "symmetricMatch":
		answer.SetBool("answer", pair.Match())
	case "leftMatchesRight":
		answer.SetBool("answer", pair.LeftMatchesRight())
	case "rightMatchesLeft":
		answer.SetBool("answer", pair.RightMatchesLeft())
	case "leftRank":
		answer.SetReal("answer", pair.LeftRank())
	case "rightRank":
		answer.SetReal("answer", pair.RightRank())
	default: // the values are attributes of the ad around both
		name := strings.Replace(c.Expr, "symmetricMatchValue", "symmetricMatch", 1)
		e, err := classad.ParseExpr("." + name)
		if err != nil {
			return parseError
		}
		return value(e.Eval(classad.Scope{My: left, Target: right, Strict: c.strict()}))
	}
	return value(answer.Eval("answer", nil))
}
