package sweep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A machine's share of memory, a trace that memory is drawn from and a load of a trace's own are as for condorsim
// run; what memory is drawn from is an input of the trace.
func TestScarceMemory(t *testing.T) {
	dir := folder(t, 150, 150)
	text, err := os.ReadFile(filepath.Join(dir, "b.swf"))
	require.NoError(t, err)
	lines := strings.Split(string(text), "\n")
	for i := range lines {
		if fields := strings.Fields(lines[i]); len(fields) == 18 {
			fields[6] = "-1"
			lines[i] = strings.Join(fields, " ")
		}
	}
	write(t, dir, "b.swf", strings.Join(lines, "\n"))
	const file = `name: x
traces:
  - {name: whole, file: a.swf, memory_share: 1, load: 2}
  - {name: half, file: a.swf, memory_share: 0.5, load: 2}
  - {name: drawn, file: b.swf, memory_share: 0.5, memory_from: a.swf}
schedulers: [{policy: easy}]
seeds: [1, 2]
`
	p := prepared(t, dir, file)
	cells := collect(t, p, 1)
	wait := func(name string) float64 { return cells[name].Metrics["mean_wait"] }
	require.Greater(t, wait("half,easy,seed=1"), wait("whole,easy,seed=1"))
	require.InDelta(t, wait("half,easy,seed=1"), wait("half,easy,seed=2"), 0, "nothing is drawn")
	require.NotEqual(t, wait("drawn,easy,seed=1"), wait("drawn,easy,seed=2"))
	require.Greater(t, cells["drawn,easy,seed=1"].Metrics["utilisation_memory"], 0.1)

	write(t, dir, "a.swf", "; MaxProcs: 16\n1 0 -1 100 1 -1 10240 1 100 -1 1 1 1 1 1 1 -1 -1\n")
	last := len(p.cells) - 1
	require.Equal(t, "drawn", p.cells[last].key.Trace)
	require.NotEqual(t, p.cells[last].key.Inputs, prepared(t, dir, file).cells[last].key.Inputs)
}

func TestFaultsOfScarceMemory(t *testing.T) {
	f, err := Parse("sweep.yaml", []byte(`name: x
traces: [{name: a, file: a.swf, memory: 5, memory_share: 1}]
schedulers: [{policy: easy}]
`))
	require.Nil(t, f)
	require.ErrorContains(t, err, "memory, pool and nodes say what memory there is")
	_, err = Parse("sweep.yaml", []byte(`name: x
traces: [{name: a, file: a.swf, memory_share: -1}]
schedulers: [{policy: easy}]
`))
	require.ErrorContains(t, err, "memory-share: -1")
}
