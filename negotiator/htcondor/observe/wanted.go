package observe

import (
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// wanted is the set of attributes that one kind of ad is asked for: those that are always needed,
// and those that expressions refer to. The set only grows, so that ads can be compared from one
// look to the next.
type wanted struct {
	base, referred map[string]bool // lower case
	state          map[string]bool // those that change all the time
	list           []string        // all of them, sorted; nil: to be made
}

// Users decide what expressions refer to, so the set is bounded: a job that refers to more than
// maxOfOne attributes is not planned, and attributes beyond maxReferred count as undefined in
// plans. When a job is handed over, its Requirements are evaluated against the slot's whole ad.
const (
	maxOfOne    = 100
	maxReferred = 2000
)

func newWanted(state map[string]bool, base ...string) wanted {
	w := wanted{base: map[string]bool{}, referred: map[string]bool{}, state: state}
	for _, name := range base {
		w.base[strings.ToLower(name)] = true
	}
	return w
}

// refer adds attributes that an expression refers to. It reports whether the ads that were read so
// far lack some of them.
func (w *wanted) refer(names []string) (grew bool) {
	for _, name := range names {
		name = strings.ToLower(name)
		if w.referred[name] || w.full() || strings.IndexFunc(name, needsQuotes) >= 0 {
			continue
		}
		w.referred[name] = true
		if !w.base[name] || w.state[name] {
			grew, w.list = true, nil
		}
	}
	return grew
}

func (w *wanted) referTo(e *classad.Expr) (grew bool) {
	internal, external, _ := e.Refs(nil) // a circular reference evaluates to error
	grew = w.refer(internal)
	return w.refer(external) || grew
}

// full tells whether no more attributes are added.
func (w *wanted) full() bool { return len(w.referred) >= maxReferred }

// needsQuotes tells whether an attribute's name with this character must be quoted. Lists of names
// on the wire cannot hold quoted names.
func needsQuotes(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
}

// projection returns the attributes to ask for, sorted.
func (w *wanted) projection() []string {
	if w.list == nil {
		all := maps.Clone(w.base)
		maps.Copy(all, w.referred)
		w.list = slices.Sorted(maps.Keys(all))
	}
	return w.list
}

// strip deletes from an ad the attributes that change all the time, unless an expression refers to
// them.
func (w *wanted) strip(ad *classad.ClassAd) {
	var names []string
	for name := range ad.All() {
		if lower := strings.ToLower(name); w.state[lower] && !w.referred[lower] {
			names = append(names, name)
		}
	}
	for _, name := range names {
		ad.Delete(name)
	}
}

// slotState are the slot attributes that change with every job, jobState the job attributes that
// change while a job waits and runs.
var (
	slotState = set("State", "Activity", "JobId", "GlobalJobId", "RemoteUser", "RemoteOwner", "AccountingGroup",
		"JobStart", "EnteredCurrentState", "EnteredCurrentActivity", "MyCurrentTime", "LastHeardFrom", "MyAddress",
		"Offline", "DaemonStartTime", "ChildName")
	jobState = set("JobStatus", "RemoteHost", "RemoteHosts", "JobCurrentStartDate", "JobCurrentStartExecutingDate",
		"QDate", "JobPrio", "Id", "JobIds", "JobCount", "CurrentHosts", "DeferralTime", "Scheduler")
)

func set(names ...string) map[string]bool {
	s := map[string]bool{}
	for _, n := range names {
		s[strings.ToLower(n)] = true
	}
	return s
}

// Labels returns the labels of jobs that are always read. A job's executable is read only if an
// order's key refers to it, because schedds report jobs that differ in nothing else as one group.
func Labels() []string {
	return slices.DeleteFunc(negotiator.EveryLabel(), func(name string) bool { return name == "executable" })
}

// want sets the attributes that are always asked for.
func (o *Observer) want() {
	slot := append(slices.Sorted(maps.Keys(slotState)), "Name", "MyType", "Machine", "SlotType", "PartitionableSlot",
		"DynamicSlot", "Requirements", "SlotWeight",
		"Arch", "OpSys", "FileSystemDomain", "HasFileTransfer") // every job's Requirements refer to these
	job := append(slices.Sorted(maps.Keys(jobState)), "User", "Owner", "AcctGroup", "AccountingGroup", "ProjectName",
		"QOS", "JobUniverse", "MinHosts", "MaxHosts", "Requirements", "Rank", "ConcurrencyLimits")
	for _, resource := range o.s.Schema.Resources {
		if resource != Claims {
			slot = append(slot, resource, "TotalSlot"+resource, "Consumption"+resource)
			job = append(job, "Request"+resource)
		}
	}
	job = slices.Concat(job, o.s.Schema.Estimates, o.s.Schema.Limits, o.s.Schema.LabelAttributes())
	notAsked := []string{"id", "jobids", "jobcount"} // the schedd adds them to each group
	job = slices.DeleteFunc(job, func(name string) bool { return slices.Contains(notAsked, name) })
	o.slotAttributes, o.jobAttributes = newWanted(slotState, slot...), newWanted(jobState, job...)
	for _, e := range o.s.Extra {
		o.jobAttributes.referTo(e)
	}
	o.referTo(o.s.JobConstraint)
}

// referTo makes the observer ask schedds also for the attributes that a job constraint refers to:
// they evaluate it against the attributes that are asked for alone. It reports whether any of them
// is new. A constraint that cannot be parsed adds none: the schedds will refuse it.
func (o *Observer) referTo(constraint string) (grew bool) {
	e, err := classad.ParseExpr(constraint)
	return err == nil && o.jobAttributes.referTo(e)
}
