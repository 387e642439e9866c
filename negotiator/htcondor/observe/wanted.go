package observe

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// wanted is the set of attributes that one kind of ad is asked for: those that are always needed,
// and those that expressions of others refer to. It grows at once when expressions refer to more,
// and shrinks some time after nothing refers to a name any more.
type wanted struct {
	base     map[string]bool      // in lower case, as all names here
	state    map[string]bool      // those that change all the time
	beside   map[string]bool      // those that are asked for something else than matches, see claiming
	referred map[string]time.Time // and when something was last known to refer to the name
	list     []string             // all of them, sorted; nil: to be made
	stale    bool                 // ads that were read so far lack state that is referred to now, or have too much
}

// Users decide what expressions refer to, so the set is bounded: a job that refers to more than
// maxOfOne attributes is not planned, nor is one with which the jobs of its user refer to more than
// maxOfUser; attributes beyond maxReferred count as undefined in plans. Of a slot that refers to more,
// only the first maxOfOne count, and none of one with which its host's slots refer to more than
// maxOfUser. When a job is handed over, its Requirements are evaluated against the slot's whole ad.
const (
	maxOfOne    = 100
	maxOfUser   = 300
	maxReferred = 2000
)

// always is when something last refers to the names in the observer's settings.
var always = time.Unix(1<<40, 0)

func newWanted(state map[string]bool, base ...string) wanted {
	w := wanted{base: map[string]bool{}, referred: map[string]time.Time{}, state: state}
	for _, name := range base {
		w.base[strings.ToLower(name)] = true
	}
	return w
}

// refer notes that expressions refer to attributes at a time. It reports whether the ads that were
// read so far lack some of them.
func (w *wanted) refer(names []string, now time.Time) (grew bool) {
	for _, name := range names {
		name = strings.ToLower(name)
		last, known := w.referred[name]
		if known || !w.full() && len(name) <= longestName && strings.IndexFunc(name, needsQuotes) < 0 {
			w.referred[name] = later(last, now)
		}
		if known || !w.asked(name) {
			continue
		}
		w.stale = w.stale || w.state[name]
		if !w.base[name] || w.state[name] {
			grew, w.list = true, nil
		}
	}
	return grew
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// referTo notes that an expression in the observer's settings refers to attributes.
func (w *wanted) referTo(e *classad.Expr) (grew bool) {
	internal, external, _ := e.Refs(nil) // a circular reference evaluates to error
	grew = w.refer(internal, always)
	return w.refer(external, always) || grew
}

// asked tells whether an expression refers to an attribute, and it is asked for because of that.
func (w *wanted) asked(name string) bool {
	_, asked := w.referred[name]
	return asked
}

// drop removes the names that nothing has referred to since a time, and returns them.
func (w *wanted) drop(since time.Time) map[string]bool {
	dropped := map[string]bool{}
	for name, last := range w.referred {
		if last.Before(since) {
			dropped[name] = true
			delete(w.referred, name)
			w.stale, w.list = w.stale || w.state[name], nil
		}
	}
	return dropped
}

// restrip tells whether ads must be read anew although they did not change, because other state
// than before is to be kept in them. It tells so once.
func (w *wanted) restrip() bool {
	stale := w.stale
	w.stale = false
	return stale
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
		for name := range w.referred {
			all[name] = true
		}
		maps.Copy(all, w.beside)
		w.list = slices.Sorted(maps.Keys(all))
	}
	return w.list
}

// strip deletes from an ad the attributes that change all the time, unless an expression refers to
// them. It returns those that it has deleted.
func (w *wanted) strip(ad *classad.ClassAd) map[string]*classad.Expr {
	deleted := map[string]*classad.Expr{}
	for name, e := range ad.All() {
		lower := strings.ToLower(name)
		if (w.state[lower] || w.beside[lower] && !w.base[lower] && !prefers(lower, ad)) && !w.asked(lower) {
			deleted[lower] = e
		}
	}
	for name := range deleted {
		ad.Delete(name)
	}
	return deleted
}

// slotState are the slot attributes that change with every job, jobState the job attributes that
// change while a job waits and runs.
var (
	slotState = set("State", "Activity", "JobId", "GlobalJobId", "RemoteScheddName", "RemoteUser", "RemoteOwner", "AccountingGroup",
		"JobStart", "IsDataSlot", "EnteredCurrentState", "EnteredCurrentActivity", "MyCurrentTime", "LastHeardFrom", "MyAddress",
		"Offline", "DaemonStartTime", "ChildName", "UpdateSequenceNumber", identityAttribute)
	jobState = set("JobStatus", "RemoteHost", "RemoteHosts", "JobCurrentStartDate", "JobCurrentStartExecutingDate",
		"VacateReasonCode",
		"QDate", "JobPrio", "Id", "JobIds", "JobCount", "CurrentHosts", "DeferralTime", "Scheduler",
		"NumShadowStarts", "JobCoolDownExpiration", "TransferringInput", "TransferQueued",
		"JobStartDate", "ShadowBday", "RemoteWallClockTime", "NumJobStarts") // what bounds rest on
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
	slot := append(slices.Sorted(maps.Keys(slotState)), "Name", "MyType", "Machine", "SlotType", "PartitionableSlot", "BackfillSlot",
		"DynamicSlot", "MachineResources", "Requirements", "NegotiatorRequirements", "SlotWeight",
		"Arch", "OpSys", "FileSystemDomain", "HasFileTransfer") // every job's Requirements refer to these
	job := append(slices.Sorted(maps.Keys(jobState)), "User", "Owner", "AcctGroup", "AccountingGroup", "ProjectName",
		"QOS", "JobUniverse", "MinHosts", "MaxHosts", "Requirements", "Rank", "ConcurrencyLimits",
		"CurrentTime", "DeferralPrepTime", "DeferralWindow", "ScheddInterval") // condor_submit has Requirements refer to the last
	for _, resource := range o.s.Schema.Resources {
		if resource != Claims {
			slot = append(slot, resource, "TotalSlot"+resource, "Consumption"+resource)
			job = append(job, "Request"+resource)
		}
	}
	slot = slices.Concat(slot, negotiator.Shutdown(), o.s.Schema.SlotEnds)
	job = slices.Concat(job, policies, ofScavengers, o.s.Schema.Estimates, o.s.Schema.Limits, o.s.Schema.LabelAttributes())
	o.run = set(slices.Concat(keptOfRunning, o.s.Schema.Estimates, o.s.Schema.Limits)...)
	for _, resource := range o.s.Schema.Resources {
		o.run["request"+strings.ToLower(resource)] = true
	}
	notAsked := []string{"id", "jobids", "jobcount"} // the schedd adds them to each group
	job = slices.DeleteFunc(job, func(name string) bool { return slices.Contains(notAsked, name) })
	o.slotAttributes, o.jobAttributes = newWanted(slotState, slot...), newWanted(jobState, job...)
	for _, e := range o.s.Extra {
		o.jobAttributes.referTo(e)
	}
	o.referTo(o.s.JobConstraint)
	o.rankBy(o.s.Ranks)
	o.weighBy(o.s.Weights)
	o.preempt(o.s.Preemption)
	o.admit(o.s.SubmitterConstraint)
}

// referTo has jobs asked also for the attributes that a job constraint refers to: schedds may
// evaluate it against the attributes that are asked for alone. A constraint that cannot be parsed
// adds none: the schedds will refuse it.
func (o *Observer) referTo(constraint string) {
	if e, err := classad.ParseExpr(constraint); err == nil {
		o.jobAttributes.referTo(e)
	}
}

// keepNames is for how long an attribute is asked for although nothing refers to it any more: jobs
// come back, and what is asked for should seldom change. sweepEvery is how often such attributes
// are looked for.
const (
	keepNames  = 15 * time.Minute
	sweepEvery = 5 * time.Minute
)

// shrink stops asking for the attributes that nothing has referred to for a while.
func (o *Observer) shrink() {
	if o.looked.Sub(o.swept) < sweepEvery {
		return
	}
	o.swept = o.looked
	o.recall()
	o.forgetRanks()
	o.forgetScavengers()
	since := o.looked.Add(-keepNames)
	o.jobAttributes.drop(since)
	dropped := o.slotAttributes.drop(since)
	crowded := func(s *Spec) bool { return s.crowded } // there may be room now
	maps.DeleteFunc(o.specs, func(_ string, s *Spec) bool {
		return crowded(s) || slices.ContainsFunc(s.refers, func(name string) bool { return dropped[name] })
	})
	for _, s := range o.schedds {
		maps.DeleteFunc(s.groups, func(_ string, g *Group) bool { return crowded(g.Spec) })
	}
}

// recall notes what the jobs and slots that are known now refer to, and forgets what others did.
func (o *Observer) recall() {
	o.refersOf, o.referSteps, o.referStepsOfAll = map[string]map[string]bool{}, map[string]int{}, 0
	seen := map[*Spec]bool{}
	for _, s := range o.schedds {
		for _, g := range s.Groups {
			if !seen[g.Spec] && g.Spec.Wrong == nil {
				_, _, _ = o.referToSlots(g.Spec.user, g.Spec.refers) // it was allowed before
			}
			seen[g.Spec] = true
		}
	}
	for _, t := range o.read {
		o.slotRefers(t)
	}
}
