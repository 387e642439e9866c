package formats

import (
	"io"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
)

// Instance is a small workload in JSON, which is taken as it is: the options are not used.
var Instance = &Format{
	Holds:      "an instance",
	Recognises: workload.IsInstance,
	Read: func(text *packed.Reader, name string, _ Options) (*Jobs, error) {
		instance, err := workload.ReadInstance(text, name)
		if err != nil {
			return nil, err
		}
		return &Jobs{Trace: instance.Trace}, nil
	},
	Write:     func(t *workload.Trace, to io.Writer) error { return t.WriteInstance(to) },
	Extension: ".json",
	Description: `Instances, small workloads in JSON
  Times are in seconds, memory is in MiB for the whole job; memory 0 is none. Machine and jobs may
  have "gpus". An estimate is at least 1 and at least the run time. A job may have a "release": it does not
  start before that instant. It may have a "user", a "group" and a "queue", which are names, and
  "scavenger": true if it is one whatever the pool says. "filled": true says that the jobs that fill the pool are among these already. "expected" may
  hold results, and is not needed:

{
 "name": "small",
 "processors": 4,
 "memory": 0,
 "jobs": [
  {"id": 1, "submit": 0, "run": 60, "estimate": 100, "procs": 2, "memory": 0},
  {"id": 2, "submit": 5, "run": 10, "estimate": 20, "procs": 4, "memory": 0}
 ]
}
`,
}
