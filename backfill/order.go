package backfill

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Order is the queue's priority function, apart from the policy: a key for each
// job, lower first. Equal keys fall to the order of jobs.
type Order func(*Job) float64

// orders are those that look at the job alone.
func orders() map[string]Order {
	fcfs := func(*Job) float64 { return 0 }
	return map[string]Order{
		"fcfs":      fcfs,
		"fifo":      fcfs,
		"sjf":       func(j *Job) float64 { return float64(j.Estimate) },
		"ljf":       func(j *Job) float64 { return -float64(j.Estimate) },
		"widest":    func(j *Job) float64 { return -float64(j.Width()) },
		"narrowest": func(j *Job) float64 { return float64(j.Width()) },
	}
}

// OrderNamed is the order of that name: fcfs (also called fifo), sjf (shortest
// estimate first), ljf, widest (most cpus first) or narrowest.
func OrderNamed(name string) (Order, error) {
	all := orders()
	if o, ok := all[name]; ok {
		return o, nil
	}
	return nil, fmt.Errorf("unknown order %q: choose one of %s", name, strings.Join(slices.Sorted(maps.Keys(all)), ", "))
}
