package formats

import (
	"github.com/condor-backfill/condor-backfill/condorsim/input/recorded"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
	"github.com/condor-backfill/condor-backfill/negotiator/record"
)

// Record is what a negotiator wrote with --record. It is taken as it is: the options are not used.
var Record = &Format{
	Holds:      "a record of a negotiator",
	Recognises: record.Is,
	Sure:       true,
	Read: func(text *packed.Reader, name string, _ Options) (*Jobs, error) {
		r, err := recorded.Read(text, name)
		if err != nil {
			return nil, err
		}
		jobs := &Jobs{Trace: r.Trace(), Recorded: r}
		if r.Torn != nil {
			jobs.Warnings = append(jobs.Warnings, r.Torn.Error())
		}
		return jobs, nil
	},
	Description: `Records of negotiators
  What negotiator --record FILE and condorsim run --record FILE write: the slots with their ads, how they come,
  change and go; the jobs with their ads, when the pool told of them, when they were started, how long they ran,
  and when they were held or removed. Without --pool they run on the pool of the record. A record in several files
  is read when they are joined in their order:

   cat pool.rec.2026* pool.rec | condorsim run -
`,
}
