package classad

// Scope is the environment in which an expression is evaluated.
type Scope struct {
	// My is the ad that holds the expression; nil means an empty one.
	My *ClassAd
	// Target is the other side of a match; nil means none.
	Target *ClassAd
	// Host supplies what is neither in the expression nor in the ads; nil supplies nothing.
	Host *Host
	// Strict evaluates as the ClassAd library alone does, without HTCondor's additions: a name that
	// is missing in its own ad is not looked up in the other one, MY has a meaning only inside a
	// match, and CurrentTime is an ordinary name.
	Strict bool
	// MaxSteps is the maximum number of nodes that one evaluation visits; 0 and less mean
	// 2,000,000, which take a tenth of a second at worst. Text that is built, compared or searched
	// and lists that are walked count too. An evaluation that exceeds it is error as a whole. All
	// elements that [Value.Items] evaluates share one such budget, and so do all parts of an
	// explanation.
	MaxSteps int
	// Meter counts the steps of the evaluation; nil means that nobody asks.
	Meter *Meter
	// Outside is told what an evaluation without a Target asks for that is not in My; nil means that
	// nobody asks. It is not told what the elements of [Value.Items] ask for.
	Outside *Outside
}

// Outside is what evaluations have asked for beyond their own ad. If that is nothing, they give the
// same in any match, at any time.
type Outside struct {
	// Names are those that the ad lacks, and which are looked up in the other ad of a match; some may
	// be there several times.
	Names []string
	// More says that something else was asked for: TARGET, the clock, what a function that looks
	// further than its arguments may have looked at.
	More bool
}

// Attr evaluates an attribute of the ad My, as [ClassAd.Eval] does. A constant takes no steps.
func (s Scope) Attr(name string) Value {
	n := newName(name)
	v, ok := s.My.attributes().find(&n)
	if !ok || v.kind != deferred {
		return v
	}
	return v.expr().Eval(s)
}

func (s Scope) maxSteps() int {
	if s.MaxSteps <= 0 {
		return defaultMaxSteps
	}
	return s.MaxSteps
}

// word is a name that the language defines, such as MY: it has a meaning where no attribute has
// that name.
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

// words maps names in lower case to what they mean. It never changes.
var words = map[string]word{
	"my": wordMy, "self": wordSelf, "target": wordTarget, "other": wordTarget, "ad": wordAd, "left": wordLeft,
	"right": wordRight, "parent": wordParent, "root": wordRoot, "toplevel": wordRoot, "currenttime": wordCurrentTime,
	"symmetricmatch": wordMatch, "leftmatchesright": wordMatch, "rightmatchesleft": wordMatch,
	"leftrankvalue":  wordMatch,
	"rightrankvalue": wordMatch, "lctx": wordLeftContext, "rctx": wordRightContext,
}

const longestWord = len("leftmatchesright")

func wordOf(key string) word {
	if len(key) > longestWord {
		return ordinary
	}
	return words[key]
}

// isScope reports whether the word is MY, self, TARGET or other, which stand for an ad before a
// dot.
func (w word) isScope() bool { return w == wordMy || w == wordSelf || w == wordTarget }

// frame is an ad with the ads around it. The two sides of a match are in frames of the following
// form, which HTCondor prescribes and which is why TARGET.LEFT.a finds something:
//
//	match ad (LEFT, RIGHT)  ◄─  context (my = ad, target = other)  ◄─  the ad  ◄─  nested ads
type frame struct {
	ad     *record
	parent *frame // the ad around this one
	role   role
	mine   *frame // of a context: the side it belongs to; of a match: LEFT
	theirs *frame // of a side or context: the other side; of a match: RIGHT; else where to look for missing names
}

// role is the place of a [frame] in a match.
type role uint8

const (
	plain role = iota
	side
	context
	match
	subscripted // the ad is the result of ad["name"]: nothing can be selected from it, a quirk of HTCondor
)

// bound returns the ad for which w stands in a context or a match, such as the left ad for LEFT in
// a match, or nil if w has no such meaning there.
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

// attributes returns the attributes of the ad; for a match they include LEFT, RIGHT, lCtx and rCtx.
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

// len returns the number of the attributes that [frame.attributes] returns.
func (f *frame) len() int {
	const sidesAndContexts = 4
	if f.role == match {
		return f.ad.len() + sidesAndContexts
	}
	return f.ad.len()
}

// pairing holds the frames of a match.
type pairing struct {
	root, leftContext, rightContext, left, right frame
}

// noAttributes stands for the attributes of a missing ad.
var noAttributes record

// nowhere is the frame of lists that were cut off from the ads around them: it has no names.
var nowhere = frame{ad: &noAttributes}

// connect links the frames of a match as [frame] shows. The ads of both sides are set later.
func (p *pairing) connect() {
	p.root = frame{ad: &matchAd, role: match, mine: &p.left, theirs: &p.right}
	p.leftContext = frame{ad: &leftContext, parent: &p.root, role: context, mine: &p.left, theirs: &p.right}
	p.rightContext = frame{ad: &rightContext, parent: &p.root, role: context, mine: &p.right, theirs: &p.left}
	p.left = frame{ad: &noAttributes, role: side, parent: &p.leftContext, theirs: &p.right}
	p.right = frame{ad: &noAttributes, role: side, parent: &p.rightContext, theirs: &p.left}
}

// attributes returns the attributes of an ad, none for nil.
func (ad *ClassAd) attributes() *record {
	if ad == nil {
		return &noAttributes
	}
	return &ad.record
}

// opposite returns where names are looked up that neither f nor an ad around it has, or nil: the
// other side of the match if f is a side (not in strict mode) or an ad in which evalInEachContext
// evaluates.
func (ev *evaluator) opposite(f *frame) *frame {
	if f.role == side && ev.strict || f.role > side {
		return nil
	}
	return f.theirs
}

// name evaluates a name without a scope before it: it searches the ad that holds the expression,
// the ads around it, and then the other ad of the match.
func (ev *evaluator) name(f *frame, n *sought) Value {
	if v, ok := f.ad.seek(n); ok {
		return ev.use(v, f)
	}
	if v, ok := ev.around(f, &n.name); ok {
		return v
	}
	if other := ev.opposite(f); other != nil {
		if v, ok := ev.find(other, n); ok {
			return v
		}
	}
	if f.parent == nil {
		ev.misses(&n.name)
	}
	return undefined
}

// misses notes that a name is missing in the ad of the expression.
func (ev *evaluator) misses(n *name) {
	ev.missed = true
	if ev.asked != nil && n.word == ordinary && ev.spend(stepsPerReference) {
		ev.asked.Names = append(ev.asked.Names, n.text)
	}
}

// selected evaluates the name after a dot, as in MY.a and x.a, in the ad f; undefined if it is not
// found.
func (ev *evaluator) selected(f *frame, n *sought) Value {
	if f.role == subscripted {
		return undefined
	}
	v, _ := ev.find(f, n)
	return v
}

// find looks up a name in an ad and the ads around it, and evaluates its expression in the ad where
// it was found. The second result is false if it was not found.
func (ev *evaluator) find(f *frame, n *sought) (Value, bool) {
	if v, ok := f.ad.seek(n); ok {
		return ev.use(v, f), true
	}
	return ev.around(f, &n.name)
}

// around evaluates a name that the ad f itself does not have: as a word such as MY, or as an
// attribute of an ad around f. The second result is false if it is neither.
func (ev *evaluator) around(f *frame, n *name) (Value, bool) {
	if n.word != ordinary {
		if v, ok := ev.special(f, n); ok {
			return v, true
		}
	} else if f.role == side {
		return undefined, false // contexts and matches only have words
	}
	for f = f.parent; f != nil && ev.spend(1); f = f.parent {
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

// special evaluates a word that has a meaning in f although no attribute has that name, such as MY
// and CurrentTime. The second result is false for other names.
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
		return adOf(ev.outermost(f)), true
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

// use returns the value of an entry that was found in the ad f, where an expression is evaluated.
func (ev *evaluator) use(v Value, f *frame) Value {
	if v.kind == deferred {
		return ev.follow(v.expr(), f)
	}
	if ev.references >= maxReferences {
		return ev.fail()
	}
	return v
}
