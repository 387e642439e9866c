package sweep

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

const small = `name: small
traces:
  - {name: a, file: a.swf}
schedulers:
  - {policy: easy}
`

func TestParse(t *testing.T) {
	f, err := Parse("x.yaml", []byte(`
name: all-there-is
title: T
description: |
  D
paper: ibb
baseline: mine
fst: [strict, relaxed]
traces:
  - {name: a, file: a.swf.gz, cpus: 8, memory: 1024, clean: none, procs_field: requested,
     overrun: kill, max: 10, until: 100}
  - name: b
    cpus: 16
    merge: [{file: a.swf, max: 3}, {file: b.swf, cpus: 4, clean: papers}]
    clean: none
  - {name: c, ads: jobs.ads, nodes: {count: 2, cpus: 8, memory: 64}}
  - {name: d, file: a.swf, pool: slots.ads, history: old.swf, history_share: 0.25,
     estimates_options: {threshold: 30, window: 40}}
  - {name: e, generate: {model: lublin, jobs: 50, cpus: 64, kind: both}}
  - {name: f, generate: {model: simple, jobs: 50, cpus: 64, load: 0.9}}
schedulers:
  - {label: mine, policy: easy, order: "expr:-Width", options: {depth: 3}, placement: pack}
  - {policies: [pc, dc], orders: [fifo, sjf]}
  - {policy: fcfs}
  - {policy: easy, orders: [fcfs, wfp], estimates: [requested, user], estimates_options: {threshold: 20}}
  - {policy: easy, estimates: combined, estimates_order: accurate, estimates_backfill: user,
     estimates_running: requested}
`))
	require.NoError(t, err)
	require.Equal(t, Trace{Name: "a", Source: Source{
		File: "a.swf.gz", CPUs: 8, Memory: 1024, Clean: "none", ProcsField: "requested", Overrun: "kill",
		Max: 10, Until: "100",
	}}, f.Traces[0])
	require.Equal(t, []Source{
		{File: "a.swf", Max: 3, CPUs: 16, Clean: "none"}, {File: "b.swf", CPUs: 4, Clean: "papers"},
	}, f.Traces[1].sources(), "what the parts do not say, the whole does")
	require.Equal(t, []string{"jobs.ads"}, f.Traces[2].files())
	require.Equal(t, []string{"a.swf"}, f.Traces[3].files())
	var labels []string
	for _, s := range f.schedulers() {
		labels = append(labels, s.label)
	}
	require.Equal(t, []string{
		"mine", "pc-fifo", "pc-sjf", "dc-fifo", "dc-sjf", "fcfs",
		"easy-fcfs-requested", "easy-fcfs-user", "easy-wfp-requested", "easy-wfp-user",
		"easy-combined-order-accurate-backfill-user-running-requested",
	}, labels)
	twenty := map[string]string{"threshold": "20"}
	require.Equal(t, estimate.Settings{All: "user", Options: twenty}, f.schedulers()[7].estimates)
	require.Equal(t, estimate.Settings{All: "combined", Order: "accurate", Backfill: "user", Running: "requested"},
		f.schedulers()[10].estimates)
	require.Nil(t, estimatesKey(f.schedulers()[5].estimates))
	plain := f.schedulers()[6].estimates
	require.Equal(t, estimate.Settings{All: "requested"}, withOptions(plain, plain.Options),
		"options are for those that go by them")
	require.Equal(t, "user threshold=20", estimatesKey(f.schedulers()[7].estimates).String())
	require.Equal(t, []any{"old.swf", 0.25}, []any{f.Traces[3].History, f.Traces[3].HistoryShare})
	thirty := map[string]string{"threshold": "30", "window": "40"}
	require.Equal(t, estimate.Settings{All: "user", Options: thirty},
		f.Traces[3].settings(estimate.Settings{All: "user"}))
	require.Equal(t, map[string]string{"threshold": "20", "window": "40"},
		f.Traces[3].settings(estimate.Settings{All: "project", Options: twenty}).Options, "a scheduler's go before")
	require.Equal(t, map[string]string(nil), f.Traces[3].settings(estimate.Settings{All: "tsafrir"}).Options)
	require.Equal(t, thirty, f.Traces[3].EstimatesOptions)
	mine, last := f.schedulers()[0], f.schedulers()[5]
	require.Equal(t, []string{"easy", "expr:-Width", "pack", "3"},
		[]string{mine.policy, mine.order, mine.placement, mine.options["depth"]})
	require.Equal(t, []string{"", "rank"}, []string{last.order, last.placement})
	require.Equal(t, []float64{1}, f.loads())
	require.Equal(t, []estimates{{model: "given"}}, f.estimates())
	require.Equal(t, []uint64{0}, f.seeds())
}

// Every typo is reported with line and column, and with what may have been meant.
func TestTypos(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"top", "schedulers:", "shcedulers:", "[4:1] unknown field \"shcedulers\", did you mean schedulers?"},
		{"trace", "file:", "flie:", "[3:15] unknown field \"flie\", did you mean file?"},
		{"scheduler", "policy:", "polcy:", "[5:6] unknown field \"polcy\", did you mean policy?"},
		{
			"of another place", "file:", "orders:",
			"[3:15] unknown field \"orders\", did you mean nodes? (known here: name, file,",
		},
		{
			"merge", "file: a.swf", "cpus: 3, merge: [{flie: a}]",
			"[3:33] unknown field \"flie\", did you mean file? (known here: file, cpus",
		},
		{
			"nodes", "a.swf", "a.swf, nodes: {cuont: 3}",
			"unknown field \"cuont\", did you mean count? (known here: count, cpus, memory; condorsim keys sweep",
		},
		{"twice", "traces:", "name: b\ntraces:", "[2:1] mapping key \"name\" already defined at [1:1]"},
		{"no YAML", "[", "", ""},
		{"kind", "traces:", "loads: many\ntraces:", "[2:8] a text is given where a list is expected"},
		{"number", "a.swf", "a.swf, cpus: many", "[3:34] a text is given where a whole number is expected"},
		{
			"negative seed", "traces:", "seeds: [-1]\ntraces:",
			"[2:9] -1 is given where a whole number from 0 to 2^64-1 is expected",
		},

		{"no name", "name: small", "title: small", `"" cannot be a name`},
		{"name of a path", "name: small", "name: ../small", `[1:7] "../small" cannot be a name`},
		{
			"paper", "traces:", "paper: ib\ntraces:",
			`[2:8] "ib", did you mean ibb?: must be one of guarantees, fairness, ibb, estimates`,
		},
		{"fst", "traces:", "fst: [strict, lax]\ntraces:", `[2:15] "lax": must be one of strict, relaxed`},
		{
			"fst and events", "traces:", "count_events: true\nfst: [strict]\ntraces:",
			"[2:15] profile events and fair start times cannot be had in one sweep",
		},
		{"model", "file: a.swf", "generate: {model: lubin}", `[3:33] "lubin", did you mean lublin?`},
		{"no model", "file: a.swf", "generate: {jobs: 3}", "model must be lublin or simple"},
		{
			"what the model does not know", "file: a.swf", "generate: {model: lublin, jobs: 9, cpus: 8, load: 1}",
			"the model lublin knows jobs, cpus and kind only",
		},
		{
			"kinds", "file: a.swf", "generate: {model: simple, jobs: 9, cpus: 8, load: 1, kind: all}",
			"the model simple has no kinds",
		},
		{
			"no load", "file: a.swf", "generate: {model: simple, jobs: 9, cpus: 8, load: .nan}",
			"load: NaN: must be from 0.001 to 1000",
		},
		{"no cpus", "file: a.swf", "generate: {model: lublin, jobs: 9, cpus: 0}", "cpus: 0: must be from 4 to"},
		{
			"no run times", "file: a.swf", "generate: {model: simple, jobs: 9, cpus: 8, load: 1, run_median: 0, run_longest: -1}",
			"run_median: 0: must be from 1 to 1e9 seconds\nrun_longest: -1",
		},
		{
			"made up and read", "file: a.swf", "clean: none, generate: {model: lublin, jobs: 9, cpus: 8}",
			"said all of in generate",
		},
		{"0 jobs", "file: a.swf", "file: a.swf, max: 0", "0 is no such number"},
		{"scaled by 0", "file: a.swf", "file: a.swf, scale_estimates: 0", "0 is no such number"},
		{
			"events of no profile", "traces:", "count_events: true\ntraces:",
			"policy easy keeps no profile whose events could be counted",
		},
		{"fst twice", "traces:", "fst: [strict, strict]\ntraces:", `[2:15] strict is there twice`},
		{"baseline", "traces:", "baseline: eazy\ntraces:", `[2:11] "eazy" is no scheduler's label, did you mean easy?`},
		{"no traces", "traces:\n  - {name: a, file: a.swf}", "traces: []", "[2:9] there is no trace to run"},
		{"trace's name", "name: a", "name: a/b", `[3:12] "a/b" cannot be a name`},
		{"trace twice", "  - {name: a", "  - {name: A, file: b.swf}\n  - {name: a", `[4:12] a is there twice`},
		{
			"trace of nothing", ", file: a.swf", "",
			"a trace has one of file, ads, merge and generate; this one has 0 of them",
		},
		{"trace of two kinds", "a.swf", "a.swf, ads: b", "this one has 2 of them"},
		{"empty merge", "file: a.swf", "cpus: 3, merge: []", "there is nothing to merge"},
		{
			"merge on what", "file: a.swf", "merge: [{file: a.swf}]",
			"what the merged traces run on is not said: give cpus",
		},
		{"merge of nothing", "file: a.swf", "cpus: 8, merge: [{max: 3}]", "there is no file to merge"},
		{
			"merge cut", "file: a.swf", "cpus: 8, max: 3, merge: [{file: a.swf}]",
			"max, from and until belong to each of the merged traces",
		},
		{"clean", "a.swf", "a.swf, clean: paper", `"paper", did you mean papers?`},
		{"procs", "a.swf", "a.swf, procs_field: x", `"x": must be one of allocated, requested`},
		{"overrun", "a.swf", "a.swf, overrun: kil", `"kil", did you mean kill?`},
		{"cpus", "a.swf", "a.swf, cpus: -1", "cpus: -1: must be 0"},
		{"memory", "a.swf", "a.swf, memory: -1", "memory: -1: must be 0"},
		{"fraction", "a.swf", "a.swf, max: 2.5", "[3:33] 2.5: must be a whole number"},
		{"max", "a.swf", "a.swf, max: -1", "[3:33] -1: must be a number of jobs"},
		{"until", "a.swf", "a.swf, until: -5", "[3:35] -5: must be a second of the trace"},
		{"a pool and a machine", "a.swf", "a.swf, pool: p.ads, cpus: 7", "the pool says what there is instead"},
		{"two pools", "a.swf", "a.swf, pool: p.ads, nodes: {count: 1, cpus: 1}", "there is a pool already"},
		{"nodes", "a.swf", "a.swf, nodes: {count: 0, cpus: 1}", "nodes need a count and cpus"},
		{"no schedulers", "schedulers:\n  - {policy: easy}", "schedulers: []", "[4:13] there is no scheduler to run"},
		{"no policy", "policy: easy", "order: sjf", "a scheduler has either a policy or policies"},
		{
			"policy and policies", "policy: easy", "policy: easy, policies: [pc]",
			"a scheduler has either a policy or policies",
		},
		{
			"order and orders", "policy: easy", "policy: easy, order: sjf, orders: [ljf]",
			"a scheduler has either an order or orders",
		},
		{"no orders", "policy: easy", "policy: easy, orders: []", "there is no order"},
		{"order", "policy: easy", "policy: easy, order: sfj", `[5:27] unknown order "sfj", did you mean sjf?`},
		{"one of the orders", "policy: easy", "policy: easy, orders: [ljf, sfj]", `[5:34] unknown order "sfj"`},
		{"expression", "policy: easy", `label: x, policy: easy, order: "expr:1+"`, "is followed by no expression"},
		{
			"expression without a label", "policy: easy", `policy: easy, order: "expr:1"`,
			`"easy-expr:1" cannot be a label`,
		},
		{"placement", "policy: easy", "policy: easy, placement: packed", `packed`},
		{"label for many", "policy: easy", "label: x, policies: [pc, dc]", "one label for 2 schedulers"},
		{
			"label twice", "  - {policy: easy}", "  - {policy: easy}\n  - {label: Easy, policy: pc}",
			"[6:5] the label Easy is there twice",
		},
		{"label", "policy: easy", "policy: easy, label: 'a b'", `"a b" cannot be a label`},
		{"NaN", "traces:", "loads: [1, .nan]\ntraces:", "[2:12] NaN: a load must be a positive number"},
		{"infinite", "traces:", "loads: [.inf]\ntraces:", "[2:9] +Inf: a load must be a positive number"},
		{"negative", "traces:", "loads: [-0.5]\ntraces:", "-0.5: a load must be a positive number"},
		{"no load at all", "traces:", "loads: [0]\ntraces:", "0: a load must be a positive number"},
		{"too much", "traces:", "loads: [1e9]\ntraces:", "must be 0 (as it is) or from 0.001 to 1000"},
		{"load twice", "traces:", "loads: [1, 1.0]\ntraces:", "[2:12] 1 is there twice"},
		{"empty loads", "traces:", "loads: []\ntraces:", "[2:8] the list is empty, and so is the matrix"},
		{
			"estimator", "{policy: easy", "{policy: easy, estimates: comined",
			`[5:31] estimates: unknown estimator "comined", did you mean combined?`,
		},
		{
			"estimator in a list", "{policy: easy", "{policy: easy, estimates: [user, \"mix:7\"]",
			`[5:38] estimates: "mix:7": A must be a number from 0 to 1`,
		},
		{
			"estimator for a use", "{policy: easy", "{policy: easy, estimates_running: selective",
			`[5:39] estimates-running: selective is for all three uses at once`,
		},
		{"no estimators", "{policy: easy", "{policy: easy, estimates: []", "[5:31] there is no estimator"},
		{
			"estimators as a mapping", "{policy: easy", "{policy: easy, estimates: {a: b}",
			"[5:31] a mapping is given where a text or a list is expected",
		},
		{
			"estimators' option", "{policy: easy", "{policy: easy, estimates_options: {percentil: 3}",
			`estimates-opt has no option "percentil", did you mean percentile?`,
		},
		{
			"estimators' key", "{policy: easy", "{policy: easy, estimats: user",
			`unknown field "estimats", did you mean estimates?`,
		},
		{"history share", "a.swf", "a.swf, history_share: 1", "[3:43] 1: must be from 0 to less than 1"},
		{
			"estimators' option on a trace", "a.swf", "a.swf, estimates_options: {percentil: 3}",
			`[3:47] estimates-opt has no option "percentil"`,
		},
		{"empty estimate models", "traces:", "estimate_models: []\ntraces:", "the list is empty"},
		{"empty seeds", "traces:", "seeds: []\ntraces:", "the list is empty"},
		{
			"estimate models", "traces:", "estimate_models: [givne]\ntraces:",
			`[2:19] estimate model "givne": must be given, accurate, f:F`,
		},
		{"estimate models twice", "traces:", "estimate_models: [given, given]\ntraces:", "given is there twice"},
		{"seeds twice", "traces:", "seeds: [1, 2, 1]\ntraces:", "[2:15] 1 is there twice"},
		{"a second document", "traces:", "---\ntraces:", "there is a second document"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(small, c.old, c.new, 1)
			if c.name == "no YAML" {
				text, c.want = "name: [", "[1:7] "
			}
			require.NotEqual(t, small, text)
			_, err := Parse("x.yaml", []byte(text))
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "x.yaml: [")
			if c.name != "a second document" {
				require.ErrorContains(t, err, "^", "the place is shown")
			}
		})
	}
	for _, text := range []string{"", "\n", "# nothing\n", "---\n# nothing\n"} {
		_, err := Parse("x.yaml", []byte(text))
		require.ErrorContains(t, err, "there is nothing in it", "%q", text)
	}
}

// Faults that only the policies know are reported with their place, too.
func TestPolicyTypos(t *testing.T) {
	dir := folder(t, 1)
	for _, c := range []struct{ scheduler, want string }{
		{"{policy: esay}", `[5:14] unknown policy "esay", did you mean easy?`},
		{"{policies: [pc, cd]}", `[5:21] unknown policy "cd", did you mean dc?`},
		{"{policy: easy, options: {depht: 3}}", `[5:14] policy easy has no option "depht", did you mean depth?`},
		{"{policy: easy, options: {depth: -3}}", `must be a whole number of at least 1`},
		{"{policy: bb, options: {resources: cpsu}}", `cpsu`},
		{"{policy: conservative, order: sjf}", `[5:35] conservative ignores the order: leave it out`},
		{"{policies: [pc, conservative], orders: [sjf, ljf]}", `[5:45] conservative ignores the order: leave it out`},
	} {
		_, err := prepare(t, dir, strings.Replace(small, "{policy: easy}", c.scheduler, 1))
		require.ErrorContains(t, err, c.want, c.scheduler)
	}
	merged := strings.Replace(small, "file: a.swf", "cpus: 8, merge: [{file: a.swf}]", 1)
	_, err := prepare(t, dir, strings.Replace(merged, "policy: easy", "policy: history", 1))
	require.ErrorContains(t, err, "happened to no trace that is merged or made up")
}

// Any text is a sweep or an error, and a sweep's cells have different names that stay in their
// folder.
func FuzzParse(f *testing.F) {
	f.Add(small)
	f.Add("name: x\ntraces: [{name: a, cpus: 2, merge: [{file: b}, {file: c, until: 3}]}]\n" +
		"schedulers: [{policies: [pc, dc], orders: [sjf]}]\nloads: [0.5, 1]\nseeds: [1, 2]\n")
	f.Add("name: x\ntraces: [{name: a, ads: b, nodes: {count: 1, cpus: 1}}]\n" +
		"schedulers: [{label: l, policy: easy, options: {depth: 2}}]\n")
	f.Add("name: x\ntraces: &a [{name: a, file: b}]\nschedulers: *a\n")
	f.Add("name: x\nloads: [.nan, .inf, 1e400]\n")
	f.Add("<<: {name: x}\n? [a]\n: b\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("x.yaml", []byte(text))
		if err != nil {
			require.ErrorContains(t, err, "x.yaml: ")
			return
		}
		seen := map[string]bool{}
		for _, trace := range s.Traces {
			for _, one := range s.schedulers() {
				for _, load := range s.loads() {
					id := strings.ToLower(cellID(trace.Name, one.label, load, estimates{model: given}, 0, 0))
					require.False(t, seen[id], id)
					require.NotContains(t, id, "/")
					require.False(t, strings.HasPrefix(id, "."), id)
					seen[id] = true
				}
			}
		}
	})
}

// The byte order mark that some editors put before a text is skipped.
func TestMark(t *testing.T) {
	const text = "name: small\ntraces:\n  - {name: a, file: a.swf}\nschedulers:\n  - {policy: easy}\nloads: [0.5]\n"
	f, err := Parse("x.yaml", []byte("\ufeff"+text))
	require.NoError(t, err)
	require.Equal(t, "small", f.Name)
}
