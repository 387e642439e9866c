package sweep

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A trace may run on a pool with more or fewer slots, and with other stated run times; the others are as
// they were.
func TestPlannersKeys(t *testing.T) {
	dir := folder(t, 150)
	write(t, dir, "pool.yaml", "classes: [{name: n, count: 2, cpus: 8, memory: 100000}]\n")
	cells := collect(t, prepared(t, dir, `name: x
traces:
  - {name: base, file: a.swf, pool: pool.yaml}
  - {name: more, file: a.swf, pool: pool.yaml, with: ["cpus=16,count=3"]}
  - {name: other, file: a.swf, pool: pool.yaml, with: ["cpus=8,like=n1"], without: [n1]}
  - {name: scaled, file: a.swf, pool: pool.yaml, scale_estimates: 10}
  - {name: nodes, file: a.swf, nodes: {count: 3, cpus: 8, memory: 100000}, without: [node2]}
schedulers: [{policy: easy}, {policy: fcfs}]
`), 2)
	machine := cells["base,easy"].Machine
	require.EqualValues(t, 16, machine.Cpus)
	require.EqualValues(t, 64, cells["more,easy"].Machine.Cpus)
	require.Equal(t, 5, cells["more,easy"].Machine.Slots)
	require.Equal(t, machine, cells["other,easy"].Machine)
	require.Equal(t, machine, cells["scaled,easy"].Machine)
	require.Less(t, cells["more,easy"].Metrics["mean_wait"], cells["base,easy"].Metrics["mean_wait"])
	require.InDelta(t, cells["base,easy"].Metrics["mean_wait"], cells["other,easy"].Metrics["mean_wait"], 0)
	require.InDelta(t, cells["base,easy"].Metrics["mean_wait"], cells["nodes,easy"].Metrics["mean_wait"], 0)
	require.InDelta(t, cells["base,fcfs"].Metrics["mean_wait"], cells["scaled,fcfs"].Metrics["mean_wait"], 0,
		"it plans with no estimate")
	require.Equal(t, 150, cells["scaled,easy"].Cleaning.EstimateScaled)

	for text, says := range map[string]string{
		"{name: a, file: a.swf, with: [\"cpus=8\"]}":                                    "change the slots of a pool, and there is none",
		"{name: a, file: a.swf, scale_estimates: -1}":                                   "scale-estimates: -1: must be 0",
		"{name: a, file: a.swf, pool: pool.yaml, without: [n3]}":                        "there is no slot or machine n3",
		"{name: a, file: a.swf, nodes: {count: 1, cpus: 8}, with: [\"cpus=8,cpus=9\"]}": "cpus: may be said once",
	} {
		text = "name: x\ntraces: [" + text + "]\nschedulers: [{policy: easy}]\n"
		_, err := Parse("sweep.yaml", []byte(text))
		if err == nil {
			_, err = prepare(t, dir, text)
		}
		require.ErrorContains(t, err, says)
	}
}

// What users stated can be scaled for all traces, as a part of the matrix.
func TestScaledEstimatesAreAPartOfTheMatrix(t *testing.T) {
	dir := folder(t, 150)
	cells := collect(t, prepared(t, dir, `name: x
traces: [{name: a, file: a.swf}]
scale_estimates: [1, 10]
estimate_models: [given, accurate]
schedulers: [{policy: easy}]
`), 2)
	require.Len(t, cells, 4)
	require.Zero(t, cells["a,easy"].Cleaning.EstimateScaled)
	scaled := cells["a,easy,scale-estimates=10"]
	require.Equal(t, 150, scaled.Cleaning.EstimateScaled)
	require.Equal(t, "given × 10", scaled.EstimateModel)
	alone := collect(t, prepared(t, dir, `name: x
traces: [{name: a, file: a.swf, scale_estimates: 10}]
schedulers: [{policy: easy}]
`), 2)
	require.Equal(t, alone["a,easy"].Metrics, scaled.Metrics, "as of a trace alone")
	require.Equal(t, "accurate × 10", cells["a,easy,estimate-model=accurate,scale-estimates=10"].EstimateModel)

	for list, says := range map[string]string{
		"[]":     "the list is empty",
		"[0]":    "1 leaves them as they are",
		"[-1]":   "scale-estimates: -1: must be 0",
		"[2, 2]": "2 is there twice",
		"[0.5]":  "the sweep has a list of them for all traces",
	} {
		trace := "{name: a, file: a.swf}"
		if list == "[0.5]" {
			trace = "{name: a, file: a.swf, scale_estimates: 2}"
		}
		_, err := Parse("sweep.yaml", []byte("name: x\ntraces: ["+trace+"]\nscale_estimates: "+list+
			"\nschedulers: [{policy: easy}]\n"))
		require.ErrorContains(t, err, says)
	}
}

// A sweep that a program makes is checked like one of a file, without places in a text.
func TestCheck(t *testing.T) {
	f := &File{Name: "x", Traces: []Trace{{Name: "a", Source: Source{File: "a.swf"}}}, Schedulers: []Scheduler{{Policy: "easy"}}}
	require.NoError(t, f.Check())
	f.Schedulers[0].Order = "nonsense"
	f.Traces[0].Name = "a b"
	err := f.Check()
	require.ErrorContains(t, err, "nonsense")
	require.ErrorContains(t, err, `"a b" cannot be a name`)
	require.NotContains(t, err.Error(), "[1:")
}
