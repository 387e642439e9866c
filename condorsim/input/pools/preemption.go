package pools

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// Preemption says how running jobs make way for others in a pool.
type Preemption struct {
	Rules preempt.Rules
	// Rank is RANK of the slots that have none of their own, which their ads have then; nil: there is none.
	Rank *classad.Expr
	// Retirement is how long each run may go on before its job has to make way, counted from its start,
	// and Vacate how long the job then takes to leave, in seconds.
	Retirement, Vacate backfill.Time
	// Checkpoint is after how many seconds of its run, again and again, a job saves what it did; 0: never.
	Checkpoint backfill.Time
}

// DefaultVacate is HTCondor's default of MachineMaxVacateTime, in seconds.
const DefaultVacate backfill.Time = 600

// preemption is the YAML form of [Preemption].
type preemption struct {
	Rank           *expression `yaml:"rank"`            // RANK of slots without their own; nil: none
	Requirements   *expression `yaml:"requirements"`    // PREEMPTION_REQUIREMENTS; nil: false
	PreemptionRank *expression `yaml:"preemption_rank"` // PREEMPTION_RANK; nil: HTCondor's default
	Several        bool        `yaml:"several"`         // ALLOW_PSLOT_PREEMPTION
	Early          bool        `yaml:"early"`           // NEGOTIATOR_CONSIDER_EARLY_PREEMPTION
	Retirement     span        `yaml:"retirement"`      // MAXJOBRETIREMENTTIME
	Vacate         *span       `yaml:"vacate"`          // MachineMaxVacateTime
	Promised       bool        `yaml:"promised"`        // BACKFILL_PREEMPT_PROMISED
	Pause          *span       `yaml:"pause"`           // BACKFILL_PREEMPTION_PAUSE
	Checkpoint     *span       `yaml:"checkpoint"`      // nil: jobs save nothing
}

// addPreemption adds the rules of preemption to the pool, and RANK to its slots.
func (b *builder) addPreemption() error {
	d := b.d.Preemption
	switch {
	case d == nil && b.has("preemption"):
		return b.wrong("preemption", "says nothing: give rank or requirements, or leave it out")
	case d == nil:
		return nil
	}
	at := func(key string) string { return "preemption." + key }
	switch {
	case len(b.pool.Bundles) > 0:
		return b.wrong("preemption", "jobs on partitions make way for no others; leave it out")
	case d.Checkpoint != nil && *d.Checkpoint == 0:
		return b.wrong(at("checkpoint"), "must be at least a second; leave it out if jobs save nothing")
	}
	made := &Preemption{
		Rules: preempt.Rules{
			Requirements: d.Requirements.orNil(), Rank: d.PreemptionRank.orNil(), Several: d.Several, Early: d.Early,
			Promised: d.Promised, Pause: preempt.DefaultPause,
		},
		Rank:       d.Rank.orNil(),
		Retirement: backfill.Time(d.Retirement), Vacate: DefaultVacate,
	}
	if d.Vacate != nil {
		made.Vacate = backfill.Time(*d.Vacate)
	}
	if d.Pause != nil {
		made.Rules.Pause = backfill.Time(*d.Pause)
	}
	if d.Checkpoint != nil {
		made.Checkpoint = backfill.Time(*d.Checkpoint)
	}
	for _, slot := range b.pool.Slots {
		_, own := slot.Ad.Lookup("Rank")
		if b.d.Ads != "" { // a startd where none is configured publishes 0
			own = preempt.Ranked(slot.Ad)
		}
		switch {
		case own:
		case made.Rank != nil:
			slot.Ad.Set("Rank", made.Rank)
		default:
			slot.Ad.SetInt("Rank", 0) // as startds do
		}
	}
	for _, slot := range b.pool.Slots {
		if preempt.Ranked(slot.Ad) || made.Rules.Prioritised() {
			b.pool.Preemption = made
			return nil
		}
	}
	return b.wrong("preemption", "no job could ever make way for another: no slot has a rank, and there are no requirements")
}

// note adds to the set the attributes of jobs that expressions of preemption refer to, in lower case.
func (p *Preemption) note(asked map[string]bool) {
	ad := classad.New()
	for name, e := range map[string]*classad.Expr{
		"Rank": p.Rank, "PreemptionRequirements": p.Rules.Requirements, "PreemptionRank": p.Rules.Rank,
	} {
		if e != nil {
			ad.Set(name, e)
		}
	}
	note(asked, ad)
}

// orNil returns the expression; nil if there is none.
func (e *expression) orNil() *classad.Expr {
	if e == nil {
		return nil
	}
	return e.expr
}
