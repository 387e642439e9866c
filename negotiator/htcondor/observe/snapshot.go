package observe

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// Snapshot is the pool as one look saw it. Nothing in it changes after the look has returned; what
// is the same in two looks is shared between their snapshots.
type Snapshot struct {
	// Number is the number of the look's last round of questions; each look asks at least one.
	Number int
	// Began is when the look began, Took how long it took, and Ended when it had its last answer.
	Began, Ended time.Time
	Took         time.Duration
	// Now is the look's instant in seconds since 1970. It never goes back: if the machine's clock
	// is put back, it stands still until the clock has caught up.
	Now backfill.Time
	// Slots are all slots by name, dynamic ones too, and those that are missing.
	Slots map[string]*Slot
	// Schedds are all schedds by name, except those that were silent for long, or were renamed and
	// are not advertised under the old name any more.
	Schedds map[string]*Schedd
	// Submitters counts the submitter ads.
	Submitters int
	// Constrained says that a submitter's ad must be seen before it is known whether its jobs are to
	// be planned.
	Constrained bool
	// Negotiators are those that the collector knows.
	Negotiators []Other
	// Problems say what could not be read, for people.
	Problems []string
	// Contested counts the ads that are left out since another daemon has their name or address.
	Contested int
	// Preempts says that running jobs may make way for others, so that claimed slots have a Claim. They
	// have one, too, if there are scavengers.
	Preempts, Scavenges bool
	// Kept is how many bytes of memory the queues take, at most, and LeftOut how many jobs are not
	// planned because their ads are too large, or are not read yet.
	Kept, LeftOut int
}

// Names tells whether a claimed slot names a job, or a job of the cluster whose first proc it is, as
// one of a gang may.
func (s *Snapshot) Names(job JobKey) bool {
	for _, slot := range s.Slots {
		first := slot.Runs
		first.Proc = 0
		if slot.Claimed && (slot.Runs == job || first == job) {
			return true
		}
	}
	return false
}

// Slot is a slot as its ads showed it. Dynamic slots are parts of the partitionable slot that they
// were cut from; jobs are not planned onto them.
type Slot struct {
	Name string
	// Address is that of the slot's startd, as its ads have it.
	Address string
	// Dynamic says that the slot was cut from another one.
	Dynamic bool
	// Host is the slot to plan with: this one, or the parent of a dynamic one.
	Host string
	// Ad is what jobs are matched with; nil for a dynamic slot. The pointer stays the same as long
	// as nothing that matters changes.
	Ad *negotiator.Slot
	// Asleep is what jobs will be matched with once the slot's machine is awake; nil if it does not
	// sleep. Until then Ad refuses all jobs.
	Asleep *negotiator.Slot
	// Overlaps says that the slot's resources are those of its machine's other slots, once more
	// (BackfillSlot). Ad refuses all jobs then, as the same cpus are planned once; Overlapping is what
	// jobs are matched with that use what the others leave idle, nil if it takes none now.
	Overlaps    bool
	Overlapping *negotiator.Slot
	// Free is what the slot can give now; for a dynamic slot, what it takes from its parent.
	// A claimed static slot has nothing to give.
	Free    backfill.Vector
	Claimed bool
	Static  bool
	// Cleaning says that the job of a claimed slot has ended and its starter is about to (from 25.11
	// on): the slot will be free within moments. Data says that a schedd keeps files on the slot that
	// its jobs have in common, and that no job runs there (from 25.11 on).
	Cleaning, Data bool
	// Suspended says that the job of a claimed slot is suspended.
	Suspended bool
	// Weight is what a static or dynamic slot counts for in fair share and quotas; nil: its cpus.
	// Uncounted says that the slot does not count for the size of the pool.
	Weight    *float64
	Uncounted bool
	// Runs is the job on a claimed slot; the zero key if the slot names none. Claimer is the user,
	// and ClaimedSince when the claim or its job began, by the startd's clock.
	Runs         JobKey
	Claimer      string
	ClaimedSince backfill.Time
	// Claim is the whole ad of a claimed slot, where jobs may make way for others, or there are
	// scavengers; else nil.
	Claim *classad.ClassAd
	// Changed is when a look first saw the ad as it is now. Every update by the slot's startd
	// changes the ad.
	Changed time.Time
	// Advertised says that the collector has an ad of the slot.
	Advertised bool
	// Missing is when a look first missed the slot; zero if the slot is there. An advertised slot
	// is missing, too, if its startd has restarted without it (Outlived is when a look first saw
	// that), and if its parent says that it was deleted.
	Missing, Outlived time.Time
	// Restarted is when a look first saw that the slot's startd had restarted.
	Restarted time.Time
	// ClaimBegan is when a look last saw a new claim on the slot or on a part of it, and
	// ClaimBeganFor that claim's job.
	ClaimBegan    time.Time
	ClaimBeganFor JobKey
	// Parts are the dynamic slots of a partitionable one; nil: its ad does not say.
	Parts map[string]bool

	started  int64         // when its startd started, by the startd's clock
	made     backfill.Time // when the startd made the ad
	heard    int64         // when the collector got it, by the collector's clock
	sequence int64         // the number that the startd gave to the ad
	sender   sender        // who sent the ad

	// own is what the startd last said, while another's ad is in its place in the collector.
	own *classad.ClassAd
}

// IsOf tells whether an ad of the slot's name that comes from an address is the slot's own, and not
// another's who has the same name.
func (s *Slot) IsOf(address string) bool {
	return s == nil || s.Address == "" || sameDaemon(s.Address, address)
}

// Restore sees to an ad of the slot's name that comes from its address. If it was not sent by the
// slot's startd, that gets in it what the startd said last of all that looks ask for. It reports
// whether the ad can be used.
func (s *Slot) Restore(ad *classad.ClassAd) bool {
	if s == nil || !senderOf(ad).isWeaker(s.sender) {
		return true
	}
	if s.own == nil { // it was replaced since the last look
		return false
	}
	for name, e := range s.own.All() {
		ad.Set(name, e)
	}
	return true
}

// Home returns where the slot's startd is, without what may change while it runs.
func (s *Slot) Home() string { return endpoint(s.Address) }

// Startd returns the part of the slot's name that all slots of one startd share.
func (s *Slot) Startd() string {
	_, name, _ := strings.Cut(s.Name, "@")
	return name
}

// Schedd is a daemon with a queue of jobs.
type Schedd struct {
	Name    string
	Address cedar.Address
	// Capability is the secret in its submitter ads that allows a negotiator to negotiate with it.
	Capability string
	// Submitters are the users and groups that it advertises, by name.
	Submitters map[string]Submitter
	// Own says that it has an ad of its own, and not only submitters: only who may advertise schedds
	// can have one.
	Own bool
	// Room is how many jobs it may run at once; nil if its ad does not say. Full says that it runs
	// so many by its ad, which may be minutes old.
	Room *accountant.Room
	Full bool
	// Users and Projects are how many jobs of each it may run at once, by name, where there is a
	// limit.
	Users, Projects map[string]*accountant.Room
	// Curb and Uploads are what keeps it from taking matches for a moment: of all jobs, nil if nothing
	// does, and of users' jobs, by user. These are no limits of the plan, see [Schedd.GatesOf].
	Curb    *accountant.Room
	Uploads map[string]*accountant.Room
	// Submits is how many jobs had been submitted to it since it started when the last successful
	// reading began; Uncounted if it was not asked, as before its first answer, or does not say. All
	// these jobs are in that reading.
	Submits int64
	// Counted is when it last counted its queue, by its own clock.
	Counted backfill.Time
	// Read says that this look read its queue, and Since when the last successful reading began.
	Read  bool
	Since time.Time
	// AskedSince is the number of the first look that read its queue with the present job
	// constraint.
	AskedSince int
	// Failed is why the last reading failed, nil if it did not; Late says that the answer is
	// overdue.
	Failed error
	Late   bool
	// Moved says that another schedd answers at its address: it has been renamed, and its jobs are
	// those of the other one.
	Moved bool
	// Groups are the jobs in its queue, and Stopped those that were put on hold or removed a short
	// time ago; both by the last successful reading.
	Groups  []*Group
	Stopped []JobKey
	// NewestStopped is the highest cluster of such jobs, also of those that are left out of Stopped as
	// there is no room.
	NewestStopped int64
	// Earlier are the schedd's earlier answers in this look, if the look asked several times. A job
	// that is only in these left its queue during the look.
	Earlier []Reading
}

// Uncounted is the number of submits of a schedd that does not say.
const Uncounted = -1

// Reading is what one answer of a schedd said of its queue.
type Reading struct {
	// Number is what [Snapshot.Number] would be, had the look ended with this reading.
	Number  int
	Groups  []*Group
	Stopped []JobKey
}

// Home returns where the schedd is, without what may change while it runs; "" if it has not told
// its queue.
func (s *Schedd) Home() string {
	if s.Moved || s.Since.IsZero() {
		return ""
	}
	return cedar.Address{Host: s.Address.Host, Port: s.Address.Port, Sock: s.Address.Sock}.String()
}

// Submitter is what a submitter ad says.
type Submitter struct {
	Tag  string
	Idle int64
	// Excluded says that the submitter's jobs are not to be planned, as the pool's constraint of
	// submitters is not true, and Skipped that they are not, as its ad asks for that.
	Excluded, Skipped bool
	// User is who sent the ad himself, without his domain: others' jobs are none of it. It is "" if a
	// daemon sent the ad.
	User string
	look int // the last look that saw the ad
}

// Barred returns what keeps the submitter's jobs from being planned, to be followed by "of" and the
// submitter; "" if nothing does.
func (s Submitter) Barred() string {
	switch {
	case s.Excluded:
		return "NEGOTIATOR_SUBMITTER_CONSTRAINT is not true"
	case s.Skipped:
		return "SkipMatchmaking is true"
	}
	return ""
}

// JobKey names a job in a pool.
type JobKey struct {
	Schedd        string
	Cluster, Proc int64
}

// Compare orders keys by schedd, cluster and proc.
func (k JobKey) Compare(o JobKey) int {
	return cmp.Or(strings.Compare(k.Schedd, o.Schedd), cmp.Compare(k.Cluster, o.Cluster), cmp.Compare(k.Proc, o.Proc))
}

// String is the job's ID in its schedd, such as 12.0.
func (k JobKey) String() string {
	return strconv.FormatInt(k.Cluster, 10) + "." + strconv.FormatInt(k.Proc, 10)
}

// Name is what users call the job: 12.0, or 12.0@schedd in a pool of several schedds.
func (k JobKey) Name(several bool) string {
	if several {
		return k.String() + "@" + k.Schedd
	}
	return k.String()
}

// ParseJobID reads a job's ID such as 12.0; ok is false if the text is none.
func ParseJobID(text string) (cluster, proc int64, ok bool) {
	c, pr, ok := strings.Cut(text, ".")
	if !ok {
		return 0, 0, false
	}
	cluster, err := strconv.ParseInt(c, 10, 64)
	if err != nil {
		return 0, 0, false
	}
	proc, err = strconv.ParseInt(pr, 10, 64)
	return cluster, proc, err == nil
}

// Group is the jobs of one queue that are equal in all attributes that were asked for.
type Group struct {
	Spec   *Spec
	Submit backfill.Time
	Prio   int64
	// Hosts are the slots where the jobs run, and Started is since when.
	Hosts   []string
	Started backfill.Time
	// Deferral says when the jobs begin to run if they have a time of their own.
	Deferral Deferral
	// Cools is the last second in which their schedd does not start the jobs because their last start
	// went wrong (JobCoolDownExpiration); 0: none.
	Cools backfill.Time
	// Status is HTCondor's JobStatus, and Shadows counts the jobs' shadows so far: one is started
	// once a startd has accepted a claim.
	Status, Shadows int64
	// Vacated is HTCondor's VacateReasonCode, of jobs that have run: why their last run ended.
	Vacated int64
	// Jobs are the jobs themselves.
	Jobs []JobKey

	// transfers says that the jobs, which run, transfer their input, queued that they wait for that.
	transfers, queued bool

	manager string   // the dedicated scheduler of a gang
	members []Member // of a gang of several procs, see [Join]
	ids     []byte   // the jobs' IDs as they came
	look    int      // the last look that saw the group
	price   int      // see price; without its jobs
}

// Values of JobStatus.
const (
	Idle         = 1
	Running      = 2
	onHold       = 5
	transferring = 6
	suspended    = 7
)

// Values of VacateReasonCode, from 23.10 on: a startd failed, shut down, drained, let its machine
// sleep, or was given to another pool.
const (
	startdFailed  = 1012
	startdShut    = 1013
	startdDrained = 1014
	startdSleeps  = 1016
	startdRehomed = 1037
)

// SlotEnded tells whether the last run of the group's jobs ended with their slot.
func (g *Group) SlotEnded() bool {
	switch g.Vacated {
	case startdFailed, startdShut, startdDrained, startdSleeps, startdRehomed:
		return true
	}
	return false
}

// IsSuspended tells whether the group's jobs are suspended on their slots.
func (g *Group) IsSuspended() bool { return g.Status == suspended }

// Suspend has running jobs be suspended on their slots, or not.
func (g *Group) Suspend(paused bool) {
	switch {
	case paused:
		g.Status = suspended
	case g.Status == suspended:
		g.Status = Running
	}
}

// Runs tells whether the group's jobs hold slots: they run, transfer their output or are suspended.
func (g *Group) Runs() bool {
	return g.Status == Running || g.Status == transferring || g.Status == suspended
}

// OnHold tells whether the group's jobs are on hold. Of such jobs only procs of gangs are known.
func (g *Group) OnHold() bool { return g.Status == onHold }

// Submitter returns the name of the submitter for whom the group's jobs, in this schedd's queue,
// are negotiated: the user, the accounting group and user, or the dedicated scheduler of gangs,
// jobs of several chunks.
func (g *Group) Submitter(schedd string) string {
	if !g.Spec.Parallel {
		return g.Spec.Submitter()
	}
	return cmp.Or(g.manager, dedicated+schedd)
}

// Asks tells whether a schedd asks for the slots of the group's jobs, gangs. Nobody else can: it
// serves none that name another scheduler than its own.
func (s *Schedd) Asks(g *Group) bool {
	name := g.Submitter(s.Name)
	return strings.HasPrefix(name, dedicated) && s.Submitters[name].Idle > 0
}

// Advertises tells whether a schedd advertises the submitter of the group's jobs, and for their user.
// Of gangs it is enough that the schedd advertises itself: the dedicated scheduler is advertised
// only while it asks for slots.
func (s *Schedd) Advertises(g *Group) bool {
	submitter, advertised := s.Submitters[g.Submitter(s.Name)]
	user, _, _ := strings.Cut(g.Spec.User(), "@")
	return advertised && (submitter.User == "" || submitter.User == user) || g.Spec.Parallel && s.Own
}

// Serves tells whether the group's jobs, gangs, name the dedicated scheduler of their schedd.
func (s *Schedd) Serves(g *Group) bool {
	return strings.EqualFold(g.Submitter(s.Name), dedicated+s.Name) || s.Asks(g)
}

// dedicated is what the names of dedicated schedulers begin with; the name of their schedd follows.
const dedicated = "DedicatedScheduler@"

// Other is a negotiator that the collector knows.
type Other struct {
	Name, Address string
	Started       time.Time
	Ours          bool // it is a negotiator of this project
	// SlotConstraint is true of all slots that it may give away; "" if its ad has none.
	SlotConstraint string
	// PrioritiesOf names the negotiator that keeps its accounts; "" if it keeps them itself.
	PrioritiesOf string
	// Page is the address of its page; "": there is none.
	Page string
	Has  Has
}

// Has is what a negotiator of this project has.
type Has struct{ Slots, Cpus, InUse, Running, Waiting int64 }
