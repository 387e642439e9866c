// Package report sums up a simulation: in a table for people ([Table]), in one JSON object for programs
// ([JSON]).
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/negotiator/auto"
)

// longest is how many letters are shown of a text that comes from another process.
const longest = 300

// Run says what was run.
type Run struct {
	Policy  string            `json:"policy"`
	Order   string            `json:"order"`
	Options map[string]string `json:"options"`
	// PlanDepth, PlanHorizon (in seconds) and Reorder are the policy's [backfill.Planning].
	PlanDepth   int   `json:"plan_depth,omitempty"`
	PlanHorizon int64 `json:"plan_horizon,omitempty"`
	Reorder     bool  `json:"reorder,omitempty"`
	// Jitter says how the keys of the order were moved at random; nil: they were not.
	Jitter *Jitter `json:"jitter,omitempty"`
	// Priorities say how the priorities of users were simulated; nil: they do not count.
	Priorities *Priorities `json:"priorities,omitempty"`
	// Estimates are the estimators; nil: jobs are planned with their requested times, and no
	// history was learned.
	Estimates *Estimates `json:"estimates,omitempty"`
	// Auto says what came of it that the pool chose its own policy; nil: it did not.
	Auto *auto.Summary `json:"auto,omitempty"`
	// Changes are the later changes of policy, order or estimators.
	Changes []Change `json:"changes,omitempty"`
}

// Estimates name the estimators for each use of an estimate.
type Estimates = estimate.Summary

// estimateRows are the table's rows about the estimators.
func estimateRows(e *Estimates) []row {
	if e == nil {
		return nil
	}
	rows := []row{{"estimates", e.String()}}
	if e.Learned > 0 {
		rows = append(rows, row{"jobs learned from beforehand", inwords.Whole(e.Learned)})
	}
	return rows
}

// Change is the active policy, order and estimators from a time on.
type Change struct {
	At      backfill.Time     `json:"at"`
	Policy  string            `json:"policy"`
	Order   string            `json:"order"`
	Options map[string]string `json:"options,omitempty"`
	// Estimates are the estimators; nil: jobs are planned with their requested times.
	Estimates *Estimates `json:"estimates,omitempty"`
}

// summary is the JSON object, in the order in which it is printed.
type summary struct {
	Trace string `json:"trace"`
	Run
	Jobs     int               `json:"jobs"`
	Held     int               `json:"held,omitempty"` // jobs that could never run, left out of the means
	Why      map[string]int    `json:"held_because,omitempty"`
	Machine  machine           `json:"machine"`
	Cleaning workload.Cleaning `json:"cleaning"`
	Bound    int64             `json:"bound,omitempty"`     // of bounded slowdowns, unless it is the usual one
	Metrics  metrics.Measures  `json:"metrics"`             // only counts, if no job ran
	BrokenBy map[string]int    `json:"broken_by,omitempty"` // broken guarantees by cause
	Refused  []refused         `json:"refused,omitempty"`   // decisions, by policy
	Users    []metrics.User    `json:"users,omitempty"`
	// Limits are the pool's.
	Limits []condorsim.LimitUse `json:"limits,omitempty"`
	Timing *Timing              `json:"timing,omitempty"`
	// History is the comparison with what really happened.
	History *condorsim.Comparison `json:"history,omitempty"`
	// Own is the simulator's own error.
	Own *condorsim.SimulatorError `json:"simulator_error,omitempty"`
}

// refused are the refused decisions of a policy.
type refused struct {
	Policy string        `json:"policy"`
	Count  int           `json:"count"`
	At     backfill.Time `json:"at"` // of the first
	Reason string        `json:"reason"`
	// Failures are the kinds of failures, each with its first; none is counted once the policy was given up.
	Failures []failure `json:"failures"`
	// NotAsked are the rounds of Count in which the policy was to be started again after a failure.
	NotAsked int `json:"not_asked"`
	// Fallback is who decided instead; Rounds are those of the run that somebody decided, as jobs waited.
	Fallback string `json:"fallback"`
	Rounds   int    `json:"rounds"`
	// GivenUp says that the policy failed too often and was asked no more, so that the metrics are
	// those of its fallback.
	GivenUp bool `json:"given_up"`
}

// failure is a kind of failures of a policy.
type failure struct {
	Count  int           `json:"count"`
	At     backfill.Time `json:"at"` // of the first
	Reason string        `json:"reason"`
}

func refusals(r *condorsim.Result) (all []refused) {
	for _, refusal := range r.Refusals {
		failures := make([]failure, len(refusal.Failures))
		for i, f := range refusal.Failures {
			failures[i] = failure{f.Count, f.First.Now, backfill.Printable(f.First.Failure().Error(), longest)}
		}
		all = append(all, refused{
			Policy: backfill.Printable(refusal.Policy, longest), Count: refusal.Count, At: refusal.First.Now,
			Reason: backfill.Printable(refusal.First.Err.Error(), longest), NotAsked: refusal.NotAsked,
			GivenUp:  refusal.GivenUp,
			Fallback: refusal.First.Fallback, Rounds: r.Decided, Failures: failures,
		})
	}
	return all
}

type machine struct {
	Slots      int   `json:"slots"`
	Partitions int   `json:"partitions,omitempty"`
	Cpus       int64 `json:"cpus"`
	Memory     int64 `json:"memory"`
}

// Timing is how long the run took. It is printed only on request, since it differs from run to run.
type Timing struct {
	WallSeconds float64 `json:"wall_seconds"`
	// Decisions is how often the policy was asked; 0: this was not timed. The others are how long a
	// decision took, as its host sees it.
	Decisions     int     `json:"decisions,omitempty"`
	MedianSeconds float64 `json:"decision_median_seconds,omitempty"`
	P99Seconds    float64 `json:"decision_p99_seconds,omitempty"`
}

// Extras are printed on request only.
type Extras struct {
	Timing *Timing // nil: not requested
	Users  bool    // what each user got; in JSON only
	// History compares the run with what really happened; nil: not requested.
	History *condorsim.Comparison
	// Own is the simulator's own error; nil: not requested.
	Own *condorsim.SimulatorError
}

// JSON prints one object: what was run, on what, and every metric. Extras may be nil.
func JSON(out io.Writer, run Run, r *condorsim.Result, extras *Extras) error {
	if run.Options == nil {
		run.Options = map[string]string{}
	}
	w := r.Workload
	if extras == nil {
		extras = &Extras{}
	}
	var users []metrics.User
	if extras.Users {
		users = r.Users()
	}
	var bound int64
	if r.Bound != metrics.DefaultBound { // 0 is left out as well
		bound = int64(r.Bound)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(summary{
		Trace: w.Name, Run: run, Jobs: len(w.Jobs) - w.Scavenging(), Held: r.Held(), Why: r.HeldBecause(),
		Machine:  machine{Slots: len(w.Slots), Partitions: len(w.Bundles), Cpus: w.Capacity()[0], Memory: w.Memory()},
		Cleaning: w.Cleaning,
		Bound:    bound, Metrics: r.Measured(), BrokenBy: r.BrokenBy, Refused: refusals(r), Users: users,
		Limits: r.Limits(), Timing: extras.Timing, History: extras.History,
		Own: extras.Own,
	})
	if err != nil {
		return fmt.Errorf("print the summary: %w", err)
	}
	return nil
}

// Table prints the summary for people. Extras may be nil.
func Table(out io.Writer, run Run, r *condorsim.Result, extras *Extras) error {
	w := r.Workload
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 2, Align: text.AlignRight}, {Number: 3, Align: text.AlignRight, AlignHeader: text.AlignRight},
	})
	order := ""
	if run.Order != "" {
		order = ", order " + run.Order
	}
	if run.PlanDepth > 0 {
		order += fmt.Sprintf(", plan depth %d", run.PlanDepth)
	}
	if run.PlanHorizon > 0 {
		order += ", plan horizon " + inwords.Duration(float64(run.PlanHorizon), 0)
	}
	if run.Reorder {
		order += ", reordered"
	}
	order += run.Jitter.String()
	t.AppendHeader(table.Row{backfill.Printable(w.Name, longest) + " under " + run.Policy + order + ByFallback(r), "", "hours"})
	for _, rows := range groups(run, r, extras) {
		for _, row := range rows {
			t.AppendRow(table.Row{row[0], row[1], row[2]})
		}
		t.AppendSeparator()
	}
	history := ""
	if extras != nil {
		history = compared(extras.History, run.Policy)
		if extras.Own != nil {
			history += extras.Own.String() + "\n"
		}
	}
	if _, err := io.WriteString(out, t.Render()+"\n"+history+whyNothing(r)+whyHeld(r)+whyRefused(r)); err != nil {
		return fmt.Errorf("print the summary: %w", err)
	}
	return nil
}

// ByFallback says, behind the name of a policy, how many rounds its fallback decided; "" if none.
func ByFallback(r *condorsim.Result) string {
	var text strings.Builder
	for _, refusal := range refusals(r) {
		_, _ = fmt.Fprintf(&text, ", %s of %s rounds decided by the fallback %s", inwords.Whole(refusal.Count),
			inwords.Whole(refusal.Rounds), refusal.Fallback)
	}
	return text.String()
}

// groups returns the rows of the table in groups: what was run, how long jobs waited, how the
// machine was used, the rest, and what was read. The JSON object has more.
func groups(run Run, r *condorsim.Result, extras *Extras) [][]row {
	waits, use, rest := measured(r)
	for _, cause := range slices.Sorted(maps.Keys(r.BrokenBy)) {
		rest = append(rest, row{"how often guarantees were broken: " + cause, inwords.Whole(r.BrokenBy[cause])})
	}
	for _, refusal := range refusals(r) {
		rest = append(rest, row{"decisions refused: " + refusal.Policy, inwords.Whole(refusal.Count - refusal.NotAsked)})
	}
	var read []row
	for _, left := range r.Workload.Cleaning.Dropped() {
		read = append(read, row{"job lines left out: " + left.Why, inwords.Whole(left.Jobs)})
	}
	if extras != nil && extras.Timing != nil {
		read = append(read, extras.Timing.rows()...)
	}
	return [][]row{ran(run, r), waits, use, limits(r), rest, read}
}

// limits returns the rows about the pool's limits.
func limits(r *condorsim.Result) (rows []row) {
	for _, l := range r.Limits() {
		name := "limit " + l.Name
		rows = append(rows,
			row{name + ": height, mean and greatest use", fmt.Sprintf("%g, %.2f, %g", l.Height, l.Mean, l.Most)},
			row{name + ": share of the time at the limit", fmt.Sprintf("%.1f %%", 100*l.FullShare)},
			row{name + ": jobs, those that waited for it", fmt.Sprintf("%d, %d", l.Jobs, l.Waited)})
	}
	return rows
}

// ran returns the rows about slots, jobs and estimators, and later changes of policy, order or
// estimators.
func ran(run Run, r *condorsim.Result) []row {
	w := r.Workload
	slots := row{"slots, cpus", inwords.Whole(len(w.Slots)) + ", " + inwords.Whole(w.Capacity()[0])}
	if n := len(w.Bundles); n > 0 {
		slots = row{"partitions, cpus", inwords.Whole(n) + ", " + inwords.Whole(w.Capacity()[0])}
	}
	rows := []row{
		slots,
		{"jobs", inwords.Whole(len(w.Jobs) - w.Scavenging())},
	}
	if n := w.Scavenging(); n > 0 {
		rows = append(rows, row{"scavengers (left out of all but their own)", inwords.Whole(n)})
	}
	if n := r.Held(); n > 0 {
		rows = append(rows, row{"jobs held (left out of the means)", inwords.Whole(n)})
	}
	rows = append(append(rows, leftRows(w)...), run.Priorities.rows()...)
	rows = append(rows, estimateRows(run.Estimates)...)
	if run.Auto != nil {
		rows = append(rows, row{"choices of a policy, changes", fmt.Sprintf("%d, %d", run.Auto.Choices,
			run.Auto.Changes)})
		if n := run.Auto.Lifted; n > 0 {
			rows = append(rows, row{"promises lifted by changes", inwords.Whole(n)})
		}
		if n := run.Auto.Bases; n > 0 {
			rows = append(rows, row{"base at last, changes of it", fmt.Sprintf("%s, %d", run.Auto.Base, n)})
		}
		for _, one := range run.Auto.Most(mostShares) {
			share := fmt.Sprintf("%.1f %% of the time", 100*one.Of)
			if one.LeftOut {
				share += ", left out since it failed"
			}
			rows = append(rows, row{"under " + one.Name, share})
		}
	}
	before := run.Estimates
	for _, c := range run.Changes {
		title := "then under " + backfill.Printable(c.Policy, longest)
		if c.Order != "" { // else it is chosen with the policy
			title += ", order " + c.Order
		}
		if before != nil || c.Estimates != nil {
			title += ", estimates " + c.Estimates.String()
		}
		before = c.Estimates
		rows = append(rows, row{title + ", from", w.Clock().Text(int64(c.At))})
	}
	return rows
}

// mostShares is how many policies are shown that were in charge.
const mostShares = 5

// measured returns the rows of the measures that people want to see: of waits, of the machine's
// use, and the rest.
func measured(r *condorsim.Result) (waits, use, rest []row) {
	for _, m := range r.Measured() {
		if m.Label == "" || m.Name == "utilisation_memory" && r.Workload.Memory() == 0 || m.Name == "user_fairness" &&
			m.Value == 0 {
			continue // for programs only, no resource, or no user is known
		}
		group := &rest
		switch name := m.Name; {
		case strings.HasSuffix(name, "_wait"), strings.HasSuffix(name, "_response"),
			strings.HasSuffix(name, "_slowdown"):
			group = &waits
		case strings.HasPrefix(name, "utilisation"), name == "loss_of_capacity", name == "makespan",
			name == "reserved_idle":
			group = &use
		}
		*group = append(*group, rowOf(m))
	}
	return waits, use, rest
}

// whyNothing says that no job ran, so that nobody looks for the means.
func whyNothing(r *condorsim.Result) string {
	if r.HasRun() {
		return ""
	}
	return fmt.Sprintf("no job ran to its end, so there is nothing to measure: %s of %s jobs are held\n", inwords.Whole(r.Held()),
		inwords.Whole(len(r.Outcomes)-r.Workload.Scavenging()))
}

// whyHeld lists held jobs, a line each, but not all of them if there are many.
func whyHeld(r *condorsim.Result) string {
	const most = 10
	var text strings.Builder
	told := 0
	for i, o := range r.Outcomes {
		if o.Held == "" {
			continue
		}
		if told++; told <= most {
			text.WriteString("held: " + r.Workload.Jobs[i].Name + " " + o.Held + "\n")
		}
	}
	if told > most {
		text.WriteString("held: " + inwords.Whole(told-most) + " more\n")
	}
	return text.String()
}

// whyRefused lists why decisions were refused, a line for each policy and kind of failure.
func whyRefused(r *condorsim.Result) string {
	var text strings.Builder
	for _, refusal := range refusals(r) {
		failed := 0
		for _, f := range refusal.Failures {
			_, _ = fmt.Fprintf(&text, "refused: %s %s, first at %s: %s\n", refusal.Policy, inwords.Whole(f.Count),
				r.Workload.Clock().Text(int64(f.At)), f.Reason)
			failed += f.Count
		}
		if refusal.NotAsked > 0 {
			_, _ = fmt.Fprintf(&text, "not asked: %s in %s rounds: it was to be started again after it failed\n",
				refusal.Policy, inwords.Whole(refusal.NotAsked))
			failed += refusal.NotAsked
		}
		if refusal.GivenUp {
			_, _ = fmt.Fprintf(&text, "GIVEN UP: %s; its fallback, %s, decided the rest, %s rounds, so these are not its results\n",
				refusal.Policy, refusal.Fallback, inwords.Whole(refusal.Count-failed))
		}
	}
	return text.String()
}
