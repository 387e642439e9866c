package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies/easy"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

const matrix = `name: matrix
baseline: conservative
traces:
  - {name: a, file: a.swf}
  - {name: b, file: b.swf, memory: 640}
  - {name: both, cpus: 16, memory: 800, merge: [{file: a.swf, until: 1000}, {file: b.swf, max: 100}]}
  - {name: nodes, file: a.swf, nodes: {count: 4, cpus: 4, memory: 1000}}
schedulers:
  - {policies: [fcfs, easy, conservative, ibb]}
  - {policies: [pc, dc], orders: [sjf]}
  - {label: deep, policy: easy, order: "expr:-Width", options: {depth: 3}, placement: spread}
loads: [1, 1.5]
estimate_models: [given, accurate]
`

const learning = `name: learning
traces:
  - {name: a, file: a.swf, history: b.swf}
  - {name: b, file: b.swf, history_share: 0.3, estimates_options: {user-key: executable}}
schedulers:
  - {policy: easy, order: sjf, estimates: [user, tsafrir, accurate], estimates_options: {threshold: 3}}
loads: [1, 1.5]
`

// The results do not depend on the number of cores, and are those of running each cell alone.
func TestSameResultsOnAnyNumberOfCores(t *testing.T) {
	for text, n := range map[string]int{matrix: 4 * 7 * 2 * 2, learning: 2 * 3 * 2} {
		p := prepared(t, folder(t, 120, 110), text)
		require.Len(t, p.cells, n)
		var want []byte
		for _, parallel := range []int{1, 2, 8} {
			cells := collect(t, p, parallel)
			require.Len(t, cells, len(p.cells))
			got, err := json.Marshal(cells)
			require.NoError(t, err)
			if want == nil {
				want = got
			}
			require.Equal(t, string(want), string(got), "%d at a time", parallel)
		}
	}
}

// A cell's result is that of condorsim.Run.
func TestCellsAreRuns(t *testing.T) {
	dir := folder(t, 200)
	p := prepared(t, dir, small+"loads: [1, 1.5]\n")
	cells := collect(t, p, 1)
	for id, load := range map[string]float64{"a,easy": 1, "a,easy,load=1.5": 1.5} {
		trace, err := workload.Open(filepath.Join(dir, "a.swf"), workload.Options{Load: load})
		require.NoError(t, err)
		w, err := condorsim.FromTrace(trace, nil)
		require.NoError(t, err)
		d, err := linked(t.Context(), "easy", nil, w.Schema.Resources)
		require.NoError(t, err)
		r, err := condorsim.Run(t.Context(), w, negotiator.Config{Policy: d.Main, Fallback: d.Fallback}, nil)
		require.NoError(t, err)
		require.Equal(t, r.Measures(), cells[id].Metrics, id)
		require.Equal(t, 200, cells[id].Jobs)
		require.Equal(t, results.Machine{Slots: 1, Cpus: 16}, cells[id].Machine)
		require.Equal(t, trace.Cleaning, cells[id].Cleaning)
	}
	require.NotEqual(t, cells["a,easy"].Metrics, cells["a,easy,load=1.5"].Metrics)
}

// A scheduler without an order runs under its policy's, and the cell says so; its label does not.
func TestAPolicysOwnOrder(t *testing.T) {
	cells := collect(t, prepared(t, folder(t, 200), `name: orders
traces: [{name: a, file: a.swf}]
schedulers:
  - {policies: [easy, slack]}
  - {policies: [easy, slack], orders: [wfp, wfp-wide, fcfs]}
loads: [2]
`), 2)
	for label, want := range map[string]struct{ order, like, unlike string }{
		"easy":       {"fcfs", "easy-fcfs", "easy-wfp"},
		"slack":      {"wfp-wide", "slack-wfp-wide", "slack-fcfs"},
		"slack-fcfs": {"fcfs", "slack-fcfs", "slack-wfp"},
	} {
		c := cells["a,"+label+",load=2"]
		require.Equal(t, want.order, c.Order, label)
		require.Equal(t, label, c.Scheduler)
		if want.order == "wfp-wide" { // as the policy's own estimator is for its order
			require.Equal(t, &results.Estimates{Order: "learned"}, c.Estimates, label)
		} else {
			require.Nil(t, c.Estimates, label)
		}
		require.Equal(t, cells["a,"+want.like+",load=2"].Metrics, c.Metrics, label)
		require.NotEqual(t, cells["a,"+want.unlike+",load=2"].Metrics, c.Metrics, label)
	}
}

// Another order of a policy makes other results, but not where a scheduler has its own.
func TestAPolicysOrderIsAnInput(t *testing.T) {
	dir := folder(t, 20)
	inputs := func(order string) (all []string) {
		f, err := Parse("sweep.yaml", []byte("name: s\ntraces: [{name: a, file: a.swf}]\n"+
			"schedulers: [{policy: easy}, {policy: easy, order: ljf}]\n"))
		require.NoError(t, err)
		p, err := Prepare(t.Context(), f, Settings{
			Places: Places{Dirs: []string{dir}}, Version: "v1",
			Policies: func(context.Context, string, map[string]string, []string) (Deciders, error) {
				spec := easy.Spec()
				spec.Order = order
				main, linkErr := backfill.Link(spec, nil)
				return Deciders{Main: main}, linkErr
			},
		})
		require.NoError(t, err)
		for _, key := range p.Manifest.Cells {
			all = append(all, key.Inputs)
		}
		return all
	}
	none, fcfs, sjf := inputs(""), inputs("fcfs"), inputs("sjf")
	require.Equal(t, none, fcfs)
	require.NotEqual(t, none[0], sjf[0])
	require.Equal(t, none[1], sjf[1])
}

// Traces, pools and how they are read change the results as they should.
func TestTraces(t *testing.T) {
	p := prepared(t, folder(t, 120, 110), matrix)
	cells := collect(t, p, 2)
	require.Equal(t, results.Machine{Slots: 1, Cpus: 16, Memory: 640}, cells["b,easy"].Machine)
	require.Equal(t, results.Machine{Slots: 4, Cpus: 16, Memory: 4000}, cells["nodes,easy"].Machine)
	both := cells["both,easy"]
	require.Greater(t, both.Jobs, 100, "some of the first trace, 100 of the second")
	require.Less(t, both.Jobs, 200)
	require.Equal(t, 230, both.Cleaning.JobsRead)
	require.Equal(t, both.Jobs, both.Cleaning.JobsLeft)

	few := *p
	few.settings.Jobs = 7
	for i := range few.cells {
		in := *few.cells[i].input
		in.jobs = 7
		few.cells[i].input = &in
	}
	for id, c := range collect(t, &few, 2) {
		require.Equal(t, 7, c.Jobs, id)
	}
}

// What a result depends on changes its digest, and nothing else does.
func TestInputs(t *testing.T) {
	dir := folder(t, 20, 20)
	first := func(p *Sweep) string { return p.Manifest.Cells[0].Inputs }
	base := prepared(t, dir, small)
	require.Equal(t, first(base), first(prepared(t, dir,
		"title: other\nbaseline: easy\n"+small+"  - {policy: pc}\nloads: [1, 2]\n")))
	for _, text := range []string{
		"fst: [strict]\n" + small, "per_user: true\n" + small, "per_queue: true\n" + small,
		"name: small\ntraces: [{name: a, file: a.swf, clean: none}]\nschedulers: [{policy: easy}]\n",
		"name: small\ntraces: [{name: a, file: a.swf}]\nschedulers: [{policy: easy, placement: pack}]\n",
		"name: small\ntraces: [{name: a, file: a.swf}]\n" +
			"schedulers: [{label: easy, policy: easy, options: {depth: 2}}]\n",
		"name: small\ntraces: [{name: a, file: a.swf}]\nschedulers: [{label: easy, policy: easy, order: sjf}]\n",
		"name: small\ntraces: [{name: a, file: b.swf}]\nschedulers: [{policy: easy}]\n",
	} {
		p := prepared(t, dir, text)
		require.Equal(t, base.Manifest.Cells[0].ID, p.Manifest.Cells[0].ID)
		require.NotEqual(t, first(base), first(p), text)
	}
	f, err := Parse("x", []byte(small))
	require.NoError(t, err)
	for _, s := range []Settings{{Version: "v2"}, {Version: "v1", Jobs: 3}} {
		s.Places, s.Policies = Places{Dirs: []string{dir}}, linked
		p, err := Prepare(t.Context(), f, s)
		require.NoError(t, err)
		require.NotEqual(t, first(base), first(p))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.swf"), []byte("; MaxProcs: 4\n"), 0o600))
	require.NotEqual(t, first(base), first(prepared(t, dir, small)), "the trace has changed")
}

// What users got is in the results if the sweep asks for it, for all users with a job.
func TestUsersAreKeptOnRequest(t *testing.T) {
	dir := folder(t, 50)
	const text = "name: x\ntraces: [{name: a, file: a.swf}]\nschedulers: [{policy: easy}]\n"
	require.Nil(t, collect(t, prepared(t, dir, text), 1)["a,easy"].Users)
	one := collect(t, prepared(t, dir, "per_user: true\n"+text), 1)["a,easy"]
	jobs, worst := 0, 0.0
	for _, u := range one.Users {
		jobs, worst = jobs+u.Jobs, max(worst, u.MeanBoundedSlowdown)
	}
	require.Equal(t, one.Jobs, jobs, "each job has a user")
	require.InDelta(t, one.Metrics["users"], len(one.Users), 0)
	require.InDelta(t, one.Metrics["worst_user_bounded_slowdown"], worst, 0)
}

func TestSkippedTraces(t *testing.T) {
	dir := folder(t, 20)
	p := prepared(t, dir, "name: x\ntraces: [{name: a, file: a.swf}, {name: z, file: z.swf.gz}, {name: m, cpus: "+
		"2, merge: [{file: a.swf}, {file: y}]}]\nschedulers: [{policy: easy}]\n")
	require.Equal(t, []string{
		"trace z: z.swf.gz is not there; looked in " + dir, "trace m: y is not there; looked in " + dir,
	}, p.Manifest.Skipped)
	require.Len(t, p.Manifest.Cells, 1)
	require.Len(t, p.Manifest.Traces, 1)
	require.Len(t, p.Manifest.Traces[0].SHA256, 64)

	_, err := prepare(t, dir, "name: x\ntraces: [{name: z, file: z.swf.gz}]\nschedulers: [{policy: easy}]\n")
	require.ErrorContains(t, err, "none of its traces is there")
	require.ErrorContains(t, err, "z.swf.gz is not there; looked in "+dir)
}

// The cells of a damaged trace fail; the others run.
func TestFailingCells(t *testing.T) {
	dir := folder(t, 50, 50)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.swf"), []byte("; MaxProcs: 4\n1 2 3\n"), 0o600))
	p := prepared(t, dir, "name: x\ntraces: [{name: a, file: a.swf}, {name: b, file: b.swf}]\n"+
		"schedulers: [{policies: [easy, pc]}, {label: words, policy: easy, order: 'expr:\"a\"'}]\n")
	var saved []string
	told := map[string]error{}
	share := 0.0
	failures, err := p.Run(t.Context(), whole(p), Runner{
		Parallel: 2, Memory: 1,
		Save:     func(c results.Cell) error { saved = append(saved, c.ID); return nil },
		Finished: func(k results.Key, _ results.Cell, err error) { told[k.ID] = err },
		Progress: func(s float64) {
			require.GreaterOrEqual(t, s, share)
			share = s
		},
	})
	require.NoError(t, err)
	slices.Sort(saved)
	require.Equal(t, []string{"a,easy", "a,pc"}, saved)
	require.Len(t, told, 6)
	require.InDelta(t, 1, share, 1e-9)
	require.Len(t, failures, 4)
	require.Equal(t, "a,words", failures[0].Key.ID)
	require.EqualError(t, failures[0].Err, negotiator.UnorderedText)
	for _, f := range failures[1:] {
		require.Equal(t, "b", f.Key.Trace)
		require.ErrorContains(t, f.Err, "b.swf:2: field 4 (run time): is missing")
		bad, ok := errors.AsType[*BadInput](f.Err)
		require.True(t, ok)
		require.Error(t, bad)
	}
}

// broken is a policy that cannot decide.
type broken struct {
	backfill.Decider
	decide func() error
}

// Decide fails.
func (b broken) Decide(context.Context, *backfill.Transaction) error { return b.decide() }

// A policy that fails does not affect other cells, and its fallback's results do not count as its
// own.
func TestBrokenPolicy(t *testing.T) {
	for want, decide := range map[string]func() error{
		"internal error: mistake":                      func() error { panic("mistake") },
		"a decision was refused, so this would not be": func() error { return errors.New("no") },
	} {
		f, err := Parse("x", []byte(small+"  - {policy: pc}\n"))
		require.NoError(t, err)
		p, err := Prepare(t.Context(), f, Settings{
			Places: Places{Dirs: []string{folder(t, 50)}},
			Policies: func(ctx context.Context, policy string, o map[string]string, r []string) (Deciders, error) {
				d, linkErr := linked(ctx, policy, o, r)
				if policy == "pc" {
					d.Main = broken{d.Main, decide}
				}
				return d, linkErr
			},
		})
		require.NoError(t, err)
		saved := 0
		failures, err := p.Run(t.Context(), whole(p),
			Runner{Parallel: 2, Memory: 1 << 30, Save: func(results.Cell) error { saved++; return nil }})
		require.NoError(t, err)
		require.Equal(t, 1, saved)
		require.Len(t, failures, 1)
		require.Equal(t, "a,pc", failures[0].Key.ID)
		require.ErrorContains(t, failures[0].Err, want)
	}
}

// If a cell cannot be saved the sweep ends, as no other could be.
func TestSaveFails(t *testing.T) {
	p := prepared(t, folder(t, 100, 100), matrix)
	full := errors.New("disk full")
	saved := 0
	failures, err := p.Run(t.Context(), whole(p), Runner{Parallel: 4, Memory: 1 << 30, Save: func(results.Cell) error {
		if saved++; saved > 3 {
			return full
		}
		return nil
	}})
	require.ErrorIs(t, err, full)
	require.Empty(t, failures)
	require.Equal(t, 4, saved)
}

// An interrupted sweep continues where it was.
func TestInterrupted(t *testing.T) {
	dir := folder(t, 100, 100)
	p := prepared(t, dir, matrix)
	out := t.TempDir()
	w, err := results.Open(out)
	require.NoError(t, err)
	require.NoError(t, w.Manifest(p.Manifest))
	state := p.Split(out)
	require.Equal(t, whole(p), state.Todo)

	ctx, cancel := context.WithCancel(t.Context())
	var saved atomic.Int32
	failures, err := p.Run(ctx, state.Todo, Runner{Parallel: 2, Memory: 1 << 30, Save: func(c results.Cell) error {
		if saved.Add(1) == 10 {
			cancel()
		}
		return w.Cell(c)
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, failures, "what was given up has not failed")
	state = p.Split(out)
	require.Equal(t, int(saved.Load()), state.Kept)
	require.Len(t, state.Todo, len(p.cells)-state.Kept)

	// Meanwhile a cell was damaged, one is of another program, one of another sweep.
	kept := slices.DeleteFunc(whole(p), func(i int) bool { return slices.Contains(state.Todo, i) })
	damaged, outdated := p.Manifest.Cells[kept[0]], p.Manifest.Cells[kept[1]]
	require.NoError(t, os.WriteFile(results.CellPath(out, damaged.ID), []byte(`{"id":`), 0o600))
	outdated.Inputs = "other"
	require.NoError(t, w.Cell(results.Cell{Key: outdated}))
	require.NoError(t, w.Cell(results.Cell{Key: results.Key{ID: "foreign"}}))
	state = p.Split(out)
	require.Len(t, state.Damaged, 1)
	require.ErrorContains(t, state.Damaged[0], damaged.ID)
	require.Equal(t, 1, state.Outdated)
	require.Equal(t, 1, state.Foreign)
	require.Contains(t, state.Todo, kept[0])
	require.Contains(t, state.Todo, kept[1])

	_, err = p.Run(t.Context(), state.Todo, Runner{Parallel: 2, Memory: 1 << 30, Save: w.Cell})
	require.NoError(t, err)
	f, err := w.Tables()
	require.NoError(t, err)
	require.True(t, f.Complete())
	require.NoError(t, w.Close())
	byID := map[string]results.Cell{}
	for _, c := range f.Cells {
		byID[c.ID] = c
	}
	want := collect(t, p, 1)
	text, err := json.Marshal(want)
	require.NoError(t, err)
	got, err := json.Marshal(byID)
	require.NoError(t, err)
	require.Equal(t, string(text), string(got))
}

func TestOnly(t *testing.T) {
	p := prepared(t, folder(t, 5, 5), matrix)
	some, err := p.Only(whole(p), "a,*sjf*")
	require.NoError(t, err)
	require.Len(t, some, 8)
	_, err = p.Only(some, "[")
	require.Error(t, err)
	some, err = p.Only(some, "nothing")
	require.NoError(t, err)
	require.Empty(t, some)
}

// Cells start trace by trace, so that few traces are in memory, and each trace is dropped when its
// last cell is done.
func TestTasks(t *testing.T) {
	p := prepared(t, folder(t, 50, 500), matrix)
	tasks := p.tasks(whole(p))
	var traces []string
	for i, task := range tasks {
		if i == 0 || task.home.key.Trace != traces[len(traces)-1] {
			traces = append(traces, task.home.key.Trace)
		}
		if i > 0 && task.variant == tasks[i-1].variant {
			require.LessOrEqual(t, task.cost(), tasks[i-1].cost(), "the longest first")
		}
	}
	require.Equal(t, []string{"both", "b", "a", "nodes"}, traces, "each once, the largest first")
	for _, task := range tasks {
		_, err := task.workload()
		require.NoError(t, err)
		task.leave()
	}
	for _, task := range tasks {
		require.Nil(t, task.variant.value)
		require.Nil(t, task.trace.value)
	}
}

func TestRoom(t *testing.T) {
	r := newRoom(10)
	r.enter(20) // no other task is running
	entered := make(chan bool)
	go func() {
		r.enter(6)
		close(entered)
	}()
	select {
	case <-entered:
		t.Fatal("there was no room")
	default:
	}
	r.leave(20)
	<-entered
	r.enter(4)
	r.leave(4)
	r.leave(6)
	require.Zero(t, r.used)
}

// Additional measures are among the metrics, and fair start times are those of a run.
func TestOtherMeasures(t *testing.T) {
	dir := folder(t, 150)
	for text, names := range map[string][]string{
		"fst: [strict]\n":          {"strict_unfairness"},
		"fst: [strict, relaxed]\n": {"strict_unfairness", "relaxed_unfairness"},
		"count_events: true\n":     {"profile_events"},
	} {
		p := prepared(t, dir, text+"name: n\ntraces: [{name: a, file: a.swf}]\nschedulers: [{policy: conservative}]\n")
		cell := collect(t, p, 2)["a,conservative"]
		for _, name := range []string{"strict_unfairness", "relaxed_unfairness", "profile_events"} {
			v, there := cell.Metrics[name]
			require.Equal(t, slices.Contains(names, name), there, name)
			require.Equal(t, there, v > 0, name)
		}
		require.NotEmpty(t, cell.Series.WaitQuantiles)
	}
}

// A generated trace is different for each seed.
func TestGenerate(t *testing.T) {
	p := prepared(t, t.TempDir(), `name: n
traces:
  - {name: a, generate: {model: lublin, jobs: 40, cpus: 64}}
  - {name: b, generate: {model: simple, jobs: 40, cpus: 64, load: 0.9, run_median: 60, run_sigma: 1}}
schedulers: [{policy: easy}]
seeds: [1, 2]
`)
	cells := collect(t, p, 1)
	require.Len(t, cells, 4)
	for _, name := range []string{"a", "b"} {
		one, two := cells[name+",easy,seed=1"], cells[name+",easy,seed=2"]
		require.Equal(t, 40, one.Jobs)
		require.Equal(t, 64, int(one.Machine.Cpus))
		require.NotEqual(t, one.Metrics["makespan"], two.Metrics["makespan"])
	}
}
