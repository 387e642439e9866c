package record

import (
	"fmt"
	"math"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/record/recordv1"
)

// Keys have the keys of a round take little room. Under many orders all waiting jobs have other keys in each round,
// which mostly differ from those before by the same step.
type Keys struct {
	pages map[int64]*page
	at    int64 // the number of the page that was used last
	page  *page
}

// page has the bits of the last keys of jobs whose IDs follow each other; 0: none.
type page struct {
	last [pageJobs]int64
	jobs int // that have one
}

const pageJobs = 512

// NewKeys returns those of a file that begins.
func NewKeys() *Keys { return &Keys{pages: map[int64]*page{}, at: -1} }

// step replaces the last key of a job, and returns the one before.
func (k *Keys) step(job, bits int64) (before int64) {
	p := k.of(job, true)
	at := &p.last[uint64(job)%pageJobs]
	before, *at = *at, bits
	if before == 0 && bits != 0 {
		p.jobs++
	} else if before != 0 && bits == 0 {
		p.jobs--
	}
	return before
}

// of returns the page of a job, which is made anew if that is asked for; nil if there is none.
func (k *Keys) of(job int64, anew bool) *page {
	number := int64(uint64(job) / pageJobs)
	if k.page != nil && k.at == number {
		return k.page
	}
	p := k.pages[number]
	if p == nil && !anew {
		return nil
	}
	if p == nil {
		p = new(page)
		k.pages[number] = p
	}
	k.at, k.page = number, p
	return p
}

// pack writes the keys of a round to its entry.
func (k *Keys) pack(r *backfill.Round, to *recordv1.Round) {
	before := int64(0)
	if n := len(r.Keys); n > 0 {
		to.KeyJobs, to.KeySteps = make([]int64, n), make([]int64, n)
	}
	for i, key := range r.Keys {
		job, bits := int64(key.Job), int64(math.Float64bits(key.Key))
		to.KeyJobs[i], to.KeySteps[i] = job-before, bits-k.step(job, bits) // which may run over, and back
		before = job
	}
	k.forget(r)
}

// Unpack reads the keys of an entry into its round.
func (k *Keys) Unpack(from *recordv1.Round, r *backfill.Round) error {
	if len(from.GetKeyJobs()) != len(from.GetKeySteps()) {
		return fmt.Errorf("%d keys of %d jobs", len(from.GetKeySteps()), len(from.GetKeyJobs()))
	}
	job := int64(0)
	for i, step := range from.GetKeySteps() {
		job += from.GetKeyJobs()[i]
		bits := k.step(job, 0) + step
		k.step(job, bits)
		r.Keys = append(r.Keys, backfill.JobKey{Job: backfill.JobID(job), Key: math.Float64frombits(uint64(bits))})
	}
	k.forget(r)
	return nil
}

// forget drops the jobs that a round has end.
func (k *Keys) forget(r *backfill.Round) {
	for i := range r.Events {
		e := &r.Events[i]
		if e.Kind != backfill.Completed && e.Kind != backfill.Removed {
			continue
		}
		if p := k.of(int64(e.JobID), false); p != nil {
			if k.step(int64(e.JobID), 0); p.jobs == 0 {
				delete(k.pages, k.at)
				k.page = nil
			}
		}
	}
}
