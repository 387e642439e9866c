package ast

// Children returns the expressions directly below a node, from left to right; for a record, those
// of its attributes.
func Children(e Expr) []Expr {
	switch n := e.(type) {
	case *Select:
		return []Expr{n.X}
	case *Index:
		return []Expr{n.X, n.Key}
	case *Unary:
		return []Expr{n.X}
	case *Binary:
		return []Expr{n.X, n.Y}
	case *Cond:
		if n.Then == nil {
			return []Expr{n.If, n.Else}
		}
		return []Expr{n.If, n.Then, n.Else}
	case *Call:
		return n.Args
	case *Paren:
		return []Expr{n.X}
	case *List:
		return n.Elems
	case *Record:
		values := make([]Expr, len(n.attrs))
		for i, a := range n.attrs {
			values[i] = a.Value
		}
		return values
	case *Literal, *Attr:
	}
	return nil
}
