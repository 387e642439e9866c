// Package recorded makes a workload of a record: of what a negotiator was told of its pool, and what it decided
// (package record). [Read] reads the entries once, in their order.
//
// How entries are used:
//
//	begin       the pool, and the jobs that are there: those that wait arrive then, and those that run go on at
//	            their places, with what is left of their run times and estimates
//	told        slots that come, change and go; jobs that arrive, which they do when the pool tells of them and
//	            not when they were submitted; those that are removed or held, and come back
//	round       the starts of jobs, unless the negotiator observes; found and began say it of others
//	completed   ends; the run time is from the start to what the pool told next of it: so long was the place taken
//
// What is approximated: a limit is as high as it ever was, and a job is what it became when it was edited last. Of a
// job that was started several times the last run counts. One that was removed while it ran runs for as long as it
// did; one that was removed while it waited leaves when it did, and if it has started by then, it runs until its
// estimate is over, but no longer than until then. The run time of a job that waits or runs at the end of the record
// is its estimate, or as long as it has run if that is longer; so is that of a scavenger, unless the pool told when it
// began. Claims of jobs that the negotiator does not know are
// fixed where they were at the beginning; later ones arrive as jobs like others.
//
// A record goes on in other files, and after a restart of its negotiator, if the files are joined in their order: a
// beginning within a record is compared with what is known by then. Jobs are known again by their names. One that ended
// while no negotiator ran counts as ended when the next one was told of the pool, and one that began as started then.
//
// Files: record.go has what a record holds, read.go the entries, begin.go the beginnings, jobs.go what becomes of
// jobs, slots.go of slots and limits, trace.go the jobs as a trace.
package recorded
