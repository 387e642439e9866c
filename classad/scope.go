package classad

import (
	"time"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// Scope is where an expression is evaluated.
type Scope struct {
	// My is the ad that holds the expression; nil is an empty one.
	My *ClassAd
	// Target is the other side of a match; nil means that there is none.
	Target *ClassAd
	// Now gives the time in seconds since 1970. Without it time() and CurrentTime are undefined, so that evaluation
	// depends on nothing but its arguments.
	Now func() int64
	// Zone is the local time zone; nil is UTC.
	Zone *time.Location
	// Random gives numbers from 0 on and below 1. Without it random() is undefined.
	Random func() float64
	// UserMap maps a user by the map with this name and gives the result, items with commas between them; ok is false
	// if there is no such map or it has nothing for the user. Without it there are no maps.
	UserMap func(mapName, user string) (items string, ok bool)
	// UserHome gives the home directory of a user. Without it no user has one.
	UserHome func(user string) (directory string, ok bool)
	// Debug gets the lines that the function debug writes; nil drops them.
	Debug func(line string)
}

// frame is an ad together with what is around it. The two sides of a match are in frames of this shape, which is how
// the reference arranges ads and the reason why TARGET.LEFT.a finds something:
//
//	match ad (LEFT, RIGHT)  ◄─  context (my = ad, target = other)  ◄─  the ad itself  ◄─  ads nested in it
type frame struct {
	ad     *ast.Record
	parent *frame // the ad around this one
	role   role
	mine   *frame // of a context: the side it belongs to; of a match: LEFT
	theirs *frame // of a context: the other side; of a match: RIGHT; else where names that are not found are looked up
}

type role uint8

const (
	plain role = iota
	context
	match
)

// bound gives the ad that a context or a match binds to this name.
func (f *frame) bound(key string) *frame {
	switch f.role {
	case context:
		switch key {
		case "my", "ad":
			return f.mine
		case "target", "other":
			return f.theirs
		}
	case match:
		switch key {
		case "left":
			return f.mine
		case "right":
			return f.theirs
		}
	case plain:
	}
	return nil
}

// opposite is where names are looked up that are not found in this ad and around it: in the other side if this ad is a
// side of a match, in the ad of the caller if the ad was given to evalInEachContext.
func (f *frame) opposite() *frame {
	if f.role == plain && f.theirs != nil {
		return f.theirs
	}
	if f.parent != nil && f.parent.role == context {
		return f.parent.theirs
	}
	return nil
}

// root is the outermost ad.
func (f *frame) root() *frame {
	for f.parent != nil {
		f = f.parent
	}
	return f
}

// pairing is everything around two ads that are matched.
type pairing struct {
	root, leftContext, rightContext, left, right frame
}

// noAttributes is what contexts, missing ads and matches hold.
var noAttributes ast.Record

func (p *pairing) init(left, right *ClassAd) {
	p.root = frame{ad: matchAd, role: match, mine: &p.left, theirs: &p.right}
	p.leftContext = frame{ad: &noAttributes, parent: &p.root, role: context, mine: &p.left, theirs: &p.right}
	p.rightContext = frame{ad: &noAttributes, parent: &p.root, role: context, mine: &p.right, theirs: &p.left}
	p.left = frame{ad: left.record(), parent: &p.leftContext}
	p.right = frame{ad: right.record(), parent: &p.rightContext}
}

// frame is where an expression of the scope's own ad is evaluated.
func (s Scope) frame() *frame {
	if s.Target == nil {
		return &frame{ad: s.My.record()}
	}
	var p pairing
	p.init(s.My, s.Target)
	return &p.left
}

// record is the attributes of an ad that may be nil.
func (ad *ClassAd) record() *ast.Record {
	if ad == nil {
		return &noAttributes
	}
	return &ad.attrs
}

// name evaluates a name without a scope before it: it is looked up as in a selection from the ad that holds the
// expression, and then in the other ad of the match.
func (ev *evaluator) name(f *frame, key string) Value {
	if v, ok := ev.find(f, key); ok {
		return v
	}
	if other := f.opposite(); other != nil {
		if v, ok := ev.find(other, key); ok {
			return v
		}
	}
	return undefined
}

// selected evaluates a name after a scope: MY.a, x.a.
func (ev *evaluator) selected(f *frame, key string) Value {
	v, _ := ev.find(f, key)
	return v
}

// find looks for a name in an ad and the ads around it. The expression is evaluated in the ad in which it was found.
func (ev *evaluator) find(f *frame, key string) (Value, bool) {
	if e, ok := f.ad.Find(key); ok {
		return ev.follow(e, f), true
	}
	if v, ok := ev.special(f, key); ok {
		return v, true
	}
	for f = f.parent; f != nil; f = f.parent {
		if ad := f.bound(key); ad != nil {
			return adOf(ad), true
		}
		if e, ok := f.ad.Find(key); ok {
			return ev.follow(e, f), true
		}
	}
	return undefined, false
}

// special evaluates the names that mean something in every ad that has no attribute of that name.
func (ev *evaluator) special(f *frame, key string) (Value, bool) {
	switch key {
	case "my", "self":
		return adOf(f), true
	case "parent":
		if f.parent == nil {
			return undefined, true
		}
		return adOf(f.parent), true
	case "root", "toplevel":
		return adOf(f.root()), true
	case "currenttime":
		return ev.time(), true
	}
	if ad := f.bound(key); ad != nil {
		return adOf(ad), true
	}
	return undefined, false
}
