// Package workload reads, changes and writes what a simulated machine has to run: traces of the
// Parallel Workloads Archive and small instances with known results.
//
// A tour:
//
//   - [Open] and [ReadSWF] read a trace in the Standard Workload Format (SWF), plain or compressed,
//     clean it as [Options] say and return a [Trace].
//   - [Trace] is the machine, the jobs in order of jobs (submit time, then place in the file), the
//     [Header], and [Cleaning]: a count of everything that was dropped or changed, so that nothing
//     disappears silently.
//   - [Cut] is a part of a trace, between instants as people write them ([Trace.Clock]).
//   - [Trace.Transform] cuts and scales a trace and models estimates ([EstimateModel]) and memory
//     ([MemoryModel]); [Merge] makes one trace of several.
//   - [Trace.WriteSWF] and [Trace.WriteInstance] write what the readers read; [Trace.Changes] says what
//     is otherwise than in the file.
//   - [OpenInstance] and [ReadInstance] read a JSON [Instance]: a trace of some dozen jobs and, per
//     policy, the results a scheduler must reach.
//   - gpus.go and frontier.go read what some traces have behind the fields of the format.
//   - [Error] says where a file is wrong: file, line, field, and what to do.
//
// Package generate, below, makes up traces; package packed compresses.
//
// A trace is processed in a fixed order: read every line; drop jobs that never ran; settle
// processors, memory and estimate of each; drop jobs that do not fit the machine; sort; keep the
// first [Options.Max] jobs; scale the load. A job costs about a hundred bytes, and the text is
// never kept.
//
// All times are whole seconds, memory is in MiB. The format is defined at
// https://www.cs.huji.ac.il/labs/parallel/workload/swf.html.
package workload
