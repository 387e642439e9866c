package daemon

import (
	"context"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/drains"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// Pool is a real pool: an [*htcondor.Pool].
type Pool interface {
	negotiator.Pool
	Keeper
	Tuner
	Drainer
	Informer
	Rouser
}

// Rouser has machines woken.
type Rouser interface {
	// Rouse says which jobs would start on slots of machines that sleep. Nothing is claimed.
	Rouse(ctx context.Context, wanted []negotiator.Match) error
}

// Keeper keeps a negotiator's state from one process to the next.
type Keeper interface {
	// Open looks at the pool for the first time, and makes the checkpoint from which a negotiator
	// goes on: what a former one saved and the pool still shows. It may be called again.
	Open(ctx context.Context, saved *track.SavedState) (negotiator.Checkpoint, error)
	// Saved puts a checkpoint into the form that is kept on disk.
	Saved(m negotiator.Checkpoint) *track.SavedState
	// TakePlan is told each cycle's plan before its matches. It returns the guarantees that leases
	// have broken, of which the negotiator does not know.
	TakePlan(plan negotiator.Checkpoint) []track.Broken
}

// Tuner changes what a pool does while it runs.
type Tuner interface {
	// Wakeup asks for a cycle soon.
	Wakeup()
	// Tune changes how the pool is scheduled from the next cycle on.
	Tune(t htcondor.Tuning)
}

// Drainer has slots emptied.
type Drainer interface {
	// Drain says which slots are to be empty and when, from the next look on.
	Drain(book drains.Book)
}

// Informer says what is known of a pool, and tells users.
type Informer interface {
	// Last is what the last look at the pool showed.
	Last() htcondor.Facts
	// Find lists the jobs of a name, such as 12.0 or 12.0@schedd.
	Find(name string) []backfill.JobID
	// Unplanned are the jobs that are not planned with.
	Unplanned() []track.Unplanned
	// Why says why a job is not planned with; false if it is.
	Why(id backfill.JobID) (track.Unplanned, bool)
	// MayRetire tells whether a job is a scavenger that matches only slots on which nobody may retire, and
	// there are others.
	MayRetire(id backfill.JobID) bool
	// Lacking says which limit has no room for a waiting job now; "" if all have.
	Lacking(id backfill.JobID) string
	// Charge sets what a job that is only asked about takes of limits, and returns those that no plan has yet.
	Charge(j *negotiator.Job) ([]negotiator.Limit, error)
	// Matched are the jobs that were matched before the last look, and did not run by then.
	Matched() []backfill.JobID
	// UsedBy are the slots that a submitter's jobs use.
	UsedBy(submitter string) []track.Used
	// Explain tells users why their jobs wait.
	Explain(ctx context.Context, ids []backfill.JobID, why func(backfill.JobID) string) error
}

// Collector is where ads are published: a [*client.Collector].
type Collector interface {
	QueryEach(ctx context.Context, types []client.AdType, each func(cedar.Lines) error) error
	UpdateNegotiator(ctx context.Context, ad *classad.ClassAd) error
	UpdateAccounting(ctx context.Context, ads []*classad.ClassAd) error
	WithdrawNegotiator(ctx context.Context, adType, name string) error
}
