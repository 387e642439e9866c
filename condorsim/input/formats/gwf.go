package formats

import (
	"github.com/condor-backfill/condor-backfill/condorsim/input/gwf"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
	"github.com/condor-backfill/condor-backfill/negotiator/packed/kinds"
)

// GWF is the Grid Workloads Format.
var GWF = &Format{
	Holds:      "a trace in the Grid Workloads Format",
	Recognises: kinds.GWF.Recognises,
	Sure:       true,
	Read: func(text *packed.Reader, name string, o Options) (*Jobs, error) {
		trace, err := gwf.Read(text, name, o.Options)
		if err != nil {
			return nil, err
		}
		return &Jobs{Trace: trace}, nil
	},
	Description: `GWF, the Grid Workloads Format of the Grid Workloads Archive
  A line for each job, 29 fields with blanks between them; -1 is unknown. The first 16 are those of SWF, but
  users, groups, executables and queues may be names. Lines that begin with # are comments, of which
  "# MaxProcs: N" gives the processors of the machine; without it they are the most ever used at one time.
  Sites, networks, disks and platforms are not read.

  # JobID SubmitTime WaitTime RunTime NProcs ...
  1 1099000000 5 60 2 -1 -1 2 100 -1 1 U1 G1 X1 Q0 P0 S1 S1 UNITARY -1 -1 -1 -1 -1 -1 -1 -1 atlas -1
`,
}
