package formats

import (
	"io"

	"github.com/condor-backfill/condor-backfill/condorsim/input/batsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
	"github.com/condor-backfill/condor-backfill/negotiator/packed/kinds"
)

// Batsim is the workload of the simulator Batsim.
var Batsim = &Format{
	Holds:      "a workload of Batsim",
	Recognises: kinds.Batsim.Recognises,
	Sure:       true,
	Read: func(text *packed.Reader, name string, o Options) (*Jobs, error) {
		trace, err := batsim.Read(text, name, o.Options)
		if err != nil {
			return nil, err
		}
		return &Jobs{Trace: trace}, nil
	},
	Write:     func(t *workload.Trace, to io.Writer) error { return batsim.Write(t, to) },
	Extension: ".batsim.json",
	Description: `Workloads of Batsim (https://batsim.readthedocs.io), in JSON
  The machine has nb_res processors. A job is submitted at subtime, takes res of them, states walltime, if
  any, and runs for the delay of its profile, which must be of the type delay (also DelayProfile). Submit
  times are rounded down, others up. extra_data may say "user", "group", "queue", "executable", "memory"
  (MiB), "gpus", "wait", "after" and "think"; other fields are ignored. "condorsim" may say "memory" and
  "gpus" of the machine. A name that ends with .batsim.json has a trace written like this:

{
 "nb_res": 4,
 "jobs": [
  {"id": "1", "subtime": 0, "walltime": 100, "res": 2, "profile": "delay60", "extra_data": "{\"user\":\"eve\"}"}
 ],
 "profiles": {
  "delay60": {"type": "delay", "delay": 60}
 }
}
`,
}
