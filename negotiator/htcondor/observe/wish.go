package observe

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/ast"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Wish is what a job's ad asks for, before it is rounded as slots do. As these come and go, Specs
// follow each other that have the wish in common.
type Wish struct {
	asked    backfill.Vector
	requests []*classad.Expr // by resource, as the ad had them; nil: it had none
	spec     *Spec           // the present one
	count    int             // of [rounding], by which that is rounded
}

// wishOf notes what a job's ad asks for.
func (o *Observer) wishOf(ad *classad.ClassAd, asked backfill.Vector) *Wish {
	w := &Wish{asked: asked, count: o.rounding.counts}
	for _, resource := range o.s.Schema.Resources {
		e, _ := ad.Lookup("Request" + negotiator.Attribute(resource))
		w.requests = append(w.requests, e)
	}
	return w
}

// SameAd tells whether two Specs are of the same ad: nobody edited it, even if slots round what it
// asks for in another way.
func (s *Spec) SameAd(o *Spec) bool {
	return s == o || s.Text == o.Text || s.Wish != nil && s.Wish == o.Wish
}

// readsPerRound is what it takes at least to round a job anew, see [reads].
const readsPerRound = 10

// roundedAnew returns the Spec that follows one as slots round now, which may be the same. All of a
// look together may take roundsOfAll; the others follow in later looks, and go on as they are.
func (o *Observer) roundedAnew(s *Spec) *Spec {
	w, r := s.Wish, &o.rounding
	if w == nil || s.Wrong != nil {
		return s
	}
	if w.count != r.counts && r.anew < roundsOfAll {
		before := r.work
		w.count, w.spec = r.counts, o.roundAnew(w.spec)
		r.anew += r.work - before + readsPerRound
	}
	return w.spec
}

// roundAnew makes the Spec that follows one, unless that cannot be planned with, or makes no
// difference.
func (o *Observer) roundAnew(s *Spec) *Spec {
	ad := s.Ad.Clone()
	for i, resource := range o.s.Schema.Resources {
		if name := "Request" + negotiator.Attribute(resource); s.Wish.requests[i] != nil {
			ad.Set(name, s.Wish.requests[i])
		} else {
			ad.Delete(name)
		}
	}
	request, err := o.rounding.taken(ad, s.Wish.asked)
	if err != nil || o.rounding.serves(s.Request, request) {
		return s
	}
	anew := *s
	anew.Ad, anew.Request = ad, request
	if anew.request(o.s.Schema.Resources); anew.Wrong != nil {
		return s
	}
	anew.Text = ad.Format(ast.Long)
	return &anew
}
