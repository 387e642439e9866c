package rehearsal

import (
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/active"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
	"github.com/condor-backfill/condor-backfill/negotiator/source"
)

// toldAndCome returns what the 43 jobs are told that wait at t = 60 in the built-in workload, when all
// have arrived, and when they then start.
func toldAndCome(t *testing.T, policy, estimates string) (told, came map[backfill.JobID]backfill.Time) {
	t.Helper()
	w := fourNodes(t)
	with := func() negotiator.Config {
		spec, err := policies.Named(policy)
		require.NoError(t, err)
		main, err := backfill.Link(spec, nil)
		require.NoError(t, err)
		fallback, err := backfill.Link(policies.FallbackFor(spec), nil)
		require.NoError(t, err)
		set, err := w.Estimators(estimate.Settings{All: estimates}, spec.Guarantees, nil)
		require.NoError(t, err)
		return negotiator.Config{Policy: main, Fallback: fallback, Estimates: set}
	}
	p := &Rehearsal{Activator: active.Activator{Policy: &active.Policy{}, Logger: hclog.NewNullLogger()}, Workload: w, config: with()}
	at, err := p.stateAt(t.Context(), 60, outlook.FuturesOptions{})
	require.NoError(t, err)
	result, err := condorsim.Run(t.Context(), w, with(), nil)
	require.NoError(t, err)
	told, came = map[backfill.JobID]backfill.Time{}, map[backfill.JobID]backfill.Time{}
	for _, j := range at.state.FirstWaiting(at.state.Waiting()) {
		e := p.expect(at, w.Jobs[j.ID].Job)
		require.NotNil(t, e.Start, e.Job)
		told[j.ID], came[j.ID] = backfill.Time(*e.Start), result.Outcomes[j.ID].Start
	}
	return told, came
}

// TestToldStartsAreThoseThatCome compares what start-times tells at t = 60 with what then happens. If
// run times are known, it is the same under every policy. By what is requested all of it is later,
// but the jobs come in about the order that they were told.
func TestToldStartsAreThoseThatCome(t *testing.T) {
	for _, spec := range policies.All() {
		told, came := toldAndCome(t, spec.Name, "accurate")
		require.NotEmpty(t, told, spec.Name)
		require.Equal(t, came, told, spec.Name)
	}
	told, came := toldAndCome(t, "ibb", "requested")
	require.Len(t, told, 43)
	different := map[backfill.Time]bool{}
	agree, pairs := 0, 0
	for a := range told {
		different[told[a]] = true
		for b := range told {
			if came[a] < came[b] {
				pairs++
				if told[a] <= told[b] {
					agree++
				}
			}
		}
		require.GreaterOrEqual(t, told[a], came[a], "everybody runs for less time than requested")
	}
	require.Greater(t, len(different), 20, "not one start for nearly all")
	require.Greater(t, float64(agree), 0.85*float64(pairs))
}

func TestExplain(t *testing.T) {
	w, err := load(files(t, slotAd,
		job("1", "0", "5", "RequestCpus = 2"), job("1", "1", "5", "RequestCpus = 2"),
		job("1", "2", "5", "RequestCpus = 2"),
		job("1", "3", "5", "RequestCpus = 3"), job("1", "5", "5", "Requirements = TARGET.Cpus > 1 && TARGET.Big"),
		strings.ReplaceAll(job("1", "4", "5", "RequestCpus = 1"), "QDate = 0", "QDate = 8")), new(source.Settings), nil, hclog.NewNullLogger())
	require.NoError(t, err)
	p := &Rehearsal{Activator: active.Activator{Policy: &active.Policy{}, Logger: hclog.NewNullLogger()}, Workload: w, config: link(t)}
	for _, c := range []struct {
		at                backfill.Time
		job, where, says  string
		start, guaranteed any
	}{
		{-1, "1.0", "to come", "will be submitted at 0 00:00:00", nil, nil},
		{0, "1.0", "runs", "runs since 0 00:00:00 on s×1", int64(0), nil},
		{0, "1.1", "reserved", "reserved, expected start 0 00:00:10 on s×1", int64(10), nil},
		{0, "1.2", "waits", "waits behind job 1.1, expected start 0 00:00:20 on s×1", int64(20), nil},
		{0, "1.3", "held", "held: fits on no slot of the pool, even an empty one: it requests 3 cpus, and none that it matches has more than 2", nil, nil},
		{0, "1.5", "held", "held: matches no slot: true on none of 1: TARGET.Big", nil, nil},
		{0, "1.4", "to come", "will be submitted at 0 00:00:08", nil, nil},
		{5, "1.0", "ended", "has ended", nil, nil},
		{7, "1.1", "runs", "runs since 0 00:00:05 on s×1", int64(5), nil},
		{99, "1.4", "ended", "has ended", nil, nil},
		{99, "1.3", "held", "held: fits on no slot of the pool, even an empty one: it requests 3 cpus, and none that it matches has more than 2", nil, nil},
	} {
		state, err := p.stateAt(t.Context(), c.at, outlook.FuturesOptions{})
		require.NoError(t, err)
		e := p.expect(state, findJob(w, c.job))
		require.Equal(t, []string{c.job, c.where, c.says}, []string{e.Job, e.Situation, e.Reason})
		if c.start == nil {
			require.Nil(t, e.Start)
		} else {
			require.Equal(t, c.start, *e.Start)
		}
		require.Nil(t, e.Guarantee)
	}
	require.Nil(t, findJob(w, "9.9"))
}

// TestExplainScavengers: of a scavenger it is told what it does, and the pool goes on with it.
func TestExplainScavengers(t *testing.T) {
	w, err := load(files(t, slotAd,
		job("1", "0", "20", "RequestCpus = 2\nBackfillScavenger = true"),
		strings.ReplaceAll(job("1", "1", "5", "RequestCpus = 2"), "QDate = 0", "QDate = 8")), new(source.Settings), nil, hclog.NewNullLogger())
	require.NoError(t, err)
	p := &Rehearsal{Activator: active.Activator{Policy: &active.Policy{}, Logger: hclog.NewNullLogger()}, Workload: w, config: link(t)}
	for _, c := range []struct {
		at             backfill.Time
		job, does, why string
	}{
		{0, "1.0", "scavenges", "a scavenger: it runs on s×1 until any other job needs its place"},
		{9, "1.0", "scavenges", "a scavenger: it makes way; displaced by 1.1"},
		{9, "1.1", "runs", "runs since 0 00:00:08 on s×1"},
		{19, "1.0", "scavenges", "it starts as soon as something is idle that it can use"},
		{99, "1.0", "ended", "has ended"},
	} {
		e, explainErr := p.Explain(t.Context(), c.at, outlook.FuturesOptions{}, c.job)
		require.NoError(t, explainErr)
		require.Equal(t, c.does, e.Situation)
		require.Contains(t, e.Reason, c.why)
	}
	all, err := p.StartTimes(t.Context(), 1, outlook.FuturesOptions{}, "")
	require.NoError(t, err)
	require.Empty(t, all)
	r, err := condorsim.Run(t.Context(), w, link(t), nil)
	require.NoError(t, err)
	require.EqualValues(t, 18, r.Outcomes[1].Start, "the other one leaves within ten seconds")
	require.EqualValues(t, 23+20, r.Outcomes[0].End)
}

// TestStartTimesListHeldJobs: jobs that are held are listed behind those that wait, with the reason, also where none
// waits.
func TestStartTimesListHeldJobs(t *testing.T) {
	for _, some := range []bool{false, true} {
		jobs := []string{job("1", "0", "5", "RequestCpus = 3"), job("1", "1", "5", "RequestCpus = 2")}
		if some {
			jobs = append(jobs, job("1", "2", "5", "RequestCpus = 2"))
		}
		w, err := load(files(t, slotAd, jobs...), new(source.Settings), nil, hclog.NewNullLogger())
		require.NoError(t, err)
		p := &Rehearsal{Activator: active.Activator{Policy: &active.Policy{}, Logger: hclog.NewNullLogger()}, Workload: w, config: link(t)}
		all, err := p.StartTimes(t.Context(), 1, outlook.FuturesOptions{}, "")
		require.NoError(t, err)
		last := all[len(all)-1]
		require.Equal(t, []string{"1.0", "held"}, []string{last.Job, last.Situation})
		require.Contains(t, last.Reason, "it requests 3 cpus, and none that it matches has more than 2")
		require.Equal(t, some, len(all) == 2)
	}
}
