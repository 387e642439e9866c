package htcondor

import (
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// wanted are the attributes that one kind of ad is asked for. There are those that
// are always needed and those that expressions refer to; both only grow, so that
// ads stay comparable from one look to the next.
type wanted struct {
	base, referred map[string]bool // lower case
	passing        map[string]bool // those that change all the time
	list           []string        // all of them, sorted; nil: to be made
}

// What users make us ask for is bounded: a job that refers to more than maxOfOne
// attributes is not planned with, and what is beyond maxReferred is undefined in plans.
// Before a job is handed over, its Requirements are held against the slot's whole ad.
const (
	maxOfOne    = 100
	maxReferred = 2000
)

func newWanted(passing map[string]bool, base ...string) wanted {
	w := wanted{base: map[string]bool{}, referred: map[string]bool{}, passing: passing}
	for _, name := range base {
		w.base[strings.ToLower(name)] = true
	}
	return w
}

// refer adds what an expression refers to and reports whether what was read before
// lacks some of it.
func (w *wanted) refer(names []string) (grew bool) {
	for _, name := range names {
		name = strings.ToLower(name)
		if w.referred[name] || w.full() || strings.IndexFunc(name, inNoName) >= 0 {
			continue
		}
		w.referred[name] = true
		if !w.base[name] || w.passing[name] {
			grew, w.list = true, nil
		}
	}
	return grew
}

// full tells whether no more attributes are taken.
func (w *wanted) full() bool { return len(w.referred) >= maxReferred }

// inNoName tells whether a character is in no attribute's name, but in a quoted one,
// which lists of names cannot hold.
func inNoName(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
}

// projection lists the attributes.
func (w *wanted) projection() []string {
	if w.list == nil {
		all := maps.Clone(w.base)
		maps.Copy(all, w.referred)
		w.list = slices.Sorted(maps.Keys(all))
	}
	return w.list
}

// kept tells whether an attribute belongs into the ad that is matched with: it is
// no mere state, or somebody asks for it all the same.
func (w *wanted) kept(name string) bool {
	name = strings.ToLower(name)
	return w.referred[name] || !w.passing[name]
}

// passing slot attributes change with every job; passingJob ones while it waits and
// runs.
var (
	passing = set("State", "Activity", "JobId", "GlobalJobId", "RemoteUser", "RemoteOwner", "AccountingGroup", "JobStart",
		"EnteredCurrentState", "EnteredCurrentActivity", "MyCurrentTime", "LastHeardFrom", "MyAddress", "Offline", "DaemonStartTime", "ChildName")
	passingJob = set("JobStatus", "RemoteHost", "RemoteHosts", "JobCurrentStartDate", "JobCurrentStartExecutingDate",
		"QDate", "JobPrio", "Id", "JobIds", "JobCount", "CurrentHosts", "DeferralTime", "Scheduler")
)

func set(names ...string) map[string]bool {
	s := map[string]bool{}
	for _, n := range names {
		s[strings.ToLower(n)] = true
	}
	return s
}

// Labels are the labels of jobs that are always read. What a job executes is so only
// where a key names it: jobs that differ in nothing else are read as one group.
func Labels() []string {
	return slices.DeleteFunc(negotiator.EveryLabel(), func(name string) bool { return name == "executable" })
}

// want begins with what is always needed.
func (p *Pool) want() {
	slot := append(slices.Sorted(maps.Keys(passing)), "Name", "MyType", "Machine", "SlotType", "PartitionableSlot", "DynamicSlot", "Requirements", "SlotWeight",
		"Arch", "OpSys", "FileSystemDomain", "HasFileTransfer") // of every job's Requirements
	job := append(slices.Sorted(maps.Keys(passingJob)), "User", "Owner", "AcctGroup", "AccountingGroup", "ProjectName", "QOS",
		"JobUniverse", "MinHosts", "MaxHosts", "Requirements", "Rank", "ConcurrencyLimits")
	for _, resource := range p.s.Schema.Resources {
		if resource != Claims {
			slot = append(slot, resource, "TotalSlot"+resource, "Consumption"+resource)
			job = append(job, "Request"+resource)
		}
	}
	job = slices.Concat(job, p.s.Schema.Estimates, p.s.Schema.Limits, p.s.Schema.LabelAttributes())
	job = slices.DeleteFunc(job, func(name string) bool { return name == "id" || name == "jobids" || name == "jobcount" })
	p.slotAttributes, p.jobAttributes = newWanted(passing, slot...), newWanted(passingJob, job...)
	for _, e := range p.s.Extra {
		p.jobAttributes.referTo(e)
	}
	p.referTo(p.s.JobConstraint)
}

// referTo has jobs come with what a constraint refers to, or schedds could not tell; they
// say what is wrong with one that cannot be read.
func (p *Pool) referTo(constraint string) (grew bool) {
	e, err := classad.ParseExpr(constraint)
	return err == nil && p.jobAttributes.referTo(e)
}

func (w *wanted) referTo(e *classad.Expr) (grew bool) {
	internal, external, _ := e.Refs(nil) // what is in a circle is error
	grew = w.refer(internal)
	return w.refer(external) || grew
}
