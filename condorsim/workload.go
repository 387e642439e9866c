package condorsim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/recorded"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
)

// Workload is a pool and the jobs submitted to it.
type Workload struct {
	Name   string
	Schema negotiator.Schema
	Slots  []*negotiator.Slot
	// Bundles are the partitions of a partitioned machine; each job takes one of them whole.
	// Without bundles jobs take parts of slots.
	Bundles []*negotiator.Bundle
	Limits  []negotiator.Limit // of which jobs take what their ads name
	Jobs    []Job              // by submit time; the ID of each is its index
	// History is the jobs that ended before the simulation begins, by their ends. Estimators learn
	// from it.
	History []estimate.Ended
	// Cleaning counts the jobs of a trace that were left out. Drops names those whose names are
	// numbers.
	Cleaning workload.Cleaning
	Drops    []workload.Drop

	// Outages are the failures and drains of slots, and Seed determines the random ones. A job that
	// loses its slot more often than GiveUpAfter (if 0, [pools.DefaultGiveUpAfter]) is held.
	Outages     []pools.Outage
	GiveUpAfter int
	Seed        uint64
	// UnixStart is the Unix time of second 0 of the trace; 0 if unknown, or if submit times are Unix
	// times already. Zone is the local time zone of the machine; nil means UTC. Expressions of ads see
	// the clock by both. UnknownZone is what the trace says of its zone if there is no such one.
	UnixStart   int64
	Zone        *time.Location
	UnknownZone string
	// Unheeded says what ads ask for and the simulation does not heed.
	Unheeded []string

	// Changes are what becomes of slots by a record, by time; nil: nothing does, and all are there from the
	// beginning on. Slack and Unstated are the start slack and the default estimate of the record's negotiator.
	Changes         []recorded.SlotChange
	Slack, Unstated backfill.Time
	// Recorded is the record of which the workload is; nil: of none.
	Recorded *recorded.Record

	// Preemption is how jobs make way for others; nil: none does, but for scavengers.
	Preemption *Preemption
	// Scavengers is how scavengers leave; nil: no job is one.
	Scavengers *Scavengers

	// Groups are accounting groups, Ceilings how many cpus submitters may have at once, by name. Quotas are the
	// limits that follow from both while all slots are up.
	Groups   pools.Groups
	Ceilings map[string]int64
	Quotas   []negotiator.Limit

	filled   int       // so many of the first jobs are there to fill the pool
	hasFill  bool      // the jobs that fill the pool are among these, also if an instance has them
	weights  []float64 // by job, what it counts for while it waits; nil: its cpus
	given    *Workload // of which this one is for a run that sets submit times; nil: none
	accounts *accounts // nil: none are kept
}

// configure returns a configuration with the workload's schema and clock.
func (w *Workload) configure(c negotiator.Config) negotiator.Config {
	c.Schema = w.Schema
	c.World.Start, c.World.Zone = w.UnixStart, w.Zone
	if w.Preemption != nil && w.Preemption.Rules != nil {
		c.Preemption = *w.Preemption.Rules
	}
	c.StartSlack, c.DefaultEstimate = max(c.StartSlack, w.Slack), cmp.Or(c.DefaultEstimate, w.Unstated)
	if w.Scavengers != nil {
		c.StartSlack = max(c.StartSlack, w.Scavengers.Vacate)
		c.Preemption.Off = c.Preemption.Off || w.Preemption == nil // though slots may have a RANK
	}
	return c
}

// startAt takes from the header of a trace what the clock of expressions shows.
func (w *Workload) startAt(h workload.Header) {
	w.UnixStart = h.Start()
	w.Zone, w.UnknownZone = h.Zone()
}

// giveClocks has slots whose ads are without a startd's clock say the time by the zone of the machine, if slots or
// jobs ask for it.
func (w *Workload) giveClocks(pool *pools.Description) {
	ask := slices.ContainsFunc(pool.Asked(), negotiator.AsksClock)
	seen := map[*classad.ClassAd]bool{} // jobs with the same ad are many
	for i := 0; i < len(w.Jobs) && !ask; i++ {
		ad := w.Jobs[i].Ad
		if seen[ad] {
			continue
		}
		seen[ad] = true
		for _, attr := range []string{"Requirements", "Rank"} {
			if e, has := ad.Lookup(attr); has {
				_, external, _ := e.Refs(ad) // references in a circle evaluate to error
				ask = ask || slices.ContainsFunc(external, negotiator.AsksClock)
			}
		}
	}
	if ask {
		w.Slots = negotiator.GiveClocks(w.Slots, w.Zone)
	}
}

// Clock returns what instants of the simulation are in the time of people.
func (w *Workload) Clock() instant.Clock {
	if len(w.Jobs) == 0 {
		return instant.OfJobs(w.UnixStart, 0, 0, w.Zone)
	}
	return instant.OfJobs(w.UnixStart, int64(w.Jobs[0].Submit), int64(w.Jobs[len(w.Jobs)-1].Submit), w.Zone)
}

// text writes an instant of the simulation as people read it.
func (w *Workload) text(at backfill.Time) string { return w.Clock().Text(int64(at)) }

// Job is a job of the negotiator, with what only the simulation uses, such as its actual run time.
type Job struct {
	*negotiator.Job
	// Run is the actual run time, and Ran that of its file, which is longer if Run was cut to the estimate.
	Run, Ran backfill.Time
	// Cpus and Memory are the job's totals.
	Cpus, Memory int64
	// GPUs is how many its trace says that it needs in total; 0: none, or its ad says it.
	GPUs int64
	// BySlot says that what it requests depends on the slot: Cpus and Memory are what its ad alone tells.
	BySlot bool
	// Orphan says that the job it was to be submitted after is not in the trace any more.
	Orphan bool
	// Waited is how long it really waited before the start that its file records, if HasWaited; see
	// [Happened].
	Waited    backfill.Time
	HasWaited bool
	// WrongStart says that its file records a start before the submission.
	WrongStart bool
	// Prio is its JobPrio: in the order of fair share, among the jobs of its user, higher values come
	// first.
	Prio int64
	// Lies says that its user is one of those who state less than their jobs run.
	Lies bool
	// Origin says where the estimate is from.
	Origin workload.Origin
	// After is the end that the submission waits for; nil: none.
	After *After
	// Stray is what a record knows of it besides its arrival; nil: nothing.
	Stray *Stray
}

// After is the end of another job, which a submission waits for. If that job is not in the workload,
// it waits for nothing.
type After struct {
	Job   int64         // Position.Cluster of the other job
	Think backfill.Time // how long after that end; below 0: unknown
	Later bool          // its file records a later submission than that
}

// submits returns when a job is submitted after that end: a think time later, whenever it was really
// submitted. If the think time is unknown, it is submitted when it was, or at that end if that is later.
func (a *After) submits(recorded, end backfill.Time) backfill.Time {
	if a.Think < 0 {
		return max(recorded, end)
	}
	return end + a.Think
}

// runs returns how long the job runs: until its end or its limit.
func (j Job) runs() backfill.Time {
	if j.Limit > 0 {
		return min(j.Run, j.Limit)
	}
	return j.Run
}

// runsFrom returns how long the job runs if it begins at an instant.
func (j Job) runsFrom(start backfill.Time) backfill.Time {
	if leaves := recorded.Leaves(j.away()); leaves > 0 {
		return max(0, min(j.runs(), leaves-start))
	}
	return j.runs()
}

// Capacity returns the sum of the slots' capacities.
func (w *Workload) Capacity() backfill.Vector {
	sum := make(backfill.Vector, len(w.Schema.Resources))
	for _, s := range w.Slots {
		sum.AddScaled(s.Capacity, 1)
	}
	return sum
}

// OtherResources returns the places, in the schema, of the resources besides cpus and memory; the
// count of jobs is none.
func (w *Workload) OtherResources() (list []int) {
	for k, name := range w.Schema.Resources {
		if k > 0 && name != "memory" && !negotiator.IsCount(name) && !negotiator.IsKind(name) {
			list = append(list, k)
		}
	}
	return list
}

// Requests returns what each chunk of each job asks for, by job; nil for one whose request only a
// slot can tell. Jobs with the same ad share it.
func (w *Workload) Requests() []backfill.Vector {
	all := make([]backfill.Vector, len(w.Jobs))
	known := map[*classad.ClassAd]backfill.Vector{}
	for i, j := range w.Jobs {
		if j.Ad == nil {
			continue
		}
		request, found := known[j.Ad]
		if !found {
			if !w.leftToSlots(j.Ad) {
				request, _ = w.Schema.Request(j.Ad, 1) // on an error nil
			}
			known[j.Ad] = request
		}
		all[i] = request
	}
	return all
}

// leftToSlots reports whether an ad asks for an amount by an expression that has no value without a
// slot.
func (w *Workload) leftToSlots(ad *classad.ClassAd) bool {
	return slices.ContainsFunc(w.Schema.Resources, func(resource string) bool {
		name := "Request" + negotiator.Attribute(resource)
		_, asks := ad.Lookup(name)
		_, known := ad.Real(name)
		return asks && !known
	})
}

// CheckChunks returns an error if a job has several chunks on a partitioned machine.
func (w *Workload) CheckChunks() error {
	i := slices.IndexFunc(w.Jobs, func(j Job) bool { return j.Nodes != 1 })
	if len(w.Bundles) == 0 || i < 0 {
		return nil
	}
	return fmt.Errorf("job %s: %d chunks: on a partitioned machine a job has one, and asks it for all that it needs",
		w.Jobs[i].Name, w.Jobs[i].Nodes)
}

// Memory returns the slots' memory in MiB; 0 if memory is no resource.
func (w *Workload) Memory() int64 {
	if i := slices.Index(w.Schema.Resources, "memory"); i >= 0 {
		return w.Capacity()[i]
	}
	return 0
}

// gpus returns the GPUs of the slots if the jobs of a trace ask for some; else 0.
func (w *Workload) gpus() int64 {
	i := slices.Index(w.Schema.Resources, "gpus")
	if i < 0 || !slices.ContainsFunc(w.Jobs, func(j Job) bool { return j.GPUs > 0 }) {
		return 0
	}
	return w.Capacity()[i]
}
