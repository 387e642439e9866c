package page

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/output/chart"
)

// Measure is a metric and how to read it.
type Measure struct {
	Name  string // as in the results
	Label string
	// Unit says how values are written; Of is what they count, such as jobs, or "".
	Unit   chart.Unit
	Of     string
	Better Better
}

// Better says which of two values is better.
type Better int

// The directions. Neither is for values that are neither good nor bad.
const (
	Neither Better = iota
	Lower
	Higher
)

// known are the measures in the order in which the page offers them.
var known = []Measure{ //nolint:gochecknoglobals // a table
	{"mean_wait", "Mean wait", chart.Seconds, "", Lower},
	{"median_wait", "Median wait", chart.Seconds, "", Lower},
	{"p90_wait", "90th percentile of the waits", chart.Seconds, "", Lower},
	{"p95_wait", "95th percentile of the waits", chart.Seconds, "", Lower},
	{"p99_wait", "99th percentile of the waits", chart.Seconds, "", Lower},
	{"p999_wait", "99.9th percentile of the waits", chart.Seconds, "", Lower},
	{"longest_wait", "Longest wait", chart.Seconds, "", Lower},
	{"mean_wait_below_p99", "Mean wait below the 99th percentile", chart.Seconds, "", Lower},
	{"top5_wait", "Mean of the longest 5 % of waits", chart.Seconds, "", Lower},
	{"top1_wait", "Mean of the longest 1 % of waits", chart.Seconds, "", Lower},
	{"widest10_wait", "Mean wait of the widest 10 %", chart.Seconds, "", Lower},
	{"widest10_with_ties_wait", "Mean wait of the widest 10 %, with ties", chart.Seconds, "", Lower},
	{"narrowest50_wait", "Mean wait of the narrowest 50 %", chart.Seconds, "", Lower},
	{"area_weighted_wait", "Area-weighted mean wait", chart.Seconds, "", Lower},
	{"mean_response", "Mean response", chart.Seconds, "", Lower},
	{"median_response", "Median response", chart.Seconds, "", Lower},
	{"p90_response", "90th percentile of the responses", chart.Seconds, "", Lower},
	{"p95_response", "95th percentile of the responses", chart.Seconds, "", Lower},
	{"p99_response", "99th percentile of the responses", chart.Seconds, "", Lower},
	{"area_weighted_response", "Area-weighted mean response", chart.Seconds, "", Lower},
	{"mean_slowdown", "Mean slowdown", chart.Number, "", Lower},
	{"mean_slowdown_below_p99", "Mean slowdown below the 99th percentile", chart.Number, "", Lower},
	{"mean_bounded_slowdown", "Mean bounded slowdown", chart.Number, "", Lower},
	{"mean_bounded_slowdown_below_p99", "Mean bounded slowdown below the 99th percentile", chart.Number, "", Lower},
	{"p95_bounded_slowdown", "95th percentile of the bounded slowdowns", chart.Number, "", Lower},
	{"widest10_bounded_slowdown", "Mean bounded slowdown of the widest 10 %", chart.Number, "", Lower},
	{"narrowest50_bounded_slowdown", "Mean bounded slowdown of the narrowest 50 %", chart.Number, "", Lower},
	{"processor_bounded_slowdown", "Bounded slowdown by processor", chart.Number, "", Lower},
	{"mean_uwait", "Mean wait over requested time (uwait)", chart.Number, "", Lower},
	{"mean_uwait_below_p99", "Mean uwait below the 99th percentile", chart.Number, "", Lower},
	{"strict_unfairness", "Strict fair start time unfairness", chart.Seconds, "", Lower},
	{"relaxed_unfairness", "Relaxed fair start time unfairness", chart.Seconds, "", Lower},
	{"fairshare_unweighted", "Unweighted fair-share unfairness", chart.Number, "cpu s", Lower},
	{"fairshare_weighted", "Weighted fair-share unfairness", chart.Number, "cpu s", Lower},
	{"user_fairness", "Fairness among users, Jain's index", chart.Number, "", Higher},
	{"worst_user_bounded_slowdown", "Worst user's mean bounded slowdown", chart.Number, "", Lower},
	{"users", "Users", chart.Number, "", Neither},
	{"utilisation", "Utilisation of cpus", chart.Percent, "", Higher},
	{"utilisation_memory", "Utilisation of memory", chart.Percent, "", Higher},
	{"loss_of_capacity", "Loss of capacity", chart.Percent, "", Lower},
	{"reserved_idle", "Idle while reserved", chart.Number, "cpu s", Lower},
	{"makespan", "Makespan", chart.Seconds, "", Lower},
	{"guarantees_given", "Guarantees given", chart.Number, "", Neither},
	{"guarantees_kept", "Guarantees kept", chart.Number, "", Neither},
	{"guarantees_broken", "Guarantees broken", chart.Number, "", Lower},
	{"guarantees_open", "Guarantees open: never started", chart.Number, "", Neither},
	{"guarantees_overdue", "Open guarantees past their time", chart.Number, "", Lower},
	{"guarantees_broken_times", "How often guarantees were broken", chart.Number, "", Lower},
	{"reservations_moved", "How often reservations got other slots", chart.Number, "", Neither},
	{"mean_slack", "Mean time before the guarantee", chart.Seconds, "", Neither},
	{"median_slack", "Median time before the guarantee", chart.Seconds, "", Neither},
	{"p90_slack", "90th percentile of the times before the guarantee", chart.Seconds, "", Neither},
	{"p99_slack", "99th percentile of the times before the guarantee", chart.Seconds, "", Neither},
	{"backfilled", "Jobs that overtook another", chart.Number, "jobs", Neither},
	{"started_backfill", "Started past a waiting job", chart.Number, "jobs", Neither},
	{"started_head", "Started with nobody waiting before", chart.Number, "jobs", Neither},
	{"started_queue", "Started from the front of the queue", chart.Number, "jobs", Neither},
	{"share_from_top", "Started from the top of the queue", chart.Percent, "", Neither},
	{"share_not_from_top", "Started past a waiting job, not by backfilling", chart.Percent, "", Neither},
	{"share_backfilled", "Started by backfilling", chart.Percent, "", Neither},
	{"prediction_accuracy", "Accuracy of predictions", chart.Percent, "", Higher},
	{"prediction_too_short", "Predicted too short", chart.Percent, "", Neither},
	{"prediction_error", "Mean error of predictions", chart.Seconds, "", Lower},
	{"requeues", "Runs that lost a slot", chart.Number, "", Lower},
	{"lost_core_seconds", "Lost with slots", chart.Number, "cpu s", Lower},
	{"displacements", "Runs that made way for others", chart.Number, "", Lower},
	{"displaced_jobs", "Jobs that made way", chart.Number, "jobs", Lower},
	{"displaced_core_seconds", "Work lost by making way", chart.Number, "cpu s", Lower},
	{"displaced_share", "Work lost by making way, of all work", chart.Percent, "", Lower},
	{"displaced_mean_wait", "Mean wait of jobs that made way", chart.Seconds, "", Lower},
	{"displacing_mean_wait", "Mean wait of jobs that others made way for", chart.Seconds, "", Lower},
	{"cycles", "Cycles", chart.Number, "", Neither},
	{"profile_events", "Profile events examined", chart.Number, "", Lower},
}

// measures returns a measure for each name: known ones in their order, then others by name.
func measures(names map[string]bool) []Measure {
	var all []Measure
	left := maps.Clone(names)
	for _, m := range known {
		if left[m.Name] {
			all = append(all, m)
			delete(left, m.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		all = append(all, guess(name))
	}
	return all
}

// guess makes a measure of a metric that is not in the table of known ones. Better is set only if
// it is certain.
func guess(name string) Measure {
	for _, use := range []string{"order", "backfill", "running"} { // predictions may have a measure for each use
		base, found := strings.CutSuffix(name, "_"+use)
		if i := slices.IndexFunc(known, func(m Measure) bool { return m.Name == base }); found && i >= 0 {
			m := known[i]
			m.Name, m.Label = name, m.Label+" ("+use+")"
			return m
		}
	}
	m := Measure{Name: name, Label: strings.ReplaceAll(name, "_", " ")}
	m.Label = strings.ToUpper(m.Label[:1]) + m.Label[1:]
	switch {
	case strings.HasPrefix(name, "utilisation"):
		m.Unit, m.Better = chart.Percent, Higher
	case strings.Contains(name, "slowdown"), strings.Contains(name, "unfairness"), strings.Contains(name, "fairshare"),
		strings.Contains(name, "uwait"):
		m.Better = Lower
	case strings.HasSuffix(name, "wait"), strings.HasSuffix(name, "response"):
		m.Unit, m.Better = chart.Seconds, Lower
	}
	return m
}

// unit returns the unit in a table's header, which all its values are in.
func (m Measure) unit() string {
	switch m.Unit {
	case chart.Seconds:
		return "s"
	case chart.Percent:
		return "%"
	default:
		return m.Of
	}
}

// scaled returns a value in the unit of tables.
func (m Measure) scaled(v float64) float64 {
	if m.Unit == chart.Percent {
		return 100 * v
	}
	return v
}

// compare orders values, better ones first; 0 if neither is better.
func (m Measure) compare(a, b float64) int {
	switch m.Better {
	case Lower:
		return cmp.Compare(a, b)
	case Higher:
		return cmp.Compare(b, a)
	default:
		return 0
	}
}

// improvement returns by how much a value is better than the baseline's, as a share of it:
// (baseline − value)/baseline, as in the papers, or with the opposite sign if higher values are
// better. Over a baseline of 0 it is 0 for the same value, else unknown (false).
func (m Measure) improvement(baseline, value float64) (float64, bool) {
	if baseline == 0 {
		return 0, value == 0
	}
	if m.Better == Higher {
		return (value - baseline) / baseline, true
	}
	return (baseline - value) / baseline, true
}
