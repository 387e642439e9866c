package matchmaker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// ErrMemory says that candidate sets would take more memory than is allowed.
var ErrMemory = errors.New("what jobs may use would take too much memory")

// enlarged are the candidates of an autocluster and further slots. Those of many autoclusters are
// alike.
type enlarged struct {
	former  backfill.CandidatesMemory
	rank    int              // class of the further slots
	between bool             // no former candidate is of this class
	opens   *backfill.Window // the first of the further slots' windows; nil: they are always open
	least   *int64           // the first of what must be free on them; nil: no more than a job takes
}

// Enlarge returns the candidate sets that change if slots come with this ad, and get the given IDs,
// ascending and above those of all slots. It evaluates the ad once with the jobs of each
// autocluster, and takes no more steps than [Limits].User: further autoclusters, which it counts,
// get none of the slots. Sets with equal candidates share their memory; if all would take more than
// the given bytes, the error is [ErrMemory], and none is made. The pool must have no bundles.
func (c *Copy) Enlarge(ctx context.Context, ad *classad.ClassAd, ids []backfill.SlotID, most int64,
) (sets []backfill.CandidateSet, untried int, err error) {
	var take []int // of the kinds
	var as []enlarged
	var holds []hold
	distinct, bytes := map[enlarged]backfill.Candidates{}, int64(0)
	look := search{trial: trial{m: c.m, limit: c.m.limits.Evaluation}, most: c.m.mostOfUser(), ended: ctx.Err}
	t, o := &look.trial, offer{ad: ad, m: c.m}
	for i, kind := range c.kinds {
		switch {
		case ctx.Err() != nil:
			return nil, 0, context.Cause(ctx)
		case t.meter.Steps() >= c.m.mostOfUser():
			untried++
			continue
		}
		look.c = &autocluster{ad: kind.ad, measured: measured{depends: kind.request != nil}}
		h, found := look.foresee(o)
		if found == refused || kind.request != nil && !look.requestsAlike(o, &kind) {
			continue
		}
		one := enlarged{former: kind.candidates.Memory()}
		if h.windows != nil {
			one.opens = &h.windows[0]
		}
		if h.least != nil {
			one.least = &h.least[0]
		}
		if len(kind.candidates.Slots) > 0 {
			at, known := slices.BinarySearchFunc(kind.prefers, o.preference(t, kind.ad), preference.compare)
			one.rank, one.between = at, !known
		}
		take, as, holds = append(take, i), append(as, one), append(holds, h)
		bytes += backfill.CandidateSetBytes
		if _, known := distinct[one]; !known {
			distinct[one] = backfill.Candidates{}
			bytes += one.bytes(&kind, len(ids))
		}
		if bytes > most {
			return nil, 0, fmt.Errorf("%w: that of %d kinds of jobs on up to %d slots takes more than %d MiB",
				ErrMemory, len(distinct), len(kind.candidates.Slots)+len(ids), most>>20)
		}
	}
	for n, i := range take {
		if ctx.Err() != nil {
			return nil, 0, context.Cause(ctx)
		}
		made, one := distinct[as[n]], as[n]
		if len(made.Slots) == 0 {
			made = one.with(&c.kinds[i], ids, holds[n])
			distinct[one] = made
		}
		sets = append(sets, backfill.CandidateSet{ID: c.kinds[i].id, Candidates: made})
	}
	return sets, untried, nil
}

// with returns the candidates of a kind of jobs and further slots, all preferred alike.
func (e enlarged) with(kind *jobKind, more []backfill.SlotID, h hold) backfill.Candidates {
	former := kind.candidates
	found := backfill.Candidates{Slots: slices.Concat(former.Slots, more)}
	if former.Windows != nil || h.windows != nil {
		found.Windows = longer(former.Windows, len(former.Slots), len(more), h.windows)
	}
	if former.Least != nil || h.least != nil {
		found.Least = longer(former.Least, len(former.Slots), len(more), h.least)
	}
	if !e.ranks(kind) {
		return found
	}
	found.Rank = make([]int32, len(found.Slots)) // of former candidates 0, if all are preferred alike
	copy(found.Rank, former.Rank)
	for i := range found.Rank {
		switch {
		case i >= len(former.Slots):
			found.Rank[i] = int32(e.rank) //nolint:gosec // there are fewer slots
		case e.between && int(found.Rank[i]) >= e.rank:
			found.Rank[i]++
		}
	}
	return found
}

// longer returns a list of n entries, which are empty if the list is nil, and more that are all alike.
func longer[T any](list []T, n, more int, entry T) []T {
	all := make([]T, n, n+more)
	copy(all, list)
	for range more {
		all = append(all, entry)
	}
	return all
}

// ranks reports whether some of the candidates are preferred to others.
func (e enlarged) ranks(kind *jobKind) bool {
	return len(kind.candidates.Slots) > 0 && (len(kind.prefers) > 1 || e.between)
}

// bytes is what with takes.
func (e enlarged) bytes(kind *jobKind, more int) int64 {
	lists := int64(1)
	if e.ranks(kind) {
		lists++
	}
	if e.opens != nil || kind.candidates.Windows != nil {
		lists += 6 // a slice takes 24 bytes
	}
	if e.least != nil || kind.candidates.Least != nil {
		lists += 6
	}
	return 4 * lists * int64(len(kind.candidates.Slots)+more)
}
