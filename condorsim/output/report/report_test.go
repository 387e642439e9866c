package report_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/condorsim/output/report"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

//nolint:gochecknoglobals // a flag of the test binary
var update = flag.Bool("update", false, "rewrite the expected files")

// finished is a made-up schedule: a promised job, one of an unknown user that was backfilled, one
// that was held.
func finished() *condorsim.Result {
	a, b := &negotiator.Slot{Name: "a", Capacity: backfill.Vector{4, 100}},
		&negotiator.Slot{Name: "b, c", Capacity: backfill.Vector{4, 100}}
	return &condorsim.Result{
		Workload: &condorsim.Workload{
			Name: "small", Schema: negotiator.Schema{Resources: []string{"cpus", "memory"}},
			Slots: []*negotiator.Slot{a, b},
			Jobs: []condorsim.Job{
				{
					Job:  &negotiator.Job{Name: "1.0", Submit: -5, Nodes: 2, Estimate: 20, User: `eve "the" user`},
					Run:  10,
					Cpus: 6, Memory: 50,
				},
				{Job: &negotiator.Job{Name: "1.1", Submit: 0, Nodes: 1}, Run: 0, Cpus: 1},
				{
					Job: &negotiator.Job{Name: "2.0", Submit: 3, Nodes: 9, Estimate: 7, User: "7"}, Run: 7,
					Cpus: 9, Memory: 9,
				},
			},
			Cleaning: workload.Cleaning{Lines: 5, JobsRead: 4, TooWide: 1, JobsLeft: 3},
		},
		Outcomes: []condorsim.Outcome{
			{
				Started: true, Ended: true, Start: 5, End: 15, How: backfill.ByQueue, Estimate: 20, Promised: true,
				Guarantee: 8, Placement: negotiator.Placement{{Slot: b, Count: 1}, {Slot: a, Count: 1}},
			},
			{
				Started: true, Ended: true, Start: 2, End: 2, How: backfill.ByBackfill, Estimate: 86400,
				Placement: negotiator.Placement{{Slot: a, Count: 1}},
			},
			{Held: "fits nowhere"},
		},
		Cycles: 7, ReservedIdle: 42, Requeues: 2, LostCoreSeconds: 30.5,
	}
}

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// withoutMetrics leaves out all of the metrics package but the mean wait: its own tests have them,
// and integration's script has them all.
func withoutMetrics(text string) string {
	for name := range (metrics.Metrics{}).All() {
		if name != "mean_wait" {
			text = regexp.MustCompile(`(?m)^ *"`+name+`": .*\n`).ReplaceAllString(text, "")
		}
	}
	return text
}

func TestJSON(t *testing.T) {
	var out strings.Builder
	run := report.Run{Policy: "easy", Order: "fcfs", Options: map[string]string{"depth": "2"}}
	require.NoError(t, report.JSON(&out, run, finished(), &report.Extras{Timing: &report.Timing{WallSeconds: 1.5}}))
	golden(t, "summary.json", withoutMetrics(out.String()))

	out.Reset()
	require.NoError(t, report.JSON(&out, report.Run{}, finished(), nil))
	require.Contains(t, out.String(), `"options": {}`, "not null")
	require.NotContains(t, out.String(), "timing")
	require.NotContains(t, out.String(), "changes")

	out.Reset()
	require.NoError(t, report.JSON(&out, report.Run{Changes: []report.Change{{At: 7, Policy: "mine", Order: "sjf"}}},
		finished(), nil))
	require.Regexp(t, `"changes": \[\s+\{\s+"at": 7,\s+"policy": "mine",\s+"order": "sjf"\s+\}\s+\]`, out.String())
}

func TestJSONOfNothing(t *testing.T) {
	r := finished()
	r.Workload.Jobs, r.Outcomes, r.Cycles = nil, nil, 0
	var out strings.Builder
	require.NoError(t, report.JSON(&out, report.Run{}, r, nil))
	require.NotContains(t, out.String(), `"mean_wait"`)
	require.Contains(t, out.String(), `"cycles": 0`)
}

// full is a device without room.
type full struct{}

var errFull = errors.New("no room is left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestErrorsOfTheWriter(t *testing.T) {
	require.ErrorIs(t, report.JSON(full{}, report.Run{}, finished(), nil), errFull)
	require.ErrorIs(t, report.Table(full{}, report.Run{}, finished(), nil), errFull)
}

func TestTable(t *testing.T) {
	table := func(edit func(*condorsim.Result), run report.Run, extras *report.Extras) string {
		r := finished()
		edit(r)
		var out strings.Builder
		require.NoError(t, report.Table(&out, run, r, extras))
		return out.String()
	}
	nothing := func(*condorsim.Result) {}
	text := table(nothing, report.Run{Policy: "easy", Order: "sjf"}, nil)
	for _, row := range []string{
		`small under easy, order sjf`, `slots, cpus +│ +2, 8 `, `jobs +│ +3 `, `mean wait +│ +6\.0 s`,
		`mean response +│ +11\.0 s`,
		`mean slowdown +│ +2\.00`, `utilisation, cpus +│ +37\.5 %`, `utilisation, memory +│ +12\.5 %`,
		`makespan +│ +20 s`, `idle while jobs waited +│ +50\.0 %`, `guarantees kept +│ +1 `,
		`mean time before the guarantee +│ +3\.0 s`, `idle while reserved +│ +42 cpu s `,
	} {
		require.Regexp(t, row, text)
	}

	for _, c := range []struct {
		row  string
		with func(*condorsim.Result)
		sans func(*condorsim.Result)
	}{
		{`jobs held \(left out of the means\) +│ +1 `, nothing, func(r *condorsim.Result) {
			r.Outcomes[2] = r.Outcomes[1]
		}},
		{`(?m)^held: 2\.0 fits nowhere$`, nothing, func(r *condorsim.Result) { r.Outcomes[2] = r.Outcomes[1] }},
		{`job lines left out: wider than the machine +│ +1 `, nothing, func(r *condorsim.Result) {
			r.Workload.Cleaning.TooWide = 0
		}},
		{`job lines left out: partial executions +│ +5 `, func(r *condorsim.Result) {
			r.Workload.Cleaning.Partial = 5
		}, nothing},
		{`job lines left out: beyond the number asked for +│ +6 `, func(r *condorsim.Result) {
			r.Workload.Cleaning.BeyondMax = 6
		}, nothing},
		{`makespan +│ +864,020 s │ +240\.01 `, func(r *condorsim.Result) { r.Outcomes[0].End = 864015 }, nothing},
		{`how often guarantees were broken +│ +3 `, func(r *condorsim.Result) { r.Broken = 3 }, nothing},
		{`how often guarantees were broken: slot drained +│ +2 `, func(r *condorsim.Result) {
			r.Broken, r.BrokenBy = 3, map[string]int{"slot drained": 2, "overrun": 1}
		}, nothing},
		{`runs that lost a slot +│ +4 `, func(r *condorsim.Result) { r.Requeues = 4 }, nothing},
		{`lost with them +│ +70 cpu s `, func(r *condorsim.Result) { r.Requeues, r.LostCoreSeconds = 4, 70 }, nothing},
		{`decisions refused: mine +│ +4 `, refuse, nothing},
		{`, 4 of 9 rounds decided by the fallback easy `, refuse, nothing},
		{`(?m)^refused: mine 3, first at 0 00:00:07: no \x{fffd}\[2Jidea\nrefused: mine 1, first at 0 00:00:08: late$`, refuse, nothing},
		{
			`(?m)^not asked: mine in 2 rounds: it was to be started again after it failed$`,
			func(r *condorsim.Result) { refuse(r); r.Refusals[0].NotAsked = 2 }, refuse,
		},
		{
			`decisions refused: mine +│ +2 `, func(r *condorsim.Result) { refuse(r); r.Refusals[0].NotAsked = 2 }, refuse,
		},
		{
			`(?m)^GIVEN UP: mine; its fallback, easy, decided the rest, 0 rounds, so these are not its results$`,
			func(r *condorsim.Result) { refuse(r); r.Refusals[0].GivenUp = true }, refuse,
		},
		{`utilisation, memory`, nothing, func(r *condorsim.Result) {
			r.Workload.Schema.Resources = []string{"cpus"}
			for _, s := range r.Workload.Slots {
				s.Capacity = s.Capacity[:1]
			}
		}},
	} {
		require.Regexp(t, c.row, table(c.with, report.Run{}, nil))
		require.NotRegexp(t, c.row, table(c.sans, report.Run{}, nil))
	}
	require.Regexp(t, `wall time +│ +1\.50 s`,
		table(nothing, report.Run{}, &report.Extras{Timing: &report.Timing{WallSeconds: 1.5}}))
	timed := table(nothing, report.Run{},
		&report.Extras{Timing: &report.Timing{Decisions: 12, MedianSeconds: 25e-6, P99Seconds: 0.0125}})
	require.Regexp(t, `decisions of the policy +│ +12 `, timed)
	require.Regexp(t, `time of a decision, median +│ +25\.0 µs`, timed)
	require.Regexp(t, `time of a decision, 99th percentile +│ +12500\.0 µs`, timed)
	require.NotContains(t, text, "wall time")
	changed := report.Run{Policy: "easy", Changes: []report.Change{{At: 7, Policy: "mine", Order: "sjf"}}}
	require.Regexp(t, `then under mine, order sjf, from +│ +0 00:00:07 `, table(nothing, changed, nil))
	foretold := &report.Estimates{Order: "user", Backfill: "user", Running: "user"}
	changed.Changes = append(changed.Changes, report.Change{At: 8, Policy: "mine", Order: "sjf", Estimates: foretold},
		report.Change{At: 9, Policy: "mine", Order: "ljf"})
	require.Regexp(t, `then under mine, order sjf, from +│ +0 00:00:07 `, table(nothing, changed, nil))
	require.Regexp(t, `then under mine, order sjf, estimates user, from +│ +0 00:00:08 `, table(nothing, changed, nil))
	require.Regexp(t, `then under mine, order ljf, estimates requested, from +│ +0 00:00:09 `,
		table(nothing, changed, nil))
	require.NotContains(t, table(nothing, report.Run{Policy: "easy"}, nil), "order")
}

// refuse adds four refused decisions of a plugin whose error has control characters of terminals.
func refuse(r *condorsim.Result) {
	r.Refusals = []condorsim.Refusals{{
		Policy: "mine", Count: 4,
		First: backfill.Refusal{Now: 7, Policy: "mine", Fallback: "easy", Err: errors.New("no\n\x1b[2Jidea")},
	}}
	r.Refusals[0].Failures = []condorsim.Failure{
		{Count: 3, First: r.Refusals[0].First}, {Count: 1, First: backfill.Refusal{Now: 8, Err: errors.New("late")}},
	}
	r.Cycles, r.Decided = 12, 9
}

func TestJSONOfRefusals(t *testing.T) {
	r := finished()
	refuse(r)
	r.Refusals[0].First.Err = errors.New(strings.Repeat("x", 400))
	var out strings.Builder
	require.NoError(t, report.JSON(&out, report.Run{}, r, nil))
	var told struct{ Refused []map[string]any }
	require.NoError(t, json.Unmarshal([]byte(out.String()), &told))
	require.Equal(t, []map[string]any{{
		"policy": "mine", "count": 4.0, "at": 7.0,
		"reason": strings.Repeat("x", 300) + "…", "given_up": false, "not_asked": 0.0, "fallback": "easy", "rounds": 9.0,
		"failures": []any{
			map[string]any{"count": 3.0, "at": 7.0, "reason": "no \ufffd[2Jidea"},
			map[string]any{"count": 1.0, "at": 8.0, "reason": "late"},
		},
	}}, told.Refused)
}

// Where no job ran there are no means, which would look like those of a perfect schedule.
func TestNothingRan(t *testing.T) {
	r := finished()
	r.Workload.Jobs, r.Outcomes = r.Workload.Jobs[2:], r.Outcomes[2:]
	var out strings.Builder
	require.NoError(t, report.Table(&out, report.Run{}, r, nil))
	require.Contains(t, out.String(), "\nno job ran to its end, so there is nothing to measure: 1 of 1 jobs are held\n"+
		"held: 2.0 fits nowhere\n")
	require.NotRegexp(t, "mean |median|utilisation|makespan", out.String())
	out.Reset()
	require.NoError(t, report.JSON(&out, report.Run{}, r, nil))
	require.NotRegexp(t, `mean_|share_|utilisation`, out.String())
	require.Contains(t, out.String(), `"lost_core_seconds": 30.5`)
}

func TestTableOfManyHeldJobs(t *testing.T) {
	r := finished()
	for range 11 {
		r.Workload.Jobs, r.Outcomes = append(r.Workload.Jobs, r.Workload.Jobs[2]), append(r.Outcomes, r.Outcomes[2])
	}
	var out strings.Builder
	require.NoError(t, report.Table(&out, report.Run{}, r, nil))
	require.Regexp(t, `jobs held \(left out of the means\) +│ +12 `, out.String())
	require.Equal(t, 10, strings.Count(out.String(), "held: 2.0 fits nowhere\n"))
	require.True(t, strings.HasSuffix(out.String(), "\nheld: 2 more\n"))
}
