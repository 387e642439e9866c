package track

import (
	"maps"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// SavedState is what a negotiator leaves on disk for the one after it: its checkpoint, with names
// that outlive a process. It holds no secrets.
type SavedState struct {
	// Version is the version of the form, see [SavedVersion]; 0 is the form before there were
	// versions.
	Version    int           `json:"version"`
	Now        backfill.Time `json:"now"`
	Policy     string        `json:"policy"`
	Guarantees bool          `json:"guarantees"`
	Foretold   bool          `json:"foretold,omitempty"`
	Slots      []SavedSlot   `json:"slots"`
	Jobs       []SavedJob    `json:"jobs"`
	Leases     []SavedLease  `json:"leases,omitempty"`
	// Exchanges are the jobs that changed places lately, by preemption.
	Exchanges []SavedExchange `json:"exchanges,omitempty"`
	// Displaced are the jobs that make way for others, or have and wait again.
	Displaced []SavedDisplaced `json:"displaced,omitempty"`
	Schedds   []SavedSchedd    `json:"schedds,omitempty"`
	Limits    []SavedLimit     `json:"limits,omitempty"`
}

// SavedLimit is a limit that was a part of the plan, with its height in the unit of
// [negotiator.LimitUnit], and the user to whom it is charged; "": nobody.
type SavedLimit struct {
	Name   string `json:"name"`
	Height int64  `json:"height"`
	User   string `json:"user,omitempty"`
}

// SavedSchedd is a schedd that told its queue, and where.
type SavedSchedd struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	// Seen are its highest clusters at some instants.
	Seen []SavedSeen `json:"seen,omitempty"`
}

// home returns where a slot is; "" if that is not known, or is no usual address.
func (b *Belief) home(slot string) string {
	if s := b.now.Slots[slot]; s != nil && len(s.Address) <= longestAddress {
		return s.Home()
	}
	return ""
}

const longestAddress = 1000

// Homes returns where the schedds and slots were.
func (s *SavedState) Homes() observe.Homes {
	h := observe.Homes{Schedds: map[string]string{}, Slots: map[string]string{}}
	if s == nil {
		return h
	}
	for _, schedd := range s.Schedds {
		h.Schedds[schedd.Name] = schedd.Address
	}
	for _, slot := range s.Slots {
		if slot.Address != "" {
			h.Slots[slot.Name] = slot.Address
		}
	}
	return h
}

// SavedLease is a lease that is in use.
type SavedLease struct {
	Slot      string        `json:"slot"`
	Schedd    string        `json:"schedd"`
	Submitter string        `json:"submitter"`
	Until     backfill.Time `json:"until"`
}

// SavedVersion is the version that is written. All versions before it can be read.
const SavedVersion = 1

// SavedSlot is a slot that was up.
type SavedSlot struct {
	Name     string          `json:"name"`
	Capacity backfill.Vector `json:"capacity"`
	End      backfill.Time   `json:"end,omitempty"`
	Address  string          `json:"address,omitempty"`
}

// SavedJob is a job with a place or a promise. Request, Nodes and Estimate tell whether it is still
// the same job; Ahead is for how long its claim is idle before it runs, see [observe.Deferral].
type SavedJob struct {
	Schedd   string          `json:"schedd"`
	Cluster  int64           `json:"cluster"`
	Proc     int64           `json:"proc"`
	Submit   backfill.Time   `json:"submit"`
	Nodes    int             `json:"nodes"`
	Request  backfill.Vector `json:"request"`
	Estimate backfill.Time   `json:"estimate"`
	Ahead    backfill.Time   `json:"ahead,omitempty"`
	Places   []Place         `json:"places,omitempty"`
	// Run is of a job that was seen to run; nil of others.
	Run *SavedRun `json:"run,omitempty"`
	// Over is of a job that is to have the place of others; nil of others.
	Over *SavedTakeover `json:"over,omitempty"`
	// Scavenger says that it was one when it was last told to the negotiator. Until is how long a job that
	// was started has to wait for scavengers to leave.
	Scavenger bool          `json:"scavenger,omitempty"`
	Until     backfill.Time `json:"until,omitempty"`
	backfill.Standing
}

// SavedRun is since when a job runs, and what else it was planned by: its user may edit it
// meanwhile.
type SavedRun struct {
	Since   backfill.Time   `json:"since"`
	Limit   backfill.Time   `json:"limit,omitempty"`
	Charged observe.Charged `json:"charged"`
}

// Save puts a negotiator's checkpoint into a form that outlives the process.
func (b *Belief) Save(m negotiator.Checkpoint) *SavedState {
	saved := &SavedState{
		Version: SavedVersion, Now: m.Now, Policy: m.Policy, Guarantees: m.Guarantees, Foretold: m.Foretold,
	}
	for _, s := range m.Slots {
		saved.Slots = append(saved.Slots, SavedSlot{Name: s.Name, Capacity: s.Capacity, End: s.End, Address: b.home(s.Name)})
	}
	for _, c := range m.Jobs {
		j := b.byID[c.Job.ID]
		if j == nil || j.Spec == nil || c.Placement == nil {
			continue
		}
		saved.Jobs = append(saved.Jobs, SavedJob{
			Schedd: j.Key.Schedd, Cluster: j.Key.Cluster, Proc: j.Key.Proc, Submit: c.Job.Submit,
			Nodes: c.Job.Nodes, Request: j.Spec.Request, Estimate: j.Spec.Estimate, Ahead: j.ahead,
			Places: placesOf(c.Placement), Run: savedRun(j), Over: b.savedTakeover(j.ID), Standing: c.Standing,
			Scavenger: j.scavenges, Until: b.way.waits[j.ID],
		})
	}
	for _, l := range m.Limits {
		saved.Limits = append(saved.Limits, SavedLimit{l.Name, l.Height, b.limiting.told[l.Name].user})
	}
	saved.Leases, saved.Exchanges, saved.Displaced = b.lending.save(), b.savedExchanges(m.Exchanges), b.savedDisplaced(m.Displaced)
	for _, name := range slices.Sorted(maps.Keys(b.now.Schedds)) {
		if home := b.now.Schedds[name].Home(); home != "" {
			saved.Schedds = append(saved.Schedds, SavedSchedd{name, home, slices.Clone(b.seen[name])})
		}
	}
	return saved
}

// savedRun returns what is saved of a job's run; nil if it was not seen to run.
func savedRun(j *Job) *SavedRun {
	if j.Phase != Running || j.lasted == nil {
		return nil
	}
	return &SavedRun{Since: j.lasted.since, Limit: j.Spec.Limit, Charged: j.Spec.Charged()}
}

// spec returns what a job that runs was planned by, whatever its ad says since.
func (former SavedJob) spec(since *observe.Spec, resources []string) *observe.Spec {
	spec := since.As(former.Run.Charged, former.Request, former.Nodes, resources)
	spec.Estimate, spec.Limit = former.Estimate, former.Run.Limit
	return spec
}
