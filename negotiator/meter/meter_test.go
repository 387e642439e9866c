package meter_test

import (
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/configs"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/meter"
)

// read reads a built-in file.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := fs.ReadFile(configs.Files(), name)
	require.NoError(t, err)
	return string(text)
}

// simulate runs jobs on four nodes and shows each cycle to the sinks.
func simulate(t *testing.T, jobs string, sinks ...negotiator.Sink) *condorsim.Result {
	t.Helper()
	slots, err := pools.Read(strings.NewReader(read(t, configs.FourNodes)), "pool")
	require.NoError(t, err)
	found, err := formats.Read(strings.NewReader(jobs), "jobs",
		condorsim.ReadingFor(slots, formats.Options{Ads: history.Options{Whole: true}}))
	require.NoError(t, err)
	w, err := condorsim.Queued(found, slots, nil)
	require.NoError(t, err)
	spec, err := policies.Named("conservative")
	require.NoError(t, err)
	policy, err := backfill.Link(spec, nil)
	require.NoError(t, err)
	result, err := condorsim.Run(t.Context(), w, negotiator.Config{Policy: policy, Fallback: policy}, nil, sinks...)
	require.NoError(t, err)
	return result
}

// gather returns what a meter tells, by name.
func gather(t *testing.T, m *meter.Meter) (families []*dto.MetricFamily, byName map[string]*dto.MetricFamily) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(m))
	families, err := registry.Gather()
	require.NoError(t, err)
	byName = map[string]*dto.MetricFamily{}
	for _, family := range families {
		byName[family.GetName()] = family
	}
	return families, byName
}

// values are those of a gauge or counter by the values of its labels, which are joined by blanks.
func values(family *dto.MetricFamily) map[string]float64 {
	found := map[string]float64{}
	for _, m := range family.GetMetric() {
		labels := make([]string, len(m.GetLabel()))
		for i, l := range m.GetLabel() {
			labels[i] = l.GetValue()
		}
		found[strings.Join(labels, " ")] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
	}
	return found
}

// sinkFunc is a sink.
type sinkFunc func(*negotiator.Report) error

func (f sinkFunc) Cycle(r *negotiator.Report) error { return f(r) }

// TestASimulationIsMetered looks at what a meter tells of a simulated pool, in the middle and at
// the end.
func TestASimulationIsMetered(t *testing.T) {
	m := meter.New(meter.Options{Alone: true})
	_, early := gather(t, m)
	require.NotContains(t, early, "backfill_idle_cpus", "nothing is known before the first cycle")
	busy := map[string]map[string]float64{}
	look := sinkFunc(func(r *negotiator.Report) error {
		if r.State.Waiting() == 0 || len(busy) > 0 {
			return nil
		}
		_, found := gather(t, m)
		for name, family := range found {
			busy[name] = values(family)
		}
		jobs, cpus := 0.0, 0.0
		for _, j := range r.State.FirstWaiting(r.State.Waiting()) {
			jobs, cpus = jobs+1, cpus+float64(j.Width())
		}
		require.Equal(t, map[string]float64{"none": jobs}, busy["backfill_group_waiting_jobs"])
		require.Equal(t, map[string]float64{"none": cpus}, busy["backfill_group_waiting_cpus"])
		require.Equal(t, map[string]float64{"none": float64(r.State.Use()[0])}, busy["backfill_group_running_cpus"])
		require.InDelta(t, r.State.Use()[0], busy["backfill_resource_in_use"]["cpus"], 0)
		return nil
	})
	result := simulate(t, read(t, configs.NPB54), &meter.Sink{Meter: m}, look)
	wanted := 0.0
	for _, slots := range busy["backfill_wanted_slots"] {
		wanted += slots
	}
	require.Positive(t, wanted)
	require.Contains(t, busy, "backfill_queue_end_seconds")
	require.InDelta(t, busy["backfill_resource_capacity"]["cpus"],
		busy["backfill_resource_in_use"]["cpus"]+busy["backfill_idle_cpus"][""], 0)

	m.StartError("arrival", -90)
	families, told := gather(t, m)
	idle := values(told["backfill_group_running_cpus"])
	require.Equal(t, map[string]float64{"none": 0}, idle, "of a group that ran jobs")
	waits := told["backfill_job_wait_seconds"].GetMetric()
	require.Len(t, waits, 1)
	require.EqualValues(t, len(result.Outcomes), waits[0].GetHistogram().GetSampleCount())
	require.Equal(t, map[string]float64{"": float64(len(result.Outcomes))}, values(told["backfill_job_starts_total"]))
	require.NotNil(t, waits[0].GetHistogram().Schema, "a native histogram")
	require.NotEmpty(t, waits[0].GetHistogram().GetBucket(), "and a classic one")
	decisions := told["backfill_decision_seconds"].GetMetric()
	require.Equal(t, "conservative", decisions[0].GetLabel()[0].GetValue())
	require.EqualValues(t, result.Cycles, decisions[0].GetHistogram().GetSampleCount())
	require.Len(t, told["backfill_cycle_phase_seconds"].GetMetric(), 2)
	errors := told["backfill_told_start_error_seconds"].GetMetric()
	require.Len(t, errors, 2)
	require.InDelta(t, 90, errors[0].GetHistogram().GetSampleSum(), 0)
	require.Equal(t, map[string]float64{"": float64(result.Cycles)}, values(told["backfill_cycles_total"]))
	require.Equal(t, map[string]float64{"": 4}, values(told["backfill_slots"]))

	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
}

// job is the ad of a job of a group, that runs for ten seconds on one cpu.
func job(number int, group string) string {
	return fmt.Sprintf("ClusterId = %d\nProcId = 0\nQDate = 0\nEstimatedRunTime = 10\nRequirements = true\n"+
		"RemoteWallClockTime = 10\nRequestCpus = 1\nAcctGroup = %q\n\n", number, group)
}

// TestGroupsAreBounded: users may make up any number of groups, and any names for them.
func TestGroupsAreBounded(t *testing.T) {
	const groups = 300
	var jobs strings.Builder
	for i := range groups {
		jobs.WriteString(job(i+1, fmt.Sprintf("group %03d %s", i, strings.Repeat("ä", i))))
	}
	jobs.WriteString(job(groups+1, ""))
	jobs.WriteString(job(groups+2, `<b> "\n{} physics`))
	m, most := meter.New(meter.Options{}), 0
	var quotas []meter.Group
	simulate(t, jobs.String(), sinkFunc(func(r *negotiator.Report) error {
		if r.State.Waiting() < groups/2 { // there are too many others by then
			quotas = []meter.Group{{"physics", 24}, {"chemistry", 8}}
		}
		m.Cycle(meter.Cycle{
			Report: r, State: func() *backfill.State { return r.State }, Groups: func() []meter.Group { return quotas },
		})
		_, found := gather(t, m)
		for _, name := range []string{
			"backfill_group_running_cpus", "backfill_group_waiting_jobs", "backfill_job_wait_seconds",
		} {
			most = max(most, len(found[name].GetMetric()))
		}
		for _, g := range quotas {
			require.InDelta(t, g.Quota, values(found["backfill_group_quota_cpus"])[g.Name], 0)
		}
		sum := 0.0
		for _, waiting := range values(found["backfill_group_waiting_jobs"]) {
			sum += waiting
		}
		require.InDelta(t, r.State.Waiting(), sum, 0)
		return nil
	}))
	require.Len(t, quotas, 2)
	require.Equal(t, meter.MostGroups+1+2, most, "those that came first, other, and those with quotas")
}

// TestTheStateIsCopiedOnce for all who collect after a cycle, and not at all if nobody does.
func TestTheStateIsCopiedOnce(t *testing.T) {
	m, copied, cycles := meter.New(meter.Options{}), 0, 0
	simulate(t, read(t, configs.NPB54), sinkFunc(func(r *negotiator.Report) error {
		none := true // there is no copy yet
		m.Cycle(meter.Cycle{Report: r, Phases: []meter.Phase{{meter.PhaseAct, time.Second}}, State: func() *backfill.State {
			if none {
				return nil
			}
			copied++
			return r.State
		}})
		if cycles++; cycles%10 == 0 {
			_, told := gather(t, m)
			require.NotContains(t, told, "backfill_idle_cpus")
			none = false
			gather(t, m)
			gather(t, m)
		}
		return nil
	}))
	require.Equal(t, cycles/10, copied)
	_, told := gather(t, m)
	require.Equal(t, "act", told["backfill_cycle_phase_seconds"].GetMetric()[0].GetLabel()[0].GetValue())
}

// TestCollectingBesideCycles is for the race detector: others collect while cycles go on.
func TestCollectingBesideCycles(t *testing.T) {
	m, done := meter.New(meter.Options{Alone: true}), make(chan struct{})
	var collecting sync.WaitGroup
	for range 2 {
		collecting.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					registry := prometheus.NewRegistry()
					registry.MustRegister(m)
					if _, err := registry.Gather(); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	simulate(t, read(t, configs.NPB54), &meter.Sink{Meter: m})
	close(done)
	collecting.Wait()
}

// TestAnObserverStartsNothing: nobody has waited for what it would start.
func TestAnObserverStartsNothing(t *testing.T) {
	m := meter.New(meter.Options{})
	simulate(t, job(1, "x"), sinkFunc(func(r *negotiator.Report) error {
		m.Cycle(meter.Cycle{Report: r, Observes: true})
		return nil
	}))
	_, told := gather(t, m)
	require.NotContains(t, told, "backfill_job_wait_seconds")
	require.NotContains(t, told, "backfill_idle_cpus", "there is no state to look at")
	require.Contains(t, told, "backfill_decision_seconds")
}
