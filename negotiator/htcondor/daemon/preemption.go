package daemon

import (
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// preemption returns the rules by which jobs make way for others, as configured. An expression that
// cannot be parsed is none: nobody makes way for it.
func preemption(pool config.Look) preempt.Rules {
	s := pool.Preemption
	return preempt.Rules{
		Off: !s.ConsiderPreemption, Requirements: expression(s.PreemptionRequirements), Rank: expression(s.PreemptionRank),
		PreJobRank: expression(pool.PreJobRank), PostJobRank: expression(pool.PostJobRank),
		Several: s.SeveralClaims, Early: s.EarlyPreemption, CrossSlotPrios: s.CrossSlotPrios,
		Promised: s.PreemptPromised, Pause: backfill.Time(s.PreemptionPause / time.Second),
	}
}

// takePreemption has the negotiator go by the rules as they are configured now, if they have
// changed. It must be called right before a cycle.
func (d *Daemon) takePreemption() {
	now := d.tuned.Load().Look
	if now.Preemption == d.rules.Preemption && now.Ranks == d.rules.Ranks {
		return
	}
	d.rules = now
	d.n.SetPreemption(preemption(now))
}

// takesOver is the situation of a job that was given the place of others, which have yet to leave.
var takesOver = backfill.TakesOver.String()

const madeWay = "once others have made way"

// situation is that of a job that the schedule has started.
func (p *forecaster) situation(s *backfill.State, id backfill.JobID) string {
	switch why, _ := s.Reason(id); {
	case why.Why == backfill.TakesOver:
		return takesOver
	case p.flies[id]:
		return matched
	default:
		return backfill.Runs.String()
	}
}

// notePreemption notes what preemption has to do with a job.
func (p *forecaster) notePreemption(id backfill.JobID, now backfill.Time) {
	why := p.d.n.WhyPreemption(id, func(at backfill.Time) string { return zoned(at, now, time.Local) })
	if why != "" {
		p.preempted[id] = why
	}
}

func expression(text string) *classad.Expr {
	e, err := classad.ParseExpr(text)
	if err != nil {
		return nil
	}
	return e
}
