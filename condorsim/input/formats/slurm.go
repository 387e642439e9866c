package formats

import (
	"github.com/condor-backfill/condor-backfill/condorsim/input/slurm"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
)

// Slurm is the accounting of Slurm.
var Slurm = &Format{
	Holds:      "the accounting of Slurm",
	Recognises: slurm.IsJobs,
	Sure:       true,
	Read: func(text *packed.Reader, name string, o Options) (*Jobs, error) {
		trace, err := slurm.Read(text, name, o.Options)
		if err != nil {
			return nil, err
		}
		return &Jobs{Trace: trace}, nil
	},
	Description: `The accounting of Slurm
  What sacct prints with -P (--parsable2), --parsable or --json. Columns may be in any order, with any
  delimiter that is no blank; others than these are ignored. This prints all that is read:

  ` + slurm.Command + `

  Needed are JobID or JobIDRaw, Submit or Eligible, Elapsed, ElapsedRaw or Start and End, and one of
  AllocCPUS, ReqCPUS, NCPUS, AllocTRES and ReqTRES. A job arrives when it is eligible to run; so one that
  was held, or waited for another, arrives after its submission. Steps are skipped; the components of a
  heterogeneous job are one job; of a job that was requeued the last execution counts, with --clean
  cancelled all. Dates are in UTC unless --zone names the time zone of the machine.
`,
}
