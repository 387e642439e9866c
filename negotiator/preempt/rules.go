package preempt

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// Rules say who may displace whom. The zero value is that of an HTCondor pool in which nothing is
// configured: only machines that prefer a job displace another one for it.
type Rules struct {
	// Off says that nobody is displaced (NEGOTIATOR_CONSIDER_PREEMPTION is false).
	Off bool
	// Requirements is PREEMPTION_REQUIREMENTS, with the claimed slot as MY and the job as TARGET; nil:
	// false, so nobody is displaced for user priority.
	Requirements *classad.Expr
	// Rank is PREEMPTION_RANK, which chooses between claims that are otherwise alike; nil: the worst
	// user priority first, then the shortest run so far.
	Rank *classad.Expr
	// PreJobRank and PostJobRank are NEGOTIATOR_PRE_JOB_RANK and NEGOTIATOR_POST_JOB_RANK. If the first
	// is nil, HTCondor's default counts; if the second is nil, all claims are alike.
	PreJobRank, PostJobRank *classad.Expr
	// Several allows several dynamic slots of one machine to make way for one job
	// (ALLOW_PSLOT_PREEMPTION). Asked says that this is only so for jobs with WantPslotPreemption, as
	// in HTCondor 25.
	Several, Asked bool
	// Early takes claims whose jobs still have time to retire, for the instant at which that ends
	// (NEGOTIATOR_CONSIDER_EARLY_PREEMPTION).
	Early bool
	// CrossSlotPrios shows expressions who has the machine's other slots (NEGOTIATOR_CROSS_SLOT_PRIOS).
	CrossSlotPrios bool
	// Promised lets user priority lift promises of others (BACKFILL_PREEMPT_PROMISED). Startd rank
	// always may.
	Promised bool
	// Pause is for how many seconds two jobs that changed places do not do so again for user priority,
	// and a job that was displaced for it is not displaced for it again (BACKFILL_PREEMPTION_PAUSE); 0: they may at once.
	Pause backfill.Time
}

// DefaultPause is the pause where nothing is configured, in seconds.
const DefaultPause backfill.Time = 10 * 60

// Never reports whether no claim could be displaced at all, whoever waits. ranked says that some slot
// has a RANK. No expression is evaluated where nothing can come of it.
func (r *Rules) Never(ranked bool) bool {
	return r.Off || !ranked && !r.Prioritised()
}

// Prioritised reports whether anybody may be displaced for user priority: PREEMPTION_REQUIREMENTS is
// not simply false.
func (r *Rules) Prioritised() bool { return r.Requirements != nil && !isFalse(r.Requirements) }

// Ranked reports whether a slot's ad has a RANK by which it could prefer one job to another. Every
// startd publishes one; where none is configured it is the number 0.
func Ranked(slot *classad.ClassAd) bool {
	e, has := slot.Lookup("Rank")
	return has && !isConstant(e, 0)
}
