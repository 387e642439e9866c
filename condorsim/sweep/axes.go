package sweep

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/condorsim"
)

// given is the estimate model that keeps the trace's estimates.
const given = "given"

func (f *File) loads() []float64 { return orElse(f.Loads, 1) }

func (f *File) estimateModels() []string { return orElse(f.EstimateModels, given) }

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
				label += "-" + order
			}
			for _, estimates := range s.Estimates.expand() {
				all = append(all, scheduler{
					label: cmp.Or(s.Label, label+estimatesLabel(estimates)+s.trustLabel()+s.endLabel()), policy: policy,
					trust: s.trust(), slotEnd: s.SlotEnd, order: order, placement: s.placement(), options: s.Options, estimates: estimates,
					policyPath: policyPath(i), orderPath: orderPath(n),
				})
			}
		}
	}
	return all
}

// cellID returns the name of a cell, which is one simulation. It leaves out a load, an estimate
// model and a seed that are the defaults, so that a cell keeps its name when a sweep grows.
func cellID(trace, label string, load float64, model string, seed uint64) string {
	parts := []string{trace, label}
	if load != 1 {
		parts = append(parts, "load="+formatLoad(load))
	}
	if model != given {
		parts = append(parts, "estimate-model="+strings.ReplaceAll(model, ":", "="))
	}
	if seed != 0 {
		parts = append(parts, "seed="+strconv.FormatUint(seed, 10))
	}
	return strings.Join(parts, ",")
}
