// Package settle makes a trace of what the accounting of another system says of jobs. It has what the
// readers of such files share, so that they clean jobs by the same rules as a trace in the Standard
// Workload Format.
//
//   - [Lines] (lines.go) reads a file line by line, and [Fault] says what is wrong with one.
//   - [Record] (record.go) is what a file says of a job, in the terms of the Standard Workload Format.
//   - [Trace] (trace.go) drops and counts the jobs that cannot be run, finds the machine that they need
//     if nobody says how large it is, numbers them, and makes a trace with [workload.Collect].
package settle
