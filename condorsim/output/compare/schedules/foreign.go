package schedules

import (
	"bytes"

	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator/packed/kinds"
)

// runFirst is what to do with jobs that have not been run.
const runFirst = "run it first: condorsim run FILE --jobs-out jobs.csv"

// foreign says what a file looks like that holds no schedule.
func foreign(name string, head []byte) error {
	wrong := &workload.Error{File: name, Hint: "give " + Holdings}
	head = bytes.TrimSpace(head)
	kind := kinds.Of(head)
	switch {
	case len(head) == 0:
		wrong.Problem = "the file is empty"
	case workload.IsSWF(head):
		wrong.Problem, wrong.Hint = "holds "+formats.SWF.Holds+", and not what became of the jobs", runFirst
	case kind != nil:
		wrong.Problem = kind.Problem()
	case workload.IsInstance(head):
		wrong.Problem, wrong.Hint = "holds "+formats.Instance.Holds+", and not what became of the jobs", runFirst
	case formats.Ads.Recognises(head):
		wrong.Problem, wrong.Hint = "holds ads of HTCondor, and no schedule", "of jobs, run them first: condorsim run FILE --jobs-out jobs.csv"
	default:
		wrong.Problem = "is no table of jobs"
	}
	return wrong
}
