package htcondor

import (
	"cmp"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// Accounting is who has used how much of the pool, and what that allows. The zero
// Accounting allows everything and keeps no account.
type Accounting struct {
	// Accountant keeps the account; nil: nobody does.
	Accountant *accountant.Accountant
	// Limits are the pool's concurrency limits.
	Limits *accountant.Limits

	order *accountant.Order
}

// FairShare is the queue's order by user priority: whoever has used less comes
// first, and jobs of one submitter in the order of their JobPrio. It serves the
// negotiator that the pool is for.
func (p *Pool) FairShare() negotiator.Order {
	p.accounting.order = accountant.NewOrder(p.accounting.Accountant, func(j *backfill.Job) accountant.Waiting { return p.share(p.byID[j.ID]) })
	return negotiator.OrderBy(p.accounting.order.Key)
}

// share is a job as its submitter's share is computed with.
func (p *Pool) share(j *job) accountant.Waiting {
	if j == nil || j.group == nil {
		return accountant.Waiting{} // a claim of another, which never waits
	}
	return accountant.Waiting{ID: j.id, Submitter: j.group.plan.submitter(), Weight: j.group.plan.weight, Prio: j.group.prio}
}

// Use is what runs now, by submitter.
func (p *Pool) Use() map[string]accountant.Use {
	use := map[string]accountant.Use{}
	for _, j := range p.jobs {
		if j.phase != running {
			continue
		}
		name := j.group.plan.submitter()
		u := use[name]
		for _, at := range j.places {
			u.Slots += at.Chunks
		}
		u.Weight += j.group.plan.weight
		use[name] = u
	}
	return use
}

// account brings the account up to now. Waiting jobs that are new to the negotiator
// are fresh.
func (p *Pool) account(l *look, fresh []*job) {
	a := p.accounting.Accountant
	if a == nil {
		return
	}
	if err := a.Update(l.began, p.Use()); err != nil {
		p.log.Error("the account of what is used cannot be kept", "error", err)
		l.problems = append(l.problems, err.Error())
	}
	wants := map[string]float64{}
	for _, j := range p.jobs {
		if j.phase == waiting {
			wants[j.group.plan.submitter()] += j.group.plan.weight
		}
	}
	for _, j := range fresh {
		wants[j.group.plan.submitter()] += j.group.plan.weight
	}
	total := 0.0
	for _, s := range p.slots {
		if s.up {
			total += float64(s.told.Capacity[0])
		}
	}
	if err := a.Divide(total, wants); err != nil {
		p.log.Error("the pool cannot be divided between groups", "error", err)
		l.problems = append(l.problems, err.Error())
	}
}

// throttled says which of the fresh jobs a limit keeps out of the queue, and why.
func (p *Pool) throttled(l *look, fresh []*job) map[backfill.JobID]string {
	out := map[backfill.JobID]string{}
	if p.accounting.Accountant == nil || len(fresh) == 0 {
		return out
	}
	candidate := func(j *job) accountant.Candidate {
		return accountant.Candidate{
			Submitter: j.group.plan.submitter(), Weight: j.group.plan.weight, Limits: j.group.plan.limited, Room: p.schedds[j.key.schedd].room,
		}
	}
	var runs, admitted, asks []accountant.Candidate
	for _, j := range p.jobs {
		switch j.phase {
		case running:
			runs = append(runs, candidate(j))
		case waiting:
			c := candidate(j)
			if l.began.Sub(j.planned) >= 2*p.s.Patience {
				c.Room = nil
			}
			admitted = append(admitted, c)
		case unknown:
			if j.group.runs() {
				runs = append(runs, accountant.Candidate{Room: p.schedds[j.key.schedd].room})
			}
		}
	}
	for _, j := range fresh {
		asks = append(asks, candidate(j))
	}
	for i, verdict := range p.accounting.Accountant.Admit(p.accounting.Limits, asks, runs, admitted) {
		if !verdict.Admitted {
			out[fresh[i].id] = verdict.Reason
		}
	}
	return out
}

// lineUp brings jobs into the order in which limits serve them: in order of jobs, but
// of each submitter's the larger JobPrio first.
func lineUp(jobs []*job) {
	slices.SortFunc(jobs, (*job).order)
	of := map[string][]*job{}
	for _, j := range jobs {
		name := j.group.plan.submitter()
		of[name] = append(of[name], j)
	}
	for _, mine := range of {
		slices.SortStableFunc(mine, func(a, b *job) int { return cmp.Compare(b.group.prio, a.group.prio) })
	}
	for i, j := range jobs {
		name := j.group.plan.submitter()
		jobs[i], of[name] = of[name][0], of[name][1:]
	}
}

// order is the order of jobs.
func (j *job) order(o *job) int {
	return cmp.Or(cmp.Compare(j.group.submit, o.group.submit), j.key.compare(o.key))
}

// openOrder computes the shares of all that wait.
func (p *Pool) openOrder() {
	if p.accounting.order == nil {
		return
	}
	var jobs []*job
	for _, j := range p.jobs {
		if j.phase == waiting {
			jobs = append(jobs, j)
		}
	}
	slices.SortFunc(jobs, (*job).order)
	wait := make([]*backfill.Job, len(jobs))
	for i, j := range jobs {
		wait[i] = &backfill.Job{ID: j.id, Submit: j.group.submit, Place: backfill.Place{Queue: j.key.schedd, Cluster: j.key.cluster, Proc: j.key.proc}}
	}
	p.accounting.order.Open(wait)
}
