package preempt

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// Claims is what a pool knows, in one cycle, of claimed slots and of submitters. What it returns does
// not change during the cycle.
type Claims interface {
	// Claim returns the claim that a running job has; ok is false if it has none that could be displaced.
	Claim(job backfill.JobID) (claim Claim, ok bool)
	// Submitter returns in whose name a waiting or running job is negotiated for. [Claim.User] is a name of the same
	// kind; "": it is not known, and the job displaces nobody for user priority.
	Submitter(job backfill.JobID) string
	// Standing returns what expressions see of a submitter and its group.
	Standing(submitter string) Standing
	// HasRoom tells whether the submitter's share (its part by priority, its quota, its ceiling) has room for a
	// further weight, when it already got so much granted in this cycle: jobs that the cycle started,
	// or that displaced others for user priority.
	HasRoom(submitter string, granted, weight float64) bool
}

// Claim is a claimed slot: dynamic or static.
type Claim struct {
	// Slot is the slot's name as the pool has it, such as slot1_3@n1.
	Slot string
	// Host is the slot of the plan: the static one itself, or the partitionable one.
	Host string
	// Ad is that of the claimed slot, with its size (Cpus) as it is now. Claims of an unchanged
	// slot should have the same ad in each cycle: what is found out of it is kept.
	Ad *classad.ClassAd
	// User is who has it: PreemptingAccountingGroup, else PreemptingUser, AccountingGroup, RemoteUser.
	User string
	// Rank is how much the slot prefers who has it: CurrentRank.
	Rank float64
	// Weight is the slot's weight, in the unit of [Standing].InUse; 0: its cpus.
	Weight float64
	// Retirement is how many seconds the job may still run before it must leave, and Vacate how long
	// it may take for leaving then (MachineMaxVacateTime).
	Retirement, Vacate backfill.Time
	// Sooner says that most jobs leave long before Vacate is over, as on real pools.
	Sooner bool
	// Since is the start of the job's run.
	Since backfill.Time
	// Waited says that another claim waits for the slot already. User and Rank are that claim's then. It is
	// a candidate only if Heir is known, and if its job still retires: no claim can wait instead of another
	// one once the job has to leave.
	Waited bool
	// Heir is the waiting claim's job, for which nobody else makes way; nil: it is another negotiator's, say.
	Heir *backfill.JobID
	// Partial says that it is a dynamic slot of the partitionable one.
	Partial bool
}

// Standing is what expressions see of a submitter. Weights are those of slots.
type Standing struct {
	// Prio is the effective priority, lower is better; InUse the weight of what it has, and Floor what
	// it is entitled to.
	Prio, InUse, Floor float64
	// Group is its accounting group; "": none. GroupInUse and GroupQuota are the group's.
	Group                  string
	GroupInUse, GroupQuota float64
	// NegotiatingGroup is the group in which its jobs are negotiated for, and Autoregroup says that
	// they may also use what other groups leave.
	NegotiatingGroup string
	Autoregroup      bool
}
