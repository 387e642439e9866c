package track

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// lending records which claims are lent, and who stands for them in the plan.
type lending struct {
	leases map[LeaseKey]*lease // those that are in use
	// holders are the jobs that stand for the claims, by the claims' slots, and by their jobs.
	holders map[string]*holder
	byJob   map[backfill.JobID][]*holder
	// loose are those whose claims' slots are not known yet: by the slots that are lent, then by
	// ascending job ID.
	loose map[string][]*holder
}

// lease is the record of a lease.
type lease struct {
	LeaseKey
	// until is when the last of its claims is given back, and last when one may last take up a job.
	until, last backfill.Time
	// lent counts the holders of its claims.
	lent int
}

// term is for how long the claims of one match are lent under a lease.
type term struct {
	*lease
	until, last backfill.Time
	// told is the end that the negotiator was told of; 0: none, as each place lasts as long anyway,
	// for its first job; anew: it must be told again.
	told backfill.Time
}

// anew stands for an end that the negotiator must be told again.
const anew = -1

// term returns the longest of a lease's terms; nil if there is no lease.
func (l *lease) term() *term {
	if l == nil {
		return nil
	}
	return &term{lease: l, until: l.until, last: l.last}
}

// holder is a job that stands in the plan for a claim that is lent: the first that the claim was
// given to. It stays when the job has ended, for as long as the claim is there, whatever other jobs
// use the claim meanwhile. So nobody else is planned onto the claim's place, and the plan does not
// change each time a short job ends.
type holder struct {
	lease *term
	job   *negotiator.Job // as it was reported last
	spec  *observe.Spec
	start backfill.Time
	// slot is the claim's own slot, a dynamic or a static one; "": it was not seen yet.
	slot string
	// since is when the holder's job was first seen to run, or to be over.
	since time.Time
}

// claimedBy tells whether a holder's claim can be in this user's name: a startd names the user or
// the submitter.
func (h *holder) claimedBy(name string) bool {
	return name == h.spec.User() || name == h.lease.Submitter
}

func newLending() lending {
	return lending{
		leases: map[LeaseKey]*lease{}, holders: map[string]*holder{}, byJob: map[backfill.JobID][]*holder{},
		loose: map[string][]*holder{},
	}
}

// extend makes a lease last until a time, at least, and its claims take up jobs until the last one.
func (l *lending) extend(key LeaseKey, until, last backfill.Time) *lease {
	one := l.leases[key]
	if one == nil {
		one = &lease{LeaseKey: key}
		l.leases[key] = one
	}
	one.until, one.last = max(one.until, until), max(one.last, last)
	return one
}

// inUse tells whether a lease is not forgotten; nil is none.
func (l *lending) inUse(one *lease) bool { return one != nil && l.leases[one.LeaseKey] == one }

// all returns the holders, in no order.
func (l *lending) all() []*holder {
	all := slices.Collect(maps.Values(l.holders))
	for _, loose := range l.loose {
		all = append(all, loose...)
	}
	return all
}

// holds tells whether a job stands for a claim whose slot is known.
func (l *lending) holds(id backfill.JobID) bool { return len(l.byJob[id]) > 0 }

// bind makes a holder, which stood for none, stand for the claim of a slot.
func (l *lending) bind(h *holder, slot string) {
	h.slot = slot
	l.holders[slot] = h
	l.byJob[h.job.ID] = append(l.byJob[h.job.ID], h)
	h.lease.lent++
}

// keep adds a holder whose claim's slot is not known yet.
func (l *lending) keep(h *holder) {
	loose := l.loose[h.lease.Slot]
	i, _ := slices.BinarySearchFunc(loose, h.job.ID, func(o *holder, id backfill.JobID) int {
		return cmp.Compare(o.job.ID, id)
	})
	l.loose[h.lease.Slot] = slices.Insert(loose, i, h)
}

// take takes out the first holder that fits, of those on a slot whose claims' slots are not known
// yet; nil if there is none.
func (l *lending) take(slot string, fits func(*holder) bool) *holder {
	i := slices.IndexFunc(l.loose[slot], fits)
	if i < 0 {
		return nil
	}
	h := l.loose[slot][i]
	l.drop(slot, func(o *holder) bool { return o == h })
	return h
}

// drop takes out the holders on a slot, of those whose claims' slots are not known yet, that are to
// go.
func (l *lending) drop(slot string, goes func(*holder) bool) {
	l.loose[slot] = slices.DeleteFunc(l.loose[slot], goes)
	if len(l.loose[slot]) == 0 {
		delete(l.loose, slot)
	}
}

// release has a holder stand for its slot's claim no more.
func (l *lending) release(h *holder) {
	if l.holders[h.slot] != h {
		return
	}
	delete(l.holders, h.slot)
	h.lease.lent--
	id := h.job.ID
	l.byJob[id] = slices.DeleteFunc(l.byJob[id], func(o *holder) bool { return o == h })
	if len(l.byJob[id]) == 0 {
		delete(l.byJob, id)
	}
}

// releaseJob has a job stand for no claim any more.
func (l *lending) releaseJob(id backfill.JobID) {
	for _, h := range slices.Clone(l.byJob[id]) {
		l.release(h)
	}
}

// save returns the leases in a form that outlives the process.
func (l *lending) save() (saved []SavedLease) {
	for key, one := range l.leases {
		saved = append(saved, SavedLease{key.Slot, key.Schedd, key.Submitter, one.until})
	}
	slices.SortFunc(saved, func(x, y SavedLease) int {
		return cmp.Or(cmp.Compare(x.Slot, y.Slot), cmp.Compare(x.Schedd, y.Schedd), cmp.Compare(x.Submitter, y.Submitter))
	})
	return saved
}
