package sweep

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

const kitted = `name: kitted
traces:
  - {name: absent, file: absent.swf}
  - {name: a, file: "a \"b\", ü.swf", history: b.swf}
  - {name: nodes, file: b.swf, pool: pools/pool.yaml}
  - {name: scarce, file: b.swf, cpus: 16, memory_share: 0.5, memory_from: b.swf}
  - {name: model, generate: {model: simple, jobs: 50, cpus: 16}}
schedulers:
  - {policies: [easy, pc], orders: [sjf, wfp]}
  - {label: told, policy: easy, estimates: "file:times.csv", estimates_running: tsafrir}
  - {label: learns, policy: easy, estimates: user}
loads: [1, 1.5]
`

// Cells that are run one by one from kits, each with the files alone that it says it needs, give the
// bytes that the sweep gives, wherever its files are by then. A program of another version refuses.
func TestCellsOfKits(t *testing.T) {
	dir := folder(t, 60, 60)
	require.NoError(t, os.Rename(filepath.Join(dir, "a.swf"), filepath.Join(dir, "a \"b\", ü.swf")))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "pools", "ads"), 0o700))
	write(t, dir, "pools/pool.yaml", "ads: ads/slots.ads\n")
	write(t, dir, "pools/ads/slots.ads", (&Nodes{Count: 4, CPUs: 4, Memory: 1 << 20}).ads())
	write(t, dir, "times.csv", "3,17\n")
	f, err := Parse("sweep.yaml", []byte(kitted))
	require.NoError(t, err)
	f.JitterKeys, f.Seeds = 0.02, []uint64{1, 2} // as flags do
	p, err := Prepare(t.Context(), f, Settings{
		Places: Places{Dirs: []string{t.TempDir(), dir}}, Policies: linked, Version: "v1", Jobs: 50,
	})
	require.NoError(t, err)
	require.Len(t, p.cells, 4*2*2*6)
	want := map[string]string{}
	for id, cell := range collect(t, p, 2) {
		want[id] = encoded(t, cell)
	}
	whole := t.TempDir()
	made, parts, err := p.Kit(p.All())
	require.NoError(t, err)
	require.False(t, made.IsIn(whole))
	require.NoError(t, made.Write(whole))
	require.True(t, made.IsIn(whole))
	some, few, err := p.Kit([]int{7, 3})
	require.NoError(t, err)
	require.True(t, some.IsIn(whole), "it is the kit of all")
	require.Len(t, few, 2)
	require.NoError(t, os.Rename(dir, dir+"-gone"))
	for _, part := range parts {
		id := p.Manifest.Cells[part.Cell].ID
		one := t.TempDir()
		for _, name := range append([]string{KitName}, part.Files...) {
			require.NoError(t, os.Link(filepath.Join(whole, name), filepath.Join(one, name)), id)
			require.Equal(t, name, strings.Trim(name, `, "ü`))
		}
		b, openErr := OpenKit(one)
		require.NoError(t, openErr)
		alone, openErr := b.Prepare(t.Context(), part.Number, Settings{Policies: linked, Version: "v1"})
		require.NoError(t, openErr, id)
		require.Len(t, alone.cells, 1)
		for _, cell := range collect(t, alone, 1) {
			require.Equal(t, want[id], encoded(t, cell), id)
		}
		delete(want, id)
	}
	require.Empty(t, want)

	b, err := OpenKit(whole)
	require.NoError(t, err)
	_, err = b.Prepare(t.Context(), 0, Settings{Policies: linked, Version: "v2"})
	require.EqualError(t, err, "the kit is for another program: for v1, this is v2")
	for _, number := range []int{-1, 5 * 24} {
		_, err = b.Prepare(t.Context(), number, Settings{Policies: linked, Version: "v1"})
		require.ErrorContains(t, err, "the sweep has 120")
	}
	_, err = OpenKit(t.TempDir())
	require.ErrorContains(t, err, "read the kit of a sweep")
}

// A plugin keeps its name, by which a program of several policies knows which one it is; other files are
// numbered, and plugins of one name.
func TestNamesInKits(t *testing.T) {
	b := &Kit{from: map[string]located{}}
	require.Equal(t, "0-a_b.swf", b.store(located{name: "a b.swf", path: "/x/a b.swf"}))
	require.Equal(t, "backfill-fcfs", b.store(located{name: "./backfill-fcfs", path: "/x/backfill-fcfs"}))
	require.Equal(t, "2-backfill-fcfs", b.store(located{name: "../backfill-fcfs", path: "/y/backfill-fcfs"}))
	require.Equal(t, "backfill-fcfs", b.store(located{name: "/x/backfill-fcfs", path: "/x/backfill-fcfs"}))
}

func encoded(t *testing.T, c results.Cell) string {
	t.Helper()
	var text bytes.Buffer
	require.NoError(t, c.Encode(&text))
	return text.String()
}

// What comes back of a failed cell says why, and whether its input was to blame; a result is no failure.
func TestFailuresFromElsewhere(t *testing.T) {
	for _, err := range []error{errors.New("a policy's"), &BadInput{errors.New("of the trace")}} {
		var text bytes.Buffer
		require.NoError(t, WriteFailure(&text, err))
		require.Equal(t, err, ReadFailure(text.Bytes()))
	}
	require.NoError(t, ReadFailure([]byte(encoded(t, results.Cell{Key: results.Key{ID: "x"}}))))
	require.NoError(t, ReadFailure([]byte(`{"failed": "half of `)))
}
