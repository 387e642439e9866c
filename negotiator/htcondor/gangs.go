package htcondor

import (
	"cmp"
	"fmt"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
)

// staleClaims is how long a schedd goes on believing in the claims of a gang that has
// ended (UNUSED_CLAIM_TIMEOUT, 5 s as recommended), though their startds have given
// them up. A gang whose new slots have the old ones' names would be started on them,
// and refused.
const staleClaims = 6 * time.Second

func (p *Pool) stale(name string) bool {
	s := p.slots[name]
	return s != nil && p.now().Sub(s.left) < staleClaims
}

// leave notes where a gang has ended.
func (p *Pool) leave(j *job) {
	if j.as == nil || !j.as.parallel {
		return
	}
	for _, at := range j.places {
		if s := p.slots[at.Slot]; s != nil {
			s.left = p.now()
		}
	}
}

// inLine says why a gang must wait for another one of its schedd, which is given the
// slots of one at a time, and perhaps now; "": it need not. To be in line is to get on.
// A schedd that plans for gangs between the start of a gang and the next count of its
// queue can crash (HTCondor 23.9: computeSchedule reads the ad of a job that is none).
func (p *Pool) inLine(f *flight, now bool) (why string) {
	defer func() {
		if why != "" {
			f.moved = p.now()
		}
	}()
	if now {
		return "its schedd is given another gang first"
	}
	s := p.schedds[f.job.key.schedd]
	for _, o := range p.flights {
		if o != f && o.job.key.schedd == s.name && o.job.group.plan.parallel && (o.sent() || len(o.claims) > 0) {
			return "its schedd is collecting the slots of another gang"
		}
	}
	if s.gang != 0 && s.counted <= s.gang {
		return "its schedd has just started another gang"
	}
	return ""
}

// outOfLine says why a gang's slots would go to another gang; "": they would not.
func (p *Pool) outOfLine(f *flight) string {
	if r := p.rival(f); r != nil {
		return fmt.Sprintf("its schedd would start gang %v in its place, which is before it in the queue there", r.key)
	}
	return ""
}

// rival is a job of the same schedd that would get a gang's claims in its place: the
// schedd gives them to the first of its idle gangs that fits on them, whichever was
// named. Nil: none would. Where Requirements ask for a slot's ClusterId, the startds
// tell for whom they were claimed, and nobody is a rival (STARTD_JOB_ATTRS).
func (p *Pool) rival(f *flight) *job {
	mine, claimed := p.request(f.job.as), map[string]*classad.ClassAd{}
	for _, at := range f.job.places {
		if s := p.slots[at.Slot]; s != nil && s.ad != nil {
			claimed[at.Slot] = s.ad.Ad.Clone()
			claimed[at.Slot].SetInt("ClusterId", f.job.key.cluster)
		}
	}
	for _, j := range p.jobs {
		of := j.group.plan
		if !of.parallel || j.key.schedd != f.job.key.schedd || j.gangOrder(f.job) >= 0 || j.group.runs() || of.wrong != nil || !p.request(of).Within(mine) {
			continue
		}
		if its := p.flights[j.id]; its != nil && its.sent() {
			continue // it has claims of its own
		}
		chunks := 0
		for _, at := range f.job.places {
			if ad := claimed[at.Slot]; ad != nil && classad.Match(of.ad, ad) {
				chunks += at.Chunks
			}
		}
		if chunks >= of.nodes {
			return j
		}
	}
	return nil
}

// gangOrder is the order in which a schedd serves its gangs.
func (j *job) gangOrder(o *job) int {
	return cmp.Or(cmp.Compare(o.group.prio, j.group.prio), j.order(o))
}
