// Package classadtest runs the cases of the conformance corpus: JSON lines with an expression, the ads it is evaluated
// in and the answer of HTCondor's own library. It also reads, and makes up, whole pools of ads to measure with.
package classadtest

import (
	"regexp"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

// Case is a line of the corpus, as far as it matters here.
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
}

// Result is what this library answers to a case.
type Result struct {
	ID          string `json:"id"`
	Got         string `json:"got,omitempty"`
	Type        string `json:"type,omitempty"`
	Tree        string `json:"-"`
	Unsupported bool   `json:"unsupported,omitempty"`
}

// Agrees tells whether the answer is the wanted one.
func (c Case) Agrees(r Result) bool {
	return !r.Unsupported && r.Got == c.Want && r.Type == c.WantType && (c.Tree == "" || r.Tree == c.Tree)
}

var notYet = regexp.MustCompile(`(?i)\b(` + strings.Join(classad.NotYet(), "|") + `)\s*\(`)

// Supported tells whether this library can answer the case at all: it has neither strict mode, JSON and XML nor some
// of the functions.
func (c Case) Supported() bool {
	kinds := []string{"parse", "unparse", "eval", "function", "match", "refs"}
	styles := []string{"", "new", "old", "long"}
	return slices.Contains(kinds, c.Kind) && slices.Contains(styles, c.Style) &&
		c.Mode == "" && c.Syntax != "json" && c.Syntax != "xml" &&
		!notYet.MatchString(c.Expr+"\n"+c.Ad+"\n"+c.Target)
}

// Run answers the case.
func (c Case) Run() Result {
	if !c.Supported() {
		return Result{ID: c.ID, Unsupported: true}
	}
	r := c.answer()
	r.ID = c.ID
	return r
}

var parseError = Result{Type: "parse_error"}

func (c Case) answer() Result {
	if c.As == "ad" {
		return c.printAd()
	}
	if c.Kind == "match" {
		return c.match()
	}
	parse := classad.ParseExpr
	if c.Syntax == "old" {
		parse = classad.ParseLineExpr
	}
	e, err := parse(c.Expr)
	if err != nil {
		return parseError
	}
	switch c.Kind {
	case "parse", "unparse":
		printed := e.String()
		if c.Style == "old" {
			printed = e.Line()
		}
		return Result{Got: printed, Type: "expr", Tree: tree(e.Tree())}
	}
	my, target, err := c.ads()
	if err != nil {
		return parseError
	}
	if c.Kind == "refs" {
		internal, external := e.Refs(my)
		return Result{Got: references(internal, external), Type: "refs"}
	}
	return value(e.Eval(classad.Scope{My: my, Target: target}))
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

func (c Case) printAd() Result {
	parse := classad.Parse
	if c.Syntax == "old" {
		parse = classad.ParseOld
	}
	ad, err := parse(c.Expr)
	if err != nil {
		return parseError
	}
	r := Result{Got: ad.String(), Type: "ad", Tree: adTree(ad)}
	if c.Style == "long" {
		r.Got = ad.Long()
	}
	return r
}

// ads parses the own ad and the other one, which is nil if the case has none.
func (c Case) ads() (my, target *classad.ClassAd, err error) {
	parse := classad.Parse
	if c.AdSyntax == "old" {
		parse = classad.ParseOld
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
	answer := classad.New()
	switch c.Expr {
	case "symmetricMatch":
		answer.SetBool("answer", classad.Match(left, right))
	case "leftMatchesRight":
		answer.SetBool("answer", classad.Accepts(right, left))
	case "rightMatchesLeft":
		answer.SetBool("answer", classad.Accepts(left, right))
	case "leftRank":
		answer.SetReal("answer", classad.Rank(left, right))
	case "rightRank":
		answer.SetReal("answer", classad.Rank(right, left))
	default: // the values are attributes of the ad around both
		name := strings.Replace(c.Expr, "symmetricMatchValue", "symmetricMatch", 1)
		e, err := classad.ParseExpr("." + name)
		if err != nil {
			return parseError
		}
		return value(e.Eval(classad.Scope{My: left, Target: right}))
	}
	return value(answer.Eval("answer", nil))
}
