package classad

import (
	"errors"
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// ErrCircular says that the references of an expression cannot all be followed: one leads back to itself, more than
// 400 are nested, or a scope such as MY stands for a whole ad.
var ErrCircular = errors.New("references lead in a circle or too far")

// Refs tells which attributes the expression refers to if it stands in the ad my: internal ones, which the ad has,
// together with what their own expressions refer to, and external ones, which another ad would have to give. Both are
// sorted ignoring case. HTCondor makes the significant attributes of jobs from them.
//
// Names after TARGET and other are external, and so are all names that the ad does not have, with MY before them or
// not. Strings that are evaluated by eval are not looked into. The error is nil or [ErrCircular]; the names that were
// found are given in both cases.
func (e *Expr) Refs(my *ClassAd) (internal, external []string, err error) {
	r := &references{
		root:     &frame{ad: my.attributes()},
		internal: map[string]string{},
		external: map[string]string{},
		state:    map[ast.Expr]visit{},
	}
	r.follow(e.tree, r.root)
	if r.circular {
		err = ErrCircular
	}
	return sorted(r.internal), sorted(r.external), err
}

func sorted(names map[string]string) []string {
	return slices.SortedFunc(maps.Values(names), compareFold)
}

// references collects names, by their folded form.
type references struct {
	root               *frame
	internal, external map[string]string
	state              map[ast.Expr]visit
	nested, depth      int // the definitions that are being followed and the height of their trees
	circular           bool
}

// visit tells how far a definition was followed.
type visit uint8

const (
	visiting visit = iota + 1
	visited
)

// elsewhere stands for the other ad of a match.
var elsewhere = &frame{ad: &noAttributes}

// follow collects the references of a definition, once.
func (r *references) follow(e ast.Expr, f *frame) {
	if r.state[e] != 0 || r.nested > maxReferences || r.depth+e.Height() > maxDepth {
		r.circular = r.circular || r.state[e] != visited
		return
	}
	r.state[e] = visiting
	r.nested++
	r.depth += e.Height()
	r.walk(e, f)
	r.depth -= e.Height()
	r.nested--
	r.state[e] = visited
}

func (r *references) addExternal(name, key string) {
	if _, ok := r.external[key]; !ok {
		r.external[key] = name
	}
}

// walk collects the references of an expression that is evaluated in f.
func (r *references) walk(e ast.Expr, f *frame) {
	switch n := e.(type) {
	case *ast.Attr:
		switch ad := r.scope(n, f); {
		case ad == elsewhere:
			r.addExternal(n.Name, n.Key)
		case ad == r.root:
			r.circular = true
		case ad != nil:
			r.walkAll(ad.ad, ad.parent)
		}
	case *ast.Select:
		if ad := r.scope(n, f); ad != nil && ad != r.root && ad != elsewhere {
			r.walkAll(ad.ad, ad.parent)
		}
	case *ast.Record:
		r.walkAll(nested(n, f).ad, f)
	case *ast.Literal:
	default:
		for _, child := range ast.Children(e) {
			r.walk(child, f)
		}
	}
}

// walkAll collects the references of an ad that is used as a whole. As in the reference its own names are not seen.
func (r *references) walkAll(ad *record, f *frame) {
	for i := range ad.len() {
		if v := ad.at(i); v.kind == deferred {
			r.follow(v.expr().tree, f)
		}
	}
}

// nested is an ad that stands in another.
func nested(tree *ast.Record, parent *frame) *frame {
	ad := recordOf(tree)
	return &frame{ad: &ad, parent: parent}
}

// scope collects the references of an expression before a dot. If it is known to be an ad, it gives that ad.
func (r *references) scope(e ast.Expr, f *frame) *frame {
	switch n := e.(type) {
	case *ast.Attr:
		if n.Absolute {
			f = r.root
		}
		return r.resolve(nameOf(n.Name, n.Key), f)
	case *ast.Select:
		switch ad := r.scope(n.X, f); ad {
		case nil:
			return nil
		case elsewhere:
			r.addExternal(n.Name, n.Key)
			return nil
		default:
			return r.resolve(nameOf(n.Name, n.Key), ad)
		}
	case *ast.Record:
		return nested(n, f)
	case *ast.Paren:
		return r.scope(n.X, f)
	default:
		r.walk(e, f)
		return nil
	}
}

// resolve collects a name that is looked up in f and the ads around it. If it is an ad, it gives that ad.
func (r *references) resolve(n name, f *frame) *frame {
	for in := f; in != nil; in = in.parent {
		value, ok := in.ad.find(&n)
		if !ok {
			continue
		}
		if in == r.root {
			r.internal[n.key] = n.text
		}
		if value.kind != deferred {
			return nil
		}
		tree := value.expr().tree
		if ad, isAd := tree.(*ast.Record); isAd {
			return nested(ad, in)
		}
		r.follow(tree, in)
		return nil
	}
	switch n.word {
	case wordMy, wordSelf:
		return f
	case wordRoot:
		return r.root
	case wordTarget:
		return elsewhere
	}
	r.addExternal(n.text, n.key)
	return nil
}
