package server

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// Query is a query for ads.
type Query struct {
	// Ad is the query's ad, with TargetType and whatever else the client sent.
	Ad *classad.ClassAd
	// Requirements is an expression over each ad; nil means all ads.
	Requirements *classad.Expr
	// Projection lists the wanted attributes; empty means all.
	Projection []string
	// Limit is the maximum number of ads; 0 means all.
	Limit int

	asked map[string]bool // the names in Projection, lower case
}

// ReadQuery reads a query from the stream.
func ReadQuery(call *security.Call) (q Query, err error) {
	if q.Ad, err = call.Ad(); err == nil {
		err = call.End()
	}
	if err != nil {
		return q, err
	}
	if limit, ok := q.Ad.Literal("LimitResults").Int(); ok && limit > 0 {
		q.Limit = int(min(limit, 1<<30))
	}
	return q, q.of("")
}

// Of returns the part of a query that is about one type of ads, if it asks for several at once.
func (q Query) Of(adType string) (Query, error) {
	err := q.of(adType)
	return q, err
}

// The bounds of a projection, which is looked up in each ad.
const (
	mostProjected     = 500
	longestProjection = 64 << 10
)

func (q *Query) of(prefix string) error {
	q.Requirements, _ = q.Ad.Lookup(prefix + "Requirements")
	q.Projection = nil
	list, _ := q.Ad.Literal(prefix + "Projection").Text()
	if len(list) > longestProjection {
		return fmt.Errorf("a projection of %d bytes: at most %d are allowed", len(list), longestProjection)
	}
	q.asked = map[string]bool{}
	for name := range strings.FieldsFuncSeq(list, func(r rune) bool { return strings.ContainsRune(" ,\n\t", r) }) {
		if key := strings.ToLower(name); !q.asked[key] {
			q.asked[key] = true
			q.Projection = append(q.Projection, name)
		}
	}
	if n := len(q.Projection); n > mostProjected {
		return fmt.Errorf("a projection of %d attributes: at most %d are allowed", n, mostProjected)
	}
	return nil
}

// Types returns the types of ads that the query asks for.
func (q Query) Types() []string {
	list, _ := q.Ad.Literal("TargetType").Text()
	return strings.FieldsFunc(list, func(r rune) bool { return r == ' ' || r == ',' })
}

// Wants reports whether an ad matches the query. Requirements may refer to the ad's attributes with
// or without TARGET.
func (q Query) Wants(ad *classad.ClassAd) bool {
	scope := classad.Scope{My: ad, Target: ad, MaxSteps: classad.FewSteps}
	return q.Requirements == nil || q.Requirements.Eval(scope).IsTrue()
}

// Project returns an ad with the attributes that the query wants. It looks up no more names than
// the ad has attributes: a query may ask for 500 that no ad has.
func (q Query) Project(ad *classad.ClassAd) *classad.ClassAd {
	if len(q.Projection) == 0 {
		return ad
	}
	part := classad.New()
	if ad.Len() < len(q.Projection) {
		for name, e := range ad.All() {
			if q.asked[strings.ToLower(name)] {
				part.Set(name, e)
			}
		}
		return part
	}
	for _, name := range q.Projection {
		if e, ok := ad.Lookup(name); ok {
			part.Set(name, e)
		}
	}
	return part
}

// projectLines does the same for an ad as lines.
func (q Query) projectLines(ad cedar.Lines) (part cedar.Lines) {
	for line := range bytes.Lines(ad) {
		name, _, _ := bytes.Cut(line, []byte(" = "))
		if q.asked[string(bytes.ToLower(name))] {
			part = append(part, line...)
		}
	}
	return part
}

// readName reads the name of a submitter, group or knob.
func readName(call *security.Call) (string, error) {
	name, err := call.Text()
	switch {
	case err != nil:
		return "", err
	case name == "" || len(name) > 1024 ||
		strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", errors.New("a name is empty, too long or has control characters")
	default:
		return name, nil
	}
}

// readAlone reads a name that is the whole payload.
func readAlone(call *security.Call) (string, error) {
	name, err := readName(call)
	if err == nil {
		err = call.End()
	}
	return name, err
}

func readReal(call *security.Call) (name string, v float64, err error) {
	if name, err = readName(call); err == nil {
		if v, err = call.Real(); err == nil {
			err = call.End()
		}
	}
	if err == nil && v != v {
		err = fmt.Errorf("%s: not a number", name)
	}
	return name, v, err
}

func readInt(call *security.Call) (name string, v int64, err error) {
	if name, err = readName(call); err == nil {
		if v, err = call.Int(); err == nil {
			err = call.End()
		}
	}
	return name, v, err
}
