package classad

import "github.com/condor-backfill/condor-backfill/classad/ast"

// Style is an output format of ads and expressions.
type Style = ast.Style

// The styles. [ReadAds] recognizes and reads all of them.
const (
	Brackets     = ast.Canonical    // [ a = 1; b = x + 1.500000000000000E+00 ]
	Lines        = ast.Long         // a = 1 and a line feed for each attribute, by name, as condor_status -long
	Pretty       = ast.Pretty       // Brackets over several lines
	JSON         = ast.JSON         // {"a": 1,"b": "\/Expr(x + 1.500000000000000E+00)\/"}
	JSONIndented = ast.JSONIndented // as condor_status -json writes an ad
	XML          = ast.XML          // <c><a n="a"><i>1</i></a></c>
	XMLIndented  = ast.XMLIndented  // as condor_status -xml writes an ad
)

// Format formats the ad.
func (ad *ClassAd) Format(style Style) string { return string(ad.AppendFormat(nil, style)) }

// AppendFormat appends the formatted ad to b.
func (ad *ClassAd) AppendFormat(b []byte, style Style) []byte { return ast.Append(b, ad.tree(), style) }

// Format formats the expression; in [Lines] it is the right side of a line.
func (e *Expr) Format(style Style) string { return string(e.AppendFormat(nil, style)) }

// AppendFormat appends the formatted expression to b.
func (e *Expr) AppendFormat(b []byte, style Style) []byte {
	if style == Lines {
		style = ast.Line // also for an expression that is an ad
	}
	return ast.Append(b, e.tree, style)
}
