package daemon

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
)

// gather returns all that /metrics serves, by name.
func (d *Daemon) gather(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics{d}, d.meter)
	families, err := registry.Gather()
	require.NoError(t, err)
	found := map[string]*dto.MetricFamily{}
	for _, family := range families {
		found[family.GetName()] = family
	}
	return found
}

// metered makes a daemon whose meter tells all that it can: a job has started that was told a
// start, another one is foreseen to start, and a group has a quota.
func metered(t *testing.T) *Daemon {
	t.Helper()
	w := newWorld()
	o := w.options("conservative")
	state, err := OpenState(t.Context(), t.TempDir(), hclog.NewNullLogger())
	require.NoError(t, err)
	t.Cleanup(func() { _ = state.Close() })
	settings := accountant.DefaultSettings()
	settings.Groups = []accountant.Group{{Name: "physics", Quota: 3, Static: true}}
	o.Accountant, err = state.Accountant(settings)
	require.NoError(t, err)
	require.NoError(t, o.Accountant.Divide(4, nil))
	d := New(o)
	wait, err := d.Web(t.Context(), anywhere, nil)
	require.NoError(t, err)
	t.Cleanup(wait)
	live(t, d)
	w.deltas <- w.begin()
	poll.Equal(t, 1, w.acts)
	foreseen := func() int { return len(d.foreseen.Load().starts.all) }
	poll.Equal(t, 1, foreseen)
	w.deltas <- negotiator.Delta{Now: 1100, Completed: []backfill.JobID{1}}
	poll.Equal(t, 2, w.acts)
	w.deltas <- negotiator.Delta{
		Now: 1110, Began: []negotiator.Began{{Job: 2, At: 1105}}, Submitted: []*negotiator.Job{w.job(3, 4, 50)},
	}
	poll.Equal(t, 1, foreseen)
	poll.Equal(t, 3, func() int { s, _ := d.statusAt(d.status.started); return s.total })
	return d
}

// TestTheDaemonIsMetered: what its meter tells is served beside its own metrics, as the pool is
// after the last cycle.
func TestTheDaemonIsMetered(t *testing.T) {
	told := metered(t).gather(t)
	errors := told["backfill_told_start_error_seconds"].GetMetric()
	require.Equal(t, "arrival", errors[0].GetLabel()[0].GetValue())
	require.EqualValues(t, 1, errors[0].GetHistogram().GetSampleCount(), "job 2 was told a start")
	require.InDelta(t, 5, errors[0].GetHistogram().GetSampleSum(), 0)
	waits := told["backfill_job_wait_seconds"].GetMetric()
	require.EqualValues(t, 2, waits[0].GetHistogram().GetSampleCount())
	require.InDelta(t, 100, waits[0].GetHistogram().GetSampleSum(), 0)
	require.Len(t, told["backfill_cycle_phase_seconds"].GetMetric(), 6)
	for name, value := range map[string]float64{
		"backfill_idle_cpus": 2, "backfill_usable_idle_cpus": 0, "backfill_wanted_slots": 1, "backfill_queue_untold_jobs": 0,
		"backfill_state_unwritten_total": 0, "backfill_policy_unplayable": 0, "backfill_problems": 0,
	} {
		require.Contains(t, told, name)
		m := told[name].GetMetric()[0]
		require.InDelta(t, value, m.GetGauge().GetValue()+m.GetCounter().GetValue(), 0, name)
	}
	quotas := told["backfill_group_quota_cpus"].GetMetric()
	require.Len(t, quotas, 1)
	require.Equal(t, "physics", quotas[0].GetLabel()[0].GetValue())
	require.InDelta(t, 3, quotas[0].GetGauge().GetValue(), 0)
}

// TestNobodyCollects: a daemon that serves no metrics keeps no copy of its schedule for them.
func TestNobodyCollects(t *testing.T) {
	w := newWorld()
	d := once(t, w, w.options("easy"), w.begin())
	require.NotContains(t, d.gather(t), "backfill_idle_cpus")
}

// TestAnotherPolicyMayBePlayed: a policy that cannot be played is told until another one takes
// over.
func TestAnotherPolicyMayBePlayed(t *testing.T) {
	w, log := newWorld(), &buffer{}
	o, easy := w.options("conservative"), w.options("easy").Negotiator
	changes := make(chan negotiator.Change, 1)
	o.Logger, o.Negotiator.Changes, o.Negotiator.Policy = logTo(log), changes, onlyOne{o.Negotiator.Policy}
	d, _ := run(t, o)
	unplayable := func() float64 {
		return d.gather(t)["backfill_policy_unplayable"].GetMetric()[0].GetGauge().GetValue()
	}
	require.Zero(t, unplayable())
	w.deltas <- w.begin()
	poll.Contains(t, cannotLookText, log.String)
	require.InDelta(t, 1, unplayable(), 0)
	changes <- negotiator.Change{Policy: easy.Policy, Fallback: easy.Fallback}
	w.deltas <- negotiator.Delta{Now: 1001}
	poll.Equal(t, 0.0, unplayable)
}

// metric is a metric as it is described.
type metric struct{ name, help, labels string }

// described returns all metrics that are or may be served.
func described() (all []metric) {
	const form = `^Desc\{fqName: "(.+?)", help: "(.+)", unit: "", constLabels: \{\}, variableLabels: \{(.*)\}\}$`
	pattern, descs := regexp.MustCompile(form), make(chan *prometheus.Desc)
	d := New(newWorld().options("easy"))
	go func() {
		metrics{d}.Describe(descs)
		d.meter.Describe(descs)
		close(descs)
	}()
	for desc := range descs {
		part := pattern.FindStringSubmatch(desc.String())
		if part == nil {
			panic(desc.String())
		}
		all = append(all, metric{part[1], strings.ReplaceAll(part[2], `\"`, `"`), strings.ReplaceAll(part[3], ",", ", ")})
	}
	slices.SortFunc(all, func(a, b metric) int { return cmp.Compare(a.name, b.name) })
	return all
}

// TestMetricsTableIsTrue: METRICS.md has a table of all metrics (UPDATE=1 writes it), and whatever
// is served is in it.
func TestMetricsTableIsTrue(t *testing.T) {
	const path, from = "../METRICS.md",
		"<!-- From here on it is written by UPDATE=1 go test ./negotiator/htcondor/daemon -run TestMetricsTableIsTrue. -->\n"
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	head, _, found := strings.Cut(string(text), from)
	require.True(t, found)
	var table strings.Builder
	table.WriteString("\n| metric | labels | meaning |\n|---|---|---|\n")
	known := map[string]bool{}
	for _, m := range described() {
		require.False(t, known[m.name], "%s: twice", m.name)
		known[m.name] = true
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", m.name, m.labels, m.help)
	}
	if want := head + from + table.String(); os.Getenv("UPDATE") == "1" {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
	} else {
		require.Equal(t, want, string(text), "write it with UPDATE=1")
	}
	for name := range metered(t).gather(t) {
		require.True(t, known[name], name)
	}
}

// TestMetricsAreNamedWell, as Prometheus wants them to be: with units, and _total for what only
// grows.
func TestMetricsAreNamedWell(t *testing.T) {
	var families []*dto.MetricFamily
	for name, family := range metered(t).gather(t) {
		if name == "backfill_start_error_seconds" { // its label quantile is older than the histogram beside it
			continue
		}
		families = append(families, family)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
}
