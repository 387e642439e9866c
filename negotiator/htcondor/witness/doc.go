// Package witness keeps the record of what an observer, a negotiator that only watches, has seen
// and would have done.
//
// A record is a folder of segments, files of frames. A frame is a gzip member of JSON lines, so
// zcat reads it. Its first line is a [Look], the others are [Job]s. A reader takes a frame whole or
// not at all. Each cycle that has something to say of jobs is a frame, so kill -9 costs the cycle
// under way. When the record is full, its oldest segment goes.
//
// Every line about a job says all that its writer knew of it by then, so that nothing depends on
// segments that are gone; a reader merges them ([Job.Merge]).
//
// Files: entry.go what is recorded, record.go a [Record] that is written, segments.go its files,
// read.go how it is read. What it says is told by package verdict.
package witness
