package slurm_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/slurm"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// Whatever the text, reading ends, counts add up, and jobs are such as can run.
func FuzzRead(f *testing.F) {
	f.Add(shortTitles + "1|1|COMPLETED|100|100|110|170|60|2|4|4|ann|cpu=4,mem=1.5G,gres/gpu:a100=2\n")
	f.Add(shortTitles + "12_[4-9%2]|12|PENDING|100|100|Unknown|Unknown|0|2|0|2|ann|\n12_1.batch|13.batch\n")
	f.Add(shortTitles + "14+0|14|REQUEUED|2024-05-01T10:00:00|Unknown|None||1-00:00:00|UNLIMITED|4|4|ann|\n14+1|15||||||||||\n")
	f.Add("JobID,State,Elapsed,ReqMem,NNodes,Submit,ReqCPUS\n1,CANCELLED by 1,00:01:00,4Gn,2,2024-05-01T10:00:00+02:00,3\n")
	f.Add(objects(`{"job_id": 7, ` + simple + `, "required": {"CPUs": 3, "memory": 9223372036854776308}, "steps": [{}]}`))
	f.Add(objects(`{"job_id": 7, "het": {"job_id": 7, "job_offset": 1}, ` + simple + `}`))
	f.Add(shownNodes)
	f.Add("NODELIST|CPUS|MEMORY\nn[01-10]|4|5G\n")
	f.Fuzz(func(t *testing.T, text string) {
		_ = slurm.IsJobs([]byte(text))
		if strings.Contains(text, "[") && len(text) > 1000 {
			return // many tasks or nodes need time
		}
		if nodes, err := slurm.ReadNodes(strings.NewReader(text), "nodes.txt"); err == nil {
			for _, n := range nodes.Usable {
				require.Positive(t, n.Cpus)
				require.True(t, n.Memory >= 0 && n.GPUs >= 0)
			}
		}
		for _, clean := range []workload.Clean{workload.CleanPapers, workload.CleanCancelled} {
			trace, err := try(text, workload.Options{Clean: clean, CPUs: 1e12})
			if err != nil {
				continue
			}
			count, dropped := trace.Cleaning, 0
			for _, left := range count.Dropped() {
				dropped += left.Jobs
			}
			require.Equal(t, count.JobsRead, dropped+len(trace.Jobs))
			numbers := map[int64]bool{}
			last := int64(0)
			for _, j := range trace.Jobs {
				require.True(t, j.Procs > 0 && j.Run >= 0 && j.Estimate > 0 && j.Memory >= 0 && j.GPUs >= 0 && j.Waited >= 0)
				require.GreaterOrEqual(t, j.Submit, last)
				require.False(t, numbers[j.ID])
				numbers[j.ID], last = true, j.Submit
			}
		}
	})
}
