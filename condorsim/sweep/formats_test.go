package sweep

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
)

// The files of a sweep may be in any format that is read; the same jobs have the same schedule.
func TestFilesOfAnyFormat(t *testing.T) {
	dir := folder(t, 50)
	trace, err := formats.ReadFile(filepath.Join(dir, "a.swf"), formats.Options{})
	require.NoError(t, err)
	var instance strings.Builder
	require.NoError(t, trace.WriteInstance(&instance))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "instance"), []byte(instance.String()), 0o600))
	const ads = "ClusterId = 1\nProcId = 0\nQDate = 5\nJobStartDate = 5\nRemoteWallClockTime = 60\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ads"), []byte(ads), 0o600))
	cells := collect(t, prepared(t, dir, `name: formats
traces:
  - {name: swf, file: a.swf}
  - {name: instance, file: instance}
  - {name: ads, file: ads}
schedulers: [{policy: easy}]
`), 1)
	ofUsers := func(metric string, _ float64) bool { return strings.Contains(metric, "user") }
	for _, cell := range cells { // an instance has no users
		maps.DeleteFunc(cell.Metrics, ofUsers)
	}
	require.Equal(t, cells["swf,easy"].Metrics, cells["instance,easy"].Metrics)
	require.Equal(t, 50, cells["instance,easy"].Jobs)
	require.Equal(t, 1, cells["ads,easy"].Jobs)
}

// What a format does not leave open cannot be said.
func TestFilesThatAreTakenAsTheyAre(t *testing.T) {
	for _, c := range []struct {
		source Source
		format *formats.Format
		want   string
	}{
		{Source{ProcsField: "requested"}, formats.Ads, "procs_field says how a trace is read; the file holds job ads"},
		{Source{Overrun: "kill"}, formats.Instance, "an instance is taken as it is"},
		{Source{Clean: "none", CPUs: 3}, formats.Ads, ""},
		{Source{ProcsField: "requested", Clean: "none", Overrun: "kill"}, formats.SWF, ""},
	} {
		err := c.source.suits(c.format)
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.want)
	}
}
