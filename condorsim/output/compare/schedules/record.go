package schedules

import (
	"cmp"
	"fmt"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/input/recorded"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// readRecord reads a record of a negotiator: what really happened, or what a simulation did. A job's submit time is its
// arrival. Jobs that ran and never were in the queue arrived when they were found.
func readRecord(f *file, take func(*Row) *fault) error {
	r, err := recorded.Read(f.text, f.name)
	if err != nil {
		return &workload.Error{File: f.name, Err: err, Problem: err.Error(), Hint: "give a record that was written with --record"}
	}
	f.torn = r.Torn
	for i := range r.Jobs {
		j := &r.Jobs[i]
		row := Row{
			Job: j.Name, Submit: int64(j.Submit), Run: int64(j.Run), Estimate: r.Stated(i), Cpus: j.Cpus,
			User: cmp.Or(j.User, j.Labels["owner"]), Scavenger: j.Scavenger,
		}
		if j.Started {
			row.Started, row.Ended = true, true
			row.Start, row.End = int64(j.Start), int64(j.Start+j.Run)
		}
		if wrong := take(&row); wrong != nil {
			return &workload.Error{
				File: f.name, Problem: fmt.Sprintf("job %s, %s: %s", backfill.Printable(j.Name, longest), wrong.column, wrong.problem),
				Hint: "this is a bug of what wrote the record",
			}
		}
	}
	return nil
}
