package sweep

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// inputs returns the digests of a sweep's cells, by name.
func inputs(p *Sweep) map[string]string {
	all := map[string]string{}
	for _, key := range p.Manifest.Cells {
		all[key.ID] = key.Inputs
	}
	return all
}

// Options and history of estimators are inputs of the cells that use them.
func TestEstimatesAreInputs(t *testing.T) {
	dir := folder(t, 20, 20)
	times := filepath.Join(dir, "times.csv")
	require.NoError(t, os.WriteFile(times, []byte("3,17\n"), 0o600))
	text := `name: x
traces:
  - {name: a, file: a.swf}
  - {name: b, file: b.swf, history: a.swf}
schedulers:
  - {policy: easy}
  - {label: told, policy: easy, estimates: "file:times.csv", estimates_running: tsafrir}
`
	before := inputs(prepared(t, dir, text))
	require.NoError(t, os.WriteFile(times, []byte("3,18\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.swf"),
		[]byte("; MaxProcs: 16\n1 0 -1 5 1 -1 -1 1 9 -1 1 1 -1 -1 -1 -1 -1 -1\n"), 0o600))
	after := inputs(prepared(t, dir, text))
	for id, digest := range before {
		require.NotEqual(t, digest, after[id], id)
	}
	require.NoError(t, os.WriteFile(times, []byte("3,19\n"), 0o600))
	third := inputs(prepared(t, dir, text))
	require.Equal(t, after["a,easy"], third["a,easy"])
	require.Equal(t, after["b,easy"], third["b,easy"])
	require.NotEqual(t, after["a,told"], third["a,told"])
}

func TestEstimatesThatCannotBe(t *testing.T) {
	dir := folder(t, 20)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "times.csv"), []byte("3\n"), 0o600))
	for _, c := range []struct{ scheduler, says string }{
		{
			"policy: dc, estimates: user, estimates_backfill: user",
			"[5:55] estimates-backfill: user: the policy gives guarantees",
		},
		{
			`label: x, policy: easy, estimates_order: "file:none.csv"`,
			"[5:47] read the estimates: none.csv is not there; looked in",
		},
		{
			`label: x, policy: easy, estimates: "file:times.csv"`,
			"[5:41] read the estimates: times.csv:1: there is no comma",
		},
	} {
		_, err := prepare(t, dir, "name: x\ntraces:\n  - {name: a, file: a.swf}\nschedulers:\n  - {"+c.scheduler+"}\n")
		require.ErrorContains(t, err, c.says)
	}
	p := prepared(t, dir, small+"  - {policy: easy, estimates: user}\n")
	require.Len(t, p.cells, 2)
	p, err := prepare(t, dir, "name: x\ntraces:\n  - {name: a, file: a.swf}\n"+
		"  - {name: b, file: a.swf, history: b.swf}\nschedulers:\n  - {policy: easy, estimates: user}\n")
	require.NoError(t, err)
	require.Len(t, p.cells, 1)
	require.Contains(t, p.Manifest.Skipped[0], "trace b: b.swf is not there")
}
