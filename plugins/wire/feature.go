package wire

import (
	"fmt"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
)

// Features are additions to the protocol since its first release that a plugin without support for
// them would misread. Each has a bit, by its number in the protocol.
type Features uint16

// The features.
const (
	Running Features = 1 << policyv1.Feature_FEATURE_RUNNING
	Bundles Features = 1 << policyv1.Feature_FEATURE_BUNDLES
	Release Features = 1 << policyv1.Feature_FEATURE_RELEASE
	// Preemption is needed for reading.
	Preemption Features = 1 << policyv1.Feature_FEATURE_PREEMPTION
	// Everything is the set of features that plugins built with this host's sdk can read.
	Everything = Running | Bundles | Release | Preemption
	// Windows is not needed for reading: a plugin without it is sent what is open; see [OpenNow].
	Windows Features = 1 << policyv1.Feature_FEATURE_WINDOWS
	// Ends is not needed for reading either; see [CutOff].
	Ends Features = 1 << policyv1.Feature_FEATURE_ENDS
	// Limits is needed for reading by policies with guarantees alone: other plugins without it are sent
	// states without rows; see [WithoutLimits].
	Limits Features = 1 << policyv1.Feature_FEATURE_LIMITS
	// Least is needed for reading by policies with guarantees alone: other plugins without it are sent
	// where enough is free; see [EnoughNow].
	Least Features = 1 << policyv1.Feature_FEATURE_LEAST
	// unneeded are those that a plugin need not have, and that every one built with this sdk has.
	unneeded = Windows | Ends | Limits | Least
	// PlanDepth is not for reading: a policy that does not follow a [backfill.Planning] is given none.
	PlanDepth Features = 1 << policyv1.Feature_FEATURE_PLAN_DEPTH
)

func (f Features) String() string {
	var names []string
	if f&Running != 0 {
		names = append(names, "jobs that are expected to run for longer or shorter than the estimate that they "+
			"are placed by")
	}
	if f&Bundles != 0 {
		names = append(names, "bundles of slots that are taken whole, such as partitions")
	}
	if f&Release != 0 {
		names = append(names, "jobs that may not start before an instant that is still to come")
	}
	if f&Preemption != 0 {
		names = append(names, "jobs that make way for others")
	}
	if f&Limits != 0 {
		names = append(names, "limits of the pool, of which jobs take while they run")
	}
	if f&Least != 0 {
		names = append(names, "slots that take a job only while more is free than it takes")
	}
	return strings.Join(names, "; ")
}

// FeaturesOf returns the features that a plugin says it knows; those unknown here are ignored.
func FeaturesOf(m *policyv1.DescribeResponse) (f Features) {
	for _, feature := range m.GetFeatures() {
		if feature > 0 {
			f |= 1 << feature & (Everything | unneeded | PlanDepth)
		}
	}
	return f
}

// FeaturesFor returns the features that a policy built with this host's sdk has.
func FeaturesFor(s backfill.PolicySpec) Features {
	if s.PlanDepth {
		return Everything | unneeded | PlanDepth
	}
	return Everything | unneeded
}

func encodeFeatures(f Features) (list []policyv1.Feature) {
	for feature := policyv1.Feature(1); 1<<feature <= Preemption; feature++ {
		if f&(1<<feature) != 0 {
			list = append(list, feature)
		}
	}
	return list
}

// OpenNow returns candidate sets for a plugin that knows of no windows: the candidates of each that are
// open at an instant.
func OpenNow(sets []backfill.CandidateSet, at backfill.Time) []backfill.CandidateSet {
	open := make([]backfill.CandidateSet, len(sets))
	for i := range sets {
		open[i] = backfill.CandidateSet{ID: sets[i].ID, Candidates: *sets[i].Candidates.OpenAt(at)}
	}
	return open
}

// RoundNeeds returns the features that a plugin needs to read a round.
func RoundNeeds(r backfill.Round) (f Features) {
	if len(r.Bundles) > 0 {
		f |= Bundles
	}
	for i := range r.Events {
		if j := r.Events[i].Job; j != nil {
			f |= jobNeeds(j, r.Now)
		}
		switch r.Events[i].Kind {
		case backfill.Released:
			f |= Release
		case backfill.EndsSooner, backfill.Pinned:
			f |= Preemption
		default:
		}
	}
	return f
}

// StateNeeds returns the features that a plugin needs to read a state.
func StateNeeds(s backfill.Snapshot) (f Features) {
	if len(s.Bundles) > 0 {
		f |= Bundles
	}
	for i := range s.Jobs {
		f |= jobNeeds(s.Jobs[i].Job, s.Now)
		if s.Jobs[i].Pinned || s.Jobs[i].Yields {
			f |= Preemption
		}
	}
	return f
}

// jobNeeds returns the features that a plugin needs to read a job at an instant.
func jobNeeds(j *backfill.Job, now backfill.Time) (f Features) {
	if j.Early(now) {
		f |= Release
	}
	if j.Running != 0 && j.Running != j.Estimate {
		f |= Running
	}
	if j.Whole {
		f |= Bundles
	}
	return f
}

// Lack returns an error that names the needed features that a plugin does not have, or nil.
func (f Features) Lack(needs Features) error {
	if missing := needs &^ f; missing != 0 {
		return fmt.Errorf("it does not know what is in the pool: %v: %w, or do without", missing, ErrMismatch)
	}
	return nil
}
