package formats

import (
	"github.com/condor-backfill/condor-backfill/condorsim/input/pbs"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
	"github.com/condor-backfill/condor-backfill/negotiator/packed/kinds"
)

// PBS is the accounting logs of OpenPBS, PBS Professional and Torque.
var PBS = &Format{
	Holds:      "an accounting log of PBS or Torque",
	Recognises: kinds.PBS.Recognises,
	Sure:       true,
	Read: func(text *packed.Reader, name string, o Options) (*Jobs, error) {
		trace, err := pbs.Read(text, name, o.Options)
		if err != nil {
			return nil, err
		}
		return &Jobs{Trace: trace}, nil
	},
	Description: `Accounting logs of OpenPBS, PBS Professional and Torque (server_priv/accounting/YYYYMMDD)
  Several days may stand one behind the other: cat 202406*. The records S, E, D, A, Q and R of jobs are read.
  A job arrives when it was eligible to run (etime). It asks for the chunks of Resource_List.select, or for
  nodes and ppn; Resource_List.walltime is the requested time. The machine has as many processors as jobs
  ever had at one time, unless --cpus or --pool says more; --pool reads what pbsnodes -a prints.

  06/30/2024 10:20:00;E;12.server;user=eve group=lab queue=workq ctime=1719741000 qtime=1719741000
  etime=1719741000 start=1719741600 end=1719742800 exec_vnode=(n1:ncpus=8) Resource_List.select=1:ncpus=8
  Resource_List.walltime=01:00:00 Exit_status=0 (in one line)
`,
}
