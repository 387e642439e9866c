package survey

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// Resource is one of the resources besides processors and memory, such as gpus, and the jobs that ask
// for it. Units are those of ads: KiB of disk.
type Resource struct {
	Name    string  `json:"name"`
	Jobs    int     `json:"jobs"`    // that ask for some
	Amounts Numbers `json:"amounts"` // of each of these
	// Work is run time × amount of all jobs.
	Work float64 `json:"work"`
	// Capacity is what the pool has. Load is the work over what that is in the span; both are 0 if
	// nothing is known of the pool.
	Capacity int64   `json:"capacity"`
	Load     float64 `json:"load"`
}

// AddResources adds what the jobs of ads ask for besides processors and memory, for which the ads
// must have been read with [history.Options.WithOthers]. The trace is that of [Of], made from these
// ads. Capacity is what the pool has of each resource; nil: nothing is known of it.
func (s *Survey) AddResources(t *workload.Trace, h *history.History, capacity map[string]int64) {
	amounts := map[string][]int{} // by resource, the jobs that ask
	for i, j := range t.Jobs {
		for _, a := range h.Others[j.ID] {
			amounts[a.Resource] = append(amounts[a.Resource], i)
		}
	}
	s.Resources = []Resource{} // ads say more of GPUs than their trace
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		s.addResource(t, name, capacity[name], amounts[name], func(i int) int64 {
			others := h.Others[t.Jobs[i].ID]
			return others[slices.IndexFunc(others, func(a history.Amount) bool { return a.Resource == name })].Amount
		})
	}
}

// addGPUs adds the GPUs of jobs, if any asks for some.
func (s *Survey) addGPUs(t *workload.Trace) {
	var asking []int
	for i := range t.Jobs {
		if t.Jobs[i].GPUs > 0 {
			asking = append(asking, i)
		}
	}
	if asking != nil {
		s.addResource(t, "gpus", t.Machine.GPUs, asking, func(i int) int64 { return t.Jobs[i].GPUs })
	}
}

// addResource adds a resource, of which some jobs ask for these amounts.
func (s *Survey) addResource(t *workload.Trace, name string, capacity int64, asking []int, amount func(i int) int64) {
	r := Resource{Name: name, Capacity: capacity}
	most := int64(0)
	for _, i := range asking {
		most = max(most, amount(i))
	}
	sample := newSample(widthBounds(most))
	for _, i := range asking {
		sample.add(float64(amount(i)), float64(t.Jobs[i].Procs)*float64(t.Jobs[i].Run))
		r.Work += float64(amount(i)) * float64(t.Jobs[i].Run)
	}
	r.Jobs, r.Amounts = len(asking), sample.numbers()
	if s.Span > 0 && r.Capacity > 0 {
		r.Load = r.Work / float64(r.Capacity) / float64(s.Span)
	}
	s.Resources = append(s.Resources, r)
}

// unit is what amounts of a resource are in, as part of a row's name.
func (r Resource) unit() string {
	if r.Name == "disk" {
		return "KiB of disk"
	}
	return r.Name
}

// summariseResources adds the rows about resources besides processors and memory.
func (s *Survey) summariseResources(row func(what, format string, args ...any)) {
	for _, r := range s.Resources {
		row("jobs that ask for "+r.Name, "%s, %s", inwords.Whole(r.Jobs), percent(r.Jobs, s.Jobs))
		a := r.Amounts
		row("  "+r.unit()+": median, mean, 90 %, 99 %, most", "%s", strings.Join([]string{
			whole(a.Median), inwords.Grouped(a.Mean, 1), whole(a.P90), whole(a.P99), whole(a.Most),
		}, "; "))
		if r.Capacity > 0 {
			row("  offered load of "+r.Name, "%s of %s", fmt.Sprintf("%.3f", r.Load), inwords.Whole(r.Capacity))
		}
	}
}
