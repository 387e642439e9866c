package classad

// Scope is where an expression is evaluated.
type Scope struct {
	// My is the ad that holds the expression; nil is an empty one.
	My *ClassAd
	// Target is the other side of a match; nil means that there is none.
	Target *ClassAd
	// Host answers what is neither in the expression nor in the ads; nil knows nothing.
	Host *Host
	// Strict evaluates as the library alone does, without what HTCondor adds: a name that its own ad does not have is not
	// looked up in the other one, MY means something inside a match only, and CurrentTime is an ordinary name.
	Strict bool
	// MaxSteps is how many nodes the trees may have together that one evaluation visits; 0 and less mean 2,000,000, which
	// take a few seconds at the worst. Text that is built, compared or searched and lists that are walked count too. An
	// evaluation that needs more is error as a whole. All elements that [Value.Items] evaluates have as many steps
	// together, and so have all parts of an explanation.
	MaxSteps int
}

func (s Scope) maxSteps() int {
	if s.MaxSteps <= 0 {
		return defaultMaxSteps
	}
	return s.MaxSteps
}

// word tells names that mean something where no attribute has them.
type word uint8

const (
	ordinary word = iota
	wordMy
	wordSelf
	wordTarget // and other
	wordAd
	wordLeft
	wordRight
	wordLeftContext
	wordRightContext
	wordParent
	wordRoot // and toplevel
	wordCurrentTime
	wordMatch // the attributes of the ad around a match
)

// words is never changed.
var words = map[string]word{
	"my": wordMy, "self": wordSelf, "target": wordTarget, "other": wordTarget, "ad": wordAd, "left": wordLeft,
	"right": wordRight, "parent": wordParent, "root": wordRoot, "toplevel": wordRoot, "currenttime": wordCurrentTime,
	"symmetricmatch": wordMatch, "leftmatchesright": wordMatch, "rightmatchesleft": wordMatch, "leftrankvalue": wordMatch,
	"rightrankvalue": wordMatch, "lctx": wordLeftContext, "rctx": wordRightContext,
}

const longestWord = len("leftmatchesright")

func wordOf(key string) word {
	if len(key) > longestWord {
		return ordinary
	}
	return words[key]
}

// isScope tells whether [scopedCode] knows the word.
func (w word) isScope() bool { return w == wordMy || w == wordSelf || w == wordTarget }

// frame is an ad together with what is around it. The two sides of a match are in frames of this shape, which is how
// the reference arranges ads and the reason why TARGET.LEFT.a finds something:
//
//	match ad (LEFT, RIGHT)  ◄─  context (my = ad, target = other)  ◄─  the ad itself  ◄─  ads nested in it
type frame struct {
	ad     *record
	parent *frame // the ad around this one
	role   role
	mine   *frame // of a context: the side it belongs to; of a match: LEFT
	theirs *frame // of a side or context: the other side; of a match: RIGHT; else where names not found are looked up
}

type role uint8

const (
	plain role = iota
	side
	context
	match
	subscripted // the ad was made by ad["name"]: nothing can be selected from it, a quirk of the reference
)

// bound gives the ad that a context or a match binds to this word.
func (f *frame) bound(w word) *frame {
	switch {
	case f.role == context && (w == wordMy || w == wordAd), f.role == match && w == wordLeft:
		return f.mine
	case f.role == context && w == wordTarget, f.role == match && w == wordRight:
		return f.theirs
	case f.role == match && w == wordLeftContext:
		return f.mine.parent
	case f.role == match && w == wordRightContext:
		return f.theirs.parent
	default:
		return nil
	}
}

// root is the outermost ad.
func (f *frame) root() *frame {
	for f.parent != nil {
		f = f.parent
	}
	return f
}

// attributes are those of the ad, with the sides and contexts of a match.
func (f *frame) attributes() *record {
	if f.role != match {
		return f.ad
	}
	all := f.ad.clone()
	all.set(newName("LEFT"), deferredTo(&Expr{tree: f.mine.ad.tree()}))
	all.set(newName("RIGHT"), deferredTo(&Expr{tree: f.theirs.ad.tree()}))
	all.set(newName("lCtx"), deferredTo(&Expr{tree: leftContext.tree()}))
	all.set(newName("rCtx"), deferredTo(&Expr{tree: rightContext.tree()}))
	return &all
}

// len is how many attributes there are.
func (f *frame) len() int {
	const sidesAndContexts = 4
	if f.role == match {
		return f.ad.len() + sidesAndContexts
	}
	return f.ad.len()
}

// pairing is everything around two ads that are matched.
type pairing struct {
	root, leftContext, rightContext, left, right frame
}

// noAttributes is what missing ads hold.
var noAttributes record

// nowhere is where the expressions of a list stand that has lost its place.
var nowhere = frame{ad: &noAttributes}

// connect arranges the frames of two sides whose ads are set later.
func (p *pairing) connect() {
	p.root = frame{ad: &matchAd, role: match, mine: &p.left, theirs: &p.right}
	p.leftContext = frame{ad: &leftContext, parent: &p.root, role: context, mine: &p.left, theirs: &p.right}
	p.rightContext = frame{ad: &rightContext, parent: &p.root, role: context, mine: &p.right, theirs: &p.left}
	p.left = frame{ad: &noAttributes, role: side, parent: &p.leftContext, theirs: &p.right}
	p.right = frame{ad: &noAttributes, role: side, parent: &p.rightContext, theirs: &p.left}
}

// attributes are those of an ad that may be nil.
func (ad *ClassAd) attributes() *record {
	if ad == nil {
		return &noAttributes
	}
	return &ad.record
}

// opposite is where names are looked up that are not found in this ad and around it: in the other side if this ad is a
// side of a match, in the ad of the caller if the ad was given to evalInEachContext.
func (ev *evaluator) opposite(f *frame) *frame {
	if f.role == side && ev.strict || f.role > side {
		return nil
	}
	return f.theirs
}

// name evaluates a name without a scope before it: it is looked up as in a selection from the ad that holds the
// expression, and then in the other ad of the match.
func (ev *evaluator) name(f *frame, n *name) Value {
	if v, ok := f.ad.find(n); ok {
		return ev.use(v, f)
	}
	if v, ok := ev.around(f, n); ok {
		return v
	}
	if other := ev.opposite(f); other != nil {
		if v, ok := ev.find(other, n); ok {
			return v
		}
	}
	ev.outside = ev.outside || f.parent == nil
	return undefined
}

// selected evaluates a name after a scope: MY.a, x.a.
func (ev *evaluator) selected(f *frame, n *name) Value {
	if f.role == subscripted {
		return undefined
	}
	v, _ := ev.find(f, n)
	return v
}

// find looks for a name in an ad and the ads around it. The expression is evaluated in the ad in which it was found.
func (ev *evaluator) find(f *frame, n *name) (Value, bool) {
	if v, ok := f.ad.find(n); ok {
		return ev.use(v, f), true
	}
	return ev.around(f, n)
}

// around looks for a name that the ad itself does not have.
func (ev *evaluator) around(f *frame, n *name) (Value, bool) {
	if n.word != ordinary {
		if v, ok := ev.special(f, n); ok {
			return v, true
		}
	} else if f.role == side {
		return undefined, false // contexts and matches have nothing but words
	}
	for f = f.parent; f != nil; f = f.parent {
		if ad := f.bound(n.word); ad != nil {
			return adOf(ad), true
		}
		if v, ok := f.ad.find(n); ok {
			return ev.use(v, f), true
		}
	}
	ev.outside = ev.outside || n.word != ordinary
	return undefined, false
}

// special evaluates the words that mean something in every ad that has no attribute of that name.
func (ev *evaluator) special(f *frame, n *name) (Value, bool) {
	switch n.word {
	case wordMy:
		if !ev.strict {
			return adOf(f), true
		}
	case wordSelf:
		return adOf(f), true
	case wordParent:
		if f.parent == nil {
			ev.outside = true
			return undefined, true
		}
		return adOf(f.parent), true
	case wordRoot:
		ev.outside = true
		return adOf(f.root()), true
	case wordCurrentTime:
		if !ev.strict {
			ev.outside = true
			return ev.time(), true
		}
	default:
	}
	if ad := f.bound(n.word); ad != nil {
		return adOf(ad), true
	}
	return undefined, false
}

// use gives what was found in an ad.
func (ev *evaluator) use(v Value, f *frame) Value {
	if v.kind == deferred {
		return ev.follow(v.expr(), f)
	}
	if ev.references >= maxReferences {
		return ev.fail()
	}
	return v
}
