package classad

import "iter"

// ClassAd is an ad: a set of attributes, which are names with expressions. Names are compared
// ignoring case (ASCII) and keep their first spelling; setting a name again replaces its expression
// in place.
//
// Many goroutines may read and evaluate an ad at once as long as none changes it.
type ClassAd struct {
	record
	line   int
	unread []unreadLine
}

// New returns an empty ad.
func New() *ClassAd { return &ClassAd{} }

// StreamLine returns the line of the stream on which the ad begins if [ReadAds] read it, else 0.
func (ad *ClassAd) StreamLine() int { return ad.line }

// Lookup returns the expression of an attribute, as it was written; false if there is no such
// attribute.
func (ad *ClassAd) Lookup(name string) (*Expr, bool) {
	n := newName(name)
	v, ok := ad.find(&n)
	if !ok {
		return nil, false
	}
	return exprOf(v), true
}

// exprOf returns an entry of a record as an expression.
func exprOf(v Value) *Expr {
	if v.kind == deferred {
		return v.expr()
	}
	return &Expr{tree: v.tree()}
}

// Set sets the attribute to an expression.
func (ad *ClassAd) Set(name string, e *Expr) {
	v := entry(e.tree)
	if v.kind == deferred {
		v = deferredTo(e)
	}
	ad.set(newName(name), v)
}

// SetInt sets the attribute to an integer.
func (ad *ClassAd) SetInt(name string, v int64) { ad.set(newName(name), integer(v)) }

// SetReal sets the attribute to a real number.
func (ad *ClassAd) SetReal(name string, v float64) { ad.set(newName(name), realValue(v)) }

// SetString sets the attribute to a string.
func (ad *ClassAd) SetString(name, v string) { ad.set(newName(name), text(v)) }

// SetBool sets the attribute to a boolean.
func (ad *ClassAd) SetBool(name string, v bool) { ad.set(newName(name), boolean(v)) }

// SetExpr parses the text, as [ParseExpr] does, and sets the attribute to that expression. If the
// text is wrong, the ad does not change and the error is a [*SyntaxError].
func (ad *ClassAd) SetExpr(name, text string) error {
	e, err := ParseExpr(text)
	if err != nil {
		return err
	}
	ad.Set(name, e)
	return nil
}

// Delete removes an attribute; deleting a missing one does nothing.
func (ad *ClassAd) Delete(name string) { ad.remove(newName(name)) }

// Len returns the number of attributes.
func (ad *ClassAd) Len() int { return ad.len() }

// All iterates over the attributes in the order in which their names were first set.
func (ad *ClassAd) All() iter.Seq2[string, *Expr] {
	return func(yield func(string, *Expr) bool) {
		for i := range ad.len() {
			if !yield(ad.shape.names[i].text, exprOf(ad.at(i))) {
				return
			}
		}
	}
}

// String returns the canonical bracket form "[ a = 1; bb = x + 1 ]": short names first, then by
// name ignoring case.
func (ad *ClassAd) String() string { return ad.Format(Brackets) }

// Clone returns an independent copy, which has no [ClassAd.StreamLine].
func (ad *ClassAd) Clone() *ClassAd { return &ClassAd{record: ad.clone()} }

// Eval evaluates an attribute of the ad, with target as the other side of a match; nil means no
// target. A missing attribute is undefined, even if the target has it. Since ads are mostly written
// by others, the limit is [FewSteps]; [Scope.Attr] has more, and can tell whether it was exceeded.
func (ad *ClassAd) Eval(name string, target *ClassAd) Value {
	return Scope{My: ad, Target: target, MaxSteps: FewSteps}.Attr(name)
}

// Literal returns the value of an attribute that is a constant, and evaluates nothing: an
// expression is undefined, as a missing attribute is. So it costs nothing to ask for what programs
// always write as constants, such as the state of a slot, whoever wrote the ad.
func (ad *ClassAd) Literal(name string) Value {
	n := newName(name)
	v, ok := ad.find(&n)
	if !ok || v.kind == deferred {
		return undefined
	}
	return v
}

// Int evaluates an attribute without a target and returns an integer; see [Value.Int].
func (ad *ClassAd) Int(name string) (int64, bool) { return ad.Eval(name, nil).Int() }

// Real evaluates an attribute without a target and returns an integer or a real; see
// [Value.Number].
func (ad *ClassAd) Real(name string) (float64, bool) { return ad.Eval(name, nil).Number() }

// Text evaluates an attribute without a target and returns a string; see [Value.Text].
func (ad *ClassAd) Text(name string) (string, bool) { return ad.Eval(name, nil).Text() }

// Bool evaluates an attribute without a target and returns a boolean; see [Value.Bool].
func (ad *ClassAd) Bool(name string) (value, ok bool) { return ad.Eval(name, nil).Bool() }
