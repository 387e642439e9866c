package daemon

import (
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
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

// displacing counts since the start, by reason, the jobs that were given the place of others, those that have
// made way, and the core seconds for which these had run.
type displacing struct {
	takeovers, left map[preempt.Reason]int
	lost            map[preempt.Reason]float64
}

func newDisplacing() displacing {
	return displacing{map[preempt.Reason]int{}, map[preempt.Reason]int{}, map[preempt.Reason]float64{}}
}

// add counts what a cycle has done and found.
func (c *displacing) add(r *negotiator.Report) {
	for i := range r.Preempted {
		c.takeovers[r.Preempted[i].Reason]++
	}
	for _, l := range r.Left {
		c.left[l.Reason]++
		c.lost[l.Reason] += l.CoreSeconds
	}
}

func (c *displacing) clone() displacing {
	return displacing{maps.Clone(c.takeovers), maps.Clone(c.left), maps.Clone(c.lost)}
}

// collect tells of each reason that there can be, so that the first job of one is an increase.
func (c *displacing) collect(count func(desc *prometheus.Desc, n float64, labels ...string)) {
	for _, reason := range []preempt.Reason{preempt.StartdRank, preempt.UserPriority} {
		count(preemptions, float64(c.takeovers[reason]), reason.String())
		count(displaced, float64(c.left[reason]), reason.String())
		count(lostSeconds, c.lost[reason], reason.String())
	}
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
