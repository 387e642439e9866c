package classad

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

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
func (ad *ClassAd) Format(style Style) string {
	const most = 64 << 10
	buffer := buffers.Get().(*[]byte)
	b := ad.AppendFormat((*buffer)[:0], style)
	formatted := string(b)
	if cap(b) <= most {
		*buffer = b
		buffers.Put(buffer)
	}
	return formatted
}

// buffers is the pool of memory for formatting, so that a text needs memory once, of its size.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// AppendFormat appends the formatted ad to b.
func (ad *ClassAd) AppendFormat(b []byte, style Style) []byte {
	switch style {
	case Brackets:
		return ad.appendBrackets(b)
	case Lines:
		return ad.appendLines(b)
	default:
		return ast.Append(b, ad.tree(), style)
	}
}

// appendBrackets appends the canonical form, as [ast.Append] does for a tree.
func (r *record) appendBrackets(b []byte) []byte {
	b = append(b, "[ "...)
	for i, at := range r.sorted(Brackets) {
		if i > 0 {
			b = append(b, "; "...)
		}
		b = append(ast.AppendName(b, r.shape.names[at].text), " = "...)
		b = r.at(int(at)).append(b, ast.Canonical)
	}
	return append(b, " ]"...)
}

// appendLines appends a line for each attribute. Names have no quotes there, as readers of lines
// expect.
func (r *record) appendLines(b []byte) []byte {
	for _, at := range r.sorted(Lines) {
		b = append(append(b, r.shape.names[at].text...), " = "...)
		b = append(r.at(int(at)).append(b, ast.Line), '\n')
	}
	return b
}

// order is the indices of the names of a shape in the order in which a style has them. It is kept
// once it was needed, for shapes of more than one ad.
type order struct{ brackets, lines atomic.Pointer[[]int32] }

func (o *order) of(style Style) *atomic.Pointer[[]int32] {
	if style == Lines {
		return &o.lines
	}
	return &o.brackets
}

// sorted returns the indices of the attributes in the order of a style: in brackets short names
// first, then by name ignoring case; in lines by name with capital letters first.
func (r *record) sorted(style Style) []int32 {
	if r.shape == nil {
		return nil
	}
	kept := r.shape.order.of(style)
	if known := kept.Load(); known != nil && !r.owner {
		return *known
	}
	names := r.shape.names
	sorted := make([]int32, len(names))
	for i := range sorted {
		sorted[i] = int32(i)
	}
	slices.SortFunc(sorted, func(i, j int32) int {
		if style == Lines {
			return cmp.Compare(names[i].text, names[j].text)
		}
		return ast.CompareKeys(names[i].key, names[j].key)
	})
	if !r.owner {
		kept.Store(&sorted)
	}
	return sorted
}

// Format formats the expression; in [Lines] it is the right side of a line.
func (e *Expr) Format(style Style) string { return string(e.AppendFormat(nil, style)) }

// AppendFormat appends the formatted expression to b.
func (e *Expr) AppendFormat(b []byte, style Style) []byte {
	if style == Lines {
		style = ast.Line // also for an expression that is an ad
	}
	return ast.Append(b, e.tree, style)
}
