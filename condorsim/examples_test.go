package condorsim_test

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// shared is the folder of instances and traces that are not part of the repository.
const shared = "../../shared"

// link puts a linked-in policy and its fallback into a configuration.
func link(tb testing.TB, policy string, options map[string]string) negotiator.Config {
	tb.Helper()
	spec, err := policies.Named(policy)
	require.NoError(tb, err)
	main, err := backfill.Link(spec, options)
	require.NoError(tb, err)
	fallback, err := backfill.Link(policies.FallbackFor(spec), nil)
	require.NoError(tb, err)
	return negotiator.Config{Policy: main, Fallback: fallback, Refused: func(r backfill.Refusal) {
		require.NoError(tb, r.Err, "refused at %d", r.Now)
	}}
}

// TestExamples runs the small instances with known schedules, under every policy that they name, pc
// and dc in every order of compression. Each runs on one slot, and beside a second slot that has
// nothing, so that the code for many slots must give the same result.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(shared + "/sim-examples/*.json")
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("skipped: the instances with expected schedules; shared/sim-examples is not here")
	}
	for _, file := range files {
		instance, err := workload.OpenInstance(file)
		require.NoError(t, err)
		for policy := range instance.Expected {
			name := strings.TrimSuffix(filepath.Base(file), ".json") + "/" + policy
			t.Run(name, func(t *testing.T) { runExample(t, instance, policy, false) })
			t.Run(name+"/two slots", func(t *testing.T) { runExample(t, instance, policy, true) })
		}
	}
}

// TestAnInstanceWithAnEarliestStart runs jobs of which the first two may not start at once. Job 1 has
// a reservation where the policy makes some, job 2 beside it where it promises each job a start.
func TestAnInstanceWithAnEarliestStart(t *testing.T) {
	instance, err := workload.ReadInstance(strings.NewReader(`{"processors": 1, "jobs": [
		{"id": 1, "submit": 0, "run": 5, "estimate": 5, "procs": 1, "release": 10},
		{"id": 2, "submit": 0, "run": 5, "estimate": 5, "procs": 1, "release": 11},
		{"id": 3, "submit": 0, "run": 14, "estimate": 14, "procs": 1},
		{"id": 4, "submit": 0, "run": 10, "estimate": 10, "procs": 1}],
		"expected": {
			"fcfs": {"start": [14, 19, 0, 24]},
			"easy": {"start": [10, 15, 20, 0]},
			"conservative": {"start": [10, 15, 20, 0], "guarantee": [10, 15, 20, 0]}}}`), "late.json")
	require.NoError(t, err)
	for policy := range instance.Expected {
		for _, second := range []bool{false, true} {
			runExample(t, instance, policy, second)
		}
	}
}

// ordered is link for a policy as the instances name it, such as pc-sjf.
func ordered(tb testing.TB, policy string) negotiator.Config {
	tb.Helper()
	name, order, _ := strings.Cut(policy, "-")
	c := link(tb, name, nil)
	var err error
	c.Order, err = negotiator.OrderNamed(cmp.Or(order, "fcfs"))
	require.NoError(tb, err)
	return c
}

func runExample(t *testing.T, instance *workload.Instance, policy string, second bool) {
	t.Helper()
	expected := instance.Expected[policy]
	c := ordered(t, policy)
	w, err := condorsim.FromTrace(instance.Trace, nil)
	require.NoError(t, err)
	if second {
		w.Slots = append(w.Slots, &negotiator.Slot{
			Name: "nothing", Capacity: make(backfill.Vector, len(w.Schema.Resources)), Ad: w.Slots[0].Ad,
		})
	}
	result, err := condorsim.Run(t.Context(), w, c, nil)
	require.NoError(t, err)
	require.Len(t, result.Outcomes, len(expected.Start))
	for i, o := range result.Outcomes {
		require.EqualValues(t, expected.Start[i], o.Start, "start of job %s", w.Jobs[i].Name)
		if expected.Guarantee != nil {
			require.EqualValues(t, expected.Guarantee[i], o.Guarantee, "guarantee of job %s", w.Jobs[i].Name)
		}
	}
	for name, value := range result.Metrics().All() {
		if want, known := expected.Metrics[name]; known {
			require.InDelta(t, want, value, 1e-6*max(1, want), name)
		}
	}
}

// TestTrace runs a whole real trace and compares the sums of all waits with those of an
// independent, naive simulator of the same rules.
func TestTrace(t *testing.T) {
	const file = shared + "/traces/KTH-SP2-1996-2.swf.gz"
	if _, err := os.Stat(file); err != nil {
		t.Skip("skipped: a whole real trace; shared/traces is not here")
	}
	trace, err := workload.Open(file, workload.Options{})
	require.NoError(t, err)
	require.Len(t, trace.Jobs, 28489)
	for policy, want := range map[string]backfill.Time{
		"fcfs": 11_107_627_466, "easy": 195_310_333, "conservative": 205_926_205,
		"pc-fifo": 211_785_331, "pc-sjf": 185_627_306, "dc-sjf": 168_418_929,
	} {
		t.Run(policy, func(t *testing.T) {
			w, err := condorsim.FromTrace(trace, nil)
			require.NoError(t, err)
			result, err := condorsim.Run(t.Context(), w, ordered(t, policy), nil)
			require.NoError(t, err)
			var waited backfill.Time
			for i, o := range result.Outcomes {
				waited += o.Start - w.Jobs[i].Submit
			}
			require.Equal(t, want, waited)
		})
	}
}
