package negotiator

import (
	"context"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// Pool is where jobs run: a simulated pool in virtual or scaled time, or a real one. A match is a
// request that may fail; a later delta reports what became of it.
type Pool interface {
	// Fetch waits until something happens, but at most until wake, and returns what has changed
	// since the last call. It returns io.EOF when nothing can happen any more.
	Fetch(ctx context.Context, wake backfill.Time) (Delta, error)
	// Act starts the jobs that a cycle matched, in their order.
	Act(ctx context.Context, matches []Match) error
}

// Delta is what changed in a pool between two cycles. It is valid until the next Fetch.
type Delta struct {
	// Now is the instant of the cycle, in the pool's seconds.
	Now backfill.Time
	// SlotsUp are slots that are new, came back or have changed. SlotsDown are the names of those
	// that are gone.
	SlotsUp   []*Slot
	SlotsDown []string
	// Bundles are the new bundles, whose slots are known or among SlotsUp. A pool's first bundles
	// come before its first job.
	Bundles []*Bundle
	// Limits are the limits that are new or have another height. LimitsGone are the names of those
	// that are there no more.
	Limits     []Limit
	LimitsGone []string
	// Room says, in this cycle, what room limits have that depend on the slot, see [SlotLimits]; nil: no
	// job has such limits.
	Room Room
	// Submitted are the jobs that arrived.
	Submitted []*Job
	// Changed are jobs that were edited. Each replaces the waiting or held job of its ID, or one that
	// failed to start, and is matched and planned anew.
	Changed []*Job
	// Completed jobs ran to their end. Removed jobs were removed while they waited or ran.
	// StartFailed jobs are back in the queue although they were started: they did not start, or the
	// pool evicted them.
	Completed, Removed, StartFailed []backfill.JobID
	// Elsewhere are those of Completed and Removed that another negotiator has started: in another pool,
	// or on slots of this pool that are not this negotiator's. What they were promised here is neither
	// kept nor broken.
	Elsewhere []backfill.JobID
	// SlotEnded are those of StartFailed that ran until their slots took no jobs any more.
	SlotEnded []backfill.JobID
	// Displaced are those of StartFailed that ran until they had made way for others, see
	// [Match].Displaces.
	Displaced []backfill.JobID
	// Unadmitted are those of StartFailed of whose start nobody was told, as limits that depend on the
	// slot had no room for them beside the other starts.
	Unadmitted []backfill.JobID
	// Claims says, in this cycle, who has which slot; nil: no job is displaced for another.
	Claims preempt.Claims
	// Ran is how long completed jobs ran, if that is not from their start to Now. Below 0: the job
	// was ended early, and estimators do not learn from it.
	Ran map[backfill.JobID]backfill.Time
	// Found are jobs that run although the negotiator did not start them, or started them on other
	// slots.
	Found []Running
	// Began are jobs that the negotiator has started and that are now known to run. They say how long
	// the pool takes to start a job; their places stay as they are.
	Began []Began
	// Ends are running jobs that are expected to end at another time.
	Ends []End
	// Taught are runs that are over, of jobs that were not in the plan as they ran. Estimators learn
	// from them.
	Taught []PastRun
	// Outliving are jobs that have run for longer than they state by now, in the plan or not, with how
	// long they have run so far. A job is reported again after twice that time.
	Outliving []PastRun
}

// PastRun is a run: a job, and how long it ran. Below 0: that is not known, and nothing is learned.
type PastRun struct {
	Job *Job
	Ran backfill.Time
}

// Running is a job that runs, known before or not. It replaces the job of its ID.
type Running struct {
	Job *Job
	// Placement is where each of its chunks runs, on slots that are up. The slots may have less
	// than it takes: amounts were rounded, or another job is about to end.
	Placement Placement
	// Start is since when it runs. End is when it is expected to end; 0: when its run time is over.
	// An end that has passed is put off, as for any job that exceeds its estimate.
	Start, End backfill.Time
}

// Began is since when a job runs.
type Began struct {
	Job backfill.JobID
	At  backfill.Time
}

// End is a running job's new expected end, by its requested run time.
type End struct {
	Job backfill.JobID
	At  backfill.Time
}

// Match is a job to be started on slots, now or as soon as others have made way.
type Match struct {
	Job       *Job
	Placement Placement
	// Displaces are the running jobs that make way for the job; it starts once they have left. At is
	// when that is, at the latest, as far as is known. A later delta reports them as StartFailed and
	// Displaced. Mostly the job is one of [Report].Preempted, and is reported as Found when it begins.
	// 0: it starts now, as nobody has to leave.
	//
	// The policy may also have started the job where scavengers run: they alone make way then, and the
	// plan has the job run from this cycle on, so it is reported as Began. If At is set and Displaces
	// is empty, it waits until scavengers have left that were told to before.
	Displaces []backfill.JobID
	At        backfill.Time
	// Ousts are jobs that were to take over from those in an earlier match, and have not begun. They wait
	// again, of which the pool need not tell.
	Ousts []backfill.JobID
}

// Placement says how many of a job's chunks go to which slots, or to which bundle.
type Placement []Chunks

// Chunks is a number of a job's chunks on one slot, or one chunk on a whole bundle.
type Chunks struct {
	Slot   *Slot
	Count  int
	Bundle *Bundle // instead of Slot
}

// Name returns the name of the slot or of the bundle.
func (p Chunks) Name() string {
	if p.Bundle != nil {
		return p.Bundle.Name
	}
	return p.Slot.Name
}

// Slots returns the name of the slot, or the names of all slots of the bundle.
func (p Chunks) Slots() []string {
	if p.Bundle != nil {
		return p.Bundle.Slots
	}
	return []string{p.Slot.Name}
}

// String lists the placement as name×chunks, separated by blanks.
func (p Placement) String() string {
	places := make(backfill.Places, len(p))
	for i, at := range p {
		places[i] = backfill.Place{Slot: at.Name(), Chunks: at.Count}
	}
	return places.String()
}

// Places returns the placement by the names of its slots, those of a bundle each.
func (p Placement) Places() (places backfill.Places) {
	for _, at := range p {
		for _, slot := range at.Slots() {
			places = append(places, backfill.Place{Slot: slot, Chunks: at.Count})
		}
	}
	return places
}

// Bundle is slots that one job takes together: a partition of a partitioned machine. In a pool
// with bundles every job takes one. A bundle never changes.
type Bundle struct {
	// Name is unique among the bundles.
	Name string
	// Slots are the names of its slots.
	Slots []string
	// Ad is what jobs are matched with and rank. Each slot's own Requirements must accept the job,
	// too; so a slot that is drained takes all its bundles out of use.
	Ad *classad.ClassAd
}

// WhyClosed and ClosedUntil are attributes of slots that are closed for a while, see
// [matchmaker.WhyClosed].
const (
	WhyClosed   = matchmaker.WhyClosed
	ClosedUntil = matchmaker.ClosedUntil
)

// Slot is a slot as the pool advertises it.
type Slot struct {
	// Name is unique in the pool.
	Name string
	// Capacity is what the slot has in all, in the order of the configured resources.
	Capacity backfill.Vector
	// End is the instant from which on the slot runs no jobs; 0: it has no end.
	End backfill.Time
	// Ad holds the slot's Requirements and the attributes to which jobs may refer, and may have
	// [PreJobRank] and [PostJobRank]. It is not changed once it was reported.
	Ad *classad.ClassAd
}

// PreJobRank and PostJobRank are attributes of slots' and bundles' ads by which the pool ranks them for
// each job: a larger value of the first comes before the job's own Rank, one of the second decides among
// what the job ranks alike.
const (
	PreJobRank  = matchmaker.PreJobRank
	PostJobRank = matchmaker.PostJobRank
)

// Job is a job as the pool advertises it.
type Job struct {
	ID     backfill.JobID
	Name   string // as users know it, such as 7.0
	Submit backfill.Time
	// Release is the earliest instant at which the job may start; 0: any. Early is why, for its user:
	// what the job does until then, such as "cools down until 14:05:10 UTC"; "": nobody says.
	Release  backfill.Time
	Early    string
	Position backfill.QueuePosition
	// Nodes is the number of chunks.
	Nodes int
	// Estimate is the planned run time; 0: the job brings none.
	Estimate backfill.Time
	// Limit is the run time at which the pool ends the job; 0: it has none.
	Limit backfill.Time
	// Enforced says that the pool ends the job at its estimate, although that is no limit.
	Enforced bool
	// Lease is until when the job's place is kept while it runs, even if the job ends before: other
	// jobs, which are not in the plan, may use it. 0: the place ends with the job.
	Lease backfill.Time
	// Scavenger says that the job runs on what is idle, also where it is reserved, and makes way at once
	// for any other job; see package scavenge. No policy sees it. While it runs it stays one, or stays
	// none, whatever later reports say.
	Scavenger bool
	// Takes are what the job takes of the pool's limits while it runs. It takes nothing of limits that
	// are not there; when they come, it does. Jobs that are alike share them; they are not changed.
	Takes []Take
	// User is whose account it goes to what the job's expressions cost to evaluate. A user must not
	// be able to choose it. "": the owner among the labels.
	User string
	// Labels are the job's owner and the like; jobs may share the map.
	Labels map[string]string
	// Ad holds what each chunk requests, Requirements and Rank. Jobs of one cluster may share it,
	// as HTCondor's proc ads share their cluster ad. It is not changed once it was reported.
	Ad *classad.ClassAd
}
