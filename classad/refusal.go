package classad

import (
	"slices"
	"strings"
)

// Refusal is a clause that keeps a whole from being true: of a match, one that refuses the other ad.
type Refusal struct {
	// Attribute is the attribute in whose definition the clause stands, the innermost one; "" if it
	// stands in none.
	Attribute string
	// Clause is the clause, without other clauses in it that must be true.
	Clause *Explanation
}

// Refusals returns the clauses because of which the whole is not true, in order: those that must all
// be true and are not. It goes down through && and the definitions of names, such as START in
// Requirements = START, and not through ||, of which all operands refuse together. There are none if
// the whole is true, otherwise one or more.
func (part *Explanation) Refusals() []Refusal { return part.refusals("") }

func (part *Explanation) refusals(in string) (all []Refusal) {
	if part.Holds {
		return nil
	}
	if part.Name != "" {
		in = part.Name
	}
	if n := len(part.Through); n > 0 {
		in = part.Through[n-1]
	}
	if part.Join == "all" {
		for _, p := range part.Parts {
			all = append(all, p.refusals(in)...)
		}
	}
	if len(all) == 0 { // the parts that are not true may have been left out
		all = []Refusal{{Attribute: in, Clause: part}}
	}
	return all
}

// String names the attribute, the clause and its value, and says of which values that follows:
//
//	Start: time() < ToRetire is false (1780000000 < 1770000000)
func (r Refusal) String() string {
	clause, value := oneLine(r.Clause.Expr), shownValue(r.Clause.Value)
	subject := clause
	switch {
	case r.Attribute != "" && clause == r.Clause.Value:
		subject = r.Attribute
	case r.Attribute != "":
		subject = r.Attribute + ": " + clause
	}
	text := subject + " is " + value
	if details := r.details(); len(details) > 0 {
		text += " (" + strings.Join(details, "; ") + ")"
	}
	return text
}

// details says of which values the value of the clause follows; the first of them, if they are many.
func (r Refusal) details() (all []string) {
	const most = 5
	for _, p := range r.Clause.All() {
		detail := p.detail()
		switch {
		case !p.Culprit || detail == "" || slices.Contains(all, detail):
		case len(all) == most:
			return append(all, "…")
		default:
			all = append(all, detail)
		}
	}
	return all
}

// detail says of which values the value of a part without parts follows.
func (part *Explanation) detail() string {
	switch {
	case part.Compared != "":
		return part.Compared
	case len(part.Uses) == 1 && part.Uses[0].Name == part.Expr && part.Uses[0].Note != "":
		return part.Uses[0].Note
	default:
		return part.shownUses()
	}
}

// oneLine returns the beginning of an expression in one line.
func oneLine(expr string) string {
	return shortened(strings.Join(strings.Fields(expr), " "), 2*widestPart)
}
