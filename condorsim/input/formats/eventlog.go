package formats

import (
	"github.com/condor-backfill/condor-backfill/condorsim/input/eventlog"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
	"github.com/condor-backfill/condor-backfill/negotiator/packed/kinds"
)

// EventLog is the event log of HTCondor, which is read as the ads that its jobs would have.
var EventLog = &Format{
	Holds:      "an event log of HTCondor",
	OfAds:      true,
	Recognises: kinds.EventLog.Recognises,
	Sure:       true,
	Read: func(text *packed.Reader, name string, o Options) (*Jobs, error) {
		o.Ads.Clean = o.Clean
		log, err := eventlog.Read(text, name, o.Location(), o.Ads)
		if err != nil {
			return nil, err
		}
		jobs, err := ofHistory(log.History, o)
		if err != nil {
			return nil, err
		}
		jobs.Warnings = append(jobs.Warnings, log.Warnings...)
		return jobs, nil
	},
	Description: `Event logs of HTCondor, which submit files name as log, and EVENT_LOG of a whole pool
  In the classic form, JSON or XML. A job arrives when it is submitted, or released if it was held before it
  ran; its last run counts. What it asked for is in the table below its end, or in events 028, which have
  attributes of its ad (job_ad_information_attrs in submit files): all that is said of job ads holds for
  these. Without them a job has one cpu, and no estimate.

  000 (12.000.000) 2024-06-01 10:00:00 Job submitted from host: <192.0.2.1:9618>
  ...
  001 (12.000.000) 2024-06-01 10:00:05 Job executing on host: <192.0.2.2:9618>
  ...
  005 (12.000.000) 2024-06-01 10:20:00 Job terminated.
  ...
`,
}
