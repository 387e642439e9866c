package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// samples has a file in each format that is read, and flags that say what may be lost of it in SWF.
var samples = map[*formats.Format]struct {
	file  string
	flags []string
}{
	formats.SWF:      {"../../input/workload/testdata/sample.swf", nil},
	formats.Ads:      {"../../input/history/testdata/history.long", []string{"--drop", "resources,requirements"}},
	formats.Instance: {"../../input/workload/testdata/sample.json", []string{"--drop", "requirements"}},
	formats.Batsim:   {"../../input/batsim/testdata/sample.json", nil},
	formats.Slurm:    {"../../input/slurm/testdata/sample.sacct", []string{"--drop", "resources"}},
	formats.PBS:      {"../../input/pbs/testdata/sample.log", nil},
	formats.GWF:      {"../../input/gwf/testdata/sample.gwf", nil},
	formats.Record:   {"../../input/recorded/testdata/sample.rec", []string{"--drop", "resources,requirements"}},
	formats.EventLog: {"../../input/eventlog/testdata/sample.log", []string{"--drop", "resources,requirements"}},
}

// Every format can be written as SWF and as a workload of Batsim, and both hold the same jobs.
func TestEveryFormatIsConverted(t *testing.T) {
	for _, format := range formats.All() {
		t.Run(format.Holds, func(t *testing.T) {
			sample, found := samples[format]
			require.True(t, found, "give a sample of the format to this test")
			file, err := filepath.Abs(sample.file)
			require.NoError(t, err)
			open, err := os.Open(file)
			require.NoError(t, err)
			defer open.Close() //nolint:errcheck // only read
			source, err := formats.Open(open, file)
			require.NoError(t, err)
			require.Same(t, format, source.Format)
			from, err := source.Read(formats.Options{})
			require.NoError(t, err)

			var converted []*formats.Jobs
			for _, end := range []string{".swf", ".batsim.json"} {
				args := append([]string{"workload", "convert", file, "--out", "a" + end}, sample.flags...)
				cmd := command(t, args...)
				said, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s", said)
				jobs, err := formats.ReadFile(filepath.Join(cmd.Dir, "a"+end), formats.Options{})
				require.NoError(t, err)
				converted = append(converted, jobs)
				require.Equal(t, from.Machine.Processors, jobs.Machine.Processors)
				require.Equal(t, column(from), column(jobs), end)
			}
			require.Equal(t, converted[0].Machine, converted[1].Machine)
		})
	}
}

// column returns of each job what every format can say.
func column(jobs *formats.Jobs) (list []workload.Job) {
	for _, j := range jobs.Jobs {
		list = append(list, workload.Job{
			Submit: j.Submit, Run: j.Run, Estimate: j.Estimate, Procs: j.Procs, Memory: j.Memory, GPUs: j.GPUs,
			User: j.User, Origin: j.Origin, Beside: j.Beside,
		})
	}
	return list
}
