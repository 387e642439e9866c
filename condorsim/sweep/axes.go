package sweep

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// given is the estimate model that keeps the trace's estimates.
const given = "given"

func (f *File) loads() []float64 { return orElse(f.Loads, 1) }

// estimates say what the users of a trace stated: a model, and what it is multiplied by (0: by what the
// trace says).
type estimates struct {
	model string
	scale float64
}

// estimates returns all that users are to have stated: each model with each scale.
func (f *File) estimates() (all []estimates) {
	for _, model := range orElse(f.EstimateModels, given) {
		for _, scale := range orElse(f.ScaleEstimates, 0) {
			all = append(all, estimates{model, scale})
		}
	}
	return all
}

// scaled reports whether the sweep multiplies what users stated.
func (e estimates) scaled() bool { return e.scale != 0 && e.scale != 1 }

// String is the estimate model as results have it.
func (e estimates) String() string {
	if e.scaled() {
		return e.model + " × " + formatLoad(e.scale)
	}
	return e.model
}

func (f *File) seeds() []uint64 { return orElse(f.Seeds, 0) }

// fair returns which fair start times to find. They are capped, since a sweep keeps only the
// unfairness, and each cell has one core.
func (f *File) fair() condorsim.Fair {
	return condorsim.Fair{
		Strict: slices.Contains(f.FST, "strict"), Relaxed: slices.Contains(f.FST, "relaxed"),
		Capped: true, Workers: 1,
	}
}

func orElse[T any](list []T, one T) []T {
	if len(list) == 0 {
		return []T{one}
	}
	return list
}

func formatLoad(load float64) string { return strconv.FormatFloat(load, 'g', -1, 64) }

// scheduler is one scheduler of a sweep.
type scheduler struct {
	label, policy, placement string
	order                    string // "": the policy's
	options                  map[string]string
	estimates                estimate.Settings
	priorities               condorsim.Priorities
	trust                    string // "": the default
	slotEnd                  string // "": the default
	policyPath, orderPath    string // paths in the file
	path                     string // path of the entry
}

// schedulers returns all schedulers of a file, in its order.
func (f *File) schedulers() []scheduler {
	var all []scheduler
	for i := range f.Schedulers {
		for _, one := range f.Schedulers[i].expand() {
			one.path = at("schedulers")(i)
			one.policyPath = one.path + one.policyPath
			one.orderPath = one.path + one.orderPath
			all = append(all, one)
		}
	}
	return all
}

// trust returns which stated run times count; "": those that do by default.
func (s *Scheduler) trust() string {
	if s.Trust == string(estimate.TrustRecord) {
		return ""
	}
	return s.Trust
}

// trustLabel is what that adds to a label.
func (s *Scheduler) trustLabel() string {
	if s.trust() == "" {
		return ""
	}
	return "-trust-" + s.Trust
}

// endLabel is what the choice of slots' ends adds to a label.
func (s *Scheduler) endLabel() string {
	if s.SlotEnd == "" {
		return ""
	}
	return "-slot-end-" + s.SlotEnd
}

// priorities says how the priorities of users are simulated under an order.
func (s *Scheduler) priorities(order string) condorsim.Priorities {
	if order != negotiator.FairShare {
		return condorsim.Priorities{}
	}
	return condorsim.Priorities{HalfLife: backfill.Time(s.HalfLife), Factors: s.Factors}
}

// unusual returns how the priorities of users are simulated; nil: as they usually are.
func (s *scheduler) unusual() *condorsim.Priorities {
	if s.priorities.HalfLife == 0 && len(s.priorities.Factors) == 0 {
		return nil
	}
	return &s.priorities
}

// halfLifeLabel is what a half-life of its own adds to the label of an order.
func (s *Scheduler) halfLifeLabel(order string) string {
	if order != negotiator.FairShare || s.HalfLife == 0 {
		return ""
	}
	return "-halflife-" + strconv.FormatInt(s.HalfLife, 10)
}

func (s *Scheduler) placement() string { return cmp.Or(s.Placement, "rank") }

// expand returns a scheduler for each combination of policy, order and estimators, policy by
// policy.
func (s *Scheduler) expand() []scheduler {
	policies, policyPath := s.Policies, at(".policies")
	orders, orderPath := s.Orders, at(".orders")
	if s.Policy != "" {
		policies, policyPath = []string{s.Policy}, func(int) string { return ".policy" }
	}
	if len(orders) == 0 {
		orders, orderPath = []string{s.Order}, func(int) string { return ".order" }
	}
	var all []scheduler
	for i, policy := range policies {
		for n, order := range orders {
			label := policy
			if order != "" {
				label += "-" + order + s.halfLifeLabel(order)
			}
			for _, estimates := range s.Estimates.expand() {
				all = append(all, scheduler{
					label: cmp.Or(s.Label, label+estimatesLabel(estimates)+s.trustLabel()+s.endLabel()), policy: policy,
					trust: s.trust(), slotEnd: s.SlotEnd, order: order, placement: s.placement(), options: s.Options, estimates: estimates,
					priorities: s.priorities(order),
					policyPath: policyPath(i), orderPath: orderPath(n),
				})
			}
		}
	}
	return all
}

// cellID returns the name of a cell, which is one simulation. It leaves out a load, estimates, a
// jitter and a seed that are the defaults, so that a cell keeps its name when a sweep grows.
func cellID(trace, label string, load float64, e estimates, jitter float64, seed uint64) string {
	parts := []string{trace, label}
	if load != 1 {
		parts = append(parts, "load="+formatLoad(load))
	}
	if e.model != given {
		parts = append(parts, "estimate-model="+strings.ReplaceAll(e.model, ":", "="))
	}
	if e.scaled() {
		parts = append(parts, "scale-estimates="+formatLoad(e.scale))
	}
	if jitter != 0 {
		parts = append(parts, "jitter-keys="+strconv.FormatFloat(jitter, 'f', -1, 64))
	}
	if seed != 0 {
		parts = append(parts, "seed="+strconv.FormatUint(seed, 10))
	}
	return strings.Join(parts, ",")
}
