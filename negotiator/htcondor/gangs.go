package htcondor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// remains are of a gang that has ended: its startds have given its claims up, or will,
// and do not tell its schedd, which goes on believing in them. A gang whose new slots
// have the old ones' names would be started on them, and refused.
type remains struct {
	schedd string
	slots  []string // those that are planned with
	claims []string // all of them, or none where they are not known; secrets
	at     time.Time
}

// staleClaims is how long a schedd believes in such claims (UNUSED_CLAIM_TIMEOUT, 5 s
// as recommended), unless it is told that they have ended.
const staleClaims = 6 * time.Second

func (p *Pool) stale(name string) bool {
	return slices.ContainsFunc(p.remains, func(r *remains) bool { return slices.Contains(r.slots, name) && !p.rotten(r) })
}

func (p *Pool) rotten(r *remains) bool { return p.now().Sub(r.at) >= staleClaims }

// leave notes that a job runs no more, and where a gang has ended.
func (p *Pool) leave(j *job) {
	p.left[j.key] = p.looked
	if j.as == nil || !j.as.parallel || p.s.Observe {
		return
	}
	r := &remains{schedd: j.key.schedd, claims: j.claims, at: p.now()}
	for _, at := range j.places {
		r.slots = append(r.slots, at.Slot)
	}
	p.remains = append(slices.DeleteFunc(p.remains, p.rotten), r)
}

// release has schedds told which claims of gangs have ended, once no startd has them any
// more: each beside what we do next, once at a time, and none that has its hands full. What
// cannot be told is forgotten in time.
func (p *Pool) release(ctx context.Context) {
	p.hearReleased()
	p.remains = slices.DeleteFunc(p.remains, p.rotten)
	ended := map[string][]*remains{}
	for _, r := range p.remains {
		if len(r.claims) > 0 {
			ended[r.schedd] = append(ended[r.schedd], r)
		}
	}
	for name, all := range ended {
		s := p.schedds[name]
		if s == nil || s.failed != nil || s.late || s.slow || s.telling != nil || s.releasing != nil {
			continue
		}
		s.releasing = make(chan released, 1)
		to := client.Schedd{Security: p.s.Security, Address: s.address}
		go func(answer chan<- released) {
			within, cancel := context.WithTimeout(ctx, p.hold)
			defer cancel()
			answer <- p.releaseAt(within, to, all)
		}(s.releasing)
	}
}

// released is of which gangs a schedd was told that their claims have ended.
type released struct {
	gangs []*remains
	err   error
}

// releaseAt tells one schedd of the claims that no startd has any more.
func (p *Pool) releaseAt(ctx context.Context, to client.Schedd, all []*remains) (told released) {
	var ids []string
	for _, r := range all {
		for _, claim := range r.claims {
			ids = append(ids, security.PublicClaim(claim))
		}
	}
	held := map[string]bool{}
	told.err = p.s.Collector.Query(ctx, []client.AdType{{
		Name: "Machine", Requirements: memberOf("PublicClaimId", ids), Projection: []string{"PublicClaimId"},
	}}, func(lines cedar.Lines) error {
		id, _ := lines.Find("PublicClaimId")
		held[string(id)] = true
		return nil
	})
	for _, r := range all {
		if slices.ContainsFunc(r.claims, func(claim string) bool { return held[wired(security.PublicClaim(claim))] }) {
			continue
		}
		for _, claim := range r.claims {
			if told.err == nil {
				told.err = to.Release(ctx, claim)
			}
		}
		if told.err != nil {
			break
		}
		told.gangs = append(told.gangs, r)
	}
	return told
}

// hearReleased takes in of which claims schedds were told meanwhile.
func (p *Pool) hearReleased() {
	for _, s := range p.schedds {
		select {
		case told := <-s.releasing:
			s.releasing = nil
			p.remains = slices.DeleteFunc(p.remains, func(r *remains) bool { return slices.Contains(told.gangs, r) })
			for _, r := range told.gangs {
				p.log.Debug("told that the claims of a gang have ended", "schedd", s.name, "slots", r.slots)
			}
			if told.err != nil {
				p.log.Warn("a schedd cannot be told that the claims of a gang have ended; this is tried again", "schedd", s.name, "error", told.err)
			}
		default:
		}
	}
}

// gangsFly tells whether the next look may let another gang follow: a schedd that answers
// collects the slots of one, or has started one and is to count before the next. What is
// merely in line, or asked of a schedd that is silent, has no look begin earlier.
func (p *Pool) gangsFly() bool {
	for _, f := range p.flights {
		s := p.schedds[f.job.key.schedd]
		if p.s.Observe || !f.job.group.plan.parallel || s == nil || s.failed != nil || s.late {
			continue
		}
		if f.collects() || s.counts() {
			return true
		}
	}
	return false
}

// collects tells whether its schedd has claims of it, and waits for the rest or for them
// to be ready.
func (f *flight) collects() bool { return f.sent() || len(f.claims) > 0 }

// counts tells whether the schedd has not counted its queue since it started a gang.
func (s *schedd) counts() bool { return s.gang != 0 && s.counted <= s.gang }

// inLine says why a gang must wait for another one of its schedd, which is given the
// slots of one at a time, and perhaps now; "": it need not. To be in line is to get on.
// A schedd that plans for gangs between the start of a gang and the next count of its
// queue can crash (HTCondor 23.9: computeSchedule reads the ad of a job that is none).
// It plans at each answer to a claim, and may start a gang with the last of its answers.
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
		if o != f && o.job.key.schedd == s.name && o.job.group.plan.parallel && o.collects() && !o.job.group.runs() {
			return "its schedd is collecting the slots of another gang"
		}
	}
	if s.counts() {
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
