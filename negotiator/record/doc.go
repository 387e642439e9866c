// Package record writes down what a negotiator was told of its pool and what it decided, and reads it
// again. README.md describes the file.
//
// A tour:
//
//   - [Recorder] is what a negotiator tells of its cycles ([negotiator.Config].Recorder). It makes entries
//     (package recordv1) and hands them to a writer of its own, which compresses and writes them beside the
//     cycles, in frames that each stand alone.
//   - [Reader] reads the entries of a file, up to its last whole frame.
//   - Package replay, below, decides the rounds of a record again.
//
// Files:
//
//	recorder.go  what a negotiator tells becomes entries
//	entries.go   deltas, jobs and slots as entries
//	keys.go      the keys of jobs in the queue's order, as steps
//	texts.go     ads and labels, which are written once
//	anonymise.go where entries name somebody; names.go has the pseudonyms, common.go words that stay
//	writer.go    entries become frames, beside the cycles
//	files.go     rotation: which file is written, and which are dropped
//	reader.go    a file's entries; extent.go tells a file that was cut off from one that is damaged
//	index.go     what a file has, behind its last frame
package record
