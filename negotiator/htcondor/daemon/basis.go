package daemon

import (
	"fmt"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// estimatorAttribute says which estimator expects the run time of a job.
const estimatorAttribute = "RunTimeEstimator"

// describeBasis adds to an ad what the run time rests on that is expected of a waiting job. The caller has
// the lock of cycles.
func (d *Daemon) describeBasis(ad *classad.ClassAd, id backfill.JobID) {
	b, known := negotiator.BasisOf(d.n, id)
	if !known {
		return
	}
	ad.SetString(estimatorAttribute, b.Estimator)
	for i, p := range b.Parts {
		ad.SetString(fmt.Sprintf("AlikeJobs%d", i+1), p.Alike)
		ad.SetInt(fmt.Sprintf("AlikeEnded%d", i+1), int64(p.Ended))
		ad.SetInt(fmt.Sprintf("AlikeRunning%d", i+1), int64(p.Running))
		ad.SetReal(fmt.Sprintf("AlikeShare%d", i+1), p.Share)
	}
}

// ReadBasis reads what describeBasis wrote; nil: the job is expected to run for as long as it requests, or it
// waits no more.
func ReadBasis(ad *classad.ClassAd) *estimate.Basis {
	name, known := ad.Literal(estimatorAttribute).Text()
	if !known {
		return nil
	}
	b := &estimate.Basis{Estimator: name}
	for i := 1; ; i++ {
		alike, more := ad.Literal(fmt.Sprintf("AlikeJobs%d", i)).Text()
		if !more {
			return b
		}
		ended, _ := ad.Literal(fmt.Sprintf("AlikeEnded%d", i)).Int()
		running, _ := ad.Literal(fmt.Sprintf("AlikeRunning%d", i)).Int()
		share, _ := ad.Literal(fmt.Sprintf("AlikeShare%d", i)).Number()
		b.Parts = append(b.Parts, estimate.Part{Alike: alike, Ended: int(ended), Running: int(running), Share: share})
	}
}
