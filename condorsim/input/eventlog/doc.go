// Package eventlog reads the event logs of HTCondor: those that submit files name as log, and the one of a
// whole pool (EVENT_LOG). It makes a job ad of each job's events and leaves the rest to package history,
// so that a log is read as the job ads would be. The README of package workload says what becomes of each event.
//
//   - [Read] (eventlog.go) reads a log, in each of its forms, in one pass. A job is kept until a minute
//     after its end.
//   - text.go cuts a log of the classic form into events, and ads.go one of ads: JSON, XML, or lines.
//   - clock.go reads dates, also those without a year.
//   - table.go reads the table of resources that stands below the end of a job.
//   - job.go follows a job from event to event, and makes its ad.
package eventlog
