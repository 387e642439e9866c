package record

import (
	"fmt"
	"math"

	"github.com/condor-backfill/condor-backfill/negotiator/record/recordv1"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
)

// Keys have the keys of a round take little room. Under many orders all waiting jobs have other keys in each round,
// which mostly differ from those before by the same step.
type Keys struct{ last map[int64]int64 }

// NewKeys returns those of a file that begins.
func NewKeys() *Keys { return &Keys{map[int64]int64{}} }

// pack moves the keys of a round to its entry.
func (k *Keys) pack(r *policyv1.Round, to *recordv1.Round) {
	before := int64(0)
	if n := len(r.GetKeys()); n > 0 {
		to.KeyJobs, to.KeySteps = make([]int64, n), make([]int64, n)
	}
	for i, key := range r.GetKeys() {
		job, bits := key.GetJob(), int64(math.Float64bits(key.GetKey()))
		to.KeyJobs[i], to.KeySteps[i] = job-before, bits-k.last[job] // which may run over, and back
		k.last[job], before = bits, job
	}
	r.Keys = nil
	k.forget(r)
}

// Unpack moves the keys of an entry to its round, as they were before they were written.
func (k *Keys) Unpack(from *recordv1.Round, r *policyv1.Round) error {
	if len(from.GetKeyJobs()) != len(from.GetKeySteps()) {
		return fmt.Errorf("%d keys of %d jobs", len(from.GetKeySteps()), len(from.GetKeyJobs()))
	}
	job := int64(0)
	for i, step := range from.GetKeySteps() {
		job += from.GetKeyJobs()[i]
		bits := k.last[job] + step
		k.last[job] = bits
		r.Keys = append(r.Keys, &policyv1.JobKey{Job: job, Key: math.Float64frombits(uint64(bits))})
	}
	k.forget(r)
	return nil
}

// forget drops the jobs that a round has end.
func (k *Keys) forget(r *policyv1.Round) {
	for _, e := range r.GetEvents() {
		switch e.GetKind() {
		case policyv1.EventKind_EVENT_KIND_COMPLETED, policyv1.EventKind_EVENT_KIND_REMOVED:
			delete(k.last, e.GetJob())
		default:
		}
	}
}
