package condorsim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// Priorities say how the priorities of users are simulated. The zero value has HTCondor's defaults.
// Who submits for an accounting group has a priority of his own there.
type Priorities struct {
	// HalfLife is the time in which what a user has used comes to count half; 0: [DefaultHalfLife].
	HalfLife backfill.Time
	// Factors multiply the priorities of users, by the names that [Job.Submitter] returns. Others have
	// HTCondor's default, which is 1000; a user of twice the factor gets half as much.
	Factors map[string]float64
}

// DefaultHalfLife is that of HTCondor.
const DefaultHalfLife backfill.Time = 86_400

// MostFactor is the largest priority factor.
const MostFactor = pools.MostFactor

// Validate returns an error if a half-life or factor is out of bounds.
func (p Priorities) Validate() error {
	if p.HalfLife < 0 || p.HalfLife > backfill.MaxTime {
		return fmt.Errorf("a half-life of %d s: must be from 1 to %d s", p.HalfLife, int64(backfill.MaxTime))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Factors)) {
		if err := accountant.CheckName(name); err != nil {
			return fmt.Errorf("a priority factor is of a user: %w", err)
		}
		if f := p.Factors[name]; !(f >= 1 && f <= MostFactor) {
			return fmt.Errorf("the priority factor %v of %s: must be from 1 to %g; HTCondor's default is 1000",
				f, name, MostFactor)
		}
	}
	return nil
}

// CheckUsers returns an error if a factor is of somebody who has no job.
func (p Priorities) CheckUsers(w *Workload) error {
	names := map[string]bool{}
	for _, name := range w.submitters() {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(p.Factors)) {
		if !names[name] {
			delete(names, "")
			known := slices.Sorted(maps.Keys(names))
			const shown = 10
			more := ""
			if len(known) > shown {
				more = fmt.Sprintf(" and %d others", len(known)-shown)
			}
			return fmt.Errorf("the priority factor of %s: no job of %s is of that user%s; there are %s%s", name, w.Name,
				backfill.DidYouMean(name, known), strings.Join(known[:min(shown, len(known))], ", "), more)
		}
	}
	return nil
}

// Submitter returns in whose name a job is: its accounting group, with which its user is named, else its
// user; "" if none is known, or by a name that HTCondor takes for none.
func (j *Job) Submitter() string {
	name := j.Labels["account"]
	if name == "" {
		name = j.User
	}
	if accountant.CheckName(name) != nil {
		return ""
	}
	return name
}

// NobodysText is the warning that jobs have no user.
const NobodysText = "jobs of no known user share one priority, as if one user had submitted them"

// GroupsText is the warning that jobs have accounting groups and the pool has none.
const GroupsText = "the pool has no groups, so accounting groups have no quotas: whoever submits for one has a " +
	"priority of his own there"

// WarnOfUsers warns, about something, of jobs that have no known user, and of jobs of accounting groups where the
// pool has none.
func (w *Workload) WarnOfUsers(warn func(text string, about ...any), about ...any) {
	nobodys, grouped := 0, 0
	for i := range w.Jobs {
		if name := w.Jobs[i].Submitter(); name == "" {
			nobodys++
		} else if len(w.Groups) == 0 && name == w.Jobs[i].Labels["account"] && strings.Contains(name, ".") {
			grouped++
		}
	}
	for _, warning := range []struct {
		text  string
		count int
	}{{NobodysText, nobodys}, {GroupsText, grouped}} {
		if warning.count > 0 {
			warn(warning.text, append(slices.Clip(about), "count", warning.count, "of", len(w.Jobs))...)
		}
	}
}

// WithPriorities returns the workload with an account of what users use, which [Run] begins anew. It is
// for one run at a time.
func (w *Workload) WithPriorities(p Priorities) (*Workload, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	own := *w
	own.accounts = &accounts{w: &own, priorities: p}
	if err := own.accounts.begin(); err != nil {
		return nil, err
	}
	return &own, nil
}

// accounted returns the workload with an account of what users use if jobs make way for others in it, as
// rules see priorities, or if groups have quotas; it is there already under the order fairshare.
func (w *Workload) accounted() (*Workload, error) {
	if w.accounts != nil || !w.Preempts() && !w.Grouped() {
		return w, nil
	}
	return w.WithPriorities(Priorities{})
}

// Preempts reports whether the pool has rules by which jobs make way for others.
func (w *Workload) Preempts() bool { return w.Preemption != nil && w.Preemption.Rules != nil }

// FairShare returns the queue's order by the priorities of users, for runs of this workload: whoever has
// used less comes first, and jobs of one user come in the order of their JobPrio. The workload must come
// from [Workload.WithPriorities].
func (w *Workload) FairShare() negotiator.Order { return negotiator.OrderOfCycle(w.accounts.key) }

// OrderNamed returns the queue's order of that name; [negotiator.FairShare] only of a workload that comes
// from [Workload.WithPriorities].
func (w *Workload) OrderNamed(name string) (negotiator.Order, error) {
	if name == negotiator.FairShare && w.accounts != nil {
		return w.FairShare(), nil
	}
	return negotiator.OrderNamed(name)
}

// CheckOrder returns an error if no workload has an order of that name.
func CheckOrder(name string) error {
	if name == negotiator.FairShare {
		return nil
	}
	_, err := negotiator.OrderNamed(name)
	return err
}
