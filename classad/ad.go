package classad

import "iter"

// ClassAd is a set of attributes: names with expressions. Names are compared ignoring case (ASCII) and keep their first
// spelling; setting a name again replaces its expression in place.
//
// Reading and evaluating an ad from many goroutines at once is safe as long as nobody changes it.
type ClassAd struct {
	record
	line int
}

// New makes an empty ad.
func New() *ClassAd { return &ClassAd{} }

// StreamLine is the line of the stream at which the ad begins, if [ReadAds] read it; else 0.
func (ad *ClassAd) StreamLine() int { return ad.line }

// Lookup gives the expression of an attribute, as it was written.
func (ad *ClassAd) Lookup(name string) (*Expr, bool) {
	n := newName(name)
	v, ok := ad.find(&n)
	if !ok {
		return nil, false
	}
	return exprOf(v), true
}

// exprOf is what stands in a record as an expression.
func exprOf(v Value) *Expr {
	if v.kind == deferred {
		return v.expr()
	}
	return &Expr{tree: v.tree()}
}

// Set gives the attribute an expression.
func (ad *ClassAd) Set(name string, e *Expr) {
	v := entry(e.tree)
	if v.kind == deferred {
		v = deferredTo(e)
	}
	ad.set(newName(name), v)
}

// SetInt gives the attribute an integer.
func (ad *ClassAd) SetInt(name string, v int64) { ad.set(newName(name), integer(v)) }

// SetReal gives the attribute a real number.
func (ad *ClassAd) SetReal(name string, v float64) { ad.set(newName(name), realValue(v)) }

// SetString gives the attribute a string.
func (ad *ClassAd) SetString(name, v string) { ad.set(newName(name), text(v)) }

// SetBool gives the attribute a boolean.
func (ad *ClassAd) SetBool(name string, v bool) { ad.set(newName(name), boolean(v)) }

// SetExpr parses the text, as [ParseExpr] does, and gives the attribute that expression. The ad does not change when
// the text is wrong; the error is a [*SyntaxError].
func (ad *ClassAd) SetExpr(name, text string) error {
	e, err := ParseExpr(text)
	if err != nil {
		return err
	}
	ad.Set(name, e)
	return nil
}

// Delete removes an attribute, if it is there.
func (ad *ClassAd) Delete(name string) { ad.remove(newName(name)) }

// Len is the number of attributes.
func (ad *ClassAd) Len() int { return ad.len() }

// All goes through the attributes in the order in which their names first came.
func (ad *ClassAd) All() iter.Seq2[string, *Expr] {
	return func(yield func(string, *Expr) bool) {
		for i := range ad.len() {
			if !yield(ad.shape.names[i].text, exprOf(ad.at(i))) {
				return
			}
		}
	}
}

// String is the canonical bracket form "[ a = 1; bb = x + 1 ]": short names first, then by name ignoring case.
func (ad *ClassAd) String() string { return ad.Format(Brackets) }

// Clone is an independent copy, which has no [ClassAd.StreamLine].
func (ad *ClassAd) Clone() *ClassAd { return &ClassAd{record: ad.clone()} }

// Eval evaluates an attribute of the ad, with target as the other side of a match; nil means that there is none. An
// attribute that is not there is undefined, even if the other side has it.
func (ad *ClassAd) Eval(name string, target *ClassAd) Value {
	n := newName(name)
	v, ok := ad.find(&n)
	if !ok || v.kind != deferred {
		return v
	}
	return v.expr().Eval(Scope{My: ad, Target: target})
}

// Int evaluates an attribute without a target, as an integer.
func (ad *ClassAd) Int(name string) (int64, bool) { return ad.Eval(name, nil).Int() }

// Real evaluates an attribute without a target, as a real number; an integer is converted.
func (ad *ClassAd) Real(name string) (float64, bool) { return ad.Eval(name, nil).Number() }

// Text evaluates an attribute without a target, as a string.
func (ad *ClassAd) Text(name string) (string, bool) { return ad.Eval(name, nil).Text() }

// Bool evaluates an attribute without a target, as a boolean.
func (ad *ClassAd) Bool(name string) (value, ok bool) { return ad.Eval(name, nil).Bool() }
