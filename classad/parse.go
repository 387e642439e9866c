package classad

// ParseExpr parses one expression in the syntax of bracket ads. The error is a [*SyntaxError].
func ParseExpr(text string) (*Expr, error) { return new(Parser).ParseExpr(text) }

// MustParseExpr is [ParseExpr] for constants of a program; it panics if the text is wrong.
func MustParseExpr(text string) *Expr {
	e, err := ParseExpr(text)
	if err != nil {
		panic(err)
	}
	return e
}

// ParseLineExpr parses one expression in the syntax of lines, where \" is the only escape in
// strings. The error is a [*SyntaxError].
func ParseLineExpr(text string) (*Expr, error) { return new(Parser).ParseLineExpr(text) }

// Parse parses one ad in brackets: "[ a = 1; b = a + 1 ]". The error is a [*SyntaxError].
func Parse(text string) (*ClassAd, error) { return new(Parser).Parse(text) }

// ParseOld parses one ad of lines "a = 1", as condor_status -long prints them. Empty lines and
// lines that begin with # are skipped. As in HTCondor, the name is everything left of the first =,
// and what follows a complete expression is ignored. The error is a [*SyntaxError].
func ParseOld(text string) (*ClassAd, error) { return new(Parser).ParseOld(text) }
